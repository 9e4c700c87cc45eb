/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other interfaces in `make bench`: calls of their public APIs, measured as dat_bench measures ours.
 * Each operation is one function that makes one call, so that a profiler can count the instructions of
 * that call alone.
 */
#ifndef PERF_PEER_H
#define PERF_PEER_H

enum { PEER_BATCH = 16, PEER_SMALL = 8, PEER_LINE = 64, PEER_BIG = 4096, PEER_DEPTH = 64 };

struct peer_op {
	const char *name;	/* the name of dat_bench's row */
	const char *function;	/* of the call: the profiler finds it by name */
	int (*call)(void);	/* returns 0; a dequeue: the number of completions taken */
	int (*before)(unsigned int n);	/* before each batch, not timed; NULL: nothing */
	int (*after)(unsigned int n);	/* the same after it */
	unsigned int batch, wanted;	/* calls per batch; the required result of each */
};

/* main() after the setup: `-n CALLS`; prints a line per operation. Returns the exit status. */
int peer_run(int argc, char **argv, const struct peer_op *ops);

/* For the call of an operation: external and not inlined, so that the profiler finds it by name. */
#if defined(__clang__)
#define PEER_CALL __attribute__((noinline, used)) static int
#else
#define PEER_CALL __attribute__((noinline, noclone, used)) static int
#endif

/* All completions must have arrived before the first dequeue, and only time ensures that without a call. */
void peer_let_complete(void);

#endif
