#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_pingpong -n 0: if either side is killed, the other gets BROKEN and soon exits with status 1.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh

start() {
	serve "$bin/dat_pingpong" -s $1
	beside "$tmp/client" "$bin/dat_pingpong" -q -n 0 -p $port $1 127.0.0.1
	client=$!
	# Waits for some rounds: the client prints a line every two seconds.
	until_said $client "$tmp/client" 'rounds$' && return 0
	echo "dat_pingpong finished no round"; cat "$tmp/server" "$tmp/client"
	return 1
}

# survivor PID FILE WHO: checks that the process exits by itself, with status 1 and a BROKEN event
survivor() {
	local i status
	for i in $(seq 300); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -0 "$1" 2>/dev/null && { echo "$3 continues without its peer"; cat "$2"; return 1; }
	wait "$1"
	status=$?
	[ $status = 1 ] || { echo "$3 ended with status $status, not 1"; cat "$2"; return 1; }
	grep -q 'connection ended: BROKEN' "$2" || { echo "$3 saw no BROKEN"; cat "$2"; return 1; }
}

for mode in "" -e; do
	start "$mode" || exit 1
	kill -9 $server
	wait $server 2>/dev/null
	survivor $client "$tmp/client" "client $mode" || exit 1
	start "$mode" || exit 1
	kill -9 $client
	wait $client 2>/dev/null
	survivor $server "$tmp/server" "server $mode" || exit 1
done
