#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The tests of efadv.sh with the installed libefa: only the two queries are emulated.
# Slow: only with DAPL_ALL=1.
DAPL_COVERED= SHORT=1 ACCESS=efadv PROFILE=wide exec bash tests/sh/uverbs.sh
