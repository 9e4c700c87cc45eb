/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency samples of one size, none of them dropped. A run with a number of iterations keeps each time
 * stamp. A run with a duration counts in buckets whose width is at most 1/128 of their value; it keeps
 * smallest, largest, sum, sum of squares and the worst ones exactly.
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
	uint64_t ticks, at;	/* duration and end: ticks since the start */
};

struct record {
	uint64_t *stamps;	/* exact: n + 1 of them; NULL with buckets */
	uint64_t *sorted;	/* exact: sorted by record_finish() */
	uint64_t *buckets;
	uint64_t n, room, first, last;
	uint64_t min, max;
	double sum, squares;	/* of ticks */
	double part;		/* fraction of a sample that counts: 0.5 for a round trip */
	bool lone;		/* exact, with record_add(): stamps holds the samples themselves */
	struct record_worst worst[RECORD_WORST];	/* descending */
};

struct record_summary {		/* nanoseconds */
	uint64_t n;
	double min, max, typical, avg, stdev, p99, p999;
};

/* room 0: uses buckets. 0 or -ENOMEM. */
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

/* Adds a sample from the last stamp to now. */
static inline void record_stamp(struct record *r, uint64_t now)
{
	if (r->stamps)
		r->stamps[++r->n] = now;
	else
		record_count(r, now - r->last, now);
	r->last = now;
}

/* Adds a sample with its own start, for overlapping operations. */
void record_add(struct record *r, uint64_t from, uint64_t now);

/* Call after the last sample and before the functions below. 0 or -ENOMEM. */
int record_finish(struct record *r);
/* The i-th sample in the order of time, in ticks; for an exact record. */
uint64_t record_sample(const struct record *r, uint64_t i);
void record_summary(const struct record *r, struct record_summary *s);
double record_quantile_ns(const struct record *r, double q);
/* The number of samples in [from, to) ns. */
uint64_t record_between(const struct record *r, double from, double to);

#endif
