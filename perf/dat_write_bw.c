/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures RDMA writes, with as many outstanding as the endpoints allow. */
#include "perf/tool/bw.h"
#include "perf/tool/check.h"

static DAT_RETURN write_next(struct tool *t, unsigned int ep, DAT_DTO_COOKIE cookie,
			     DAT_COMPLETION_FLAGS flags)
{
	const struct tool_ep *e = &t->eps[ep];
	DAT_LMR_TRIPLET l = region_segment(&t->local, ep * t->slice, t->size);
	DAT_RMR_TRIPLET r = tool_target(e, (e->posted & t->last_place) * t->stride, t->size);

	return dat_ep_post_rdma_write(e->ep, 1, &l, cookie, &r, flags);
}

/* Returns the least number of writes of an endpoint. The first of them went to different places. */
static uint64_t least_writes(const struct tool *t)
{
	uint64_t least = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < t->o.eps; i++)
		least = t->eps[i].posted < least ? t->eps[i].posted : least;
	return least > t->o.warm_up ? least : t->o.warm_up;
}

static int measure(struct tool *t, struct tool_result *r)
{
	int rc = bw_measure(t, r, write_next, NULL);

	t->sent = least_writes(t);
	return rc;
}

const struct tool_test tool_test = {
	.name = "dat_write_bw", .title = "RDMA_Write BW Test", .metric = TOOL_BANDWIDTH,
	.doc = "Bandwidth and rate of RDMA writes.",
	.takes = TAKES_STREAM | TAKES_TARGET | TAKES_INLINE,
	.size = 65536, .iters = 5000, .depth = 128, .spreads = true,
	.prepare = check_prepare, .measure = measure, .serve = bw_serve, .finish = check_finish,
};
