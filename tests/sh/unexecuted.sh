#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The check of `make coverage` finds an unexecuted line without an excuse, an excuse that is no longer
# needed, and one without a reason.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
printf 'int a;\n\tlost();\nint b;\n\tlost();\n' >"$tmp/x.c"
cat >"$tmp/report.json" <<END
{"files": [{"file": "$tmp/x.c", "lines": [
  {"line_number": 1, "count": 3}, {"line_number": 2, "count": 0},
  {"line_number": 3, "count": 1}, {"line_number": 4, "count": 0}]}]}
END

# judged STATUS WORDS ENTRY...: checks a list with these entries, and expects the status and the words
judged() {
	local want=$1 words=$2 got
	shift 2
	printf '# a list\n' >"$tmp/list"
	[ $# = 0 ] || printf '%b\n' "$@" >>"$tmp/list"
	scripts/unexecuted "$tmp/report.json" "$tmp/list" >"$tmp/out" 2>&1
	got=$?
	[ $got = "$want" ] && grep -q "$words" "$tmp/out" && return
	echo "scripts/unexecuted has status $got instead of $want, or does not print \"$words\":"
	cat "$tmp/out"
	failed=1
}

line="$tmp/x.c\tlost();\ta reason"
judged 0 '2 of them with a reason; 0 wrong' "$line" "$line"
judged 1 'x.c:4: not executed by any test: lost();' "$line"
judged 1 'x.c:2: not executed by any test: lost();'
judged 1 'list:4: executed by now' "$line" "$line" "$line"
judged 1 'list:4: executed by now' "$line" "$line" "$tmp/x.c\tint a;\ta reason"
judged 1 'list:3: a file, a line and its reason' "$line" "$tmp/x.c\tlost();\t"
judged 0 '0 wrong' "$line" "$line" "other.c\tint c;\tof an access that is not built here"
exit $failed
