#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make dist packs the committed files under the release's name, and the tarball configures and compiles.
# Its full build takes minutes: DAPL_ALL=1.
# Slow: only with DAPL_ALL=1.
set -eu
[ -e .git ] && git rev-parse --verify -q HEAD >/dev/null 2>&1 || { echo "make dist needs a git clone with a commit"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
MAKEFLAGS=$(sed -E 's/ ?-j[0-9]*//; s/ ?--jobserver-auth=[^ ]*//' <<<"${MAKEFLAGS-}")
export MAKEFLAGS
build=${DAPL_BUILD_DIR:-build}

make -s BUILD="$build" dist
version=$(sed -n 's/^VERSION := //p' "$build/config.mk")
tar -xzf "$build/dapl-direct-$version.tar.gz" -C "$dir"
tree=$dir/dapl-direct-$version
diff <(git ls-tree -r --name-only HEAD | sort) <(cd "$tree" && find . -type f -o -type l | cut -c3- | sort)
grep -q "^## $version" "$tree/CHANGELOG.md" || { echo "CHANGELOG.md has no entry for $version"; exit 1; }
cd "$tree"
scripts/tree-stats -s | grep -q '^product [1-9]' || { echo "scripts/tree-stats counts no lines in the tarball"; exit 1; }
# The tarball's build must not use the build directory or sanitizer of the make that runs this test.
unset MAKEFLAGS MAKELEVEL MFLAGS BUILD SAN
if [ "${DAPL_ALL:-0}" = 1 ]; then
	make -s all >"$dir/out" 2>&1 || { tail -n 20 "$dir/out"; exit 1; }
	build/bin/dat_info --help >/dev/null
else
	make -s build/lib/libdat.so.1 >"$dir/out" 2>&1 || { tail -n 20 "$dir/out"; exit 1; }
fi
# A tree that is moved after its build names its own provider again.
make -s build/etc/dat.conf >"$dir/out" 2>&1 || { tail -n 20 "$dir/out"; exit 1; }
cd "$dir"
mv "$tree" moved
make -s -C moved build/etc/dat.conf >"$dir/out" 2>&1 || { tail -n 20 "$dir/out"; exit 1; }
grep -q " $dir/moved/build/lib/libdapl-direct.so " moved/build/etc/dat.conf ||
	{ echo "dat.conf of a moved tree names another provider:"; cat moved/build/etc/dat.conf; exit 1; }
