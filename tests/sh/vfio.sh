#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of uverbs.sh, on an adapter behind VFIO.
ACCESS=vfio exec bash tests/sh/uverbs.sh
