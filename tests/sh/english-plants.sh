#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# sh/english refuses each phrase of its list, in a comment and across a line break, and nothing else;
# in each folder of the tree, in a clone and in a tarball.
# Slow: only with DAPL_ALL=1.
set -u
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# plant FILE TEXT: writes a file that the check must name, with its line
plant() {
	mkdir -p "$tmp/$(dirname "$1")"
	printf '%b\n' "$2" >"$tmp/$1"
	planted+=("$1")
}

# refused TREE: the check names each planted file of the tree and no other; then removes them
refused() {
	local f said
	said=$(bash tests/sh/english.sh "$tmp") && { echo "tests/sh/english.sh accepts a $1 with planted phrases"; status=1; }
	for f in "${planted[@]}"; do
		grep -q "^${f#./}:[1-9]" <<<"$said" && continue
		echo "tests/sh/english.sh does not refuse $f of a $1:"
		cat "$tmp/$f"
		status=1
	done
	grep -q '^sound.c:' <<<"$said" && { echo "tests/sh/english.sh refuses sound.c: $said"; status=1; }
	(cd "$tmp" && rm "${planted[@]}")
	planted=()
}

planted=()
echo '/* The EVD reports each completion; an empty poll returns at once. */' >"$tmp/sound.c"
rows=0
while IFS=$'\t' read -r pattern _ example; do
	[[ $pattern != '#'* ]] || continue
	rows=$((rows + 1))
	plant "perf/line$rows.c" "/* $example */"
	plant "perf/broken$rows.c" "/*\n * ${example// /\\n * }\n */"
done <tests/data/english.tsv
# the comment mark of each kind of file
for kind in 'h  *' 'inl //' 'map #' 'sh #' 'py #' 'awk #' 'mk #' 'in #' 'ac dnl' 'yml #' 'md ' '3 .\\"' ' #'; do
	mark=${kind#* }
	suffix=${kind%% *}
	plant "perf/kind${suffix:+.$suffix}" "$mark is dropped without\\n$mark a word"
done
[ $rows -gt 10 ] || { echo "tests/data/english.tsv has only $rows phrases"; status=1; }
refused tarball
bash tests/sh/english.sh "$tmp" || status=1

folders=$(for f in * .ci; do [ ! -d "$f" ] || echo "$f"; done | grep -v '^build')
for tree in tarball clone; do
	[ $tree = tarball ] || git -C "$tmp" init -q
	for folder in . $folders; do plant "$folder/planted.c" '/* Nobody waits for it. */'; done
	refused $tree
done
exit $status
