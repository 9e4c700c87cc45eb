#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that follow perftest, with hundreds of endpoints: -D ends with what was done by then, when
# the server dies the end of each connection is reported, and a thousand may connect at once.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh

# The outstanding operations of full endpoints take several times as long as the measurement. A busy machine may also
# complete none in that time, but not in each of several runs.
for try in 1 2 3 4 5; do
	serve timeout -k 1 200 "$bin/dat_bind_bw"
	timeout -k 1 200 "$bin/dat_bind_bw" -p $port -q 600 -D 1 --warm-up 1 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
	status=$?
	if [ $status != 0 ] || ! grep -qE '^ 4096 +[1-9]' "$tmp/client"; then
		echo "dat_bind_bw -q 600 -D 1 ended with status $status, or has no result:"
		cat "$tmp/client" "$tmp/server"
		exit 1
	fi
	wait $server || { cat "$tmp/server"; exit 1; }
	grep -q 'no operation completed' "$tmp/client" || break
	[ $try -lt 5 ] || { echo "dat_bind_bw -q 600 completes nothing within -D 1:"; cat "$tmp/client"; exit 1; }
done

serve "$bin/dat_write_bw"
beside "$tmp/client" "$bin/dat_write_bw" -p $port -q 600 -D 100 -s 64 127.0.0.1
client=$!
until_said $client "$tmp/client" '^ #'
kill -9 $server
wait $server 2>/dev/null
server=
wait $client
status=$?
client=
if [ $status != 1 ] || [ "$(grep -c 'the server is gone' "$tmp/client")" != 1 ]; then
	echo "the client's server died; it has status $status, or does not report that once:"
	cat "$tmp/client"
	exit 1
fi

serve "$bin/dat_conn_rate"
timeout -k 1 100 "$bin/dat_conn_rate" -p $port -q 1024 -n 2000 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
status=$?
if ! wait $server || [ $status != 0 ] || ! grep -qE '^ 1024 +2000 ' "$tmp/client"; then
	echo "dat_conn_rate -q 1024 ended with status $status, or has no result:"
	cat "$tmp/client" "$tmp/server"
	exit 1
fi
