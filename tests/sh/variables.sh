#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Variables of OpenFabrics dapl: each one that should set a parameter does, and each one without effect
# is reported once.
set -u
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
info=$DAPL_BUILD_DIR/bin/dat_info
status=0

# says WORDS COUNT IA: opens the IA; COUNT lines of stderr must have WORDS
says() {
	local words=$1 count=$2 ia=$3
	"$info" -i "$ia" >"$tmp/out" 2>"$tmp/err" || { echo "$ia does not open"; status=1; }
	[ "$(grep -ce "$words" "$tmp/err")" = "$count" ] && return
	echo "$ia: stderr does not have $count lines with \"$words\":"
	cat "$tmp/err"
	status=1
}
DAPL_UCM_CQ_SIZE=2000 DAPL_DBG_TYPE=3 says 'DAPL_UCM_CQ_SIZE has no effect: ' 1 soft-mlx5-0
DAPL_UCM_CQ_SIZE=2000 says 'DAPL_UCM_CQ_SIZE' 0 soft-mlx5-0
DAPL_ACK_TIMER=20 DAPL_DBG_TYPE=3 says 'DAPL_ACK_TIMER' 0 soft-mlx5-0
DAPL_ACK_TIMER=20 DAPL_DBG_TYPE=3 \
	says 'DAPL_ACK_TIMER has no effect on soft-efa-0: the adapter has no parameter ack_timeout' 1 soft-efa-0
DAPL_VALIDATE=1 DAPL_DBG_TYPE=3 says 'DAPL_VALIDATE' 0 soft-efa-0
DAPL_MAX_INLINE=256 says 'DAPL_MAX_INLINE=256 is ignored: .* inline, which must be a number from 0 to 220' 1 soft-mlx5-0
grep -q 'provider inline: 188' "$tmp/out" || { echo "DAPL_MAX_INLINE=256 is not ignored"; status=1; }
DAPL_MAX_INLINE=64 says 'DAPL_MAX_INLINE' 0 soft-mlx5-0
grep -q 'provider inline: 64' "$tmp/out" || { echo "DAPL_MAX_INLINE=64 has no effect"; status=1; }
# On Ethernet a service level above 7 is ignored in a variable, and refused in ia_params. InfiniBand has
# such levels.
ignored='DAPL_IB_SL is ignored: its value 9 must be 0 to 7 on Ethernet'
DAPL_IB_SL=9 says "soft-mlx5-0: $ignored" 2 soft-mlx5-0
DAPL_IB_SL=7 says "DAPL_IB_SL" 0 soft-mlx5-0
printf 'ib0 u1.2 nonthreadsafe default libdapl-direct.so dapl_direct.1.2 "device=soft-mlx5-0 %s" ""\n' \
	'sl=low_latency:3' >"$tmp/dat.conf"
DAT_OVERRIDE=$tmp/dat.conf DAPL_IB_SL=9 says "$ignored" 1 ib0
sed 's/:3/:8/; s/sl=/dscp=1,sl=/' "$tmp/dat.conf" >"$tmp/refused.conf"
DAPL_IB_SL=9 DAT_OVERRIDE=$tmp/refused.conf "$info" -i ib0 >"$tmp/out" 2>&1 && { echo "dat_info opens ib0 with sl=8, an invalid value on Ethernet"; status=1; }
grep -q 'sl=8: must be 0 to 7 on Ethernet' "$tmp/out" || { echo "sl=8 is not refused:"; cat "$tmp/out"; status=1; }
exit $status
