/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "perf/common/stats.h"
#include "perf/tool/ticks.h"

int record_init(struct record *r, uint64_t room, double part)
{
	*r = (struct record){ .room = room, .part = part, .min = UINT64_MAX };
	if (room && room <= RECORD_EXACT_MAX)
		r->stamps = malloc((room + 1) * sizeof(*r->stamps));
	else
		r->buckets = calloc(RECORD_BUCKETS, sizeof(*r->buckets));
	if (!r->stamps && !r->buckets)
		return -ENOMEM;
	/* Touches the pages, so that no page fault happens during the measurement. */
	if (r->stamps)
		memset(r->stamps, 1, (room + 1) * sizeof(*r->stamps));
	return 0;
}

void record_free(struct record *r)
{
	free(r->stamps);
	free(r->sorted);
	free(r->buckets);
	*r = (struct record){ .room = 0 };
}

void record_start(struct record *r, uint64_t now)
{
	r->first = now;
	r->last = now;
	if (r->stamps)
		r->stamps[0] = now;
}

static void keep_worst(struct record *r, uint64_t ticks, uint64_t at)
{
	int i = RECORD_WORST - 1;

	if (ticks <= r->worst[i].ticks)
		return;
	for (; i > 0 && r->worst[i - 1].ticks < ticks; i--)
		r->worst[i] = r->worst[i - 1];
	r->worst[i] = (struct record_worst){ .ticks = ticks, .at = at - r->first };
}

static void sum_up(struct record *r, uint64_t ticks, uint64_t now)
{
	r->sum += (double)ticks;
	r->squares += (double)ticks * (double)ticks;
	r->min = ticks < r->min ? ticks : r->min;
	r->max = ticks > r->max ? ticks : r->max;
	keep_worst(r, ticks, now);
}

void record_count(struct record *r, uint64_t ticks, uint64_t now)
{
	r->n++;
	r->buckets[record_bucket(ticks)]++;
	sum_up(r, ticks, now);
}

void record_add(struct record *r, uint64_t from, uint64_t now)
{
	if (r->buckets) {
		record_count(r, now - from, now);
		return;
	}
	r->lone = true;
	sum_up(r, now - from, now);
	r->stamps[r->n++] = now - from;
}

uint64_t record_sample(const struct record *r, uint64_t i)
{
	return r->lone ? r->stamps[i] : r->stamps[i + 1] - r->stamps[i];
}

int record_finish(struct record *r)
{
	uint64_t i;

	if (!r->stamps)
		return 0;
	r->sorted = malloc((r->n ? r->n : 1) * sizeof(*r->sorted));
	if (!r->sorted)
		return -ENOMEM;
	for (i = 0; i < r->n; i++) {
		r->sorted[i] = record_sample(r, i);
		if (!r->lone)
			sum_up(r, r->sorted[i], r->stamps[i + 1]);
	}
	qsort(r->sorted, r->n, sizeof(*r->sorted), compare_u64);
	return 0;
}

double record_bucket_value(unsigned int b)
{
	unsigned int shift;
	uint64_t low;

	if (b < 2u << RECORD_SUB_BITS)
		return b;
	shift = (b >> RECORD_SUB_BITS) - 1;
	low = (uint64_t)((b & ((1u << RECORD_SUB_BITS) - 1)) | 1u << RECORD_SUB_BITS) << shift;
	return (double)low + (double)(1ull << shift) / 2;
}

static double quantile_ticks(const struct record *r, double q)
{
	uint64_t rank = (uint64_t)(q * (double)r->n), seen = 0;
	unsigned int b;
	double v;

	if (!r->n)
		return 0;
	rank = rank < r->n ? rank : r->n - 1;
	if (r->sorted)
		return (double)r->sorted[rank];
	for (b = 0; b < RECORD_BUCKETS; b++) {
		seen += r->buckets[b];
		if (seen > rank)
			break;
	}
	v = record_bucket_value(b);
	v = v > (double)r->max ? (double)r->max : v;
	return v < (double)r->min ? (double)r->min : v;
}

double record_quantile_ns(const struct record *r, double q)
{
	return quantile_ticks(r, q) * ticks_to_ns(1) * r->part;
}

void record_summary(const struct record *r, struct record_summary *s)
{
	double ns = ticks_to_ns(1) * r->part, avg, variance;

	memset(s, 0, sizeof(*s));
	if (!r->n)
		return;
	avg = r->sum / (double)r->n;
	variance = r->squares / (double)r->n - avg * avg;
	s->n = r->n;
	s->min = (double)r->min * ns;
	s->max = (double)r->max * ns;
	s->avg = avg * ns;
	s->stdev = variance > 0 ? sqrt(variance) * ns : 0;
	s->typical = record_quantile_ns(r, 0.5);
	s->p99 = record_quantile_ns(r, 0.99);
	s->p999 = record_quantile_ns(r, 0.999);
}

uint64_t record_between(const struct record *r, double from, double to)
{
	double ns = ticks_to_ns(1) * r->part;
	uint64_t i, count = 0;
	unsigned int b;

	if (r->sorted) {
		for (i = 0; i < r->n; i++)
			count += (double)r->sorted[i] * ns >= from && (double)r->sorted[i] * ns < to;
		return count;
	}
	for (b = 0; b < RECORD_BUCKETS; b++)
		if (record_bucket_value(b) * ns >= from && record_bucket_value(b) * ns < to)
			count += r->buckets[b];
	return count;
}
