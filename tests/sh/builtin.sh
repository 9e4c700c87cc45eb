#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Without a dat.conf of this package, libdat offers the software adapters of the provider beside it, from
# the build directory and without any variable. DAT_OVERRIDE and /etc/dat/dat.conf replace them.
set -u
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "a build with a sanitizer differs from the installed one"
unshare -rm true 2>/dev/null || skip "this user may not have a mount namespace"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bin=$DAPL_BUILD_DIR/bin
unset DAT_OVERRIDE LD_LIBRARY_PATH
status=0
export tmp

# with_etc COMMAND...: runs COMMAND with $tmp/etc as /etc
mkdir "$tmp/etc"
cp /etc/hosts /etc/nsswitch.conf /etc/passwd /etc/ld.so.cache "$tmp/etc" 2>/dev/null
with_etc() { unshare -rm sh -c 'mount --bind "$tmp/etc" /etc && exec timeout 60 "$@"' sh "$@" >"$tmp/out" 2>&1; }

fail() {
	echo "$*:"
	cat "$tmp/out"
	status=1
}

both='soft-mlx5-0 soft-mlx5-0 soft-efa-0 soft-efa-0 '
# lists NAMES WHERE: checks that the registry has exactly these names
lists() {
	with_etc "$bin/dat_info" -l
	[ "$(awk '$2 == "uDAPL" { printf "%s ", $1 }' "$tmp/out")" = "$1" ] || fail "$2, dat_info does not list \"$1\""
}

lists "$both" 'without a file'
with_etc "$bin/dat_pingpong" -n 100 -q || fail 'dat_pingpong fails without dat.conf'

# libdat2 has installed its own dat.conf.
echo "OpenIB-cma u1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 'ib0 0' ''
soft-mlx5-0 u2.0 nonthreadsafe default libdapl-direct2.so dapl_direct.2.0 '' ''" | tr "'" '"' >"$tmp/etc/dat.conf"
lists "OpenIB-cma $both" 'beside the lines of others in /etc/dat.conf'

# finds WHERE COMMAND...: a program that follows perftest opens its adapter with an option that changes ia_params. It
# looks up its host after that.
finds() {
	local where=$1
	shift
	with_etc "$@" -d soft-mlx5-0 -I 64 no.such.host
	grep -q '^cannot find the address of host no\.such\.host: ' "$tmp/out" || fail "$where, ${*##*/} does not open soft-mlx5-0 with -I"
}
finds 'beside a line of another level' "$bin/dat_write_lat"
finds 'with an empty DAT_OVERRIDE' env DAT_OVERRIDE= "$bin/dat_write_lat"
with_etc env DAT_OVERRIDE= "$bin/dat_migrate" && grep -q '^OpenIB-cma ' "$tmp/out" ||
	fail 'with an empty DAT_OVERRIDE, dat_migrate does not read /etc/dat.conf'

# libdat2 reads only /etc/dat.conf.
bin2=$DAPL_BUILD_DIR/libexec/dapl-direct/dat2
if [ -x "$bin2/dat_info" ]; then
	mkdir "$tmp/etc/dat"
	scripts/mkconf libdapl-direct.so >"$tmp/etc/dat/dat.conf"
	echo '# none' >"$tmp/etc/dat.conf"
	with_etc "$bin2/dat_info"
	grep -q '^no IA: /etc/dat.conf has no line for uDAPL 2.0;' "$tmp/out" || fail 'at 2.0, dat_info names another file than /etc/dat.conf'
	rm -r "$tmp/etc/dat"
fi

# A line of the same name in dat.conf comes first. If its library cannot be loaded, the built-in
# line is used.
echo 'soft-mlx5-0 u1.2 nonthreadsafe default /no/such/provider.so other.1.2 "" ""' >"$tmp/etc/dat.conf"
lists 'soft-mlx5-0 soft-mlx5-0 soft-efa-0 soft-efa-0 ' 'with a line of the same name'
with_etc "$bin/dat_info" -i soft-mlx5-0 || fail 'the built-in line is not used in place of a broken one'

# A package installs the provider in a directory below libdat, and a dat.conf that names no
# directory.
mkdir -p "$tmp/etc/dat" "$tmp/lib/dapl-direct"
cp "$DAPL_BUILD_DIR/lib/libdat.so.1" "$tmp/lib"
cp "$DAPL_BUILD_DIR/lib/libdapl-direct.so" "$tmp/lib/dapl-direct"
with_etc env LD_LIBRARY_PATH="$tmp/lib" "$bin/dat_pingpong" -n 10 -q || fail 'a provider below libdat is not found'
scripts/mkconf libdapl-direct.so >"$tmp/etc/dat/dat.conf"
with_etc env LD_LIBRARY_PATH="$tmp/lib" "$bin/dat_pingpong" -n 10 -q || fail 'a provider is not found by its name'
rm "$tmp/lib/dapl-direct/libdapl-direct.so"
with_etc env LD_LIBRARY_PATH="$tmp/lib" "$bin/dat_pingpong" -n 10 -q && fail 'dat_pingpong succeeds without a provider below libdat'

echo '# none' >"$tmp/etc/dat/dat.conf"
lists '' 'with an empty /etc/dat/dat.conf'
with_etc env DAT_OVERRIDE= "$bin/dat_info"
grep -q '^no IA: /etc/dat/dat.conf has no line' "$tmp/out" || fail 'with an empty DAT_OVERRIDE, dat_info names no file'
rm -r "$tmp/etc/dat" "$tmp/etc/dat.conf"
with_etc env DAT_OVERRIDE=/no/such/file "$bin/dat_info" -l && fail 'dat_info succeeds with a missing file in DAT_OVERRIDE'
grep -q DAT_INTERNAL_ERROR "$tmp/out" || fail 'dat_info does not report DAT_INTERNAL_ERROR for a missing file in DAT_OVERRIDE'

# There is neither a file nor a provider below libdat.
with_etc env LD_LIBRARY_PATH="$tmp/lib" "$bin/dat_info" && fail 'dat_info succeeds without a file and a provider'
grep -q '^no IA: there is no /etc/dat/dat.conf and no /etc/dat.conf; ' "$tmp/out" || fail 'dat_info does not say that there is no file'
exit $status
