#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_pingpong with two processes and alone: polling and sleeping, odd lengths, and user errors.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh
. tests/harness/must.sh
bin=$bin/dat_pingpong

# both TEXT OPTION...: runs both sides on this machine, at a qualifier with an unused port; they
# succeed
both() {
	local text=$1 try status
	shift
	for try in 1 2 3 4 5; do
		port=$((port + 7 * try))
		timeout -k 1 60 "$bin" -p $port "$@" >"$tmp/both" 2>&1 </dev/null
		status=$?
		[ $status = 0 ] && grep -qe "$text" "$tmp/both" && return
		grep -q CONN_QUAL_IN_USE "$tmp/both" || break
	done
	cat "$tmp/both"
	echo "dat_pingpong -p $port $*: the status is $status instead of 0, or the output has no \"$text\""
	exit 1
}

both 'refused, connection ended with' -n 200
both 'all verified' -q -n 20 -e -S 7
for len in 1 7 8 29 64 220 221 1023 4095 4097 65536 1048576; do
	both 'all verified' -q -n 3 -l $len
done
port=$((port + 3))
must 1 'NON_PEER_REJECTED\|UNREACHABLE\|TIMED_OUT' "$bin" -q -p $port -n 1 127.0.0.1
must 1 "does the other side listen on 127.0.0.1, at $port " "$bin" -q -p $port -n 1 127.0.0.1
must 1 'is there a line for it in dat.conf' "$bin" -i no-such-adapter -n 1
must 64 'is not a number' "$bin" -n many
must 64 "'0' is not a number from 1 to 1048576" "$bin" -l 0
must 64 'unrecognized option' "$bin" --no-such-option
must 0 'Usage' "$bin" --help
must 0 '^dapl-direct [0-9]' "$bin" --version

# A listener that refuses is there: another program, for example.
beside "$tmp/server" "$DAPL_BUILD_DIR/bin/dat_write_lat" -p $port
server=$!
until_said $server "$tmp/server" 'Waiting for client' || exit 1
must 1 "the program that listens on 127.0.0.1, at $port (-p), refused: see its output" "$bin" -q -p $port -n 1 127.0.0.1
kill $server
wait $server
server=

# Without -p, each pair has a qualifier of its own.
beside "$tmp/server" "$bin" -n 0
server=$!
until_said $server "$tmp/server" ' rounds' || exit 1
must 0 'all verified' "$bin" -q -n 20
kill $server
wait $server
server=

# The server ends the connection although its ACK of the client's last message, which is the sixth, was lost.
sed 's/ "" ""$/ "ack_timeout=20 fault=drop:op=ack,dir=in,psn=+6,times=1000" ""/' "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/lost.conf"
serve "$bin" -s
DAT_OVERRIDE=$tmp/lost.conf must 0 'refused, connection ended with' "$bin" -q -n 1 -p $port 127.0.0.1
wait $server || { echo "a server whose ACK was lost fails:"; cat "$tmp/server"; exit 1; }
server=

# The client's adapter refuses the server's last write, and the server does not get the NAK.
sed 's/ "" ""$/ "fault=drop:op=nak,dir=in,times=1000" ""/' "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/lost.conf"
DAT_OVERRIDE=$tmp/lost.conf serve "$bin" -s
must 0 'refused, connection ended with' "$bin" -q -n 1 -p $port 127.0.0.1
wait $server || { echo "a server whose NAK was lost fails:"; cat "$tmp/server"; exit 1; }
server=

# If another process serves at the qualifier already, the second server prints advice.
serve "$bin" -s
must 1 "another process listens at $port: -p chooses another" "$bin" -s -p $port
