# SPDX-License-Identifier: BSD-2-Clause
# Servers at a TCP port that they choose; sourced.

# at_port COMMAND...: starts a server, and waits until it prints its port; sets $server and $port. Its output is in
# $tmp/server.
at_port() {
	local i
	: >"$tmp/server"		# the server's shell may empty it only after the first look
	"$@" >>"$tmp/server" 2>&1 &
	server=$!
	for i in {1..1200}; do
		port=$(sed -nE 's/^(.*serving at TCP port )?([0-9]+)$/\2/p' "$tmp/server")
		[ -z "$port" ] || return 0
		sleep 0.1
	done
	echo "a server prints no port: $*"
	cat "$tmp/server"
	exit 1
}

stop_server() {
	kill $server 2>/dev/null
	wait $server 2>/dev/null
	server=
}
