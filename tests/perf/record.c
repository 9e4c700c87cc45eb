/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples of perf/tool: none is dropped, percentiles are right, and the worst samples have time
 * stamps. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "perf/common/stats.h"
#include "perf/tool/record.h"

enum { SAMPLES = 20000 };

static uint64_t values[SAMPLES];

/* Makes values from one tick to some seconds, with the same number in each power of two. */
static void make_values(void)
{
	uint64_t x = 88172645463325252u;
	int i;

	for (i = 0; i < SAMPLES; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		values[i] = 1 + (x >> 20) % (2ull << x % 32);
	}
}

/* A table of dat_pingpong says how many of its rounds it covers. */
Test(record, samples__beyond_their_room_replace_the_oldest)
{
	struct samples s;

	cr_assert_eq(samples_init(&s, 4), 0);
	for (uint64_t i = 1; i <= 3; i++)
		samples_add(&s, i);
	cr_assert_eq(samples_kept(&s), 3);
	for (uint64_t i = 4; i <= 6; i++)
		samples_add(&s, i);
	cr_assert(s.n == 6 && samples_kept(&s) == 4);
	cr_assert(samples_quantile(&s, 0) == 3 && samples_quantile(&s, 1) == 6);
	samples_free(&s);
}

/* Adds all values as consecutive samples, then sorts the values. */
static void fill(struct record *r, uint64_t room)
{
	uint64_t now = 1000;
	int i;

	make_values();
	cr_assert_eq(record_init(r, room, 1), 0);
	record_start(r, now);
	for (i = 0; i < SAMPLES; i++) {
		now += values[i];
		record_stamp(r, now);
	}
	cr_assert_eq(record_finish(r), 0);
	qsort(values, SAMPLES, sizeof(*values), compare_u64);
}

static void summary_is_exact(const struct record *r)
{
	struct record_summary s;
	double sum = 0, squares = 0, avg;
	int i;

	for (i = 0; i < SAMPLES; i++)
		sum += (double)values[i];
	avg = sum / SAMPLES;
	for (i = 0; i < SAMPLES; i++)
		squares += ((double)values[i] - avg) * ((double)values[i] - avg);
	record_summary(r, &s);
	cr_assert_eq(s.n, SAMPLES);
	cr_assert_eq(s.min, (double)values[0]);
	cr_assert_eq(s.max, (double)values[SAMPLES - 1]);
	cr_assert_float_eq(s.avg, avg, avg * 1e-9);
	cr_assert_float_eq(s.stdev, sqrt(squares / SAMPLES), avg * 1e-6);
}

static void quantiles_are_within(const struct record *r, double share)
{
	static const double q[] = { 0, 0.1, 0.5, 0.9, 0.99, 0.999 };
	double want, got;
	size_t i;

	for (i = 0; i < sizeof(q) / sizeof(*q); i++) {
		want = (double)values[(int)(q[i] * SAMPLES)];
		got = record_quantile_ns(r, q[i]);
		cr_assert(fabs(got - want) <= want * share, "quantile %g is %g instead of %g", q[i],
			  got, want);
	}
}

Test(record, exact__returns_each_sample)
{
	struct record r;

	fill(&r, SAMPLES);
	summary_is_exact(&r);
	quantiles_are_within(&r, 0);
	record_free(&r);
}

Test(record, buckets__keep_all_but_the_last_digits)
{
	struct record r;

	fill(&r, 0);
	summary_is_exact(&r);
	quantiles_are_within(&r, 0.004);
	cr_assert_eq(record_between(&r, 0, 1e18), SAMPLES);
	record_free(&r);
}

Test(record, bucket__of_a_larger_value_is_never_a_lower_one)
{
	unsigned int before = 0, b;
	uint64_t v;

	for (v = 0; v < 1u << 20; v++) {
		b = record_bucket(v);
		cr_assert(b == before || b == before + 1,
			  "value %ju skipped a bucket, or has a lower one", (uintmax_t)v);
		before = b;
	}
	cr_assert_lt(record_bucket(UINT64_MAX), (unsigned int)RECORD_BUCKETS);
}

static void worst_are_dated(uint64_t room)
{
	uint64_t now = 0;
	struct record r;
	int i;

	cr_assert_eq(record_init(&r, room, 1), 0);
	record_start(&r, now);
	for (i = 1; i <= 100; i++) {
		now += i % 10 ? 5 : 1000 + (uint64_t)i;
		record_stamp(&r, now);
	}
	cr_assert_eq(record_finish(&r), 0);
	cr_assert_eq(r.worst[0].ticks, 1100);
	cr_assert_eq(r.worst[0].at, now);
	for (i = 1; i < RECORD_WORST; i++) {
		cr_assert_eq(r.worst[i].ticks, 1100 - 10 * (uint64_t)i);
		cr_assert_lt(r.worst[i].at, r.worst[i - 1].at);
	}
	record_free(&r);
}

Test(record, worst__are_found_with_their_time)
{
	worst_are_dated(100);
	worst_are_dated(0);
}

Test(record, add__takes_samples_that_overlap)
{
	struct record_summary s;
	struct record r;
	uint64_t room;

	for (room = 0; room <= 3; room += 3) {
		cr_assert_eq(record_init(&r, room, 0.5), 0);
		record_start(&r, 0);
		record_add(&r, 10, 30);
		record_add(&r, 10, 20);
		record_add(&r, 5, 35);
		cr_assert_eq(record_finish(&r), 0);
		record_summary(&r, &s);
		cr_assert_eq(s.n, 3);
		cr_assert_eq(s.min, 5);
		cr_assert_eq(s.typical, 10);
		cr_assert_eq(s.max, 15);
		record_free(&r);
	}
}
