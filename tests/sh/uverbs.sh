#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A driver through rdma-core: dat_pingpong, and the suites of API, transfers, conformance and uDAPL 2.0,
# on softnic-run's device. Runs a selection; with DAPL_ALL=1 all of them. ACCESS=vfio: the device is
# behind VFIO, and the child of a test has another one (vfio.sh). ACCESS=efadv: it is an EFA, of profile
# PROFILE (efadv.sh). SHORT=1, and access by DEVX: less of the selection. DAPL_COVERED=1: a selection
# nevertheless, because `make coverage` runs everything itself.
set -u
build=$DAPL_BUILD_DIR
run=$build/bin/softnic-run
ia=mlx5_0-1
access=${ACCESS:-devx}
export SOFTNIC_STRICT=1

. tests/harness/skip.sh
needs_preload

. tests/harness/background.sh
tmp=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$tmp"' EXIT
failed=0

# Behind VFIO no network interface has an address, and a device serves one process at a time.
if [ $access = vfio ]; then
	ia=0000:01:00.0
	export DAPL_TEST_CHILD_IA=0000:02:00.0,0000:03:00.0,0000:04:00.0 RIG_PARAMS=gid=auto
	for i in $ia ${DAPL_TEST_CHILD_IA//,/ }; do
		scripts/mkconf "$build/lib/libdapl-direct.so" gid=auto | sed -n "s/^mlx5_0-1 /$i /p"
	done >"$tmp/vfio.conf"
	export DAT_OVERRIDE=$tmp/vfio.conf
	mkdir "$tmp/etc"
	scripts/mkconf -2 "$build/lib/libdapl-direct2.so" gid=auto |
		sed -n "s/^mlx5_0-1 /$ia /p" >"$tmp/etc/dat2.conf"
	printf '#!/bin/sh\nexec %s --vfio --devices 4 "$@"\n' "$run" >"$tmp/run"
	chmod +x "$tmp/run"
	run=$tmp/run
fi
if [ $access = efadv ]; then
	[ -e "$build/lib/softnic-efadv.so" ] || skip "built without libefa"
	ia=efa_0-1
	printf '#!/bin/sh\nexec %s --efa --profile %s "$@"\n' "$run" "$PROFILE" >"$tmp/run"
	chmod +x "$tmp/run"
	run=$tmp/run
fi
export DAPL_TEST_IA=$ia
front=$run		# front: the command before each suite

# faults: prints the violations by this driver that the model found. An invalid key, address or right is
# the consumer's error, and so is a CQ that is never emptied.
faults() {
	grep -a 'softnic: violation' "$1" |
		grep -avE 'violation (mkey\.|remote\.|dma\.refused|cq\.overrun|rx\.|wqe\.lkey)'
}

# step NAME SUMMARY COMMAND...: checks that the command succeeds and prints the summary, and that
# the device reports no violation
step() {
	local name=$1 summary=$2 status start=$SECONDS
	shift 2
	timeout -k 5 300 "$@" >"$tmp/$name" 2>&1
	status=$?
	if [ $status = 0 ] && grep -qaE "$summary" "$tmp/$name" && ! faults "$tmp/$name"; then
		echo "$name: $(grep -aE "$summary" "$tmp/$name" | tail -n 1) ($((SECONDS - start)) s)"
		return
	fi
	echo "$name: status $status, no line with \"$summary\", or a violation:"
	grep -aE 'FAIL|Assertion|Synthesis|second process:' -A 3 "$tmp/$name" | head -n 40
	tail -n 20 "$tmp/$name"
	failed=1
}

# conformance: runs the statements of dat_conform; those in accesses.tsv may fail.
conformance() {
	local start=$SECONDS summary
	timeout -k 5 300 "$run" "$build/bin/dat_conform" -i $ia "$@" >"$tmp/conformance" 2>&1
	summary=$(grep -aE '^[0-9]+ statements: ' "$tmp/conformance")
	if [ -n "$summary" ] && ! faults "$tmp/conformance" &&
		! sed -n 's/^FAIL \([a-z0-9_]*\).*/\1/p' "$tmp/conformance" |
			grep -vxF -f <(listed FAIL '^[a-z0-9_]+$'); then
		echo "conformance: $summary ($((SECONDS - start)) s)"
		return
	fi
	echo "conformance has an unexpected failure or a violation: ${summary:-no summary}"
	grep -a '^FAIL' -A 3 "$tmp/conformance" | head -n 40
	failed=1
}

# pingpong IA [OPTION...]: runs dat_pingpong under softnic-run
pingpong() {
	local ia=$1 status
	local ping=("$build/bin/dat_pingpong" -i "$ia" -n 200)
	shift
	serve timeout -k 5 120 "$run" "$@" "${ping[@]}" -s
	step "pingpong-$ia$(printf '%s' "$@")" 'client: all verified' "$run" "$@" "${ping[@]}" -p $port 127.0.0.1
	wait $server
	status=$?
	server=
	[ $status = 0 ] && ! faults "$tmp/server" && return
	echo "dat_pingpong on $ia: the server ended with status $status or a violation:"
	cat "$tmp/server"
	failed=1
}

# listed VERDICT PATTERN: prints the entries of tests/data/accesses.tsv for this access that match
# the pattern
listed() {
	awk -F'\t' -v access=${access/devx/uverbs} -v verdict="$1" -v what="$2" \
		'($1 == access || $1 == "both") && $3 == verdict && $2 ~ what { print $2 }' \
		tests/data/accesses.tsv
}

suite() {
	local name=$1 without
	shift
	[ -x "$build/tests/$name" ] || { echo "$name: not built"; return; }
	without=$(listed 'NOT RUN' "^$name/" | sed "s|^$name/||" | paste -sd '|')
	[ $# != 0 ] || [ -z "$without" ] || set -- --filter "!(@($without))"
	step "$name" 'Synthesis: Tested: [1-9].*Failing: 0 .*Crashing: 0' $front "$build/tests/$name" --jobs 1 --verbose "$@"
	# With InfiniBand, the second side has an adapter of its own. A test may be skipped if the
	# adapter announces the reason. sh/accesses compares which statements of conformance are
	# skipped.
	[ "$front" = "$run" ] && [ "$name" != conformance ] || return
	grep -a '^\[SKIP\]' "$tmp/$name" | grep -avE ': (Test is disabled|the adapter says )' |
		grep -avF -f <(listed SKIP "^$name/" | sed "s|^$name/|[SKIP] |; s|/|::|; s|$|: |") || return
	echo "$name: the skips above are not listed in tests/data/accesses.tsv"
	failed=1
}

# dat20 FILTER: runs the suite of uDAPL 2.0, which finds etc/dat2.conf by itself.
dat20() {
	local DAPL_BUILD_DIR=$build
	[ $access != vfio ] || DAPL_BUILD_DIR=$tmp
	export DAPL_BUILD_DIR
	suite dat2 --filter "$1"
}

pingpong $ia
step info "access: $access" "$run" "$build/bin/dat_info" -i $ia
model='NVIDIA ConnectX-6 Dx,.* firmware 22\.36'
[ $access != efadv ] || model='Amazon EFA 0xefa'
step model "$model" "$run" "$build/bin/dat_info" -i $ia
if [ $access = devx ]; then
	# A second port, and InfiniBand ports. dat.conf names them like any other port.
	sed 's/^mlx5_0-1 /mlx5_0-2 /' "$DAT_OVERRIDE" >"$tmp/two.conf"
	cat "$DAT_OVERRIDE" >>"$tmp/two.conf"
	export DAT_OVERRIDE=$tmp/two.conf
	pingpong mlx5_0-2 --ports 2
	pingpong $ia --infiniband
	pingpong mlx5_0-2 --infiniband --ports 2
	step info-infiniband 'link_layer: infiniband' "$run" --infiniband "$build/bin/dat_info" -i $ia
fi
# Not behind VFIO, where a device serves one process.
if [ $access = devx ] || { [ $access = efadv ] && [ "${DAPL_ALL-}" = 1 ]; }; then
	suite programs
	suite programs2
fi
if [ "${DAPL_ALL-}" = 1 ] && [ -z "${DAPL_COVERED-}" ]; then
	suite api
	suite e2e
	dat20 '@(dat2|window|zero|counters)/*'
	if [ $access != efadv ]; then
		export DAPL_TEST_HUGE=1
		suite e2e
		suite api
		suite conformance
		dat20 '@(dat2|window|zero|counters)/*'
		unset DAPL_TEST_HUGE
	fi
	if [ $access = devx ]; then
		front="$run --infiniband"
		suite e2e --filter '@(data_message|data_rdma|bind_access|srq)/*'
		front=$run
		RIG_PARAMS=scatter_cqe=1 suite e2e --filter '@(data_message|data_rdma|srq)/*'
	fi
	conformance
elif [ $access = devx ] || [ -n "${SHORT-}" ]; then
	suite e2e --filter '@(data_rdma/*|bind_access/*|limits_memory/heap*)'
else
	suite api --filter '@(conn|evd|fail|mem|srq|stamp)/*'
	suite e2e --filter '@(data_message|data_wake|bind_access|error_flush|scatter_cqe)/*'
	[ $access = efadv ] || DAPL_TEST_HUGE=1 suite e2e --filter '@(data_rdma|srq)/*'
	[ $access != efadv ] || SOFTNIC_FAULT=unnamed=0.2 suite e2e --filter 'data_rdma/*'
	# not on an EFA, which has no windows of one endpoint
	dat20 "$([ $access = efadv ] && echo 'dat2/*' || echo '@(window/*|dat2/atomics__*)')"
	conformance -t 'rmr*'
fi
[ $access = efadv ] || DAPL_TEST_HUGE=1 DAPL_DBG_TYPE=0xff step huge 'queue memory in a huge page' \
	"$run" "$build/tests/e2e" --jobs 1 --filter 'data_rdma/write__of_every_size_lands_unchanged'

# misses_event RUN: ends endpoints with an SRQ. Succeeds if the driver logs that an end waited for the
# event Last WQE Reached, which did not come.
misses_event() {
	DAPL_DBG_TYPE=0xff step "last-wqe-$1" 'Synthesis: Tested: [1-9].*Failing: 0 .*Crashing: 0' \
		"$run" "$build/tests/e2e" --jobs 1 --filter 'srq/ep_free__returns_undequeued_receives'
	grep -qa 'no Last WQE Reached event' "$tmp/last-wqe-$1"
}

# On a loaded machine the event may be later than the driver waits, but not each time.
if [ $access != efadv ]; then
	missing=yes
	for try in 1 2 3 4 5 6 7 8; do
		misses_event $try || { missing=; break; }
	done
	if [ -n "$missing" ]; then
		echo "last-wqe: the end of an endpoint with an SRQ waits for an event that does not come"
		failed=1
	fi
	if ! SOFTNIC_FAULT=quirk=no_last_wqe misses_event missing; then
		echo "last-wqe: the driver does not log that the event is missing"
		failed=1
	fi
fi
exit $failed
