#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of uverbs.sh, on an adapter behind VFIO.
# Slow: only with DAPL_ALL=1.
ACCESS=vfio exec bash tests/sh/uverbs.sh
