#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# scripts/first-light on the adapters that softnic-run shows, and on one that there is not.
set -u
run=$DAPL_BUILD_DIR/bin/softnic-run
. tests/harness/skip.sh
needs_preload
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0

timeout 100 "$run" scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/good" mlx5_0-1 >"$tmp/out" 2>&1 || {
	echo "first-light failed"
	cat "$tmp/out"
	status=1
}
for word in 'found mlx5_0-1 .NVIDIA ConnectX-6 Dx,.*firmware 22\.36' 'huge pages: ' 'locked memory: ' \
	'doorbells: 8-byte writes take [0-9.]+ us with BlueFlame, [0-9.]+ us with 8 bytes' \
	'failed: .*CQE.*; work: .*RDMA_WRITE' 'mlx5_0-1 opens' 'blueflame doorbells' '8-byte doorbells' 'statements: .* 0 FAIL' 'hca_id'; do
	grep -qE "$word" "$tmp/good" || { echo "no \"$word\" in the report"; status=1; }
done
if timeout 100 "$run" scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/bad" mlx5_9-1 >"$tmp/out" 2>&1; then
	echo "an adapter that does not exist passes"
	status=1
fi
# A failure is planted: no packet arrives. What the adapter says of it is in words, here and there.
if SOFTNIC_FAULT=drop=1 timeout 200 "$run" scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/lost" mlx5_0-1 \
	>"$tmp/out" 2>&1; then
	echo "an adapter whose packets are lost passes"
	status=1
fi
for file in "$tmp/lost" "$tmp/out"; do
	grep -qE 'failed: .*transport retries.*; work: ' "$file" || {
		echo "the failure is not decoded in ${file##*/}"
		cat "$tmp/out"
		status=1
	}
done
grep -q 'there is no RDMA device mlx5_9' "$tmp/bad" || { echo "no reason in the report"; status=1; }
[ -e "$DAPL_BUILD_DIR/lib/softnic-efadv.so" ] || exit $status		# built without libefa
SOFTNIC_EFADV=63 timeout 100 "$run" --efa scripts/first-light -q -b "$DAPL_BUILD_DIR" -o "$tmp/efa" efa_0-1 >"$tmp/out" 2>&1 || {
	echo "first-light of an EFA failed"
	cat "$tmp/out"
	status=1
}
for word in 'found efa_0-1 .Amazon EFA' 'efa_0-1 opens' 'pingpong, efa_window=4' 'pingpong, by events' \
	'connection is broken: CQE of SQ RDMA_WRITE' 'statements: .* 0 FAIL'; do
	grep -qE "$word" "$tmp/efa" || { echo "no \"$word\" in the report of an EFA"; status=1; }
done
exit $status
