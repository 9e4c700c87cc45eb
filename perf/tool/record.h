/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency samples of one size, none of them dropped. A run of so many iterations keeps each time
 * stamp; a run of so many seconds counts in buckets that are at most 1/128 of their value wide, and
 * keeps smallest, largest, sum, sum of squares and the worst ones exactly.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	RECORD_WORST = 5,
	RECORD_EXACT_MAX = 1 << 24,	/* samples: 128 MB of stamps */
	RECORD_SUB_BITS = 7,
	RECORD_BUCKETS = (64 - RECORD_SUB_BITS + 1) << RECORD_SUB_BITS,
};

struct record_worst {
	uint64_t ticks, at;	/* how long, and when it was over: ticks since the start */
};

struct record {
	uint64_t *stamps;	/* exact: n + 1 of them; NULL in buckets */
	uint64_t *sorted;	/* exact: the samples in order, made by record_finish() */
	uint64_t *buckets;
	uint64_t n, room, first, last;
	uint64_t min, max;
	double sum, squares;	/* of ticks */
	double part;		/* of a sample that counts: 0.5 where it is a round trip */
	bool lone;		/* exact, by record_add(): stamps holds the samples themselves */
	struct record_worst worst[RECORD_WORST];	/* descending */
};

struct record_summary {		/* nanoseconds */
	uint64_t n;
	double min, max, typical, avg, stdev, p99, p999;
};

/* room 0: in buckets. 0 or -ENOMEM. */
int record_init(struct record *r, uint64_t room, double part);
void record_free(struct record *r);
void record_start(struct record *r, uint64_t now);

static inline unsigned int record_bucket(uint64_t v)
{
	unsigned int shift;

	if (v < 2u << RECORD_SUB_BITS)
		return (unsigned int)v;
	shift = 63u - (unsigned int)__builtin_clzll(v) - RECORD_SUB_BITS;
	return ((shift + 1) << RECORD_SUB_BITS) +
	       (unsigned int)((v >> shift) & ((1u << RECORD_SUB_BITS) - 1));
}

void record_count(struct record *r, uint64_t ticks, uint64_t now);

/* One sample: from the last stamp to now. */
static inline void record_stamp(struct record *r, uint64_t now)
{
	if (r->stamps)
		r->stamps[++r->n] = now;
	else
		record_count(r, now - r->last, now);
	r->last = now;
}

/* One sample whose start is its own, where several are under way at a time. */
void record_add(struct record *r, uint64_t from, uint64_t now);

/* After the last sample, before the questions below. 0 or -ENOMEM. */
int record_finish(struct record *r);
/* The i-th as it came, in ticks; of an exact record. */
uint64_t record_sample(const struct record *r, uint64_t i);
void record_summary(const struct record *r, struct record_summary *s);
double record_quantile_ns(const struct record *r, double q);
/* What lies in [from, to) ns. */
uint64_t record_between(const struct record *r, double from, double to);

#endif
