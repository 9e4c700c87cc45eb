#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The shortest case of each kind of scripts/check-stock.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skip.sh
needs_preload
exec scripts/check-stock "$DAPL_BUILD_DIR" few
