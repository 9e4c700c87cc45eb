#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The shortest case of each kind of scripts/check-stock.
set -u
if [ -n "${SAN-}" ]; then
	echo "a library under a sanitizer cannot be preloaded"
	exit 77
fi
exec scripts/check-stock "$DAPL_BUILD_DIR" few
