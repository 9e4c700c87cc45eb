# SPDX-License-Identifier: BSD-2-Clause
# For scripts that run pairs of programs with perftest's habits; sourced. The folder $tmp, and what they
# set as $server and $client, go when they end.

bin=$DAPL_BUILD_DIR/bin
tmp=$(mktemp -d)
server= client=
trap 'kill -9 $server $client 2>/dev/null; rm -rf "$tmp"' EXIT
port=$((21000 + RANDOM % 9000))

# serve COMMAND...: the server, with a qualifier of its own: $server, $port. Its port may be another's.
serve() {
	local try
	for try in 1 2 3 4 5; do
		port=$((port + 7 * try))
		"$@" -p $port >"$tmp/server" 2>&1 </dev/null &
		server=$!
		for _ in $(seq 500); do
			grep -q 'Waiting for client' "$tmp/server" && return 0
			kill -0 $server 2>/dev/null || break
			sleep 0.02
		done
		grep -q CONN_QUAL_IN_USE "$tmp/server" || break
	done
	echo "$*: does not serve"
	cat "$tmp/server"
	exit 1
}
