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
	/* bytes allocated by malloc, including large blocks that it maps */
	size_t heap;
	/* resident bytes: private, and shared with other processes */
	size_t anon, shared;
	unsigned int fds, maps, threads;
};
void holding_now(struct holding *h);

/* Raises the limit of descriptors for n connections in one process. Returns the number of
 * connections for which the limit suffices. */
unsigned int scale_connections(unsigned int n);

/*
 * Opens an end with EVDs for n endpoints: one each for requests, connections, receives and sends.
 */
void wide_end(struct end *e, unsigned int n);

/* Waits for the next event of the EVD, which must have this number; returns it. */
DAT_EVENT next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number);

#endif
