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

/* For which adapters an operation is measured: all; those that keep packets in order; those whose driver
 * restores the order (EFA). */
enum bench_on { BENCH_ANY, BENCH_ORDERED, BENCH_UNORDERED };

struct bench_op {
	const char *name;	/* "post write 8 B inline": a row of the table */
	const char *function;	/* name of the function that makes the call, for the profiler */
	DAT_RETURN (*call)(struct pair *p);
	bool binds, receives, needs_receive;
	unsigned int dequeues;	/* completions that one call dequeues */
	unsigned int posts;	/* requests that one call posts; 0: one */
	/* number of endpoints whose completions alternate; 0: one */
	unsigned int endpoints;
	enum bench_on on;
	bool messages;		/* the operation dequeues completions of receives and not of writes */
};

extern const struct bench_op bench_ops[];	/* The last element has a NULL name. */

/* functions of ops.c */
/* If set, the program waits for completions by polling without sleep, so that the caller drives the
 * device. */
extern bool bench_warm;
/* Runs op n times in batches; *ns is the time per call. -1: a call failed. */
int bench_run(struct pair *p, const struct bench_op *op, unsigned int n, double *ns);

/* functions of post_n.c */
DAT_RETURN bench_post_16(struct pair *p);

/* functions of crowd.c */
enum bench_crowd { BENCH_CROWD_OK, BENCH_CROWD_FAILED, BENCH_CROWD_NONE };
/* Opens n endpoints, at most BENCH_MANY. Returns NONE, after a message, if there are too few file
 * descriptors. */
enum bench_crowd bench_crowd(struct pair *p, unsigned int n);
void bench_crowd_next(struct pair *p);	/* sets p->a.ep to the next endpoint */

/* latency.c: measures the half round trip of an 8-byte send/recv between two polling processes, and of a
 * cache line, in ns. Returns -1 on failure. */
int bench_latency(const char *ia, unsigned int rounds, double *send_ns, double *line_ns);

#endif
