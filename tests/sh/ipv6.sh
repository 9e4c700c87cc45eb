#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Two processes whose adapters have the address ::1: dat_info, perf programs and an example on both software
# adapters, and programs of uDAPL 2.0 where they are installed.
set -u
. tests/harness/perf-server.sh
. tests/harness/skip.sh
grep -qs ' lo$' /proc/net/if_inet6 || skip "no IPv6 on this machine: lo has no address ::1"
sed 's/ "" ""$/ "ip=::1" ""/' "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/dat.conf"
export DAT_OVERRIDE=$tmp/dat.conf

must() {	# must TEXT COMMAND...: checks that the command succeeds and prints TEXT
	local text=$1
	shift
	timeout -k 1 60 "$@" >"$tmp/out" 2>&1 </dev/null && grep -qe "$text" "$tmp/out" && return
	cat "$tmp/out"
	echo "this fails, or does not print \"$text\": $*"
	exit 1
}

served() {	# checks that the server has ended without an error
	wait $server || { cat "$tmp/server"; echo "the server ended with an error"; exit 1; }
	server=
}

for ia in soft-mlx5-0 soft-efa-0; do
	must 'address ::1$' "$bin/dat_info" -i $ia
	serve timeout -k 1 60 "$bin/dat_pingpong" -s -i $ia
	must 'all verified' "$bin/dat_pingpong" -q -i $ia -n 50 -p $port ::1
	served
	serve timeout -k 1 60 "$bin/dat_write_lat" -d $ia
	must '#bytes' "$bin/dat_write_lat" -d $ia -p $port -n 50 ::1
	served
done
hello=$DAPL_BUILD_DIR/examples/hello
# The qualifier of this example is fixed: another program may have its port for a while.
for try in 1 2 3 4 5; do
	beside "$tmp/hello" timeout -k 1 60 "$hello" -s
	client=$!
	timeout -k 1 60 "$hello" ::1
	status=$?
	wait $client && served=0 || served=$?
	grep -q CONN_QUAL_IN_USE "$tmp/hello" || break
	sleep 2
done
[ $status = 0 ] || exit 1
[ $served = 0 ] && [ -s "$tmp/hello" ] || { cat "$tmp/hello"; echo "hello -s received nothing"; exit 1; }
client=

# The same tests at uDAPL 2.0. libdat2 reads etc/dat2.conf of the folder before main().
tests=$DAPL_BUILD_DIR/tests/dat2
[ -x "$tests" ] && [ -e "$DAPL_BUILD_DIR/etc/dat2.conf" ] || exit 0
mkdir "$tmp/etc"
sed 's/ "" ""$/ "ip=::1" ""/' "$DAPL_BUILD_DIR/etc/dat2.conf" >"$tmp/etc/dat2.conf"
for ia in soft-mlx5-0 soft-efa-0; do
	must 'Passing: [1-9].*Failing: 0 .*Crashing: 0' env -u DAT_OVERRIDE DAPL_BUILD_DIR="$tmp" DAPL_TEST_IA=$ia \
		"$tests" --filter '@(calls/*|dat2/csp__is_reached_by_its_port)'
done
