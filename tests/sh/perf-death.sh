#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# When one side of a program with perftest's habits is killed in the middle, the other one says so and
# ends with status 1, soon.
set -u
bin=$DAPL_BUILD_DIR/bin
tmp=$(mktemp -d)
server= client=
trap 'kill -9 $server $client 2>/dev/null; rm -rf "$tmp"' EXIT
port=$((21000 + RANDOM % 9000))

# start PROGRAM OPTION...: the client measures, for half a minute if nobody stops it
start() {
	local program=$1
	shift
	port=$((port + 7))
	"$bin/$program" -p $port >"$tmp/server" 2>&1 </dev/null &
	server=$!
	for _ in $(seq 200); do
		grep -q 'Waiting for client' "$tmp/server" && break
		sleep 0.02
	done
	"$bin/$program" -p $port -D 30 "$@" 127.0.0.1 >"$tmp/client" 2>&1 </dev/null &
	client=$!
	for _ in $(seq 400); do
		grep -q '^ #' "$tmp/client" && { sleep 0.3; return 0; }
		sleep 0.02
	done
	echo "$program $*: nothing is measured"
	cat "$tmp/server" "$tmp/client"
	exit 1
}

# survivor PID FILE WHO
survivor() {
	local status
	for _ in $(seq 100); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -0 "$1" 2>/dev/null && { echo "$3 goes on without its peer"; cat "$2"; exit 1; }
	wait "$1"
	status=$?
	[ $status = 1 ] && grep -qE 'connection ended: (BROKEN|DISCONNECTED)|: (BROKEN|NON_PEER_REJECTED|UNREACHABLE)$' "$2" && return 0
	echo "$3 ended with status $status"
	cat "$2"
	exit 1
}

for program in dat_write_lat dat_write_bw dat_read_lat dat_read_bw dat_send_lat dat_send_bw \
	dat_bind_lat dat_bind_bw dat_conn_rate "dat_send_lat -e" "dat_send_bw -b" \
	"dat_write_bw --target-polls"; do
	start $program
	kill -9 $server
	wait $server 2>/dev/null
	survivor $client "$tmp/client" "client of $program"
	start $program
	kill -9 $client
	wait $client 2>/dev/null
	survivor $server "$tmp/server" "server of $program"
done
server= client=
