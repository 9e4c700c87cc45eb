/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The parts of dat_bench. Each operation is one function that makes one DAT call, so that a profiler can
 * count the instructions of that call alone, including libdat's jump.
 */
#ifndef BENCH_H
#define BENCH_H

#include "perf/common/pair.h"
#include "perf/common/stats.h"

enum { BENCH_BATCH = 16, BENCH_WARM = 16, BENCH_BIG = PAIR_BYTES, BENCH_SOME = 64, BENCH_MANY = 4096 };

/* Adapters that keep order, and those whose driver restores it (an EFA). */
enum bench_on { BENCH_ANY, BENCH_ORDERED, BENCH_UNORDERED };

struct bench_op {
	const char *name;	/* "post write 8 B inline": a row of the table */
	const char *function;	/* of the call: the profiler finds it by name */
	DAT_RETURN (*call)(struct pair *p);
	bool binds, receives, needs_receive;
	unsigned int dequeues;	/* completions that one call dequeues */
	unsigned int posts;	/* requests that one call posts; 0: one */
	unsigned int endpoints;	/* that produce the completions in turns; 0: one */
	enum bench_on on;
	bool messages;		/* dequeues receives, not writes */
};

extern const struct bench_op bench_ops[];	/* ends with a NULL name */

/* ops.c */
/* Completions are polled for, without sleeping: the caller drives the device. */
extern bool bench_warm;
/* Runs op n times in batches; *ns is the time per call. -1: a call failed. */
int bench_run(struct pair *p, const struct bench_op *op, unsigned int n, double *ns);

/* post_n.c */
DAT_RETURN bench_post_16(struct pair *p);

/* crowd.c */
enum bench_crowd { BENCH_CROWD_OK, BENCH_CROWD_FAILED, BENCH_CROWD_NONE };
/* Switches to n endpoints, at most BENCH_MANY. NONE: too few file descriptors; it printed a message. */
enum bench_crowd bench_crowd(struct pair *p, unsigned int n);
void bench_crowd_next(struct pair *p);	/* sets p->a.ep to the next endpoint */

/* latency.c: half round trip of an 8-byte send/recv and of a cache line, in ns; between two
 * processes that poll. -1 on failure. */
int bench_latency(const char *ia, unsigned int rounds, double *send_ns, double *line_ns);

#endif
