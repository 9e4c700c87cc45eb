#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A device that writes, by rdma-core 59, which tells no doorbell to arm a CQ with.
DAPL_COVERED= SHORT=1 ACCESS=efadv SOFTNIC_EFADV=59 PROFILE=unsol exec bash tests/sh/uverbs.sh
