/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many connections: what one costs, and what is left of it when it has gone. The figures are on
 * stderr, in lines that begin with "note: ", which `make check` shows.
 */
#ifndef TESTS_SCALE_H
#define TESTS_SCALE_H

#include "tests/e2e/rig.h"

/* What this process holds. */
struct holding {
	size_t heap;			/* bytes that malloc has given out, its mappings included */
	size_t anon, shared;		/* resident bytes: private, and shared with other processes */
	unsigned int fds, maps, threads;
};
void holding_now(struct holding *h);

/* Descriptors enough for n connections in one process, or how many these are good for. */
unsigned int scale_connections(unsigned int n);

/* An end with EVDs for n endpoints: one each for requests, connections, receives, sends. */
void wide_end(struct end *e, unsigned int n);

/* The next event of the EVD, which must be of this number; its data. */
DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);

#endif
