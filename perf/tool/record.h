/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Latency samples of one size, none of which is dropped. A run with a number of iterations keeps
 * each time stamp. A run with a duration counts in buckets whose width is at most 1/128 of their
 * value; exact are the smallest and largest sample, the sum, the sum of squares and the worst
 * samples.
 */
#ifndef PERF_RECORD_H
#define PERF_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RECORD_WORST = 5,
	RECORD_EXACT_MAX = 1 << 24,	/* most exact samples; their stamps take 128 MB */
	RECORD_SUB_BITS = 7,
	RECORD_BUCKETS = (64 - RECORD_SUB_BITS + 1) << RECORD_SUB_BITS,
};

struct record_worst {
	uint64_t ticks, at;	/* duration of a sample; its end since the start; both in ticks */
};

struct record {
	uint64_t *stamps;	/* exact record: n + 1 time stamps; NULL if buckets are used */
	uint64_t *sorted;	/* exact record: the samples, sorted by record_finish() */
	uint64_t *buckets;
	uint64_t n, room, first, last;
	uint64_t min, max;
	double sum, squares;	/* sums in ticks */
	double part;		/* fraction of a sample that counts: 0.5 for a round trip */
	/* exact record filled by record_add(): stamps has the samples themselves */
	bool lone;
	struct record_worst worst[RECORD_WORST];	/* the longest samples, in descending order */
};

struct record_summary {		/* all in nanoseconds */
	uint64_t n;
	double min, max, typical, avg, stdev, p99, p999;
};

/* If room is 0, the record uses buckets. Returns 0 or -ENOMEM. */
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

double record_bucket_value(unsigned int b);	/* returns the middle of a bucket, in ticks */
void record_count(struct record *r, uint64_t ticks, uint64_t now);

/* Adds a sample: the time from the last stamp to now. */
static inline void record_stamp(struct record *r, uint64_t now)
{
	if (r->stamps)
		r->stamps[++r->n] = now;
	else
		record_count(r, now - r->last, now);
	r->last = now;
}

/* Adds a sample that began at a given time, for overlapping operations. */
void record_add(struct record *r, uint64_t from, uint64_t now);

/* To be called after the last sample and before the functions below. Returns 0 or -ENOMEM. */
int record_finish(struct record *r);
/* Returns the i-th sample in the order of time, in ticks. Only for an exact record. */
uint64_t record_sample(const struct record *r, uint64_t i);
void record_summary(const struct record *r, struct record_summary *s);
double record_quantile_ns(const struct record *r, double q);
/* Returns the number of samples in [from, to) ns. */
uint64_t record_between(const struct record *r, double from, double to);

#endif
