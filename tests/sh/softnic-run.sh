#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# softnic-run itself: a timer that it inherits.
set -u
run=$DAPL_BUILD_DIR/bin/softnic-run
. tests/harness/skip.sh
needs_preload
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0

# ends STATUS COMMAND...: checks the exit status of the command
ends() {
	local want=$1 got
	shift
	timeout -k 1 60 "$@" >"$tmp/out" 2>&1
	got=$?
	[ $got = "$want" ] && return
	echo "$*: the status is $got instead of $want:"
	cat "$tmp/out"
	failed=1
}

# exec keeps a timer, so its signal is meant for the command.
ends 142 perl -e 'alarm 1; exec @ARGV' "$run" sleep 30

exit $failed
