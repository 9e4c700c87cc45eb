#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Each example runs by itself, with a time limit, and succeeds.
set -u
status=0
for source in examples/*.c; do
	name=$(basename "$source" .c)
	out=$(timeout -k 1 30 "$DAPL_BUILD_DIR/examples/$name" 2>&1 </dev/null)
	code=$?
	if [ $code != 0 ] || [ -z "$out" ]; then
		printf '%s\nexit status %s, or no output, of example %s\n' "$out" $code "$name"
		status=1
	fi
	if grep -q 'ia_name = ' "$source" && ! out=$(timeout -k 1 30 "$DAPL_BUILD_DIR/examples/$name" soft-efa-0 2>&1); then
		printf '%s\nexample %s fails on an EFA\n' "$out" "$name"
		status=1
	fi
	[ "$name" != storage ] || [[ $out = "1000 clients"* ]] || { echo "the example storage does not report 1000 clients: $out"; status=1; }
done
exit $status
