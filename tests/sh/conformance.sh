#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A statement reaches every return code of a page, unless the code is optional with a reason: build/conformance.md.
# Slow: only with DAPL_ALL=1.
[ -z "${SAN-}" ] || { echo "the suite conformance runs the statements under a sanitizer"; exit 77; }
exec scripts/conformance "$DAPL_BUILD_DIR"
