#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every return code on a page is reached, or is optional with a reason: build/conformance.md.
[ -z "${SAN-}" ] || { echo "the suite conformance runs the statements under a sanitizer"; exit 77; }
exec scripts/conformance "$DAPL_BUILD_DIR"
