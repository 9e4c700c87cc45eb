/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/rate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "perf/tool/report.h"

void rate_begin(struct rate *s, struct tool *t)
{
	double margin = (double)t->o.margin_s * 1e9;
	uint64_t now = ticks();

	*s = (struct rate){
		.first = now, .interval = (double)ticks_from_ns(1e12) / 1e3 / (double)t->o.rate,
		.from = now + ticks_from_ns(margin), .late_from = ticks_from_ns(RATE_LATE_NS),
	};
	t->deadline = now + ticks_from_ns((double)t->o.duration_s * 1e9 - margin);
	t->started_ns = tool_wall_ns() + (uint64_t)margin;
	record_start(&t->rec, s->from);
}

/* Returns how many operations were due before the deadline and did not start, from operation k on. */
static uint64_t unstarted(const struct rate *s, const struct tool *t, uint64_t k)
{
	double due = ceil((double)(t->deadline - s->first) / s->interval);

	return t->o.duration_s && due > (double)k ? (uint64_t)due - k : 0;
}

void rate_finish(const struct rate *s, struct tool *t, uint64_t k, struct tool_result *r)
{
	double took = (double)s->n * s->interval, really = (double)(s->last_end - s->first_due);

	r->rate = s->n ? (double)s->n / ticks_to_ns((uint64_t)fmax(took, really)) * 1e9 : 0;
	r->late = s->late;
	r->late_ns = ticks_to_ns(s->most);
	r->unstarted = unstarted(s, t, k);
}

void report_rate(const struct tool *t, const struct tool_result *r)
{
	printf(" rate of %" PRIu64 " bytes: %" PRIu64 " per second asked, %.2f reached; %" PRIu64 " of %"
	       PRIu64 " operations started late, by %.2f usec at most", r->size, t->o.rate, r->rate,
	       r->late, r->iters, r->late_ns / 1e3);
	if (r->unstarted)
		printf("; %" PRIu64 " more were due and did not start", r->unstarted);
	puts("");
}
