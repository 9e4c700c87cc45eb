# SPDX-License-Identifier: BSD-2-Clause
# Functions for scripts that run pairs of programs; sourced. At exit it removes the folder $tmp and
# kills $server and $client.

bin=$DAPL_BUILD_DIR/bin
tmp=$(TMPDIR= mktemp -d)		# LD_PRELOAD takes no path with a space in it
server= client=
gone() { [ -z "$server$client" ] || { kill -9 $server $client; wait $server $client; } 2>/dev/null; rm -rf "$tmp"; }
trap gone EXIT
. tests/harness/background.sh

# fail TEXT: the script ends, with the output of the last command and that of the server
fail() {
	echo "$1:"
	tail -n 20 "$tmp/out"
	[ ! -s "$tmp/server" ] || { echo "the server:"; tail -n 20 "$tmp/server"; }
	exit 1
}

# end WHAT STATUS: checks that the client, with this status, and the server succeeded, and that the client printed a row
# of size 2
end() {
	local served
	wait $server
	served=$?
	server=
	[ "$2" = 0 ] && [ $served = 0 ] && grep -qE '^ 2  +[0-9]' "$tmp/client" && return 0
	echo "$1: the client ended with status $2, the server with $served, or there is no result:"
	cat "$tmp/client" "$tmp/server"
	exit 1
}
