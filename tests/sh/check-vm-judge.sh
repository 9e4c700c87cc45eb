#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The verdicts of scripts/check-vm about guests that are made up: a process, and what a console would have shown.
set -u
vm=$(mktemp -d)
trap 'kill -KILL "${guests[@]}" 2>/dev/null; rm -rf "$vm"' EXIT
limit=20 off_limit=2 status=0 failed=0
declare -A guests=()
. scripts/check-vm.judge

# guest LINE...: it shows these and goes on for a minute
guest() {
	printf '%s\r\n' "$@" >"$vm/guest.log"
	sleep 60 &
	guests[guest]=$!
	disown $!
}

# fails WORDS...: one verdict for each in $vm/out is FAIL, and no other
fails() {
	local words ok=1
	[ "$(grep -c '^FAIL' "$vm/out")" = $# ] || ok=
	for words in "$@"; do
		grep -q "^FAIL *$words" "$vm/out" || ok=
	done
	[ -z "$ok" ] || return 0
	echo "not FAIL of [$*], but:"
	cat "$vm/out"
	failed=1
}

guest "@@ ok probe" "@@ done"
end guest >"$vm/out"
fails "guest: does not turn off"

guest "@@ ok probe" "@@ done"
kill -KILL "${guests[guest]}"
end guest >"$vm/out"
fails

exit $failed
