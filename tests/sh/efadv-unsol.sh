#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of efadv.sh on a device with RDMA write, with rdma-core 59, which reports no CQ
# doorbell.
# Slow: only with DAPL_ALL=1.
SHORT=1 ACCESS=efadv SOFTNIC_EFADV=59 PROFILE=unsol exec bash tests/sh/uverbs.sh
