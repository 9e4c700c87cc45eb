#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# CONFIGURE=--without-efa: libefa is neither included nor linked, even if it is installed. Options of configure,
# LDFLAGS and the removal of a source have an effect in an existing build, too.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
[ -x "$DAPL_BUILD_DIR/bin/softnic-run" ] || skip "softnic-run is not built: no rdma-core"
# A path of make cannot have a space, but TMPDIR may have one.
tmp=$(TMPDIR= mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS SAN CONFIGURE LDFLAGS

without_efa() { make BUILD="$tmp/build" CONFIGURE=--without-efa DEPS=no "$@" >"$tmp/out" 2>&1; }

without_efa CONFIGURE= -n all
if ! without_efa -n all; then
	echo "configure --without-efa fails:"
	tail -n 20 "$tmp/out"
	exit 1
fi
if grep -E 'efadv|-lefa\b' "$tmp/out" || ! grep -q 'hw_efa/ctl/ctl\.c' "$tmp/out"; then
	echo "a build --without-efa still contains the access through libefa"
	exit 1
fi
if ! without_efa WERROR=1 "$tmp/build/obj/hw_efa/ctl/ctl.o"; then
	echo "hw_efa does not compile --without-efa:"
	cat "$tmp/out"
	exit 1
fi
# tests/efadv/suite.mk names prerequisites, so make knows the target. Nothing links it.
without_efa -n "$tmp/build/tests/efadv"
if grep -q -- "-o $tmp/build/tests/efadv " "$tmp/out"; then
	echo "the suite efadv is built --without-efa"
	exit 1
fi

# A call without CONFIGURE keeps the options: `make install` needs none.
make BUILD="$tmp/build" DEPS=no -n all >"$tmp/out" 2>&1
if grep -q -- -lefa "$tmp/out"; then
	echo "a call of make without CONFIGURE loses --without-efa"
	exit 1
fi

# A library is linked again with other LDFLAGS.
for flags in '' -Wl,-z,now; do
	without_efa LDFLAGS=$flags "$tmp/build/lib/libdat.so.1" || { cat "$tmp/out"; exit 1; }
done
if ! readelf -d "$tmp/build/lib/libdat.so.1" | grep -q BIND_NOW; then
	echo "a library is not linked again with other LDFLAGS"
	exit 1
fi

# `make install`, perhaps by sudo, installs what was built.
make BUILD="$tmp/build" DEPS=no -n install >"$tmp/out" 2>&1
if grep -q -- "-o $tmp/build/lib/libdat.so.1" "$tmp/out"; then
	echo "make install links again, without LDFLAGS"
	exit 1
fi

# An archive is made again without a source that was removed.
for sources in 'hw_common/near.c hw_common/soft.c' hw_common/near.c; do
	without_efa HW_SRC="$sources" "$tmp/build/lib/libhw_common.a" || { cat "$tmp/out"; exit 1; }
done
if ar t "$tmp/build/lib/libhw_common.a" | grep soft; then
	echo "an archive keeps the object of a source that was removed"
	exit 1
fi
