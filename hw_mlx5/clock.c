/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Timestamps of completions as time of day. PRM, ts_format: a free-running timestamp counts ticks of
 * the adapter's internal timer, and is converted by its distance from a moment at which both clocks
 * were read. A real-time timestamp is the adapter's own time of day.
 */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/hw.h"
#include "hw_mlx5/obj.h"
#include "hw_mlx5/ops.h"

#define RENEW_NS 10000000	/* if a timestamp is newer than the reading by this, read again */
#define GOOD_NS 2000		/* a reading with an error below this is good enough */
#define READINGS 8		/* at most, and at least two, because one alone may be wrong */
/* If the timer does not advance for this long, it has stopped. The first reading may take longer: it is
 * part of the first call, which a program can make before its measurement. */
#define FIRST_MS 1000
#define LATER_MS 10
#define DRIFT 2048		/* ns in which both clocks drift apart by less than 1 ns */

static uint64_t host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int64_t since_reading(const struct m5_clock *c, uint64_t raw, uint32_t khz)
{
	return (int64_t)((__int128)(int64_t)(raw - c->ticks) * 1000000 / khz);
}

/*
 * Is a new reading better than c? Where the adapter's timer is copied, the copy may come late, and then
 * the reading gives a time that is too late. So of two that contradict each other the earlier one is
 * right, otherwise the more exact one is better.
 */
static bool is_better(const struct m5_clock *c, uint64_t ticks, uint64_t realtime, uint64_t error,
		      uint32_t khz)
{
	int64_t later = (int64_t)(realtime - c->realtime) - since_reading(c, ticks, khz);
	int64_t errors = (int64_t)(error + c->error);

	if (c->error == UINT64_MAX || later < -errors)
		return true;
	return later <= errors && error < c->error;
}

/*
 * Reads the timer until its value changes. The new value is from a moment between both loads, even
 * where they read a copy that is written now and then, unless that was written late. Returns 0; -ETIME
 * if the timer stands still, or the error of the adapter, with the old reading.
 */
static int read_clocks(struct m5_ctl *ctl, struct m5_clock *c, uint32_t khz, uint64_t limit_ms)
{
	uint64_t until = dap_now_ms() + limit_ms, before, between = host_ns(), after, old = 0, ticks;
	uint64_t realtime, error;
	int err = ctl->ops->timer(ctl, &old);
	bool late = false;

	for (ticks = old; !err && ticks == old; err = ctl->ops->timer(ctl, &ticks)) {
		if (late)
			return -ETIME;
		late = dap_now_ms() > until;
		before = between;
		between = host_ns();
	}
	if (err)
		return err;
	after = host_ns();
	realtime = before + (after - before) / 2;
	error = (after - before + 1) / 2;
	if (is_better(c, ticks, realtime, error, khz)) {
		c->ticks = ticks;
		c->realtime = realtime;
		c->error = error;
	}
	return 0;
}

/* Once the timer was found to stand still, it is not read again, because each reading would wait. */
static void renew(struct dap_ia *ia, struct m5_clock *c)
{
	uint64_t old = c->error, limit_ms = c->ticks ? LATER_MS : FIRST_MS;
	struct m5_ia *m = m5_ia(ia);
	int err = 0;

	c->error = UINT64_MAX;
	for (int i = 0; i < READINGS && (i < 2 || c->error > GOOD_NS) && !err; i++)
		err = read_clocks(m->ctl, c, m->dev.timer_khz, limit_ms);
	if (c->error == UINT64_MAX)
		c->error = old;
	c->still = err == -ETIME;
	if (c->still)
		dap_log(DAP_LOG_ERR, "%s: the adapter's timer stands still, so %s", ia->name, c->ticks ?
			"the error of timestamps grows" : "timestamps have no time of day");
}

static void convert_ticks(struct dap_ia *ia, uint64_t raw, struct dap_stamp *s)
{
	struct m5_ia *m = m5_ia(ia);
	struct m5_clock *c = &m->clock;
	int64_t ns;
	uint64_t error;

	s->khz = m->dev.timer_khz;
	if (!c->still && (!c->ticks || since_reading(c, raw, s->khz) > RENEW_NS))
		renew(ia, c);
	if (!c->ticks)
		return;
	ns = since_reading(c, raw, s->khz);
	/* The reading and the timestamp are each rounded to ticks. */
	error = c->error + 1000000 / s->khz + 1 + (uint64_t)(ns < 0 ? -ns : ns) / DRIFT;
	s->realtime = c->realtime + (uint64_t)ns;
	s->error = error < UINT32_MAX ? (uint32_t)error : UINT32_MAX;
}

/* An adapter with both formats chooses one. Its timer will not count to 2^62 in a century, and the
 * time of day has exceeded that since 2004. */
static bool is_ticks(const struct m5_clock *c, uint64_t raw)
{
	return c->format == M5_TS_FREE_RUNNING || (c->format != M5_TS_REAL_TIME && !(raw >> 62));
}

static void start(struct dap_ia *ia)
{
	struct m5_ia *m = m5_ia(ia);
	struct m5_clock *c = &m->clock;
	int err = m5_cmd_ts_format(m->ctl, &m->dev, &c->format);
	uint64_t ticks;
	int no_timer = m->ctl->ops->timer(m->ctl, &ticks);

	if (!err && c->format != M5_TS_REAL_TIME)
		err = m->dev.timer_khz ? no_timer : -EOPNOTSUPP;
	c->started = true;
	c->works = !err;
	if (err)
		dap_log(DAP_LOG_ERR, "%s: timestamps have no time of day, because the adapter's clock "
			"cannot be read: %s", ia->name, strerror(-err));
	else if (c->format == M5_TS_FREE_RUNNING)
		renew(ia, c);
}

void m5_stamp(struct dap_ia *ia, uint64_t raw, struct dap_stamp *s)
{
	struct m5_ia *m = m5_ia(ia);
	struct m5_clock *c = &m->clock;

	*s = (struct dap_stamp){ .raw = raw };
	pthread_mutex_lock(&c->lock);
	if (!c->started)
		start(ia);
	if (raw && c->works && is_ticks(c, raw))
		convert_ticks(ia, raw, s);
	else if (raw && c->works)
		s->realtime = (raw >> 32) * 1000000000u + (raw & UINT32_MAX);
	pthread_mutex_unlock(&c->lock);
}
