/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `make bench` compares with: the calls of other interfaces, driven through their public API in
 * the way dat_bench drives ours. Each operation is one function that makes one call, so that a
 * profiler can count the instructions of that call alone.
 */
#ifndef PERF_PEER_H
#define PERF_PEER_H

enum { PEER_BATCH = 16, PEER_SMALL = 8, PEER_LINE = 64, PEER_BIG = 4096, PEER_DEPTH = 64 };

struct peer_op {
	const char *name;	/* as the row of dat_bench is called */
	const char *function;	/* of the call: what the profiler finds */
	int (*call)(void);	/* 0; of a dequeue: how many completions it has taken */
	int (*before)(unsigned int n);	/* each batch, not timed; NULL: nothing */
	int (*after)(unsigned int n);	/* the same behind it */
	unsigned int batch, wanted;	/* calls; what each has to return */
};

/* main() once the peer is open: `-n CALLS`; a line for each operation. The exit status. */
int peer_run(int argc, char **argv, const struct peer_op *ops);

/* For the call of an operation: external to the optimiser, so that it is found by name. */
#if defined(__clang__)
#define PEER_CALL __attribute__((noinline, used)) static int
#else
#define PEER_CALL __attribute__((noinline, noclone, used)) static int
#endif

/* All completions must be there before the first dequeue: nothing but time tells without a call. */
void peer_let_complete(void);

#endif
