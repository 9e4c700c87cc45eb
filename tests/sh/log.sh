#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The log of real runs: each line has time, thread and object; requests, connections, disconnections and breaks
# with their causes come with DAPL_DBG_TYPE=8; DAPL_DBG_DEST and DAT_DBG_DEST mean the same.
set -u
. tests/harness/perf-server.sh
status=0

# has FILE WORDS [WHO]: checks that a line of the log has WORDS, after time and thread
has() {
	grep -qE "^[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\.[0-9]{6} [0-9]+ ${3:-dapl-direct}: $2" "$1" && return
	echo "no line of the log has \"$2\":"
	cat "$1"
	status=1
}

# wrong_status FILE: a program whose output is FILE has a wrong exit status
wrong_status() {
	echo "a program ended with a wrong status:"
	cat "$1"
	status=1
}

# ends_in_order: checks that both ends of a connection log how it begins and ends
ends_in_order() {
	serve env DAPL_DBG_TYPE=8 "$bin/dat_send_lat" -d $ia
	DAPL_DBG_TYPE=8 timeout -k 1 60 "$bin/dat_send_lat" -p $port -d $ia -n 100 127.0.0.1 >"$tmp/log" 2>&1 || wrong_status "$tmp/log"
	wait $server || wrong_status "$tmp/server"
	has "$tmp/log" "$ep: connects to qualifier 0x"
	for file in "$tmp/log" "$tmp/server"; do
		has "$file" "$ep: connected$"
		has "$file" "$ep: (freed while connected: |)disconnected$"
		! grep -q 'broke' "$file" || { echo "a graceful end is logged as a break:"; cat "$file"; status=1; }
	done
}

# pingpong OPTION...: runs dat_pingpong with both sides, at a qualifier whose port is free; returns its status
pingpong() {
	local try ended
	for try in 1 2 3 4 5; do
		port=$((port + 3 * try))
		timeout -k 1 60 "$bin/dat_pingpong" -q -p $port "$@" >"$tmp/both" 2>"$tmp/log"
		ended=$?
		grep -q CONN_QUAL_IN_USE "$tmp/log" || break
	done
	return $ended
}

# is_refused WORDS: checks the log of a connection that breaks by a refused access, the last part of
# dat_pingpong
is_refused() {
	DAPL_DBG_TYPE=8 pingpong -i $ia -n 20 || wrong_status "$tmp/log"
	has "$tmp/log" "$ep$1"
	has "$tmp/log" "$ep: this side broke the connection: "
	has "$tmp/log" "$ep: the connection is broken$"
}

# peer_dies: checks the log when the peer's process is killed
peer_dies() {
	serve env DAPL_DBG_TYPE=8 "$bin/dat_pingpong" -s -i $ia
	beside "$tmp/client" env DAPL_DBG_TYPE=8 "$bin/dat_pingpong" -q -i $ia -n 0 -p $port 127.0.0.1
	client=$!
	until_said $client "$tmp/client" 'rounds$' || { echo "dat_pingpong finished no round"; cat "$tmp/client"; exit 1; }
	kill -9 $server
	wait $server 2>/dev/null
	wait $client
	has "$tmp/client" "$ep: the peer broke the connection, or its process or host has ended$"
	has "$tmp/client" "$ep: the connection is broken$"
	client= server=
}

# requests: checks that the passive side logs an arriving request, and how it was answered
requests() {
	DAPL_DBG_TYPE=8 timeout -k 1 60 "$bin/dat_conform" -i $ia -t 'cr_reject__peer_gets_an_event' >"$tmp/log" 2>&1 || wrong_status "$tmp/log"
	has "$tmp/log" "request 0x[0-9a-f]+ of $ia: arrived from 127\.0\.0\.1 for qualifier 0x[0-9a-f]+$"
	has "$tmp/log" "request 0x[0-9a-f]+ of $ia: rejected$"
	has "$tmp/log" "$ep: the peer rejected the connection$"
	DAPL_DBG_TYPE=8 timeout -k 1 60 "$bin/dat_conform" -i $ia -t 'cr_handoff__to_another_service_point' >"$tmp/log" 2>&1 || wrong_status "$tmp/log"
	has "$tmp/log" "request 0x[0-9a-f]+ of $ia: handed off to qualifier 0x[0-9a-f]+$"
}

