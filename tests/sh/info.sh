#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_info where dat.conf names no adapter: it says which file it was, and gives the line that is missing.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export DAT_OVERRIDE=$tmp/dat.conf
info=$DAPL_BUILD_DIR/bin/dat_info

fail() {
	echo "$*"
	cat "$tmp/out"
	exit 1
}

echo '# nothing' >"$DAT_OVERRIDE"
"$info" >"$tmp/out" 2>&1
[ $? = 1 ] || fail "without an adapter it ends well"
grep -q "no IA: $DAT_OVERRIDE has no line for uDAPL 1.2; DAT_OVERRIDE" "$tmp/out" || fail "it does not name the file"

for ia in soft-mlx5-0 soft-efa-0; do
	line=$(sed -n "s/.*with this line it would be there: \($ia \)/\1/p" "$tmp/out")
	[ -n "$line" ] || fail "no line for $ia"
	echo "$line" >>"$DAT_OVERRIDE"
	"$info" -i $ia >"$tmp/$ia" 2>&1 || { cat "$tmp/$ia"; fail "its line for $ia does not open it"; }
done
"$info" >"$tmp/out" 2>&1 || fail "named adapters do not open"
! grep -q 'soft-mlx5-0  no line' "$tmp/out" || fail "what is named is told to be missing"
