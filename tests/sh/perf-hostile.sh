#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that follow perftest, with a hostile client: the server refuses a size that the client has not announced,
# touches no byte outside of its memory, and prints no control character of the client. It takes no option that its
# own command line would refuse. A preloaded library changes the client's messages.
set -u
. tests/harness/perf-server.sh
. tests/harness/skip.sh
[ -z "${SAN-}" ] || skip "a library cannot be preloaded under a sanitizer"

cat >"$tmp/hostile.c" <<'CODE'
#include <dat/udat_redirection.h>
#include <stddef.h>
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

/* OPTION is the offset of an option in the hello, and VALUE its new value. */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to, DAT_CONN_QUAL qual, DAT_TIMEOUT us, DAT_COUNT len,
			  const DAT_PVOID data, DAT_QOS qos, DAT_CONNECT_FLAGS flags)
{
	static const struct { const char *name; size_t at, size; } options[] = {
#define OPTION(name) { #name, offsetof(struct tool_hello, name), sizeof(((struct tool_hello *)0)->name) }
		OPTION(reads), OPTION(iters), OPTION(duration_s), OPTION(margin_s), OPTION(warm_up), OPTION(cq_mod),
		OPTION(processes), OPTION(rate),
	};
	uint64_t value = getenv("VALUE") ? strtoull(getenv("VALUE"), NULL, 0) : 0;

	for (size_t i = 0; getenv("OPTION") && i < sizeof(options) / sizeof(*options); i++)
		if (!strcmp(getenv("OPTION"), options[i].name))
			memcpy((char *)data + options[i].at, &value, options[i].size);
	return DAT_EP_CONNECT(ep, to, qual, us, len, data, qos, flags);
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

# Each of these options comes with both directions and two endpoints, so the server itself would use it.
serve "$bin/dat_write_bw"
for option in iters=0x8000000000000000 iters=0 iters=0x10000000001 duration_s=31536001 margin_s=1 \
	margin_s=0x8000000000000000 warm_up=0x40000001 cq_mod=16385 cq_mod=0x100000001 reads=129 processes=0 processes=65 \
	rate=10000001; do
	OPTION=${option%=*} VALUE=${option#*=} LD_PRELOAD=$tmp/hostile.so timeout -k 1 90 "$bin/dat_write_bw" -p $port \
		-b -q 2 -s 64 -n 10 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
	status=$?
	refused=$((${refused-0} + 1))
	[ $status = 1 ] && [ "$(grep -cx 'refused a client: one of its options is out of range' "$tmp/server")" = $refused ] ||
		failed "a client with $option: it has status $status, or the server does not refuse it"
done
timeout -k 1 90 "$bin/dat_write_bw" -p $port -b -q 2 -s 64 -n 10 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
status=$?
[ $status = 0 ] && wait $server || failed "the server does not serve a client after it has refused others"
server=
exit 0
