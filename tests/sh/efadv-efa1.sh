#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A device without RDMA and without events, by rdma-core 60.
SHORT=1 ACCESS=efadv SOFTNIC_EFADV=60 PROFILE=efa1 exec bash tests/sh/uverbs.sh
