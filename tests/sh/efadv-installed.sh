#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The installed libefa, with only the two queries emulated.
DAPL_COVERED= SHORT=1 ACCESS=efadv PROFILE=wide exec bash tests/sh/uverbs.sh
