#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every return code that a page lists is reached, or is optional for a reason: build/conformance.md.
[ -z "${SAN-}" ] || { echo "the suite conformance runs the statements under a sanitizer"; exit 77; }
exec scripts/conformance "$DAPL_BUILD_DIR"
