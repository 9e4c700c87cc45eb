#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/harness/skips.sh finds a test that is skipped for an unannounced reason, and no other.
set -u
. tests/harness/skips.sh
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
attributes=$tmp/attributes
failed=0
DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat.conf "$DAPL_BUILD_DIR/bin/dat_info" -v -i soft-efa-0 >"$attributes" ||
	exit 1

# judge yes|no REASON: checks whether a skip with this reason is reported
judge() {
	local got=no
	echo "[SKIP] suite::test: $2" >"$tmp/log"
	unannounced "$tmp/log" >/dev/null && got=yes
	[ $got = "$1" ] || { echo "this skip was reported: $got, expected: $1: $2"; failed=1; }
}

judge no "the adapter says send_completion = at the peer's adapter"
judge no "send_completion is at the peer's adapter"
judge no "the adapter says srq_supported = FALSE"
judge no "srq_supported is false: dat_srq_create answers MODEL_NOT_SUPPORTED"
judge no "the adapter says scatter_cqe = "
judge no "Test is disabled"
judge yes "only the software ConnectX in this process has: fault="
judge yes "it is too hard"
judge yes "the adapter says send_completion = at the peer's consumer"
judge yes "the adapter says efa_rdma_write = emulated"
judge yes "the adapter says no_such_thing = FALSE"
judge yes "the adapter says no_such_thing = "
judge yes "no_such_thing is false"
exit $failed
