#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The verdicts of scripts/check-vm about simulated guests. A guest is a process here, which prints
# the text of a console.
# Slow: only with DAPL_ALL=1.
set -u
vm=$(mktemp -d)
trap 'kill -KILL "${guests[@]}" 2>/dev/null; rm -rf "$vm"' EXIT
limit=20 off_limit=2 run_limit=900 status=0 failed=0
declare -A guests=()
. scripts/check-vm.judge

# guest LINE...: starts a guest that prints these lines and runs for a minute
guest() {
	printf '%s\r\n' "$@" >"$vm/guest.log"
	sleep 60 &
	guests[guest]=$!
	disown $!
}

# fails WORDS...: checks that $vm/out has one FAIL with each of these words, and no other
fails() {
	local words ok=1
	[ "$(grep -c '^FAIL' "$vm/out")" = $# ] || ok=
	for words in "$@"; do
		grep -q "^FAIL *$words" "$vm/out" || ok=
	done
	[ -z "$ok" ] || return 0
	echo "the output should have exactly these FAIL lines: [$*]; it is:"
	cat "$vm/out"
	failed=1
}

guest "@@ ok probe" "@@ done"
end guest >"$vm/out"
fails "guest: does not turn off"

# A killed process may wait for a CPU before it ends.
off_limit=60
guest "@@ ok probe" "@@ done"
kill -KILL "${guests[guest]}"
end guest >"$vm/out"
fails

# kernel LINE...: prints the verdict about a guest that shows these lines
kernel() {
	printf '%s\r\n' "[    1.0] a warning at boot" "@@ begin probe 1" "$@" >"$vm/guest.log"
	judge guest "" >"$vm/out"
}

first="@@ kernel [    2.0] check-vm: the first job"
kernel "[    2.0] check-vm: the first job" "$first" "@@ done" "[    9.0] reboot: Power down"
fails
kernel "$first" "[    3.0] infiniband mlx5_0: create_qp:3206:(pid 1): Create QP type 3 failed" "@@ done"
fails "guest: kernel: 1 lines .*Create QP"
kernel "$first" "@@ kernel [    3.0] mlx5_core 0000:00:01.0: cmd[0]: CREATE_CQ(0x400) No done completion" "@@ done"
fails "guest: kernel: 1 lines .*No done completion"
kernel "$first" "@@ done" "[    9.0] Kernel panic - not syncing"
fails "guest: kernel: 1 lines .*Kernel panic"
kernel "[    2.0] check-vm: the first job" "@@ done"
fails "guest: kernel: its warnings are missing"
kernel "[    2.0] check-vm: the first job"
fails

judge_time 900 >"$vm/out"
fails
judge_time 901 >"$vm/out"
fails "check-vm: takes 901 s"

exit $failed
