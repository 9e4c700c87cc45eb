#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Adapters that cannot be opened, behind softnic-run: dat_info prints the reason and the cure for each.
set -u
build=$DAPL_BUILD_DIR
run=$build/bin/softnic-run
. tests/harness/skip.sh
needs_preload
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# refused WORDS CURE COMMAND...: checks that the command fails, and prints both, and the return code in $code, if
# any
refused() {
	local words=$1 cure=$2
	shift 2
	if timeout 120 "$@" >"$tmp/out" 2>&1; then
		echo "$*: the IA opens, but should be refused:"
	elif ! grep -q "$words" "$tmp/out" || ! grep -q "$cure" "$tmp/out" || ! grep -q "${code-}" "$tmp/out"; then
		echo "$*: the message does not have \"$words\", \"$cure\" and \"${code-}\":"
	else
		return
	fi
	cat "$tmp/out"
	failed=1
}

info() { "$run" "$@" "$build/bin/dat_info" -i mlx5_0-1; }
export -f info
export run build
refused 'has no DEVX' 'update both' env SOFTNIC_NO_DEVX=1 bash -c info
refused 'port 1 of mlx5_0 is down' 'ip link' env SOFTNIC_FAULT=link_down bash -c info
refused 'is down' 'opensm' env SOFTNIC_FAULT=link_down bash -c 'info --infiniband'
refused 'there is no RDMA device mlx5_0' 'load the module mlx5_ib or efa' bash -c 'info --devices 0'
refused 'cannot open mlx5_0: it has failed' 'see dmesg' env SOFTNIC_FAULT=fatal bash -c info
refused 'fault script: drop:op=wirte: must be send, write' 'rnr_nak' env SOFTNIC_FAULT=drop:op=wirte bash -c info
sed 's/ "" ""$/ "pkey=0x7" ""/' "$DAT_OVERRIDE" >"$tmp/pkey.conf"
refused 'not in partition 0x7' 'pkey=' env DAT_OVERRIDE="$tmp/pkey.conf" bash -c 'info --infiniband'
sed 's/ "" ""$/ "gid_index=9" ""/' "$DAT_OVERRIDE" >"$tmp/gid.conf"
refused 'entry 9 of the GID table' 'gid_index=' env DAT_OVERRIDE="$tmp/gid.conf" bash -c info
sed 's/ "" ""$/ "efa_window=8" ""/' "$DAT_OVERRIDE" >"$tmp/efa.conf"
refused 'efa_window=8: this adapter has no such key' 'dapl-direct(7)' env DAT_OVERRIDE="$tmp/efa.conf" bash -c info

# Three are refused: an adapter of the first generation, a libefa without the queries of queues, and a
# port that does not exist.
. tests/harness/libefa.sh
release=$(libefa_release)
[ -n "$release" ] || exit $failed		# not if libefa was missing at the build
info() { "$run" --efa "$@" "$build/bin/dat_info" -i efa_0-1; }
refused 'fault script: corrupt: a rule of this adapter' 'reorder' env SOFTNIC_FAULT=corrupt:op=ack bash -c info
[ "$release" -ge 59 ] ||
	refused 'no efadv_query_qp_wqs' 'rdma-core 59 or newer' env SOFTNIC_EFADV=none bash -c info
code=DAT_MODEL_NOT_SUPPORTED refused 'first generation\|Nitro v3' 'a later one\|Nitro v4' bash -c 'info --profile efa0'
# libefa 56 creates CQs with entries of 32 bytes on any device.
[ "$release" -ge 56 ] ||
	refused '16-byte entries\|completion queue' 'rdma-core 59 or newer' bash -c 'info --profile efa1'
# A later generation without RDMA read is refused, both with a libefa that can query its queues, and as
# software EFA.
[ "$release" -lt 63 ] && queries=63 || queries=none
code=DAT_MODEL_NOT_SUPPORTED refused 'PCI id 0xefa1) has no RDMA read' 'Nitro v4 or newer' env SOFTNIC_EFADV=$queries \
	bash -c 'info --profile efa1'
code=DAT_MODEL_NOT_SUPPORTED refused 'PCI id 0xefa0) has no RDMA read' 'efa_profile=read' env DAPL_EFA_PROFILE=efa0 \
	"$build/bin/dat_info" -i soft-efa-0
sed 's/^efa_0-1 /efa_0-2 /' "$DAT_OVERRIDE" >"$tmp/port.conf"
refused 'efa_0 has no port 2' '' env DAT_OVERRIDE="$tmp/port.conf" \
	"$run" --efa "$build/bin/dat_info" -i efa_0-2
sed 's/ "" ""$/ "rnr_retry=7" ""/' "$DAT_OVERRIDE" >"$tmp/mlx5.conf"
refused 'rnr_retry=7: this adapter has no such key' 'dapl-direct(7)' env DAT_OVERRIDE="$tmp/mlx5.conf" bash -c info
# hw_mlx5 gets each name first, and ignores the parameters of other backends.
if ! DAT_OVERRIDE=$tmp/efa.conf timeout 120 bash -c info >"$tmp/out" 2>&1; then
	echo "efa_0-1 does not open with an EFA's parameter:"
	cat "$tmp/out"
	failed=1
fi
exit $failed
