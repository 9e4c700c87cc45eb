#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# make install installs everything that a consumer needs, and make uninstall removes it again.
set -eu
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
# The variables of the make that runs this test, without its jobserver.
MAKEFLAGS=$(sed -E 's/ ?-j[0-9]*//; s/ ?--jobserver-auth=[^ ]*//' <<<"${MAKEFLAGS-}")
export MAKEFLAGS
prefix=/opt/dat
install() { make -s PREFIX=$prefix DESTDIR="$root" "$@"; }

# `make run` and `make install` work without the packages of the tests, on which the debug information of a program
# would show.
grep -q include/criterion "$DAPL_BUILD_DIR/tests/core" ||
	{ echo "a suite does not show that it uses Criterion"; exit 1; }
if grep -l include/criterion "$DAPL_BUILD_DIR"/bin/* "$DAPL_BUILD_DIR"/lib/*.so; then
	echo "these programs and libraries cannot be built without Criterion"
	exit 1
fi

install install
export PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
cat >"$root/consumer.c" <<END
#include <dat/udat.h>
int main(void)
{
	const char *major, *minor;

	return dat_strerror(DAT_SUCCESS, &major, &minor) != DAT_SUCCESS;
}
END
${CC:-gcc} ${SAN:+-fsanitize=$SAN} -o "$root/consumer" "$root/consumer.c" $(pkg-config --cflags --libs dat)
LD_LIBRARY_PATH=$root$prefix/lib "$root/consumer"
grep -q "^soft-mlx5-0 .* $prefix/lib/libdapl-direct.so " "$root/etc/dat/dat.conf"
# Many programs open the first adapter that works, so the software adapters are last.
[ "$(awk '!/^#/ { print $1 }' "$root/etc/dat/dat.conf" | uniq | tail -n 2 | tr '\n' ' ')" = 'soft-mlx5-0 soft-efa-0 ' ] ||
	{ echo "dat.conf does not list software adapters last:"; cat "$root/etc/dat/dat.conf"; exit 1; }
rm "$root"/consumer*

install uninstall
left=$(find "$root" ! -type d -o -name dapl-direct -o -path '*/etc/dat')
if [ -n "$left" ]; then
	echo "make uninstall leaves: $left"
	exit 1
fi

# On a full disk no part of a dat.conf stays, which the next make install would keep.
if unshare -rm true 2>/dev/null; then
	export -f install
	export root prefix
	unshare -rm bash -ec '
		mkdir "$root/etc/dat"
		mount -t tmpfs -o size=4k none "$root/etc/dat"
		head -c 4096 /dev/zero >"$root/etc/dat/full"
		if install install >/dev/null 2>&1; then echo "make install succeeds on a full disk"; exit 1; fi
		[ ! -e "$root/etc/dat/dat.conf" ] || { echo "make install leaves a part of a dat.conf"; exit 1; }'
	install uninstall
fi

# A prefix may have a blank.
make -s PREFIX='/opt/my dat' DESTDIR="$root" install
echo '#include <dat/udat.h>' >"$root/blank.c"
eval "${CC:-gcc} -c -o '$root/blank.o' '$root/blank.c' $(PKG_CONFIG_PATH="$root/opt/my dat/lib/pkgconfig" pkg-config --cflags dat)"
PKG_CONFIG_PATH="$root/opt/my dat/lib/pkgconfig" pkg-config --libs dat | grep -qF "my\ dat/lib -ldat"
rm "$root"/blank.*
make -s PREFIX='/opt/my dat' DESTDIR="$root" uninstall

# In a multiarch library directory programs find the libraries without any variable, as with pkg-config.
arch=lib/$(${CC:-gcc} -print-multiarch)
if [ "$arch" != lib/ ]; then
	own=(PREFIX=/usr LIBDIR="/usr/$arch")
	make -s "${own[@]}" DESTDIR="$root" install
	grep -q "^soft-mlx5-0 .* /usr/$arch/libdapl-direct.so " "$root/etc/dat/dat.conf"
	PKG_CONFIG_PATH=$root/usr/$arch/pkgconfig pkg-config --libs dat | grep -q -- "-L$root/usr/$arch "
	found=$(env -u LD_LIBRARY_PATH ldd "$root/usr/bin/dat_info" | awk '$1 == "libdat.so.1" { print $3 }')
	[ "$(realpath "$found")" = "$root/usr/$arch/libdat.so.1" ] ||
		{ echo "dat_info loads libdat.so.1 from ${found:-no path}"; exit 1; }
	env -u LD_LIBRARY_PATH DAT_OVERRIDE=/dev/null "$root/usr/bin/dat_info" -l >"$root/said" || true
	grep -q '^no IA' "$root/said" || { cat "$root/said"; exit 1; }
	if [ -x "$root/usr/bin/softnic-run" ] && [ -z "${SAN-}" ]; then
		env -u LD_LIBRARY_PATH "$root/usr/bin/softnic-run" true || exit 1
	fi
	rm "$root/said"
	make -s "${own[@]}" DESTDIR="$root" uninstall
	left=$(find "$root" ! -type d)
	[ -z "$left" ] || { echo "make uninstall leaves: $left"; exit 1; }
fi

# Without DESTDIR the installation is for this system. If the user cannot register the library, a
# message explains how programs find it.
printf '#!/bin/sh\nexit 1\n' >"$root/ldconfig"
chmod +x "$root/ldconfig"
own=(PREFIX="$root/own" SYSCONFDIR="$root/own/etc")
PATH=$root:$PATH make -s "${own[@]}" install >"$root/said"
grep -q "LD_LIBRARY_PATH=$root/own/lib$" "$root/said" || { cat "$root/said"; exit 1; }
