#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that follow perftest, with a hostile client: the server refuses a size that the client has not announced,
# touches no byte outside of its memory, and prints no control character of the client. A preloaded library changes
# the client's messages.
set -u
. tests/harness/perf-server.sh
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "a library cannot be preloaded under a sanitizer"

cat >"$tmp/hostile.c" <<'CODE'
#include <dat/udat_redirection.h>
#include <stdlib.h>
#include <string.h>

#include "perf/tool/tool.h"

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *l, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	struct tool_msg *m = (struct tool_msg *)(uintptr_t)l->virtual_address;

	if (l->segment_length == sizeof(*m) && m->op == OP_START && getenv("SIZE"))
		m->size = strtoull(getenv("SIZE"), NULL, 0);
	if (l->segment_length == sizeof(*m) && m->op == OP_ROW)
		strcpy(m->text, "\033[2J\233row");
	return DAT_EP_POST_SEND(ep, n, l, cookie, flags);
}
CODE
${CC:-gcc} -Wall -D_GNU_SOURCE -I. -Iinclude -shared -fPIC -o "$tmp/hostile.so" "$tmp/hostile.c" || exit 1

# measure: runs server and client, and sets $status to that of the server
measure() {
	serve "$bin/dat_write_lat"
	LD_PRELOAD=$tmp/hostile.so timeout -k 1 60 "$bin/dat_write_lat" -p $port -s 64 -n 10 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
	wait $server
	status=$?
	server=
}

failed() {
	echo "$1:"
	cat -v "$tmp/server" "$tmp/client"
	exit 1
}

for size in 0 65 0x10000000000; do
	SIZE=$size measure
	[ $status = 1 ] && grep -q "protocol error: the client measures $((size)) bytes, and its memory here has 64;" "$tmp/server" ||
		failed "a size of $size: the server has status $status, or does not report it"
done
measure
[ $status = 0 ] && grep -q '^?\[2J?row$' "$tmp/server" || failed "the server has status $status, or does not print the text"
LC_ALL=C grep -q $'[\x1b\x9b]' "$tmp/server" && failed "the server prints characters of the client that control a terminal"
exit 0
