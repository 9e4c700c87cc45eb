#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Consumers of uDAPL 1.2 and 2.0 connect to each other, each by its own registry and provider.
set -eu
if [ -n "${SAN:-}" ] || ! [ -e "$DAPL_BUILD_DIR/lib/libdapl-direct2.so" ]; then
	echo "needs the 2.0 provider, without a sanitizer"
	exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
flags="-std=gnu11 -O1 -Wall -Wextra"
${CC:-cc} $flags -Iinclude tests/dat2/interop/peer.c -o "$dir/peer12" -L"$DAPL_BUILD_DIR/lib" -ldat
${CC:-cc} $flags -DDAP_DAT20 tests/dat2/interop/peer.c -o "$dir/peer20" -ldat2
export LD_LIBRARY_PATH=$DAPL_BUILD_DIR/lib

peer() {	# peer LEVEL ARG...
	local level=$1 conf=dat.conf
	shift
	[ "$level" = 12 ] || conf=dat2.conf
	DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/$conf timeout -k 1 60 "$dir/peer$level" "$@"
}

qual=$((36000 + $$ % 20000))
for pair in 12:20 20:12 20:20; do
	peer "${pair%:*}" $qual >"$dir/server" 2>&1 &
	if ! peer "${pair#*:}" $qual client || ! wait $! || ! grep -q verified "$dir/server"; then
		cat "$dir/server"
		echo "server and client of $pair do not understand each other"
		exit 1
	fi
	qual=$((qual + 1))
done
