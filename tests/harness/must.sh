# SPDX-License-Identifier: BSD-2-Clause
# must STATUS TEXT COMMAND...: checks exit status and output of the command, which is in $out afterwards; sourced. Ends
# the script, or the subshell, if one of them is wrong.
must() {
	local want=$1 text=$2 status
	shift 2
	out=$(timeout -k 1 60 "$@" 2>&1 </dev/null)
	status=$?
	if [ $status != "$want" ] || ! grep -qe "$text" <<<"$out"; then
		printf '%s\nthe status is %s instead of %s, or the output has no "%s": %s\n' "$out" $status "$want" "$text" "$*"
		exit 1
	fi
}
