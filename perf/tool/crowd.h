/* SPDX-License-Identifier: BSD-2-Clause */
/* Both sides of dat_conn_rate: connects and disconnects endpoints, some at a time. */
#ifndef PERF_CROWD_H
#define PERF_CROWD_H

#include <netinet/in.h>

#include "perf/tool/tool.h"

struct crowd_sample {
	uint64_t from, to;		/* ticks */
};

struct crowd_slot {
	DAT_EP_HANDLE ep;
	uint64_t from;			/* start of the outstanding request */
};

struct crowd {
	struct tool *t;
	struct consumer c;		/* with its own adapter */
	struct crowd_slot *slots;	/* -q of them */
	struct sockaddr_storage to;
	struct crowd_sample *samples;
	uint64_t n, room, limit, until;	/* made; allocated; limit; until: ticks, 0 for none */
	uint64_t begun, ended;
	_Atomic uint64_t *seen;		/* n, for another process; or NULL */
};

int crowd_open(struct crowd *c);
/* Connects and disconnects until limit or until, and waits for the ends. 0 or -1. */
int crowd_run(struct crowd *c);
void crowd_close(struct crowd *c);

/* The server: tool_test.open and .serve. */
int crowd_listen(struct tool *t);
int crowd_serve(struct tool *t);

#endif
