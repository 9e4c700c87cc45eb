#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_pingpong -n 0: when either side is killed the other sees BROKEN and ends with status 1, soon.
set -u
bin=$DAPL_BUILD_DIR/bin/dat_pingpong
tmp=$(mktemp -d)
trap 'kill -9 $server $client 2>/dev/null; rm -rf "$tmp"' EXIT
server= client=

start() {
	local port=$((21000 + RANDOM % 9000))
	: >"$tmp/server" && : >"$tmp/client"
	timeout -k 1 60 "$bin" -s -q -p $port $1 >"$tmp/server" 2>&1 &
	server=$!
	timeout -k 1 60 "$bin" -q -n 0 -p $port $1 127.0.0.1 >"$tmp/client" 2>&1 &
	client=$!
	# A few rounds must have gone by: the client tells every two seconds.
	for _ in $(seq 100); do
		grep -q 'rounds$' "$tmp/client" && return 0
		kill -0 $client 2>/dev/null || break
		sleep 0.1
	done
	echo "no round went by"; cat "$tmp/server" "$tmp/client"
	return 1
}

# survivor PID FILE WHO: ends by itself within 5 seconds, with status 1 and a BROKEN event
survivor() {
	local i status
	for i in $(seq 50); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -0 "$1" 2>/dev/null && { echo "$3 goes on without its peer"; cat "$2"; return 1; }
	wait "$1"
	status=$?
	[ $status = 1 ] || { echo "$3 ended with status $status, not 1"; cat "$2"; return 1; }
	grep -q 'connection ended: BROKEN' "$2" || { echo "$3 saw no BROKEN"; cat "$2"; return 1; }
}

# The program is the one child of the timeout that watches it.
victim() {
	local stat
	for stat in /proc/[0-9]*/stat; do
		[ "$(awk '{ sub(/.*\) /, ""); print $2 }' "$stat" 2>/dev/null)" = "$1" ] &&
			kill -9 "$(basename "$(dirname "$stat")")"
	done
}

for mode in "" -e; do
	start "$mode" || exit 1
	victim $server
	survivor $client "$tmp/client" "client $mode" || exit 1
	start "$mode" || exit 1
	victim $client
	survivor $server "$tmp/server" "server $mode" || exit 1
done
