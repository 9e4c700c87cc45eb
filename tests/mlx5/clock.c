/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timestamps as time of day: both formats, timers of other frequencies, and timers that are copied now
 * and then, stand still or cannot be read.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <time.h>

#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;
static struct m5_ctl_ops ops;
static uint64_t khz;			/* frequency of the timer below */
static uint64_t copied_every;		/* ns between updates of the copy; 0: no copy */

static uint64_t ns_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t ticks_now(void)
{
	return (uint64_t)((unsigned __int128)ns_of(CLOCK_MONOTONIC) * khz / 1000000);
}

static int timer(struct m5_ctl *ctl, uint64_t *ticks)
{
	uint64_t now = ns_of(CLOCK_MONOTONIC);

	(void)ctl;
	if (copied_every)
		now -= now % copied_every;
	*ticks = (uint64_t)((unsigned __int128)now * khz / 1000000);
	return 0;
}

/* Opens an adapter with these formats and this timer. */
static void open_clock(enum m5_ts format, uint32_t timer_khz)
{
	struct rig_config c = { 0 };
	struct m5_ia *m;

	cr_assert_eq(rig_open(&r, &c), 0);
	m = m5_ia(r.ia);
	ops = *m->ctl->ops;
	ops.timer = timer;
	m->ctl->ops = &ops;
	khz = m->dev.timer_khz = timer_khz;
	m->dev.ethernet = false;	/* if not Ethernet, sq_ts alone gives the format */
	m->dev.sq_ts = (uint8_t)format;
}

static struct dap_stamp stamp_of(uint64_t raw)
{
	struct dap_stamp s;

	m5_hw.stamp(r.ia, raw, &s);
	cr_assert_eq(s.raw, raw);
	return s;
}

/* Is a timestamp taken now a time between clock readings before and after? */
static bool is_right(void)
{
	uint64_t before = ns_of(CLOCK_REALTIME), raw = ticks_now(), after = ns_of(CLOCK_REALTIME);
	struct dap_stamp s = stamp_of(raw);

	cr_assert(s.realtime);
	return s.realtime + s.error >= before && s.realtime - s.error <= after;
}

Test(clock, stamp__of_timers_of_any_frequency_is_right, .timeout = 60)
{
	static const uint32_t cases[] = { 78125, 156250, 276000, 1000000 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		open_clock(M5_TS_FREE_RUNNING, cases[i]);
		for (int n = 0; n < 10; n++) {
			cr_assert(is_right(), "at %u kHz", cases[i]);
			th_sleep_ms(3);
		}
		cr_assert_eq(stamp_of(ticks_now()).khz, cases[i]);
		rig_close(&r, NULL);
	}
}

/* The capability and the timer disagree by 1 %: 5 ms after a reading a timestamp is 50 us wrong. A busy
 * machine may hide that in most tries. */
Test(clock, stamp__with_a_wrong_frequency_is_outside_its_error, .timeout = 60)
{
	bool wrong = false;

	open_clock(M5_TS_FREE_RUNNING, 1000000);
	m5_ia(r.ia)->dev.timer_khz = 990000;
	for (int n = 0; n < 2000 && !wrong; n++) {
		wrong = !is_right();
		th_sleep_ms(3);
	}
	cr_assert(wrong);
	rig_close(&r, NULL);
}

Test(clock, stamp__of_a_timer_that_is_copied_each_millisecond_is_right, .timeout = 60)
{
	open_clock(M5_TS_FREE_RUNNING, 1000000);
	copied_every = 1000000;
	for (int n = 0; n < 10; n++) {
		cr_assert(is_right());
		th_sleep_ms(3);
	}
	rig_close(&r, NULL);
}

static uint64_t late_ns[8];	/* age of the values of the next loads, last one first */
static unsigned int late_loads;

static int late(struct m5_ctl *ctl, uint64_t *ticks)
{
	(void)ctl;
	*ticks = ns_of(CLOCK_MONOTONIC) - (late_loads ? late_ns[--late_loads] : 0);
	return 0;
}

/* What copies the timer may be interrupted before it stores the value. Each reading takes two loads. */
Test(clock, stamp__of_a_timer_whose_copy_is_late_is_right, .timeout = 60)
{
	open_clock(M5_TS_FREE_RUNNING, 1000000);
	ops.timer = late;
	stamp_of(0);
	late_ns[0] = 100000;
	late_ns[1] = 200000;
	for (unsigned int i = 0; i < 60; i++) {
		late_loads = i % 3 + 2;
		m5_ia(r.ia)->clock.ticks = 0;
		cr_assert(is_right(), "after %u loads of the time", i % 3);
	}
	rig_close(&r, NULL);
}

