#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs with child processes, whose caller ignores SIGCHLD, as some supervisors do: they end, with the right status.
set -u
. tests/harness/perf-server.sh
status=0

# ignoring STATUS COMMAND...: checks the exit status of the command
ignoring() {
	local want=$1 got
	shift
	timeout -k 1 60 env --ignore-signal=CHLD "$@" >"$tmp/out" 2>&1 </dev/null
	got=$?
	[ $got = "$want" ] && return
	echo "$*: the status is $got instead of $want:"
	cat "$tmp/out"
	status=1
}

if [ -x "$bin/softnic-run" ] && [ -z "${SAN-}" ]; then
	ignoring 0 "$bin/softnic-run" true
	ignoring 3 "$bin/softnic-run" bash -c 'exit 3'
fi
ignoring 0 "$bin/dat_pingpong" -q -n 10 -p $port
# The allocator of the address sanitizer of gcc 12 stays locked in a child if another thread used it during the fork.
if [ -z "${SAN-}" ]; then
	serve "$bin/dat_conn_rate"
	ignoring 0 "$bin/dat_conn_rate" -p $port --processes 2 -n 5 127.0.0.1
fi
exit $status
