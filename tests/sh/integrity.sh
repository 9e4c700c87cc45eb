#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_integrity: all data is right and all wrong accesses are refused on both software adapters. A byte that
# is changed on purpose, a context that stays valid, and an adapter that does not open make it fail.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "the programs are slow under a sanitizer"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

wrong() {
	echo "$*:"
	tail -n 20 "$tmp/out"
	status=1
}

# integrity STATUS ARGUMENT...: runs the program and checks its exit status; the output is in
# $tmp/out
integrity() {
	local want=$1
	shift
	timeout 120 "$DAPL_BUILD_DIR/bin/dat_integrity" -S 19 "$@" >"$tmp/out" 2>&1 </dev/null
	local got=$?
	[ $got = "$want" ] || wrong "dat_integrity $*: status $got instead of $want"
}

has() { grep -qE -- "$2" "$tmp/out" || wrong "$1: the output has no line with \"$2\""; }

# with_fault IA FAULT ARGUMENT...: runs dat_integrity on an IA with this fault script
with_fault() {
	local ia=$1 fault=$2 instance
	shift 2
	for instance in nonthreadsafe threadsafe; do
		echo "$ia u1.2 $instance default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"fault=$fault\" \"\""
	done >"$tmp/dat.conf"
	DAT_OVERRIDE=$tmp/dat.conf integrity 1 -i "$ia" "$@"
}

for ia in soft-mlx5-0 soft-efa-0; do
	integrity 0 -q -i $ia --json "$tmp/json"
	has $ia "^$ia, seed 19$"
	has $ia '^refused +96 of 96 '
	python3 - "$tmp/json" >>"$tmp/out" 2>&1 <<'PY' || wrong "the JSON of $ia has wrong content"
import json, sys
r = json.load(open(sys.argv[1]))
assert r["schema"] == 1 and r["seed"] == "19" and r["quick"] and r["failures"] == 0 and r["messages"] == []
assert list(r["transfers"]) == ["send", "write", "read", "window"]
for t in r["transfers"].values():
    assert t["transfers"] > 1000 and t["bytes"] > 1 << 25 and t["failed"] == 0, t
assert len(r["refusals"]) == 96 and {x["found"] for x in r["refusals"]} == {"REMOTE_ACCESS", "LOCAL_PROTECTION"}
assert min(r["segments"].values()) > 1
PY
done

# The last line claims only what was tried.
integrity 0 -q -t data -i soft-efa-0
has "only data" '^every byte verified$'
integrity 0 -q -t refusals -i soft-efa-0
has "only refusals" '^every wrong access refused$'
integrity 1 -q -t data -i soft-efa-0 --plant data
has "a changed byte" '^send of 1 bytes, .*: a byte of the data is wrong, offset 0$'
integrity 1 -q -t data -i soft-efa-0 --plant guard --json "$tmp/json"
has "a changed guard" '^send of 1 bytes, .*: a guard byte behind the data has changed, offset '
python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); assert r["failures"] == 1 == r["transfers"]["send"]["failed"], r' \
	"$tmp/json" >>"$tmp/out" 2>&1 || wrong "the JSON does not report the changed byte once"

with_fault soft-mlx5-0 quirk=old_keys -t refusals
has "old keys" '^write, unbound window, 300 bytes: SUCCESS instead of REMOTE_ACCESS$'
has "old keys" '^refused +90 of 96 '
# After 20 failures no size of a later round is tried either.
with_fault soft-mlx5-0 quirk=no_umr -q -t data -n 9223372036854775807
has "no windows" '^window .* [1-9][0-9]* failed$'
with_fault soft-efa-0 late_dereg -t refusals
has "late deregistration" '^read, context of a freed LMR, 9000 bytes: SUCCESS instead of REMOTE_ACCESS$'

integrity 1 -i none-such --json "$tmp/json"
has "an unknown adapter" 'is there a line for it in dat.conf'
! grep -q 'has no RMRs\|accesses$' "$tmp/out" || wrong "the summary describes an adapter that was not opened"
integrity 64 -t nonsense
integrity 64 -n 9223372036854775808
integrity 64 --plant nonsense
exit $status
