/* SPDX-License-Identifier: BSD-2-Clause */
/* Measures binds of a memory window in sequence, from post to completion. */
#include "perf/tool/lat.h"
#include "perf/tool/window.h"

static int bind_once(struct tool *t, uint64_t i)
{
	DAT_RMR_COOKIE cookie = { .as_64 = i };

	return tool_completes(t, window_bind(t, 0, i, cookie, DAT_COMPLETION_DEFAULT_FLAG));
}

static int measure(struct tool *t, struct tool_result *r)
{
	return lat_run(t, r, bind_once, NULL) || windows_check(t) ? -1 : 0;
}

const struct tool_test tool_test = {
	.name = "dat_bind_lat", .title = "Memory Window Bind Latency Test", .metric = TOOL_LATENCY,
	.doc = "Latency of dat_rmr_bind, from post to completion.",
	.takes = TAKES_SIZE | TAKES_SAMPLES | TAKES_VERIFY | TAKES_EVENTS | TAKES_UNBIND,
	.size = 4096, .iters = 1000, .depth = 1, .part = 1,
	.open = windows_open, .measure = measure, .serve = windows_serve,
};
