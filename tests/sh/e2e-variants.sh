#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Transfers and windows again on other variants of post and poll: threadsafe IAs, the doorbells of
# hardware, a device that delays work and poisons consumed WQEs, another inline limit. Runs a selection; with
# DAPL_ALL=1 all of them.
# Slow: only with DAPL_ALL=1.
set -u
bin=$DAPL_BUILD_DIR/tests/e2e
status=0
# With more than one job Criterion itself leaks.
jobs=$([ -n "${SAN-}" ] && echo 1 || echo 2)

variant() {
	echo "== $1, threadsafe $2"
	RIG_PARAMS=$1 RIG_THREADSAFE=$2 timeout -k 5 300 "$bin" --jobs $jobs \
		--filter '@(data_message|data_post|data_rdma|data_wake|dequeue_n|bind_access|error_flush)/*' 2>&1 |
		awk '/the device model found driver errors/ { next } 1; /Tested: [1-9]/ { found = 1 } END { exit !found }'
	[ "${PIPESTATUS[*]}" = '0 0' ] || status=1
}

[ -x "$bin" ] || { echo "the suite e2e is not built"; exit 77; }
variant "variant=silicon;scatter_cqe=2;adversarial=1" 1
variant "inline=0;bf_eps=0" 1
variant "isa=base" 0
[ "${DAPL_ALL-}" = 1 ] || exit $status
variant "variant=silicon" 0
variant "variant=silicon;adversarial=1" 1
variant "adversarial=1" 0
variant "scatter_cqe=1" 0
variant "variant=silicon;isa=base" 1
exit $status
