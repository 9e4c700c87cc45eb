/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does one operation after another, each of which is a sample. Or both sides take turns, where a
 * sample is a send and its answer. Inlined into each program together with the program's own
 * functions.
 */
#ifndef PERF_LAT_H
#define PERF_LAT_H

#include "perf/tool/rate.h"
#include "perf/tool/tool.h"

/* Does the i-th operation, counted from 1 and including the warm-up, and waits for it. Returns 0;
 * 1: STOP arrived; -1. */
typedef int lat_fn(struct tool *t, uint64_t i);

/* functions of lat.c */
int lat_begin(struct tool *t);
int lat_finish(struct tool *t, struct tool_result *r);

static inline __attribute__((always_inline)) int lat_one(struct tool *t, uint64_t i, lat_fn *give,
							 lat_fn *take)
{
	t->progress = i;
	return give(t, i) || (take && take(t, i)) ? -1 : 0;
}

/* Measures with --rate: each operation has an intended start. One operation is in flight at a time. */
static inline __attribute__((always_inline)) int lat_run_rate(struct tool *t, struct tool_result *r,
							      lat_fn *give, lat_fn *take)
{
	uint64_t k, due, start;
	struct rate s;

	rate_begin(&s, t);
	for (k = 0; ; k++) {
		due = rate_due(&s, k);
		if (!rate_more(&s, t, due))
			break;
		if (rate_await(t, due))
			return -1;
		start = ticks();
		if (!rate_more(&s, t, start))
			break;
		if (lat_one(t, t->o.warm_up + k + 1, give, take))
			return -1;
		rate_sample(&s, t, due, start, ticks());
	}
	t->own_count = t->o.warm_up + k;
	if (lat_finish(t, r))
		return -1;
	rate_finish(&s, t, k, r);
	return 0;
}

/* Measures with --explain: the readings are between the samples. */
static inline __attribute__((always_inline)) int lat_run_explain(struct tool *t, struct tool_result *r,
								 uint64_t i, lat_fn *give, lat_fn *take)
{
	uint64_t done, start, end;

	explain_start();
	for (done = 0; tool_more(t, done); done++) {
		start = ticks();
		if (lat_one(t, ++i, give, take))
			return -1;
		end = ticks();
		record_add(&t->rec, start, end);
		explain_sample(end - start);
	}
	t->own_count = i;
	if (lat_finish(t, r))
		return -1;
	explain_finish(t, &r->explain);
	return 0;
}

/* tool_test.measure. take waits for the answer; NULL: the operation has no answer. */
static inline __attribute__((always_inline)) int lat_run(struct tool *t, struct tool_result *r,
							 lat_fn *give, lat_fn *take)
{
	uint64_t i = 0, done, now, from;

	if (lat_begin(t) || (t->o.explain && explain_open(t)))
		return -1;
	while (i < t->o.warm_up)
		if (lat_one(t, ++i, give, take))
			return -1;
	if (t->o.rate)
		return lat_run_rate(t, r, give, take);
	from = ticks() + ticks_from_ns((double)t->o.margin_s * 1e9);
	t->deadline = from + ticks_from_ns((double)(t->o.duration_s - 2 * t->o.margin_s) * 1e9);
	while (t->o.margin_s && ticks() < from)
		if (lat_one(t, ++i, give, take))
			return -1;
	t->started_ns = tool_wall_ns();
	record_start(&t->rec, ticks());
	if (t->o.explain)
		return lat_run_explain(t, r, i, give, take);
	for (done = 0; tool_more(t, done); done++) {
		if (lat_one(t, ++i, give, take))
			return -1;
		now = ticks();
		record_stamp(&t->rec, now);
	}
	t->own_count = i;
	return lat_finish(t, r);
}

/* tool_test.serve: the server's side of these operations. */
static inline __attribute__((always_inline)) int lat_answer(struct tool *t, lat_fn *take,
							    lat_fn *give)
{
	uint64_t i;
	int rc;

	for (i = 1; ; i++) {
		rc = take(t, i);
		if (rc)
			return rc < 0 ? -1 : 0;
		if (give(t, i))
			return -1;
	}
}

#endif
