#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Random calls of two processes on each software adapter, judged by a model of DAT. DAPL_ALL=1: ten times as many.
set -u
walks=$([ "${DAPL_ALL-}" ] && echo 600 || echo 60)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
status=0

for ia in soft-mlx5-0 soft-efa-0; do
	"$DAPL_BUILD_DIR/tests/dat_walk" -i $ia -s "${WALK_SEED:-1}" -n $walks -o "$out/walk.c" && continue
	status=1
	cat "$out/walk.c" 2>/dev/null
done
exit $status
