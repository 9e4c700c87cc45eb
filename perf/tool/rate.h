/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schedule of --rate. Operation k is to start at first + k * interval, whether or not the operations
 * before it have ended. Its sample begins at that time. If an operation stalls, the samples of the
 * operations that were due meanwhile show it, too.
 */
#ifndef PERF_RATE_H
#define PERF_RATE_H

#include "perf/tool/tool.h"

enum { RATE_LATE_NS = 1000 };	/* an operation is late if it starts later than this */

struct rate {
	uint64_t first;		/* intended start of operation 0, in ticks */
	double interval;	/* ticks between two intended starts */
	/* operations that were due before this time do not count */
	uint64_t from;
	/* operations that count: their number, the first intended start, and the last end */
	uint64_t n, first_due, last_end;
	/* delay in ticks above which an operation is late; number of late operations */
	uint64_t late_from, late;
	uint64_t most;			/* longest time between intended and actual start, in ticks */
};

/* functions of rate.c */
void rate_begin(struct rate *s, struct tool *t);
/* k: the first operation that did not start. */
void rate_finish(const struct rate *s, struct tool *t, uint64_t k, struct tool_result *r);

static inline uint64_t rate_due(const struct rate *s, uint64_t k)
{
	return s->first + (uint64_t)((double)k * s->interval);
}

/* True if an operation with this intended start belongs to the measurement. */
static inline bool rate_more(const struct rate *s, const struct tool *t, uint64_t due)
{
	return t->o.duration_s ? due < t->deadline : s->n < t->iters;
}

/* Waits until an intended start. Returns 0; -1: the peer is gone. */
static inline int rate_await(struct tool *t, uint64_t due)
{
	unsigned int spins = 0;

	while (ticks() < due)
		if (++spins % TOOL_SPINS == 0 && tool_idle(t, DAT_SUCCESS))
			return -1;
	return 0;
}

/*
 * Adds the sample of an operation: the time that it started late, and the part of its own time that is
 * its latency.
 */
static inline void rate_sample(struct rate *s, struct tool *t, uint64_t due, uint64_t start, uint64_t end)
{
	uint64_t late = start > due ? start - due : 0;

	if (due < s->from)
		return;
	if (!s->n++)
		s->first_due = due;
	s->last_end = end;
	s->late += late > s->late_from;
	s->most = late > s->most ? late : s->most;
	record_add(&t->rec, end - late - (uint64_t)((double)(end - start) * t->test->part), end);
}

#endif
