#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Debian's ibv_rc_pingpong, unmodified, on the software ConnectX: both sides succeed, the data is right,
# and the model reports no violation by libmlx5.
set -u
run=$DAPL_BUILD_DIR/bin/softnic-run
export SOFTNIC_STRICT=1

. tests/harness/skip.sh
needs_preload
if ! command -v ibv_rc_pingpong >/dev/null; then
	[ -n "${CI-}" ] || skip "ibv_rc_pingpong is not installed (ibverbs-utils)"
	echo "ibv_rc_pingpong is not installed"
	exit 1
fi

tmp=$(mktemp -d)
server=
cleanup() {
	[ -z "$server" ] || kill "$server" 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT

listens() { grep -qiE "^ *[0-9]+: [0-9A-F]+:$(printf %04x "$1") [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6; }

# start ARGUMENT...: starts a server on a free port; sets port and server
start() {
	local try wait
	for try in 1 2 3 4 5 6; do
		port=$((8192 + RANDOM % 8192))
		listens $port && continue
		timeout 60 "$run" ibv_rc_pingpong -g 0 -p $port "$@" >"$tmp/server" 2>&1 &
		server=$!
		for wait in $(seq 1200); do
			listens $port && return 0
			kill -0 $server 2>/dev/null || break
			sleep 0.05
		done
		kill $server 2>/dev/null
		wait $server
		grep -q "Couldn't listen" "$tmp/server" || break
	done
	server=
	return 1
}

# case ARGUMENT...: runs both sides with these arguments
failed=0
pingpong() {
	local server_status client_status
	if ! start "$@"; then
		echo "ibv_rc_pingpong $*: the server did not start:"
		cat "$tmp/server"
		failed=1
		return
	fi
	timeout 60 "$run" ibv_rc_pingpong -g 0 -p $port "$@" 127.0.0.1 >"$tmp/client" 2>&1
	client_status=$?
	wait $server
	server_status=$?
	server=
	if [ $client_status = 0 ] && [ $server_status = 0 ] &&
		grep -q '^[0-9]* iters in' "$tmp/client" && grep -q '^[0-9]* iters in' "$tmp/server" &&
		! grep -qE 'violation|invalid data' "$tmp/client" "$tmp/server"; then
		echo "ibv_rc_pingpong $*: $(grep 'iters in' "$tmp/client")"
		return
	fi
	echo "ibv_rc_pingpong $*: client status $client_status, server status $server_status, or wrong output:"
	sed 's/^/client: /' "$tmp/client"
	sed 's/^/server: /' "$tmp/server"
	failed=1
}

pingpong -c
pingpong -c -e -n 200
pingpong -c -s 1000000 -n 200
pingpong -c -s 1000000 -m 4096 -e -n 50
pingpong -c -s 1 -r 2
exit $failed
