/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA writes, as many under way as the endpoints take. */
#include "perf/tool/bw.h"
#include "perf/tool/check.h"

static DAT_RETURN post(struct tool *t, unsigned int ep, DAT_DTO_COOKIE cookie,
		       DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = tool_segment(&t->local, ep * t->slice, t->size);
	DAT_RMR_TRIPLET r = tool_target(&t->eps[ep], 0, t->size);

	return dat_ep_post_rdma_write(t->eps[ep].ep, 1, &l, cookie, &r, flags);
}

static int lead(struct tool *t, struct tool_result *r)
{
	return bw_measure(t, r, post, NULL);
}

static int serve(struct tool *t)
{
	struct tool_result mine;

	if (t->o.both_ways && lead(t, &mine))
		return -1;
	return target_serve(t);
}

static int finish(struct tool *t)
{
	return t->o.verify && (!t->client || t->o.both_ways) ? check_arrived(t, &t->mine) : 0;
}

int main(int argc, char **argv)
{
	static const struct tool_test test = {
		.name = "dat_write_bw", .title = "RDMA_Write BW Test", .metric = TOOL_BANDWIDTH,
		.doc = "Bandwidth and rate of RDMA writes.\vWithout HOST it is the server. "
		       "dat_perf(7) tells of all options.",
		.takes = TAKES_SIZE | TAKES_DEPTH | TAKES_EPS | TAKES_BOTH | TAKES_VERIFY | TAKES_EVENTS |
			 TAKES_INLINE | TAKES_TARGET,
		.size = 65536, .iters = 5000, .depth = 128,
		.prepare = check_prepare, .lead = lead, .serve = serve, .finish = finish,
	};

	return tool_main(&test, argc, argv);
}
