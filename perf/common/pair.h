/* SPDX-License-Identifier: BSD-2-Clause */
/* Two connected endpoints of one process, each with an IA of its own, and memory at both. */
#ifndef PERF_PAIR_H
#define PERF_PAIR_H

#include "perf/common/consumer.h"

enum { PAIR_BYTES = 4096, PAIR_PLACES = 32, PAIR_DTOS = 64 };

struct pair {
	struct consumer a, b;
	struct region local, window;	/* of a; the window has no remote right of its own */
	struct region remote;		/* of b, open to a: PAIR_PLACES times PAIR_BYTES */
	DAT_RMR_HANDLE rmr;		/* of a */
	bool no_rmr;			/* set before it is opened: of a provider that has none */
	DAT_RMR_CONTEXT context;
	DAT_CONN_QUAL qual;		/* b listens there */
};

/* 0 or -1, what failed is on stderr. close takes whatever there is. */
int pair_open(struct pair *p, const char *ia);
void pair_close(struct pair *p);
/* Two endpoints more, with short queues, on the same EVDs: they are a.ep and b.ep from now on. */
int pair_more(struct pair *p);

#endif
