#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# sh/english refuses each phrase of its list, in a comment and across a line break, and nothing else;
# in each folder of the tree, in a clone and in a tarball.
set -u
status=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir "$tmp/perf"

# planted TEXT: prints the output of the check for a file with this text
planted() {
	printf '%b\n' "$1" >"$tmp/perf/planted.c"
	bash tests/sh/english.sh "$tmp"
}

rows=0
while IFS=$'\t' read -r pattern _ example; do
	[[ $pattern != '#'* ]] || continue
	rows=$((rows + 1))
	for text in "/* $example */" "/*\n * ${example// /\\n * }\n */"; do
		said=$(planted "$text") && { echo "tests/sh/english.sh does not refuse: $text"; status=1; }
		[ "$(grep -c '^perf/planted.c:[1-9]' <<<"$said")" -ge 1 ] || { echo "tests/sh/english.sh does not name the line: $said"; status=1; }
	done
done <tests/data/english.tsv
[ $rows -gt 10 ] || { echo "tests/data/english.tsv has only $rows phrases"; status=1; }
planted '/* The EVD reports each completion; an empty poll returns at once. */' || status=1

# planted_in FOLDER: checks that the check of the tree in $tmp names the file in FOLDER
planted_in() {
	local file=$1/planted.c
	mkdir -p "$tmp/$1"
	echo '/* Nobody waits for it. */' >"$tmp/$file"
	bash tests/sh/english.sh "$tmp" | grep -q "^${file#./}:1: " || { echo "the check does not read $1 of a $tree"; status=1; }
	rm "$tmp/$file"
}
folders=$(for f in * .ci; do [ ! -d "$f" ] || echo "$f"; done | grep -v '^build')
for tree in tarball clone; do
	[ $tree = tarball ] || git -C "$tmp" init -q
	for folder in . $folders; do
		planted_in "$folder" $tree
	done
done
exit $status
