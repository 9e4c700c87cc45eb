#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# dat_pingpong by hand and by itself: polling and sleeping, odd lengths, and what a user gets wrong.
set -u
bin=$DAPL_BUILD_DIR/bin/dat_pingpong
port=$((31000 + RANDOM % 9000))

must() {	# must STATUS TEXT COMMAND...: exits so and says so
	local want=$1 text=$2 out status
	shift 2
	out=$(timeout -k 1 60 "$@" 2>&1 </dev/null)
	status=$?
	if [ $status != "$want" ] || ! grep -qe "$text" <<<"$out"; then
		printf '%s\nstatus %s, wanted %s and "%s", from: %s\n' "$out" $status "$want" "$text" "$*"
		exit 1
	fi
}

must 0 'refused, connection ended with' "$bin" -p $port -n 200
must 0 'all verified' "$bin" -q -p $((port + 1)) -n 20 -e
for len in 1 7 8 29 64 220 221 1023 4095 4097 65536 1048576; do
	port=$((port + 3))
	must 0 'all verified' "$bin" -q -p $port -n 3 -l $len
done
must 1 'NON_PEER_REJECTED\|UNREACHABLE\|TIMED_OUT' "$bin" -q -p $((port + 3)) -n 1 127.0.0.1
must 1 "does the other side listen on 127.0.0.1, at $((port + 3)) " "$bin" -q -p $((port + 3)) -n 1 127.0.0.1
must 1 'is there a line for it in dat.conf' "$bin" -i no-such-adapter -n 1
must 64 'is not a number' "$bin" -n many
must 64 'at least one byte' "$bin" -l 0
must 64 'unrecognized option' "$bin" --no-such-option
must 0 'Usage' "$bin" --help
must 0 '^dat_pingpong ' "$bin" --version

# Served by another process: who comes second is told what to do.
coproc server { exec timeout 60 "$bin" -s -p $((port + 4)) 2>&1; }
trap 'kill $server_PID; wait' EXIT
while read -r -u "${server[0]}" line && [[ $line != serving* ]]; do :; done
must 1 "another process listens at $((port + 4)): -p chooses another" "$bin" -s -p $((port + 4))
