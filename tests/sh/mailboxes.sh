#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The commands that hw_mlx5 sends, in process, through DEVX and through VFIO, compared with those of Linux
# and UCX. Each field that differs has its reason in tests/data/mailboxes/differences.tsv, and no reserved
# bit is set.
set -u
build=$DAPL_BUILD_DIR
. tests/harness/skip.sh
needs_preload
[ -x "$build/tests/dat2" ] || skip "built without uDAPL 2.0, whose zero-based LMRs have keys of their own"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
logs=("ethernet:$tmp/model" "ethernet:$tmp/zero" "ethernet+devx:$tmp/ethernet" "infiniband+devx:$tmp/infiniband"
	"ethernet+devx:$tmp/params" "ethernet+vfio:$tmp/vfio")

# capture NAME COMMAND...: stores the commands that COMMAND sends under NAME
capture() {
	SOFTNIC_COMMANDS=$tmp/$1 timeout -k 5 120 "${@:2}" >"$tmp/out" 2>&1 && return
	echo "$1: ${*:2} ends with status $?"
	tail -n 5 "$tmp/out"
	exit 1
}

# These probes connect, make an EVD grow, and create an SRQ and windows.
probes=("$build/bin/dat_first_light" -t 1,20,21,30 -i)
capture model "${probes[@]}" soft-mlx5-0
capture ethernet "$build/bin/softnic-run" "${probes[@]}" mlx5_0-1
capture infiniband "$build/bin/softnic-run" --infiniband "${probes[@]}" mlx5_0-1
capture params "$build/bin/softnic-run" "${probes[@]}" mlx5_0-1 -a "tclass=106 scatter_cqe=2"
capture vfio "$build/bin/softnic-run" --vfio "${probes[@]}" 0000:01:00.0 -a ip=10.0.0.7
capture zero "$build/tests/dat2" --jobs 1 \
	--filter 'zero/@(lmr__is_written_from_outside|rmr__of_one_endpoint_can_be_zero_based)'

compare() { python3 tests/harness/mailboxes.py compare "${logs[@]}"; }
compare || failed=1

# planted COMMAND DIGIT WORDS: changes this digit of one of our commands; the comparison must report the
# change
planted() {
	local found
	cp "$tmp/model" "$tmp/kept"
	awk -v command="$1" -v at="$2" '!done && $2 == command {
		digit = substr($3, at, 1)
		$3 = substr($3, 1, at - 1) (digit == "f" ? "7" : "f") substr($3, at + 1); done = 1
	} { print }' "$tmp/kept" >"$tmp/model"
	found=$(compare) && { echo "a change planted in $1 is not found: $3"; failed=1; }
	grep -qF "$3" <<<"$found" || { echo "after a change planted in $1, the check does not report \"$3\" but: $found"; failed=1; }
	cp "$tmp/kept" "$tmp/model"
}
planted CREATE_QP 25 'reserved bit 0x60 is set'
planted RTR2RTS_QP 273 'log_ack_req_freq'
planted CREATE_CQ 34 'as_notify'
exit $failed
