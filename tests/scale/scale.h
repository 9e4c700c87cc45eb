/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many connections: the memory of each, and leaks. The figures are on stderr, in lines that begin with
 * "note: ", which `make check` prints.
 */
#ifndef TESTS_SCALE_H
#define TESTS_SCALE_H

#include "tests/e2e/rig.h"

/* The resources of this process. */
struct holding {
	size_t heap;			/* bytes allocated by malloc, including its mappings */
	size_t anon, shared;		/* resident bytes: private, and shared with other processes */
	unsigned int fds, maps, threads;
};
void holding_now(struct holding *h);

/* Raises the limit of descriptors for n connections in one process. Returns the number they suffice for. */
unsigned int scale_connections(unsigned int n);

/* An end with EVDs for n endpoints: one each for requests, connections, receives, sends. */
void wide_end(struct end *e, unsigned int n);

/* Waits for the next event of the EVD, which must have this number; returns it. */
DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);

#endif
