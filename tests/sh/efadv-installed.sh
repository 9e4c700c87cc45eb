#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The libefa that is installed, with the two queries alone.
DAPL_COVERED= SHORT=1 ACCESS=efadv PROFILE=wide exec bash tests/sh/uverbs.sh
