#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A statement reaches every return code of a page, unless the code is optional with a reason: build/conformance.md.
# Slow: only with DAPL_ALL=1.
[ -z "${SAN-}" ] || { echo "the suite conformance runs the statements under a sanitizer"; exit 77; }
said=$(scripts/conformance "$DAPL_BUILD_DIR" no-such-ia 2>&1)
if ! grep -q '^conformance: .*no-such-ia' <<<"$said" || grep -q Traceback <<<"$said"; then
	echo "scripts/conformance gives no reason for an IA that does not open: $said"
	exit 1
fi
status=0
if grep -q '^soft-efa-0 ' "$DAT_OVERRIDE"; then
	scripts/conformance "$DAPL_BUILD_DIR" soft-efa-0 || status=1
fi
scripts/conformance "$DAPL_BUILD_DIR" || status=1
exit $status
