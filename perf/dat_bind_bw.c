/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures binds of memory windows, with as many outstanding as the endpoints allow. */
#include "perf/tool/bw.h"
#include "perf/tool/window.h"

static DAT_RETURN post(struct tool *t, unsigned int ep, DAT_DTO_COOKIE cookie,
		       DAT_COMPLETION_FLAGS flags)
{
	return window_bind(t, ep, (cookie.as_64 >> 16) - 1, cookie, flags);
}

static int measure(struct tool *t, struct tool_result *r)
{
	return bw_measure(t, r, post, NULL) || windows_check(t) ? -1 : 0;
}

const struct tool_test tool_test = {
	.name = "dat_bind_bw", .title = "Memory Window Bind Rate Test", .metric = TOOL_RATE,
	.doc = "Rate of dat_rmr_bind.",
	.takes = TAKES_SIZE | TAKES_DEPTH | TAKES_EPS | TAKES_VERIFY | TAKES_EVENTS |
		 TAKES_UNBIND,
	.size = 4096, .iters = 5000, .depth = 128,
	.open = windows_open, .measure = measure, .serve = windows_serve,
};
