#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The programs behind make bench and make bench-scale: each peer that is built makes all its calls, with
# dat_bench's row names, and the scaling figures are there.
# Slow: only with DAPL_ALL=1.
set -u
build=$DAPL_BUILD_DIR
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
[ -x "$build/tests/scale-bench" ] || { echo "not built here"; exit 77; }

"$build/bin/dat_bench" -n 16 >"$tmp/bench" 2>"$tmp/err" || { echo "dat_bench: status $?"; cat "$tmp/err"; exit 1; }
cut -f1 "$tmp/bench" >"$tmp/ours"
"$build/bin/dat_bench" -n 16 -w 2>"$tmp/err" | cut -f1 | diff "$tmp/ours" - ||
	{ echo "dat_bench -w has other rows:"; cat "$tmp/err"; exit 1; }

# peer COUNT COMMAND...: checks that the command prints COUNT rows, and that dat_bench has each of
# these rows
peer() {
	local rows=$1
	shift
	timeout -k 1 60 "$build/bin/softnic-run" "$@" -n 16 >"$tmp/peer" 2>"$tmp/err" </dev/null ||
		{ echo "$*: status $?"; cat "$tmp/peer" "$tmp/err"; exit 1; }
	[ "$(wc -l <"$tmp/peer")" = "$rows" ] || { echo "$*: the output has not $rows rows"; cat "$tmp/peer"; exit 1; }
	awk -F'\t' 'NF != 4 || $3 !~ /^[0-9.]+$/' "$tmp/peer" | grep . && exit 1
	cut -f1 "$tmp/peer" | grep -vxFf "$tmp/ours" - | grep -v 'segments\|64 B' && { echo "$*: dat_bench has no such row"; exit 1; }
	return 0
}

export DAPL_SCM_NETDEV=lo UCX_IB_GID_INDEX=0
[ -x "$build/tests/peer_verbs" ] && peer 15 "$build/tests/peer_verbs" && peer 8 "$build/tests/peer_verbs" -w
[ -x "$build/tests/peer_uct" ] && peer 6 "$build/tests/peer_uct"
printf 'scm u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 "mlx5_0 1" ""\n' >"$tmp/dat.conf"
[ -x "$build/tests/peer_dapl" ] && DAT_OVERRIDE=$tmp/dat.conf peer 9 "$build/tests/peer_dapl" scm

for n in 0 x -1 100000001; do
	[ -x "$build/tests/peer_verbs" ] || break
	timeout -k 1 60 "$build/bin/softnic-run" "$build/tests/peer_verbs" -n $n >"$tmp/out" 2>&1
	[ $? = 2 ] && grep -qx -- "-n '$n' is not a number from 1 to 100000000" "$tmp/out" ||
		{ echo "peer_verbs -n $n is not refused:"; cat "$tmp/out"; exit 1; }
done

timeout -k 1 60 "$build/tests/scale-bench" soft-mlx5-0 endpoints 16 64 >"$tmp/scale" ||
	{ echo "endpoints: status $?"; exit 1; }
grep -qE '^16(	[0-9.]+){5}$' "$tmp/scale" || { cat "$tmp/scale"; exit 1; }

# Numbers that it cannot measure, and unknown words, are refused.
for words in '' 'soft-mlx5-0 memry' 'soft-mlx5-0 endpoints 0 16' 'soft-mlx5-0 endpoints 16 0' 'soft-mlx5-0 endpoints 4097 16' \
	'soft-mlx5-0 endpoints x 16'; do
	timeout -k 1 60 "$build/tests/scale-bench" $words >"$tmp/out" 2>&1
	[ $? = 2 ] && grep -q '^usage: ' "$tmp/out" || { echo "scale-bench $words is not refused:"; cat "$tmp/out"; exit 1; }
done

# A plot that was not drawn is not reported as written: without a peer there is none, and gnuplot may fail.
mkdir -p "$tmp/build/etc" "$tmp/bin"
printf '#!/bin/sh\ncat >/dev/null\nexit 3\n' >"$tmp/bin/gnuplot"
chmod +x "$tmp/bin/gnuplot"
echo '[{"op": "post recv", "api": "direct 1.2", "instructions": 10, "ns": 5.0, "endpoints": 1}]' >"$tmp/build/bench.json"
PATH=$tmp/bin:$PATH scripts/bench-peers "$tmp/build" >"$tmp/out" 2>&1 || { cat "$tmp/out"; exit 1; }
grep -q 'bench.md written; no plot without a peer$' "$tmp/out" || { echo "a missing plot is not reported:"; cat "$tmp/out"; exit 1; }
mkdir -p "$tmp/build/tests" "$tmp/build/bin"
: >"$tmp/build/tests/peer_verbs"
cat >"$tmp/build/bin/softnic-run" <<-'END'
	#!/bin/sh
	printf 'post recv\tverbs_recv\t5.0\t1\n'
	for option; do
	        case $option in
	        --callgrind-out-file=*) printf 'fn=(1) verbs_recv\ncfn=(2) call\ncalls=1 0\n0 9\n' >"${option#*=}" ;;
	        esac
	done
END
chmod +x "$tmp/build/bin/softnic-run"
PATH=$tmp/bin:$PATH scripts/bench-peers "$tmp/build" >"$tmp/out" 2>&1 && { echo "bench-peers succeeds although gnuplot fails:"; cat "$tmp/out"; exit 1; }
grep -q 'bench.svg: gnuplot ended with status 3$' "$tmp/out" || { echo "a failed gnuplot is not reported:"; cat "$tmp/out"; exit 1; }