for ia in soft-mlx5-0 soft-efa-0; do
	ep="endpoint 0x[0-9a-f]+ of $ia"
	ends_in_order
	case $ia in
	soft-mlx5-0) is_refused ' failed: .*remote access.*; work: RDMA_WRITE' ;;
	soft-efa-0)
		is_refused ': the connection is broken: '
		has "$tmp/log" "127\.0\.0\.1 port [0-9]+: the peer's endpoint broke the connection: "
		;;
	esac
	peer_dies
	requests
done

# refusal PARAMS WORDS: the line about a refused command names the adapter
refusal() {
	echo "ib2 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"$1\" \"\"" >"$tmp/dat.conf"
	DAT_OVERRIDE=$tmp/dat.conf pingpong -i ib2 -n 1
	has "$tmp/log" "$2"
}
refusal 'device=soft-mlx5-0 fault=cmd_fail=0x400:1' 'soft-mlx5-0: the device refused command CREATE_CQ '
refusal 'device=soft-efa-0 fault=cmd_fail=mr:2' 'ib2: [0-9]+ bytes at 0x[0-9a-f]+: '

# By default only errors are logged: a good run writes nothing, and a refused IA causes one line that
# names it.
pingpong -n 20 || wrong_status "$tmp/log"
! grep -q dapl-direct: "$tmp/log" || { echo "a good run writes to the log:"; cat "$tmp/log"; status=1; }
echo "ib0 u1.2 nonthreadsafe default $DAPL_BUILD_DIR/lib/libdapl-direct.so dapl_direct.1.2 \"inlin=1\" \"\"" >"$tmp/dat.conf"
echo "ib1 u1.2 nonthreadsafe default /none/libnone.so dapl_direct.1.2 \"\" \"\"" >>"$tmp/dat.conf"
# goes DEST FILE OTHER: checks that both logs are written to FILE, and not to OTHER
goes() {
	for ia in ib0 ib1; do
		DAT_OVERRIDE=$tmp/dat.conf DAPL_DBG_DEST=$1 DAT_DBG_DEST=$1 "$bin/dat_info" -i $ia >"$tmp/out" 2>"$tmp/err"
		grep -qE '(dapl-direct: cannot open ib0: |libdat: ib1 .*libnone)' "$tmp/$2" &&
			! grep -qE 'dapl-direct: |libdat: ' "$tmp/$3" && continue
		echo "with log destination \"$1\", the log of $ia is missing in std$2, or is elsewhere too"
		cat "$tmp/out" "$tmp/err"
		status=1
	done
}
DAT_OVERRIDE=$tmp/dat.conf "$bin/dat_info" -i ib1 >"$tmp/out" 2>"$tmp/err"
has "$tmp/err" 'ib1 \(line 2 of dat\.conf\): ' libdat
# A value that is no number has no effect.
for type in '' all; do
	DAPL_DBG_TYPE=$type DAT_DBG_TYPE=$type goes '' err out
done
goes 0 err out
goes 1 out err
goes 3 out err
for ia in ib0 ib1; do
	DAT_OVERRIDE=$tmp/dat.conf DAPL_DBG_DEST=2 DAT_DBG_DEST=2 "$bin/dat_info" -i $ia >"$tmp/out" 2>&1
	[ $? = 1 ] || wrong_status "$tmp/out"
	! grep -qE 'dapl-direct: |libdat: ' "$tmp/out" || { echo "with log destination 2, the log is still printed:"; cat "$tmp/out"; status=1; }
done
exit $status
