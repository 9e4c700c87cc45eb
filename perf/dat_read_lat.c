/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures RDMA reads in sequence: the whole round trip. */
#include "perf/tool/lat.h"

static int read_once(struct tool *t, uint64_t i)
{
	DAT_LMR_TRIPLET l = region_segment(&t->local, 0, t->size);
	DAT_RMR_TRIPLET r = tool_target(&t->eps[0], 0, t->size);
	DAT_DTO_COOKIE cookie = { .as_64 = i };

	return tool_completes(t, dat_ep_post_rdma_read(t->eps[0].ep, 1, &l, cookie, &r,
						       DAT_COMPLETION_DEFAULT_FLAG));
}

static int measure(struct tool *t, struct tool_result *r)
{
	return lat_run(t, r, read_once, NULL);
}

const struct tool_test tool_test = {
	.name = "dat_read_lat", .title = "RDMA_Read Latency Test", .metric = TOOL_LATENCY,
	.doc = "Latency of RDMA reads, from post to completion.",
	.takes = TAKES_SIZE | TAKES_SAMPLES | TAKES_READS | TAKES_EVENTS | TAKES_TARGET | TAKES_RATE,
	.size = 2, .iters = 1000, .depth = 1, .part = 1,
	.measure = measure, .serve = target_serve,
};
