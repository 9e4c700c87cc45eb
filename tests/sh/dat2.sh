#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# A few of Debian's own programs of uDAPL 2.0 on our provider; `make check-dat2` runs them all.
set -eu
if [ -n "${SAN:-}" ]; then
	echo "a sanitizer's libraries cannot be loaded into Debian's programs"
	exit 77
fi
if ! [ -e "$DAPL_BUILD_DIR/lib/libdapl-direct2.so" ] || ! command -v dapltest >/dev/null; then
	echo "libdapl-dev or dapl2-utils is missing"
	exit 77
fi
exec scripts/check-dat2 "$DAPL_BUILD_DIR" short
