#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# softnic-run itself: a timer that it inherits, and a folder for temporary files that cannot be locked.
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

# A file system may have no locks of folders.
cat >"$tmp/flock.c" <<'END'
#include <errno.h>
#include <sys/file.h>

int flock(int fd, int operation)
{
	(void)fd;
	(void)operation;
	errno = EBADF;
	return -1;
}
END
"${CC:-cc}" -shared -fPIC -o "$tmp/flock.so" "$tmp/flock.c" || exit 1
mkdir "$tmp/folder"
ends 125 env TMPDIR="$tmp/folder" LD_PRELOAD="$tmp/flock.so" "$run" true
grep -q 'Bad file descriptor' "$tmp/out" || { echo "the message does not give the reason:"; cat "$tmp/out"; failed=1; }
left=$(ls "$tmp/folder" | wc -l)
[ "$left" = 0 ] || { echo "softnic-run leaves $left folders in TMPDIR"; failed=1; }
exit $failed
