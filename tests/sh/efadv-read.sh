#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of efadv.sh on a device without RDMA write, with rdma-core 60.
# Slow: only with DAPL_ALL=1.
SHORT=1 ACCESS=efadv SOFTNIC_EFADV=60 PROFILE=read exec bash tests/sh/uverbs.sh
