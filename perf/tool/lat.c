/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/lat.h"

#include <stdio.h>
#include <string.h>

int lat_begin(struct tool *t)
{
	record_free(&t->rec);
	/* With --rate the samples are latencies already. */
	if (record_init(&t->rec, t->o.duration_s ? 0 : t->iters, t->o.rate ? 1 : t->test->part)) {
		fprintf(stderr, "no memory for the samples\n");
		return -1;
	}
	return 0;
}

int lat_finish(struct tool *t, struct tool_result *r)
{
	if (record_finish(&t->rec)) {
		fprintf(stderr, "no memory to sort the samples\n");
		return -1;
	}
	record_summary(&t->rec, &r->lat);
	memcpy(r->worst, t->rec.worst, sizeof(r->worst));
	r->iters = t->rec.n;
	r->rate = t->rec.n ? 1e9 / (ticks_to_ns(1) * t->rec.sum / (double)t->rec.n) : 0;
	return 0;
}
