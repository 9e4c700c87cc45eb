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
	const char *name;	/* name of the row of dat_bench with the same operation */
	const char *function;	/* name of the function that makes the call, for the profiler */
	int (*call)(void);	/* returns 0; a dequeue: the number of completions taken */
	int (*before)(unsigned int n);	/* called before each batch, not timed; NULL: nothing */
	int (*after)(unsigned int n);	/* called after each batch, not timed; NULL: nothing */
	/* calls in a batch; return value that each call must have */
	unsigned int batch, wanted;
};

/* The main function of a peer after its setup: `-n CALLS`. Prints a line per operation. Returns the
 * exit status. */
int peer_run(int argc, char **argv, const struct peer_op *ops);

/* Marks the function of an operation as external and not inlined, so that the profiler finds it by
 * name. */
#if defined(__clang__)
#define PEER_CALL __attribute__((noinline, used)) static int
#else
#define PEER_CALL __attribute__((noinline, noclone, used)) static int
#endif
/* Marks a function that several of them share: inlined, so that the profiler sees no call of it. */
#define PEER_SHARED static inline __attribute__((always_inline)) int

/* Waits until all completions must have arrived: without a call, only time ensures that. */
void peer_let_complete(void);

#endif
