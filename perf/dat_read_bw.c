/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures RDMA reads, with as many outstanding as the endpoints allow. */
#include "perf/tool/bw.h"
#include "perf/tool/check.h"

static DAT_RETURN read_next(struct tool *t, unsigned int ep, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = region_segment(&t->local, ep * t->slice, t->size);
	DAT_RMR_TRIPLET r = tool_target(&t->eps[ep], 0, t->size);

	return dat_ep_post_rdma_read(t->eps[ep].ep, 1, &l, cookie, &r, flags);
}

static int measure(struct tool *t, struct tool_result *r)
{
	return bw_measure(t, r, read_next, NULL);
}

const struct tool_test tool_test = {
	.name = "dat_read_bw", .title = "RDMA_Read BW Test", .metric = TOOL_BANDWIDTH,
	.doc = "Bandwidth and rate of RDMA reads.",
	.takes = TAKES_STREAM | TAKES_TARGET | TAKES_READS,
	.size = 65536, .iters = 1000, .depth = 128,
	.prepare = check_prepare, .measure = measure, .serve = bw_serve, .finish = check_finish,
};
