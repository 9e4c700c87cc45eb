/* SPDX-License-Identifier: BSD-2-Clause */
/* Both sides write to each other in turns and poll the last byte: half a round trip. */
#include "perf/tool/lat.h"

static int write_once(struct tool *t, uint64_t i)
{
	unsigned char *last = (unsigned char *)t->local.buf + t->size - 1;
	DAT_LMR_TRIPLET l = region_segment(&t->local, 0, t->size);
	DAT_RMR_TRIPLET r = tool_target(&t->eps[0], 0, t->size);
	DAT_DTO_COOKIE cookie = { .as_64 = i };

	*last = (unsigned char)i;
	return tool_completes(t, dat_ep_post_rdma_write(t->eps[0].ep, 1, &l, cookie, &r,
							DAT_COMPLETION_DEFAULT_FLAG));
}

static int poll_target(struct tool *t, uint64_t i)
{
	volatile const unsigned char *last = (unsigned char *)t->mine.buf + t->size - 1;
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int spins = 0;
	DAT_EVENT ev;
	int rc;

	while (*last != (unsigned char)i) {
		if (t->o.target_polls)
			ret = dat_evd_dequeue(t->data.recv_evd, &ev);
		rc = ++spins % TOOL_SPINS ? 0 : tool_idle(t, ret);
		if (rc)
			return rc;
	}
	return 0;
}

static int measure(struct tool *t, struct tool_result *r)
{
	return lat_run(t, r, write_once, poll_target);
}

static int serve(struct tool *t)
{
	return lat_answer(t, poll_target, write_once);
}

static int prepare(struct tool *t)
{
	((volatile unsigned char *)t->mine.buf)[t->size - 1] = 0;
	return 0;
}

const struct tool_test tool_test = {
	.name = "dat_write_lat", .title = "RDMA_Write Latency Test", .metric = TOOL_LATENCY,
	.doc = "Latency of RDMA writes: half the round trip of two sides that write to each other.",
	.takes = TAKES_SIZE | TAKES_SAMPLES | TAKES_INLINE | TAKES_TARGET | TAKES_RATE,
	.size = 2, .iters = 1000, .depth = 1, .part = 0.5, .looks = true,
	.prepare = prepare, .measure = measure, .serve = serve,
};
