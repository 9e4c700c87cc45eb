#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A software adapter listens only on the address that ip= in dat.conf gives it. Programs that run both sides on one
# host find it there, without HOST.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sed 's/ "" ""$/ "ip=127.0.0.5" ""/' "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/dat.conf"
export DAT_OVERRIDE=$tmp/dat.conf
status=0

# finds TEXT COMMAND...: checks that the command succeeds and prints TEXT
finds() {
	timeout -k 1 300 "${@:2}" >"$tmp/out" 2>&1 </dev/null && grep -q "$1" "$tmp/out" && return
	cat "$tmp/out"
	echo "this fails with ip=127.0.0.5, or does not print \"$1\": ${*:2}"
	status=1
}

finds 'all verified' "$DAPL_BUILD_DIR/bin/dat_pingpong" -q -n 5
finds 'all verified' "$DAPL_BUILD_DIR/bin/dat_pingpong" -q -n 5 -i soft-efa-0
finds '^latency' "$DAPL_BUILD_DIR/bin/dat_bench" -L -n 1000
# dat_qualify is slow under a sanitizer.
[ -n "${SAN-}" ] || finds '^PASS  *latency-bind ' "$DAPL_BUILD_DIR/bin/dat_qualify" run -q -i soft-mlx5-0 --steps latency-bind \
	-o "$tmp/bundle"
exit $status
