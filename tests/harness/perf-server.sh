# SPDX-License-Identifier: BSD-2-Clause
# Functions for scripts that run pairs of programs; sourced. At exit it removes the folder $tmp and
# kills $server and $client.

bin=$DAPL_BUILD_DIR/bin
tmp=$(TMPDIR= mktemp -d)		# LD_PRELOAD takes no path with a space in it
server= client=
gone() { [ -z "$server$client" ] || { kill -9 $server $client; wait $server $client; } 2>/dev/null; rm -rf "$tmp"; }
trap gone EXIT
. tests/harness/background.sh
