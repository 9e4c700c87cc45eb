/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA reads one after another: the whole round trip. */
#include "perf/tool/lat.h"

static int read_once(struct tool *t, uint64_t i)
{
	DAT_LMR_TRIPLET l = tool_segment(&t->local, 0, t->size);
	DAT_RMR_TRIPLET r = tool_target(&t->eps[0], 0, t->size);
	DAT_DTO_COOKIE cookie = { .as_64 = i };
	DAT_RETURN ret;
	DAT_EVENT ev;

	ret = dat_ep_post_rdma_read(t->eps[0].ep, 1, &l, cookie, &r, DAT_COMPLETION_DEFAULT_FLAG);
	return ret == DAT_SUCCESS ? tool_wait(t, t->data.req_evd, &ev) : tool_refused(t, ret);
}

static int lead(struct tool *t, struct tool_result *r)
{
	return lat_run(t, r, read_once);
}

int main(int argc, char **argv)
{
	static const struct tool_test test = {
		.name = "dat_read_lat", .title = "RDMA_Read Latency Test", .metric = TOOL_LATENCY,
		.doc = "Latency of RDMA reads, from post to completion.\vWithout HOST it is the server. "
		       "dat_perf(7) tells of all options.",
		.takes = TAKES_SIZE | TAKES_SAMPLES | TAKES_READS | TAKES_EVENTS | TAKES_TARGET,
		.size = 2, .iters = 1000, .depth = 1, .part = 1,
		.lead = lead, .serve = target_serve,
	};

	return tool_main(&test, argc, argv);
}
