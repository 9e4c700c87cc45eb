#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_walk finds each planted defect and shrinks it to at most ten calls. The program that it prints
# compiles, shows the defect while it is planted, and ends well without it.
# Slow: only with DAPL_ALL=1.
set -u
if [ "${SAN-}" ]; then
	echo "a library that is preloaded cannot run with a sanitizer"
	exit 77
fi
plant=$DAPL_BUILD_DIR/tests/walk-plant.so
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
status=0

# shows NAME SEED [OPTION]: from this seed, the walk finds the defect, and its program shows it. If not, $why
# has the reason.
shows() {
	local name=$1 seed=$2
	WALK_PLANT=$name LD_PRELOAD=$plant timeout 120 "$DAPL_BUILD_DIR/tests/dat_walk" -s "$seed" -n 200 -q ${3-} \
		-o "$out/$name.c" >"$out/$name.log" 2>&1
	why="dat_walk does not find the planted defect, or its program has more than ten calls"
	calls=$(sed -n 's/^\([0-9]*\) calls: .*/\1/p' "$out/$name.log")
	case $calls in [1-9] | 10) ;; *) return 1 ;; esac
	why="its program does not compile"
	"${CC:-cc}" -Wall -Wextra -Werror -Iinclude "$out/$name.c" -o "$out/$name" -L"$DAPL_BUILD_DIR/lib" -ldat -pthread ||
		return 1
	why="its program fails without the defect"
	timeout 60 "$out/$name" >"$out/$name.log" 2>&1 || return 1
	why="its program does not show the defect"
	WALK_PLANT=$name LD_PRELOAD=$plant timeout 60 "$out/$name" >"$out/$name.log" 2>&1
	[ $? = 1 ]
}

# A mismatch that depends on timing may not appear again, so other seeds are tried.
for defect in code query lost length status place byte private "byte --faults"; do
	read -r name option <<<"$defect"
	for seed in 1 1001 2001 3001 4001 5001; do
		shows $name $seed $option && { echo "note: $defect: $calls calls"; continue 2; }
	done
	echo "$defect: $why"
	grep -v '^step ' "$out/$name.log" | tail -n 20
	status=1
done
exit $status
