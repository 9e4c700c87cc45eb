/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures messages that go back and forth: half the round trip. */
#include "perf/tool/lat.h"

static int send_once(struct tool *t, uint64_t i)
{
	DAT_LMR_TRIPLET l = region_segment(&t->local, 0, t->size);
	DAT_DTO_COOKIE cookie = { .as_64 = i };

	return tool_completes(t, dat_ep_post_send(t->eps[0].ep, 1, &l, cookie,
						  DAT_COMPLETION_DEFAULT_FLAG));
}

static int receive(struct tool *t, uint64_t i)
{
	DAT_EVENT ev;
	int rc = tool_wait(t, t->data.recv_evd, &ev);

	(void)i;
	return rc ? rc : tool_post_recv(t, 0);
}

static int measure(struct tool *t, struct tool_result *r)
{
	return lat_run(t, r, send_once, receive);
}

static int serve(struct tool *t)
{
	return lat_answer(t, receive, send_once);
}

const struct tool_test tool_test = {
	.name = "dat_send_lat", .title = "Send Latency Test", .metric = TOOL_LATENCY,
	.doc = "Latency of send and receive: half the round trip of a message and its answer.",
	.takes = TAKES_SIZE | TAKES_SAMPLES | TAKES_RX | TAKES_EVENTS | TAKES_INLINE | TAKES_RATE,
	.size = 2, .iters = 1000, .depth = 1, .part = 0.5,
	.open = tool_post_recvs, .measure = measure, .serve = serve,
};
