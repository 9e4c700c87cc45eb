#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every call that libdat exports and every program has a manual page, and mandoc finds no error in one.
set -u
status=0
calls=$(nm -D --defined-only "$DAPL_BUILD_DIR/lib/libdat.so.1" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }')
programs=$(find "$DAPL_BUILD_DIR/bin" -type f -executable -printf '%f\n' 2>/dev/null)
if ! ls man/*.[1-8]* >/dev/null 2>&1; then
	echo "no manual pages in this tree yet"
	exit 77
fi
for name in $calls $programs; do
	if ! ls man/"$name".[1-8]* >/dev/null 2>&1; then
		echo "no manual page: $name"
		status=1
	fi
done
for page in man/*.[1-8]*; do
	mandoc -T lint -W error "$page" || status=1
done
exit $status
