#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hw_efa through unmodified libibverbs and libefa: what uverbs.sh asks of a ConnectX, on the EFA that
# softnic-run shows, and with the calls of rdma-core 63. Other releases and devices: efadv-*.sh.
# RDMA_CORE=DIR: the newer rdma-core that is built in DIR (CONTRIBUTING.md), and nothing in its place.
export SOFTNIC_EFADV=63
[ -z "${RDMA_CORE-}" ] || export SOFTNIC_EFADV=none LD_LIBRARY_PATH=$RDMA_CORE/lib:$LD_LIBRARY_PATH
ACCESS=efadv PROFILE=${PROFILE:-wide} exec bash tests/sh/uverbs.sh
