/* SPDX-License-Identifier: BSD-2-Clause */
/* One operation after another, each a sample. Inlined into each program with its own operation. */
#ifndef PERF_LAT_H
#define PERF_LAT_H

#include "perf/tool/tool.h"

/* The i-th operation, from 1 and through the warm-up, waited for. 0, 1: STOP came, -1. */
typedef int lat_fn(struct tool *t, uint64_t i);

/* lat.c */
int lat_begin(struct tool *t);
int lat_finish(struct tool *t, struct tool_result *r);

static inline __attribute__((always_inline)) int lat_run(struct tool *t, struct tool_result *r,
							 lat_fn *operation)
{
	uint64_t i = 0, done, now, from;

	if (lat_begin(t))
		return -1;
	while (i < t->o.warm_up)
		if (operation(t, ++i))
			return -1;
	from = ticks() + ticks_from_ns((double)t->o.margin_s * 1e9);
	t->deadline = from + ticks_from_ns((double)(t->o.duration_s - 2 * t->o.margin_s) * 1e9);
	while (t->o.margin_s && ticks() < from)
		if (operation(t, ++i))
			return -1;
	t->started_ns = tool_wall_ns();
	record_start(&t->rec, ticks());
	for (done = 0; tool_more(t, done); done++) {
		if (operation(t, ++i))
			return -1;
		now = ticks();
		record_stamp(&t->rec, now);
		t->progress = done;
	}
	t->own_count = i;
	return lat_finish(t, r);
}

#endif
