#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's libibverbs, libefa and libfabric on the software EFA: a case of each kind on the device
# without RDMA and on the one with RDMA read; with DAPL_ALL=1 every profile. tests/stock/efa.sh says
# what of a profile these judges cover.
set -u
if [ -n "${SAN-}" ]; then
	echo "a library under a sanitizer cannot be preloaded"
	exit 77
fi
few=few
[ -z "${DAPL_ALL-}" ] || few=
exec scripts/check-stock "$DAPL_BUILD_DIR" $few efa
