#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Consumers of uDAPL 1.2 and 2.0 connect to each other, each through its own registry and provider.
set -eu
if [ -n "${SAN:-}" ] || ! [ -e "$DAPL_BUILD_DIR/lib/libdapl-direct2.so" ]; then
	echo "needs the 2.0 provider, without a sanitizer"
	exit 77
fi
. tests/harness/background.sh
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

# pair IA SERVER CLIENT: connects two consumers over this IA, whose levels are SERVER and CLIENT
pair() {
	local qual pid
	beside "$dir/server" peer "$2" "$1"
	pid=$!
	until_said $pid "$dir/server" '^qualifier ' || :
	qual=$(sed -n 's/^qualifier //p' "$dir/server")
	if ! peer "$3" "$1" "${qual:-0}" || ! wait $pid || ! grep -q verified "$dir/server"; then
		cat "$dir/server"
		echo "$1: server of $2 and client of $3 failed to exchange data"
		exit 1
	fi
	echo "$1: server of $2, client of $3"
}

for ia in soft-mlx5-0 soft-efa-0; do
	pair $ia 12 20
	pair $ia 20 12
	pair $ia 20 20
done
