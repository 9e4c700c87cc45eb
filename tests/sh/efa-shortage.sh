#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The suite shortage on the software EFA, with and without RDMA write: each allocation, request and
# descriptor fails in turn.
# Slow: only with DAPL_ALL=1.
export DAPL_TEST_IA=soft-efa-0
for DAPL_EFA_PROFILE in wide read; do
	export DAPL_EFA_PROFILE
	echo "== $DAPL_EFA_PROFILE"
	timeout -k 5 400 "$DAPL_BUILD_DIR/tests/shortage" --jobs "$([ -n "${SAN-}" ] && echo 1 || echo 2)" ||
		exit 1
done
