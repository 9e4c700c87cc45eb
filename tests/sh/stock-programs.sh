#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The shortest case of each kind of scripts/check-stock.
set -u
. tests/harness/skip.sh
needs_preload
exec scripts/check-stock "$DAPL_BUILD_DIR" few
