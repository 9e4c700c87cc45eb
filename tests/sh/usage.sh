#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Scripts that the Makefile calls with arguments: without them each prints its usage, and does nothing. Numbers are checked.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
for name in asm check check-all check-arm64 check-dat2 check-pyverbs check-stock check-vm conformance coverage dat2-table \
	fuzz hot-check hot-count mkconf run soak two-hosts unexecuted walk; do
	timeout -k 1 60 "scripts/$name" >"$tmp/out" 2>&1 </dev/null
	ended=$?
	[ $ended != 0 ] && [ $ended != 124 ] && grep -qE "^(scripts/$name: .*)?(usage: (scripts/)?)?$name [A-Z[-]" "$tmp/out" &&
		! grep -qE 'Traceback|unbound' "$tmp/out" && continue
	echo "scripts/$name without arguments: status $ended"
	cat "$tmp/out"
	status=1
done

# refuses WORDS SCRIPT ARGUMENT...: the script refuses a wrong number before it does anything
refuses() {
	local words=$1
	shift
	timeout -k 1 60 "scripts/$1" "$tmp" "${@:2}" >"$tmp/out" 2>&1 </dev/null
	[ $? = 2 ] && grep -q "$words" "$tmp/out" && return
	echo "scripts/$* does not refuse a number:"
	cat "$tmp/out"
	status=1
}
for n in x 0 -1 1x; do
	refuses "WALKS=$n is not a number" walk $n
	refuses "MINUTES=$n is not a number" soak $n
done
refuses '^usage: ' fuzz x 0 cm
refuses '^usage: ' fuzz 9 x cm
exit $status
