/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf/tool/tool.h"

enum { FLOOR_NS = 1000000000 };

const char *const explain_keys[EXPLAIN_CAUSES] = {
	[EXPLAIN_RETRY] = "retransmission", [EXPLAIN_VOLUNTARY] = "voluntary_switch",
	[EXPLAIN_MODEL] = "model_thread", [EXPLAIN_INVOLUNTARY] = "involuntary_switch",
	[EXPLAIN_STOLEN] = "stolen_or_interrupt", [EXPLAIN_MIGRATION] = "migration",
	[EXPLAIN_FAULT] = "page_fault", [EXPLAIN_TICK] = "timer_tick", [EXPLAIN_NONE] = "unexplained",
};

static const char *const names[EXPLAIN_CAUSES] = {
	[EXPLAIN_RETRY] = "retransmission or RNR", [EXPLAIN_VOLUNTARY] = "voluntary switch",
	[EXPLAIN_MODEL] = "software adapter on this core", [EXPLAIN_INVOLUNTARY] = "involuntary switch",
	[EXPLAIN_STOLEN] = "steal or interrupt time", [EXPLAIN_MIGRATION] = "migration",
	[EXPLAIN_FAULT] = "page fault", [EXPLAIN_TICK] = "timer tick", [EXPLAIN_NONE] = "unexplained",
};

static struct {
	struct record floor;
	struct explain_mark before;	/* the previous reading */
	uint64_t tick_ns;
	double median;			/* running estimate, in ticks */
	/* for each cause: samples by bucket, as in a record, and the longest in ticks */
	uint64_t n[EXPLAIN_CAUSES][RECORD_BUCKETS], longest[EXPLAIN_CAUSES];
} explain;

enum explain_cause explain_cause(const struct explain_mark *a, const struct explain_mark *b,
				 uint64_t sample_ns, uint64_t tick_ns)
{
	double wall = ticks_to_ns(b->at - a->at), on_cpu = (double)(b->on_cpu_ns - a->on_cpu_ns);
	double off = wall - on_cpu, model = (double)(b->model_ns - a->model_ns);

	if (b->retries != a->retries)
		return EXPLAIN_RETRY;
	if (off * 2 >= (double)sample_ns) {
		if (b->voluntary != a->voluntary)
			return EXPLAIN_VOLUNTARY;
		if (b->model_here && model * 2 >= off && b->cpu == a->cpu)
			return EXPLAIN_MODEL;
		return b->involuntary != a->involuntary ? EXPLAIN_INVOLUNTARY : EXPLAIN_STOLEN;
	}
	if (b->cpu != a->cpu)
		return EXPLAIN_MIGRATION;
	if (b->faults != a->faults)
		return EXPLAIN_FAULT;
	if (b->voluntary != a->voluntary)
		return EXPLAIN_VOLUNTARY;
	if (b->involuntary != a->involuntary)
		return EXPLAIN_INVOLUNTARY;
	return b->coarse_ns != a->coarse_ns && sample_ns < tick_ns ? EXPLAIN_TICK : EXPLAIN_NONE;
}

const struct record *explain_floor(void)
{
	return &explain.floor;
}

int explain_open(struct tool *t)
{
	uint64_t now, until;

	marks_open(t->port);
	explain.tick_ns = mark_tick_ns();
	if (explain.floor.n)
		return 0;
	if (record_init(&explain.floor, 0, 1)) {
		fprintf(stderr, "no memory for the jitter floor\n");
		return -1;
	}
	now = ticks();
	until = now + ticks_from_ns(FLOOR_NS);
	record_start(&explain.floor, now);
	do {
		now = ticks();
		record_stamp(&explain.floor, now);
	} while (now < until);
	return record_finish(&explain.floor);
}

/* Writes to all memory of struct explain, so that --explain causes no page fault during the measurement. */
void explain_start(void)
{
	memset(explain.n, 0, sizeof(explain.n));
	memset(explain.longest, 0, sizeof(explain.longest));
	explain.median = 0;
	mark_take(&explain.before);
	mark_take_slow(&explain.before);
	mark_take(&explain.before);
}

/* Moves the estimate towards the median: as many samples raise it as lower it. */
static void follow_median(double sample)
{
	if (explain.median <= 0)
		explain.median = sample;
	else
		explain.median *= sample > explain.median ? 1.02 : 1 / 1.02;
}

void explain_sample(uint64_t sample)
{
	struct explain_mark now = explain.before;
	enum explain_cause cause;
	bool slow;

	mark_take(&now);
	follow_median((double)sample);
	/* Only samples that may turn out to be long are worth the slow reading. */
	slow = (double)sample > EXPLAIN_LONG / 2 * explain.median;
	if (slow)
		mark_take_slow(&now);
	cause = explain_cause(&explain.before, &now, (uint64_t)ticks_to_ns(sample), explain.tick_ns);
	explain.n[cause][record_bucket(sample)]++;
	if (sample > explain.longest[cause])
		explain.longest[cause] = sample;
	if (slow)
		mark_take(&now);
	explain.before = now;
}

void explain_finish(const struct tool *t, struct explain_result *e)
{
	double ns = ticks_to_ns(1) * t->rec.part, limit = EXPLAIN_LONG * record_quantile_ns(&t->rec, 0.5);
	unsigned int c, b;

	*e = (struct explain_result){ .limit_ns = limit };
	for (c = 0; c < EXPLAIN_CAUSES; c++) {
		for (b = 0; b < RECORD_BUCKETS; b++)
			if (record_bucket_value(b) * ns > limit)
				e->n[c] += explain.n[c][b];
		if (e->n[c])
			e->longest_ns[c] = (double)explain.longest[c] * ns;
	}
}

static bool has_source(unsigned int cause)
{
	return cause == EXPLAIN_RETRY ? marks_counters() : cause != EXPLAIN_MODEL || marks_models();
}

void report_explain(const struct tool_result *r)
{
	const struct explain_result *e = &r->explain;
	const struct record *f = &explain.floor;
	uint64_t above = 0;
	unsigned int c;
	int i;

	for (c = 0; c < EXPLAIN_CAUSES; c++)
		above += e->n[c];
	printf(" samples of %" PRIu64 " bytes above %d times the median, %.2f usec: %" PRIu64 " of %" PRIu64
	       "\n   %-32s %10s %16s\n", r->size, EXPLAIN_LONG, e->limit_ns / 1e3, above, r->iters, "cause",
	       "samples", "longest[usec]");
	for (c = 0; c < EXPLAIN_CAUSES; c++)
		if (has_source(c))
			printf("   %-32s %10" PRIu64 " %16.2f\n", names[c], e->n[c], e->longest_ns[c] / 1e3);
		else
			printf("   %-32s %10s %16s\n", names[c], "-", "-");
	printf(" jitter floor: gaps above %.2f usec of a loop that only reads the clock for 1 s: %" PRIu64
	       "; longest", e->limit_ns / 1e3, record_between(f, e->limit_ns, 1e300));
	for (i = 0; i < RECORD_WORST && f->worst[i].ticks; i++)
		printf(" %.2f", ticks_to_ns(f->worst[i].ticks) / 1e3);
	puts(" usec");
}
