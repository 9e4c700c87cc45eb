#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What uverbs.sh asks of an adapter behind the kernel, of one behind VFIO.
ACCESS=vfio exec bash tests/sh/uverbs.sh
