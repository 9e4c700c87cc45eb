/* SPDX-License-Identifier: BSD-2-Clause */
/* Both sides of dat_conn_rate: connects and disconnects endpoints, some at a time. */
#ifndef PERF_CROWD_H
#define PERF_CROWD_H

#include "perf/tool/tool.h"

struct crowd_sample {
	uint64_t from, to;		/* start and end of a connection, in ticks */
};

struct crowd_slot {
	DAT_EP_HANDLE ep;
	uint64_t from;			/* start of the outstanding request, in ticks */
};

struct crowd {
	struct tool *t;
	struct consumer c;		/* a consumer with an adapter of its own */
	struct crowd_slot *slots;	/* an array of -q slots */
	struct sockaddr_storage to;
	struct crowd_sample *samples;
	/* connections made; allocated samples; limits: number, and ticks or 0 */
	uint64_t n, room, limit, until;
	uint64_t begun, ended;
	_Atomic uint64_t *seen;		/* a copy of n for another process; or NULL */
};

int crowd_open(struct crowd *c);
/* Connects and disconnects until a limit is reached, then waits for the ends. Returns 0 or -1. */
int crowd_run(struct crowd *c);
void crowd_close(struct crowd *c);

/* Functions of the server: tool_test.open and .serve. */
int crowd_listen(struct tool *t);
int crowd_serve(struct tool *t);

#endif
