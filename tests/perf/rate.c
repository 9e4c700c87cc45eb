/* SPDX-License-Identifier: BSD-2-Clause */
/* The schedule of --rate: the loop of the latency programs, on a clock that the test moves. */
#include <criterion/criterion.h>

#include "perf/tool/lat.h"

enum { RATE = 100000, INTERVAL = 10000, OPS = 40, STALLED = 5, STALL = 100000, TOOK = 1000 };

static uint64_t now, stall, took;

extern bool real_clock;		/* explain.c of this suite sets it */
bool real_clock;

/* Replaces the clock. Each reading takes 10 ns. */
uint64_t __wrap_now_ns(void);
uint64_t __real_now_ns(void);
uint64_t __wrap_now_ns(void)
{
	return real_clock ? __real_now_ns() : (now += 10);
}

uint64_t tool_wall_ns(void)
{
	return now;
}

/* The operation: one of them stalls. */
static int give(struct tool *t, uint64_t i)
{
	(void)t;
	now += i == t->o.warm_up + STALLED ? stall : took;
	return 0;
}

static struct tool_result measure(struct tool *t, double part, struct tool_options o)
{
	static struct tool_test test;
	struct tool_result r = { .iters = 0 };

	test.part = part;
	*t = (struct tool){ .test = &test, .o = o, .iters = o.iters };
	cr_assert_eq(lat_run(t, &r, give, NULL), 0);
	return r;
}

static struct tool_result with_a_stall(struct tool *t, double part)
{
	stall = STALL;
	took = TOOK;
	return measure(t, part, (struct tool_options){ .rate = RATE, .iters = OPS, .warm_up = 3 });
}

/* The operation behind the stall starts 90 us late. Each further one catches up 9 us. */
Test(rate, stall__shows_in_the_samples_of_the_operations_behind_it)
{
	struct tool t;
	struct tool_result r = with_a_stall(&t, 1);
	uint64_t k, want, got;

	for (k = 0; k < STALLED - 1; k++)
		cr_assert_lt(record_sample(&t.rec, k), 2 * TOOK);
	cr_assert_geq(record_sample(&t.rec, k), STALL);
	for (k = STALLED; k < STALLED + 9; k++) {
		want = STALL + TOOK - INTERVAL - (k - STALLED) * (INTERVAL - TOOK);
		got = record_sample(&t.rec, k);
		cr_assert(got + 2 * TOOK > want && got < want + 2 * TOOK,
			  "the sample of operation %ju is %ju ns instead of %ju", (uintmax_t)k,
			  (uintmax_t)got, (uintmax_t)want);
	}
	for (k = STALLED + 15; k < OPS; k++)
		cr_assert_lt(record_sample(&t.rec, k), 2 * TOOK);
	cr_assert_eq(r.iters, OPS);
	cr_assert_float_eq(r.rate, RATE, RATE / 100);
	cr_assert(r.late >= 9 && r.late < 15, "%ju operations are late", (uintmax_t)r.late);
	cr_assert_float_eq(r.late_ns, STALL - INTERVAL, 1000);
	record_free(&t.rec);
}

/* The latency of a round trip is half of it; a late start counts as a whole. */
Test(rate, round_trip__counts_half_and_its_late_start_whole)
{
	struct tool t;
	uint64_t got;

	with_a_stall(&t, 0.5);
	got = record_sample(&t.rec, STALLED - 1);
	cr_assert(got >= STALL / 2 && got < STALL / 2 + TOOK, "half of the stall is %ju ns", (uintmax_t)got);
	got = record_sample(&t.rec, STALLED);
	cr_assert(got >= STALL - INTERVAL && got < STALL - INTERVAL + 2 * TOOK,
		  "the sample behind the stall is %ju ns", (uintmax_t)got);
	record_free(&t.rec);
}

Test(rate, rate_that_is_not_reached__is_reported)
{
	struct tool_result r;
	struct tool t;

	stall = took = 10000000;
	r = measure(&t, 1, (struct tool_options){ .rate = 1000, .duration_s = 1 });
	cr_assert_eq(r.iters, 100);
	cr_assert_eq(r.unstarted, 900);
	cr_assert_eq(r.late, 99);
	cr_assert_float_eq(r.rate, 100, 0.1);
	cr_assert_float_eq(r.lat.max, 901e6, 1e6);
	record_free(&t.rec);
}

Test(rate, margins__do_not_count)
{
	struct tool_result r;
	struct tool t;

	stall = took = 99990000;
	r = measure(&t, 1, (struct tool_options){ .rate = 10, .duration_s = 4, .margin_s = 1 });
	cr_assert_eq(r.iters, 20);
	cr_assert_eq(r.late + r.unstarted, 0);
	cr_assert_eq(t.own_count, 30);
	record_free(&t.rec);
}

Test(rate, plan__does_not_drift)
{
	struct rate s;
	struct tool t = { .o.rate = 3 };

	rate_begin(&s, &t);
	cr_assert_eq(rate_due(&s, 0), s.first);
	cr_assert_float_eq((double)(rate_due(&s, 3000000) - s.first), 1e15, 10);
}
