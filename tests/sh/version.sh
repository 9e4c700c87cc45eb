#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each installed program knows -h, --help and --version, which prints the release of configure.ac.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
version=$(sed -n 's/^AC_INIT(\[dapl-direct\], \[\(.*\)\])$/\1/p' configure.ac)
walked=0

fail() {
	echo "$*:"
	head -n 3 "$tmp/out"
	status=1
}

# asks PROGRAM OPTION: checks that the status is 0, and that only stdout has text
asks() {
	timeout 120 "$1" "$2" >"$tmp/out" 2>"$tmp/err" </dev/null || fail "${1##*/} $2 fails"
	[ -s "$tmp/out" ] && ! [ -s "$tmp/err" ] || fail "${1##*/} $2 prints nothing, or an error"
}

[ -n "$version" ] || fail "configure.ac has no version"
for program in "$DAPL_BUILD_DIR"/bin/*; do
	asks "$program" -h
	grep -q "^Usage: ${program##*/} " "$tmp/out" || fail "${program##*/} -h prints no usage"
	asks "$program" --help
	asks "$program" --version
	[ "$(cat "$tmp/out")" = "dapl-direct $version" ] || fail "${program##*/} --version is not $version"
	walked=$((walked + 1))
done
[ $walked -ge 10 ] || fail "build/bin has only $walked programs, fewer than 10"
exit $status
