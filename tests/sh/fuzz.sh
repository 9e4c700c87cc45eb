#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each fuzz target accepts the inputs in its corpus, among them all that once found a defect.
set -u
status=0
export DAT_DBG_TYPE=0 DAPL_DBG_TYPE=0 DAPL_DBG_ABORT=1

for target in "$DAPL_BUILD_DIR"/tests/fuzz/*; do
	timeout 300 "$target" "tests/fuzz/corpus/${target##*/}" && continue
	echo "fuzz: $target failed with the last input above"
	status=1
done
exit $status
