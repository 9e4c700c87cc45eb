#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each allocation, request and descriptor lacking in turn, on the software EFA, with RDMA and without.
# Connections and binds take minutes on a busy machine: with DAPL_ALL=1.
export DAPL_TEST_IA=soft-efa-0
only='@(create|cno_modify|resize|ep_modify|wait|async)*' limit=140
[ "${DAPL_ALL-}" != 1 ] || only='*' limit=290
for DAPL_EFA_PROFILE in wide efa0; do
	export DAPL_EFA_PROFILE
	echo "== $DAPL_EFA_PROFILE"
	timeout -k 5 $limit "$DAPL_BUILD_DIR/tests/shortage" --jobs "$([ -n "${SAN-}" ] && echo 1 || echo 2)" \
		--filter "shortage/$only" || exit 1
done