/* A timestamp from before the last reading of the timer is converted by its distance from that reading. */
Test(clock, stamp__older_than_the_reading_has_a_larger_error, .timeout = 60)
{
	uint64_t before, raw, after;
	struct dap_stamp s;

	open_clock(M5_TS_FREE_RUNNING, 1000000);
	before = ns_of(CLOCK_REALTIME);
	raw = ticks_now();
	after = ns_of(CLOCK_REALTIME);
	th_sleep_ms(50);
	s = stamp_of(raw);
	cr_assert_geq(s.realtime + s.error, before);
	cr_assert_leq(s.realtime - s.error, after);
	cr_assert_geq(s.error, 50000000 / 2048);
	rig_close(&r, NULL);
}

Test(clock, stamp__real_time_is_seconds_and_nanoseconds, .timeout = 60)
{
	static const enum m5_ts formats[] = { M5_TS_REAL_TIME, M5_TS_BOTH };
	struct dap_stamp s;

	for (int i = 0; i < 2; i++) {
		open_clock(formats[i], 1000000);
		s = stamp_of(UINT64_C(1795000000) << 32 | 999999999);
		cr_assert_eq(s.realtime, UINT64_C(1795000000999999999));
		cr_assert(!s.error && !s.khz);
		s = stamp_of(0);
		cr_assert(!s.realtime && !s.error && !s.khz);
		rig_close(&r, NULL);
	}
}

Test(clock, stamp__of_both_formats_tells_ticks_from_seconds, .timeout = 60)
{
	open_clock(M5_TS_BOTH, 1000000);
	cr_assert(is_right());
	cr_assert_eq(stamp_of(ticks_now()).khz, 1000000);
	rig_close(&r, NULL);
}

static int broken(struct m5_ctl *ctl, uint64_t *ticks)
{
	(void)ctl;
	(void)ticks;
	return -EOPNOTSUPP;
}

Test(clock, stamp__without_a_timer_has_no_time_of_day, .timeout = 60)
{
	struct dap_stamp s;

	open_clock(M5_TS_FREE_RUNNING, 1000000);
	ops.timer = broken;
	s = stamp_of(12345);
	cr_assert(!s.realtime && !s.error);
	rig_close(&r, NULL);
	open_clock(M5_TS_FREE_RUNNING, 0);	/* firmware that reports no frequency */
	s = stamp_of(12345);
	cr_assert(!s.realtime && !s.error);
	rig_close(&r, NULL);
	open_clock(M5_TS_REAL_TIME, 0);
	ops.timer = broken;
	cr_assert_eq(stamp_of(UINT64_C(1795000000) << 32).realtime, UINT64_C(1795000000000000000));
	rig_close(&r, NULL);
}

static unsigned int loads;

static int still(struct m5_ctl *ctl, uint64_t *ticks)
{
	(void)ctl;
	loads++;
	*ticks = 42;
	return 0;
}

/* The first call waits, also one that finds no event; no later one does. */
Test(clock, stamp__of_a_timer_that_stands_still_is_waited_for_once, .timeout = 60)
{
	struct dap_stamp s;

	open_clock(M5_TS_FREE_RUNNING, 1000000);
	ops.timer = still;
	stamp_of(0);
	cr_assert_gt(loads, 1);
	loads = 0;
	for (unsigned int i = 0; i < 3; i++) {
		s = stamp_of(42 + i);
		cr_assert(!s.realtime && !s.error);
	}
	cr_assert_eq(loads, 0);
	rig_close(&r, NULL);
}

/* The timer stops after some time: the last reading is still used, and there is no further one. */
Test(clock, stamp__of_a_timer_that_stops_has_the_last_reading, .timeout = 60)
{
	struct dap_stamp first, s;
	uint32_t error;

	open_clock(M5_TS_FREE_RUNNING, 1000000);
	stamp_of(ticks_now());		/* on a busy machine some time before the reading */
	first = stamp_of(m5_ia(r.ia)->clock.ticks);
	cr_assert_neq(first.realtime, 0);
	error = first.error;
	ops.timer = still;
	for (uint64_t i = 1; i < 4; i++) {
		loads = 0;
		s = stamp_of(first.raw + i * 20000000);
		cr_assert_eq(s.realtime, first.realtime + i * 20000000);
		cr_assert_gt(s.error, error);
		cr_assert(i == 1 ? loads > 1 : !loads);
		error = s.error;
	}
	rig_close(&r, NULL);
}
