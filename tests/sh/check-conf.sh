#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_info --check reports each problem of a dat.conf with line, column and cure, and by its exit
# status.
set -u
[ -z "${SAN-}" ] || { echo "a provider under a sanitizer cannot be loaded twice"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
info=$DAPL_BUILD_DIR/bin/dat_info
lib=$DAPL_BUILD_DIR/lib/libdapl-direct.so
conf=$tmp/dat.conf
status=0

# finds PLACE WORDS LINE: the second line of the file has this problem, and no other line has one
finds() {
	local place=$1 words=$2
	printf '# first\n%s\n' "$3" >"$conf"
	"$info" --check "$conf" >"$tmp/out" 2>&1
	[ $? = 1 ] && grep -q "^$conf:2:$place: .*$words" "$tmp/out" && [ "$(wc -l <"$tmp/out")" = 2 ] && return
	echo "$3: dat_info --check does not report only 2:$place with \"$words\":"
	cat "$tmp/out"
	status=1
}
our='u1.2 nonthreadsafe default lib.so dapl_direct.1.2'
our=${our/lib.so/$lib}
column=$((${#our} + 7))		# the column of the first letter of ia_params, after "ib0 " and a quotation mark
finds 5 'field 2 .*; write u1.2' 'ib0 1.2 nonthreadsafe default x.so a.1.2 "" ""'
finds 10 'field 3 .*; most programs need nonthreadsafe' 'ib0 u1.2 safe default x.so a.1.2 "" ""'
finds 24 'field 4 .*; write default' 'ib0 u1.2 nonthreadsafe yes x.so a.1.2 "" ""'
finds 37 'field 6 .*; write a name' 'ib0 u1.2 nonthreadsafe default x.so 1.2 "" ""'
finds 45 'fewer than eight fields; write ""' 'ib0 u1.2 nonthreadsafe default x.so a.1.2 ""'
finds 49 'more than eight fields; put' 'ib0 u1.2 nonthreadsafe default x.so a.1.2 a=1 b "" ""'
finds 43 'does not end on its line; write the closing' 'ib0 u1.2 nonthreadsafe default x.so a.1.2 "a'
finds 32 'cannot be loaded: .*; install it' 'ib0 u1.2 nonthreadsafe default /none/x.so a.1.2 "" ""'
finds 32 'has no dat_provider_init; write' 'ib0 u1.2 nonthreadsafe default libc.so.6 a.1.2 "" ""'
finds $((column + 7)) 'inline=500: must be a number from 0 to 220' "ib0 $our \"seed=1 inline=500\" \"\""
finds $((column + 10)) 'efa_window=9: must be a power of two' "ib0 $our \"efa_cq=16 efa_window=9\" \"\""
finds $((column + 18)) 'rnr_retry=7: this adapter has no such key' "ib0 $our \"device=soft-efa-0 rnr_retry=7\" \"\""
finds $((column + 14)) 'inline=500: must be a number' "ib0 $our \"device=a\\\\\\\"b;inline=500\" \"\""
finds $((column + 11)) 'inline=500: must be a number' "ib0 $our device=a\\bc;inline=500 \"\""
finds $column 'port=1 needs device=' "ib0 $our \"port=1\" \"\""
finds $column 'select the device: remove one' "ib0 $our \"mlx5_0 1 port=1\" \"\""
if [ -e "${lib%.so}2.so" ]; then
	our2="ib0 u2.0 nonthreadsafe default ${lib%.so}2.so dapl_direct.2.0 "
	finds $((${#our2} + 2)) 'inlin=1: this adapter has no such key' "$our2\"inlin=1\" \"\""
	finds 32 'is a provider for u2.0, and field 2 says u1.2; correct' "${our2/u2.0/u1.2}\"\" \"\""
	finds 32 'is a provider for u1.2, and field 2 says u2.0; correct' "ib0 ${our/u1.2/u2.0} \"\" \"\""
fi

# libdat ignores a line with a null byte. The text before that byte does not make the line a comment.
printf '# first\n# null \0 byte\n' >"$conf"
! "$info" --check "$conf" >"$tmp/out" 2>&1 && grep -q "^$conf:2:8: .*control characters" "$tmp/out" ||
	{ echo "a null byte in a comment:"; cat "$tmp/out"; status=1; }

# The folders of a package: libdat finds a name without a slash below its own directory, libdat2 does not.
mkdir -p "$tmp/bin" "$tmp/lib/dapl-direct"
cp "$info" "$tmp/bin" && cp -L "${lib%/*}/libdat.so.1" "$tmp/lib" && cp "$lib" "$tmp/lib/dapl-direct" || exit 1
info=$tmp/bin/dat_info
unset LD_LIBRARY_PATH
finds 57 'inlin=1: this adapter has no such key' 'ib0 u1.2 nonthreadsafe default libdapl-direct.so a.1.2 "inlin=1" ""'
finds 32 'cannot be loaded: .*; install it' 'ib0 u2.0 nonthreadsafe default libdapl-direct.so a.2.0 "" ""'
finds 32 'cannot be loaded: .*; install it' 'ib0 u1.2 nonthreadsafe default libnone.so a.1.2 "" ""'
# It finds the provider for its own purposes there, too; without it the reason is printed.
"$info" --parameters >"$tmp/out" 2>&1 && grep -q '^any adapter:' "$tmp/out" ||
	{ echo "dat_info --parameters does not find a provider below libdat:"; cat "$tmp/out"; status=1; }
rm "$tmp/lib/dapl-direct/${lib##*/}"
! "$info" --parameters >"$tmp/out" 2>&1 && grep -q '^dat_info: cannot list the parameters: libdapl-direct.so: ' "$tmp/out" ||
	{ echo "dat_info --parameters without a provider does not say why it fails:"; cat "$tmp/out"; status=1; }
info=$DAPL_BUILD_DIR/bin/dat_info

for good in "$DAPL_BUILD_DIR"/etc/*.conf; do
	"$info" --check "$good" >"$tmp/out" 2>&1 && grep -q "^$good: [1-9][0-9]* entries, 0 problems" "$tmp/out" && continue
	echo "dat_info --check reports problems in $good:"
	cat "$tmp/out"
	status=1
done
printf '%s\n' "ofa-v2-mlx5_0-1u $our \"mlx5_0 1\" \"\"" "ib0 $our \"device=eth2 efa_window=8\" \"\"" >"$conf"
"$info" --check "$conf" >"$tmp/out" 2>&1 || { cat "$tmp/out"; status=1; }
! "$info" --check "$tmp/none" >"$tmp/out" 2>&1 && grep -q "cannot read $tmp/none: No such file" "$tmp/out" ||
	{ echo "dat_info --check does not refuse a file that does not exist:"; cat "$tmp/out"; status=1; }
! "$info" --check "$tmp" >"$tmp/out" 2>&1 && grep -q "cannot read $tmp: Is a directory" "$tmp/out" ||
	{ echo "dat_info --check does not refuse a folder:"; cat "$tmp/out"; status=1; }
exit $status
