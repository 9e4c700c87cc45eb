/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The causes of long samples, for --explain. After each sample the thread reads what the kernel counts for
 * it, which takes about a microsecond and belongs to no sample. The growth since the last reading names
 * the cause.
 */
#ifndef PERF_EXPLAIN_H
#define PERF_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>

struct tool;
struct tool_result;

enum { EXPLAIN_LONG = 4 };	/* a sample is long if it is above this many times the median */

enum explain_cause {
	EXPLAIN_RETRY,		/* the adapter retransmitted, or received an RNR NAK */
	EXPLAIN_VOLUNTARY,	/* the thread slept or was stopped */
	EXPLAIN_MODEL,		/* the thread of the software adapter ran on this core instead */
	EXPLAIN_INVOLUNTARY,	/* the scheduler ran another thread */
	EXPLAIN_STOLEN,		/* off the CPU without a switch: steal time, or interrupts */
	EXPLAIN_MIGRATION,
	EXPLAIN_FAULT,
	EXPLAIN_TICK,		/* a tick of the timer, in a sample shorter than the time between two ticks */
	EXPLAIN_NONE,
	EXPLAIN_CAUSES,
};

struct explain_mark {		/* one reading of the clocks and counters */
	uint64_t at;		/* ticks */
	uint64_t on_cpu_ns;	/* CPU time of this thread */
	uint64_t model_ns;	/* CPU time of the software adapter's threads */
	uint64_t voluntary, involuntary, faults;
	uint64_t coarse_ns;	/* a clock that only ticks of the timer move */
	int cpu;
	/* read only after a long sample: counters of the adapter, and whether a thread of the software
	 * adapter ran on this thread's core last */
	uint64_t retries;
	bool model_here;
};

struct explain_result {
	double limit_ns;	/* samples above this are long */
	uint64_t n[EXPLAIN_CAUSES];
	double longest_ns[EXPLAIN_CAUSES];	/* longest sample of each cause */
};

extern const char *const explain_keys[EXPLAIN_CAUSES];	/* names for the JSON */

/* functions of marks.c */
/* Finds the threads of the software adapter, and the counters of a port such as mlx5_0-1. */
void marks_open(const char *port);
bool marks_models(void);	/* are there threads of a software adapter in this process? */
bool marks_counters(void);
void mark_take(struct explain_mark *m);
void mark_take_slow(struct explain_mark *m);
uint64_t mark_tick_ns(void);	/* time between two ticks of the timer */

/* functions of explain.c */
/* Returns the cause of a sample between two readings. */
enum explain_cause explain_cause(const struct explain_mark *a, const struct explain_mark *b,
				 uint64_t sample_ns, uint64_t tick_ns);
/* To be called before the warm-up. The first call measures the jitter floor. Returns 0, or -1 after a
 * message. */
int explain_open(struct tool *t);
void explain_start(void);	/* to be called before the first sample */
void explain_sample(uint64_t ticks);
void explain_finish(const struct tool *t, struct explain_result *e);
/* Returns the gaps in a loop that read only the clock for a second. */
const struct record *explain_floor(void);
void report_explain(const struct tool_result *r);

#endif
