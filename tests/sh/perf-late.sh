#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A server whose last answer completes only after the client has exited: its ACK is lost, or a preloaded library
# delays the completions of its posts for a while.
# Slow: only with DAPL_ALL=1.
set -u
. tests/harness/perf-server.sh

# The third message of this server, by its ACKs, is that it is done.
sed 's/ "" ""$/ "ack_timeout=20 fault=drop:op=ack,dir=in,psn=+3,times=1000" ""/' "$DAPL_BUILD_DIR/etc/dat.conf" >"$tmp/lost.conf"
serve env DAT_OVERRIDE="$tmp/lost.conf" timeout -k 1 60 "$bin/dat_read_lat" -d soft-mlx5-0
timeout -k 1 60 "$bin/dat_read_lat" -d soft-mlx5-0 -p $port -n 5 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
end "an ACK is lost" $?
grep -q '^ 2  *5 ' "$tmp/server" || { echo "an ACK is lost: the server has no row:"; cat "$tmp/server"; exit 1; }

[ -z "${SAN-}" ] || { echo "a library cannot be preloaded under a sanitizer"; exit 77; }

cat >"$tmp/late.c" <<'END'
#include <dat/udat_redirection.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

static DAT_EVD_HANDLE request[8];
static uint64_t posted;

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			 DAT_EVD_HANDLE conn, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	static unsigned int n;

	/* The first one is for what the two sides tell each other. */
	if (n++)
		request[n % 8] = req;
	return DAT_EP_CREATE(ia, pz, recv, req, conn, attr, ep);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *l, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	posted = now_ms();
	return DAT_EP_POST_SEND(ep, n, l, cookie, flags);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *l, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *r, DAT_COMPLETION_FLAGS flags)
{
	posted = now_ms();
	return DAT_EP_POST_RDMA_WRITE(ep, n, l, cookie, r, flags);
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT us, DAT_COUNT threshold, DAT_EVENT *event, DAT_COUNT *more)
{
	for (int i = 0; i < 8; i++)
		if (request[i] == evd)
			fputs("the target sleeps\n", stderr);
	return DAT_EVD_WAIT(evd, us, threshold, event, more);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	for (int i = 0; i < 8; i++)
		if (request[i] == evd && now_ms() - posted < 100)
			return DAT_CLASS_ERROR | DAT_QUEUE_EMPTY;
	return DAT_EVD_DEQUEUE(evd, event);
}
END
${CC:-gcc} -Wall -Iinclude -shared -fPIC -o "$tmp/late.so" "$tmp/late.c" || exit 1

for program in dat_send_lat dat_write_lat; do
	serve timeout -k 1 60 env LD_PRELOAD="$tmp/late.so" "$bin/$program"
	timeout -k 1 60 "$bin/$program" -p $port -n 5 --warm-up 1 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
	end $program $?
done

# A target that polls does not sleep, not even if its client does.
serve timeout -k 1 60 env LD_PRELOAD="$tmp/late.so" "$bin/dat_read_lat"
timeout -k 1 60 "$bin/dat_read_lat" -p $port -n 5 -e --target-polls 127.0.0.1 >"$tmp/client" 2>&1 </dev/null
end "dat_read_lat -e --target-polls" $?
! grep 'the target sleeps' "$tmp/server"
