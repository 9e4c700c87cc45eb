#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A test that waits for output of a background program never reads the output of the previous one,
# whichever process of the shell is late. A preloaded library delays the shell's children in turn.
set -u
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "a library cannot be preloaded under a sanitizer"
tmp=$(TMPDIR= mktemp -d)		# LD_PRELOAD takes no path with a space in it
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/late.c" <<'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

pid_t fork(void)
{
	pid_t (*real)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork"), child;
	static int n;

	n++;
	child = real();
	if (child == 0 && n == atoi(getenv("LATE")))
		usleep(500000);
	return child;
}
END_OF_C
${CC:-gcc} -Wall -shared -fPIC -o "$tmp/late.so" "$tmp/late.c" -ldl || exit 1

for late in 1 2 3 4; do
	echo 'Waiting for client, as the one before said' >"$tmp/server"
	tmp=$tmp LATE=$late LD_PRELOAD=$tmp/late.so bash -c '. tests/harness/background.sh
		serve sh -c "echo Waiting for client, as the new one says; exec sleep 1"
		cat "$tmp/server"
		wait' >"$tmp/out" 2>&1 </dev/null
	[ "$(cat "$tmp/out")" = 'Waiting for client, as the new one says' ] && continue
	echo "if child $late is late, the test reads an old server's output:"
	cat "$tmp/out"
	exit 1
done
