# SPDX-License-Identifier: BSD-2-Clause
# For scripts that run pairs of programs; sourced. The folder $tmp, and what they set as $server and
# $client, go when they end.

bin=$DAPL_BUILD_DIR/bin
tmp=$(TMPDIR= mktemp -d)		# LD_PRELOAD takes no path with a space in it
server= client=
gone() { [ -z "$server$client" ] || { kill -9 $server $client; wait $server $client; } 2>/dev/null; rm -rf "$tmp"; }
trap gone EXIT
. tests/harness/background.sh
