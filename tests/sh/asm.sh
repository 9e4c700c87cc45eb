#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/asm for one hot function: a clone has the differences from the last commit, a tarball only the assembly.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
build=$(realpath --relative-to=. "$DAPL_BUILD_DIR")
asm=$PWD/scripts/asm

# says DIRECTORY LINE: runs the script there; its last line must match
says() {
	(cd "$1" && echo "hw_efa/hot/hot-any hw_efa/hot/hot.c" | "$asm" "$build" "") >"$tmp/out" 2>&1 &&
		tail -n 1 "$tmp/out" | grep -qE "^asm: [1-9][0-9]* lines in $build/asm/now; $2" && return
	echo "scripts/asm fails in $1:"
	cat "$tmp/out"
	exit 1
}

[ ! -e .git ] || says . "[0-9]+ differ from the last commit, see $build/asm/diff\$"
! grep 'file format' "$build/asm/diff" 2>/dev/null || { echo "the name of an object is a difference"; exit 1; }
build=build
mkdir "$tmp/build"
ln -s "$DAPL_BUILD_DIR/obj" "$tmp/build/obj"
cp "$DAPL_BUILD_DIR/flags" "$tmp/build"
says "$tmp" "no differences, because this tree is no git clone\$"
