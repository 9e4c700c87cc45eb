#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The suites of the ConnectX on the software EFA of profile $PROFILE: the default here, others in their
# own scripts (efa-*.sh). Runs a selection; with DAPL_ALL=1 all of them. Other profiles run only transfers;
# with DAPL_ALL=1 also dat2, conformance and the rest of e2e. With a sanitizer, conformance runs only on the
# ConnectX, because it starts the most processes. Tests that an unordered device cannot pass are skipped by
# the provider attribute that announces it.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/skips.sh
export DAPL_TEST_IA=soft-efa-0 DAPL_EFA_PROFILE=${PROFILE:-wide}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
# With more than one job Criterion itself leaks.
jobs=$([ -n "${SAN-}" ] && echo 1 || echo 2)

# step NAME COMMAND...: runs the command as one step of this test
step() {
	local name=$1 start=$SECONDS log=$tmp/log
	shift
	if timeout -k 5 600 "$@" >"$log" 2>&1; then
		echo "$DAPL_EFA_PROFILE, $name: $(grep -a Synthesis "$log") ($((SECONDS - start)) s)"
		return
	fi
	echo "$DAPL_EFA_PROFILE, $name: failed"
	grep -aE '^\[(FAIL|----|====)' "$log" || tail -n 20 "$log"
	failed=1
}

suite() {
	step "$1${2:+ $2}" "$DAPL_BUILD_DIR/tests/$1" --verbose --jobs $jobs --timeout 100 ${2:+--filter "$2"}
	grep -qa 'Tested: [1-9]' "$tmp/log" || { echo "$1: no test has this name: ${2-}"; failed=1; }
	! unannounced "$tmp/log" || failed=1
}

level2() {
	[ -x "$DAPL_BUILD_DIR/tests/dat2" ] || return 0
	suite dat2
}

pingpong() {
	DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat.conf step dat_pingpong \
		"$DAPL_BUILD_DIR/bin/dat_pingpong" -i $DAPL_TEST_IA -n 100
}

# Runs the suites of programs in the manner of published ones, at both API levels.
programs() {
	suite programs
	[ ! -x "$DAPL_BUILD_DIR/tests/programs2" ] || suite programs2
}

attributes=$tmp/attributes
DAT_OVERRIDE=$DAPL_BUILD_DIR/etc/dat.conf "$DAPL_BUILD_DIR/bin/dat_info" -v -i $DAPL_TEST_IA >"$attributes" ||
	exit 1
if [ "${PROFILE-}" ] && [ "${DAPL_ALL-}" != 1 ]; then
	suite e2e '@(data_rdma|data_wake|bind_access|error_transfer|death_other)/*'
	exit $failed
fi
level2
[ -n "${SAN-}" ] || suite conformance
if [ "${DAPL_ALL-}" = 1 ]; then
	suite e2e
else
	suite e2e '@(data|dequeue|bind|error|death|fork|evd)*/*'
fi
[ -z "${PROFILE-}" ] || exit $failed
pingpong
programs
suite api
exit $failed
