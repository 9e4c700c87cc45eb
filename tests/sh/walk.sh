#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random calls of fixed seeds on both software adapters, without and with faults, judged by the model of DAT in
# tests/walk. In the walk of seed 32 a process is stopped for longer than an attempt to connect may take.
set -u
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# walk IA SEED WALKS [OPTION]: if there is a mismatch, prints its program
walk() {
	timeout 300 "$DAPL_BUILD_DIR/tests/dat_walk" -i "$1" -s "$2" -n "$3" ${4-} -o "$out/$1.c" && return
	cat "$out/$1.c" 2>/dev/null
	return 1
}

# A wrong number is refused, because without a walk there is no mismatch.
for words in '-n x' '-n 0' '-n -1' '-n 1x' '-c 0' '-m x' '-s x'; do
	timeout 60 "$DAPL_BUILD_DIR/tests/dat_walk" $words >"$out/said" 2>&1
	[ $? = 2 ] && grep -q '^Usage: ' "$out/said" || { echo "dat_walk $words is not refused"; cat "$out/said"; exit 1; }
done

# The program of a mismatch is printed once: a later walk that crashes has none.
mkdir -p "$out/build/tests"
cat >"$out/build/tests/dat_walk" <<'END'
#!/bin/bash
[ -e "$0.ran" ] || echo "a program" >"${!#}"
touch "$0.ran"
exit 1
END
chmod +x "$out/build/tests/dat_walk"
[ "$(scripts/walk "$out/build" 1)" = 'a program' ] || { echo "scripts/walk prints the program of an earlier mismatch"; exit 1; }

many=80
[ -z "${SAN-}" ] || many=8
# Mostly the processes wait, so the adapters have their walks at the same time.
(walk soft-mlx5-0 1 $many && walk soft-mlx5-0 20 $((many / 4)) --faults) &
efa=0
{ walk soft-efa-0 1 $many && walk soft-efa-0 20 $((many / 4)) --faults; } || efa=1
wait $! && [ $efa = 0 ]
