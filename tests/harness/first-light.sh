# SPDX-License-Identifier: BSD-2-Clause
# Checks the answers of dat_first_light; sourced.

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
first_light=$DAPL_BUILD_DIR/bin/dat_first_light

# has TEXT REGEX: the output must match the expression
has() {
	grep -qE "$2" "$tmp/out" && return
	echo "the output has no $1, no match of \"$2\":"
	cat "$tmp/out"
	status=1
}

# whole IA LINES: each question must have a line with the answer that the provider assumes
whole() {
	timeout 300 "$first_light" -q -i "$1" >"$tmp/out" 2>"$tmp/err" || {
		echo "not all answers of $1 are good"
		cat "$tmp/out" "$tmp/err"
		status=1
	}
	[ "$(grep -cE '^( [0-9]|[0-9]{2}) (good|tune|skip)  [^?]*\? .+ \[set: .+\]$' "$tmp/out")" = "$2" ] || {
		echo "the report of $1 does not have $2 lines"
		cat "$tmp/out"
		status=1
	}
	"$first_light" --list | cut -c1-2 | sort -u | wc -l >"$tmp/numbers"
	"$first_light" --list | wc -l | cmp -s - "$tmp/numbers" || { echo "two lines have the same number"; status=1; }
}

# answers IA: lines of stdin are number, ia_params, and a pattern for the line of the report. Asks every fifth; with
# DAPL_ALL=1 all.
answers() {
	local number params regex line=0
	while IFS=$'\t' read -r number params regex; do
		((line++ % 5)) && [ "${DAPL_ALL-}" != 1 ] && continue
		timeout 120 "$first_light" -q -i "$1" -a "$params" -t "$number" >"$tmp/out" 2>"$tmp/err"
		if [ ! -s "$tmp/out" ] || grep -qvE "^ *[0-9]+ ($regex)" "$tmp/out"; then
			echo "question $number with $params is not answered by \"$regex\":"
			cat "$tmp/out" "$tmp/err"
			status=1
		fi
	done
}

# wrong WORDS OPTION...: the program must refuse these options with these words
wrong() {
	local words=$1 code
	shift
	"$first_light" "$@" >"$tmp/out" 2>&1
	code=$?
	[ $code = 2 ] || { echo "dat_first_light $*: status $code"; status=1; }
	has "reason for $*" "$words"
}
