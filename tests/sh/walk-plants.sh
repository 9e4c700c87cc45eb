#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_walk finds planted defects. Each shrinks to at most ten calls, in a program that compiles, that shows the
# defect while it is planted, and that ends well without it.
set -u
if [ "${SAN-}" ]; then
	echo "a library that is preloaded cannot run with a sanitizer"
	exit 77
fi
plant=$DAPL_BUILD_DIR/tests/walk-plant.so
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
status=0

# Finds and shrinks the defect; a mismatch that depends on time may not come again, so another seed is tried.
find_plant() {
	local name=$1 seed
	for seed in 1 1001 2001; do
		WALK_PLANT=$name LD_PRELOAD=$plant timeout 120 "$DAPL_BUILD_DIR/tests/dat_walk" -s $seed -n 200 -q \
			-o "$out/$name.c" >"$out/$name.log" 2>&1
		[ $? = 1 ] || continue
		calls=$(sed -n 's/^\([0-9]*\) calls: .*/\1/p' "$out/$name.log")
		[ -z "$calls" ] || [ "$calls" -gt 10 ] || return 0
	done
	return 1
}

wrong() {
	echo "$1: $2"
	grep -v '^step ' "$out/$1.log" | tail -n 20
	status=1
}

for name in code query lost length status place byte; do
	find_plant $name || { wrong $name "not found, or more than ten calls"; continue; }
	"${CC:-cc}" -Wall -Wextra -Werror -Iinclude "$out/$name.c" -o "$out/$name" -L"$DAPL_BUILD_DIR/lib" -ldat -pthread ||
		{ wrong $name "its program does not compile"; continue; }
	timeout 60 "$out/$name" >"$out/$name.log" 2>&1 || wrong $name "its program fails without the defect"
	WALK_PLANT=$name LD_PRELOAD=$plant timeout 60 "$out/$name" >"$out/$name.log" 2>&1
	[ $? = 1 ] || wrong $name "its program does not show the defect"
	echo "note: $name: $calls calls"
done
exit $status
