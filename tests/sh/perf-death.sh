#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# If one side of a program that follows perftest is killed during a run, the other side reports it and
# soon exits with status 1.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh

# start PROGRAM OPTION...: starts a server and a client that measures for minutes, until it is
# stopped
start() {
	local program=$1
	shift
	serve "$bin/$program" -d $ia
	beside "$tmp/client" "$bin/$program" -p $port -d $ia -D 300 "$@" 127.0.0.1
	client=$!
	until_said $client "$tmp/client" '^ #' && return 0
	echo "$program $*: the measurement did not begin in time"
	cat "$tmp/server" "$tmp/client"
	exit 1
}

# survivor PID FILE WHO PEER: checks that the process exits soon, and reports that its peer has gone
survivor() {
	ends "$1" "$2" "$3" "connection ended: (BROKEN|DISCONNECTED|ACCEPT_COMPLETION_ERROR): the $4 is gone; see its output"
}

# ends PID FILE WHO PATTERN: checks that the process exits soon, with status 1, and that a line of its output matches
ends() {
	local status
	for _ in $(seq 300); do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -0 "$1" 2>/dev/null && { echo "$3 continues without its peer"; cat "$2"; exit 1; }
	wait "$1"
	status=$?
	[ $status = 1 ] && grep -qE "$4" "$2" && return 0
	echo "$3 ended with status $status, or does not report why"
	cat "$2"
	exit 1
}

# each_dies PROGRAM...: kills each side of each program in turn
each_dies() {
	local program
	for program; do
		start $program
		kill -9 $server
		wait $server 2>/dev/null
		survivor $client "$tmp/client" "client of $program" server
		start $program
		kill -9 $client
		wait $client 2>/dev/null
		survivor $server "$tmp/server" "server of $program" client
	done
}

ia=soft-mlx5-0
each_dies dat_write_lat dat_write_bw dat_read_lat dat_read_bw dat_send_lat dat_send_bw dat_bind_lat \
	dat_bind_bw dat_conn_rate "dat_send_lat -e" "dat_send_bw -b" "dat_write_bw --target-polls"
ia=soft-efa-0
each_dies dat_write_lat dat_send_bw dat_bind_lat

# kill_child: kills the first process that the client starts
kill_child() {
	local victim
	for _ in $(seq 1500); do
		victim=$(children $client | head -n 1)
		[ -z "$victim" ] && kill -0 $client 2>/dev/null || break
		sleep 0.02
	done
	kill -9 "$victim"
}

# If a client's process is killed, the client reports it.
ia=soft-mlx5-0
start dat_conn_rate --processes 2
kill_child
ends $client "$tmp/client" "client of dat_conn_rate" 'a client process was ended by signal 9'

# On one CPU both processes of dat_bench -L begin with a minute in which each polls a cache line for the other.
beside "$tmp/client" taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')" "$bin/dat_bench" -L
client=$!
kill_child
ends $client "$tmp/client" "dat_bench -L" '^dat_bench: a signal has ended the other process$'
kill -9 $server
wait $server 2>/dev/null
server= client=
