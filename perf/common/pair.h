/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected endpoints of one process, each with its own IA, and memory for both. */
#ifndef PERF_PAIR_H
#define PERF_PAIR_H

#include "perf/common/consumer.h"

enum { PAIR_BYTES = 4096, PAIR_PLACES = 32, PAIR_DTOS = 64 };

struct pair {
	struct consumer a, b;
	/* memory of a; only an RMR makes `window` accessible to the peer */
	struct region local, window;
	struct region remote;		/* memory of b that a may access; PAIR_PLACES blocks of PAIR_BYTES */
	DAT_RMR_HANDLE rmr;		/* RMR of a */
	/* to be set before the pair is opened, if the provider has no RMRs */
	bool no_rmr;
	DAT_RMR_CONTEXT context;
	DAT_CONN_QUAL qual;		/* qualifier at which b listens */
};

/* Returns 0, or -1 after a message on stderr. pair_close also frees a pair that was opened only in
 * part. */
int pair_open(struct pair *p, const char *ia);
void pair_close(struct pair *p);
#define PAIR_WAIT_NS UINT64_C(10000000000)
/* Connects a.ep to b.ep: b listens at qual of this host, and waits wait_ns for the request. */
int pair_connect(struct consumer *a, struct consumer *b, DAT_CONN_QUAL qual, uint64_t wait_ns);
/* Adds two endpoints with short queues, which use the same EVDs, as a.ep and b.ep. */
int pair_more(struct pair *p);

#endif
