#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The suites of the ConnectX on the software EFA. DAPL_ALL=1: on each device that it can be.
set -u
suite() {
	DAPL_TEST_IA=soft-efa-0 timeout -k 5 280 "$DAPL_BUILD_DIR/tests/$1" -j2 --timeout 60 \
		${2:+--filter "$2"} >"$log" 2>&1 && return
	grep -E '^\[(FAIL|----|====)' "$log"
	echo "$1 $* failed on ${DAPL_EFA_PROFILE-the default device}"
	status=1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
profiles=wide
[ "${DAPL_ALL-}" = 1 ] && profiles="efa0 efa1 read write unsol wide reqid64"
for DAPL_EFA_PROFILE in $profiles; do
	export DAPL_EFA_PROFILE
	suite conformance
	suite e2e 'data_*/*'
	suite e2e 'bind_*/*'
	suite e2e 'error_*/*'
	[ "$DAPL_EFA_PROFILE" = wide ] && suite api
done
DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat.conf timeout -k 5 60 \
	"$DAPL_BUILD_DIR/bin/dat_pingpong" -i soft-efa-0 -n 100 >"$log" 2>&1 ||
	{ cat "$log"; status=1; }
exit $status
