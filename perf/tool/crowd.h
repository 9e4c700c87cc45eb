/* SPDX-License-Identifier: BSD-2-Clause */
/* Both sides of dat_conn_rate: endpoints that are connected and disconnected, some at a time. */
#ifndef PERF_CROWD_H
#define PERF_CROWD_H

#include <netinet/in.h>

#include "perf/tool/tool.h"

struct crowd_sample {
	uint64_t from, to;		/* ticks */
};

struct crowd_slot {
	DAT_EP_HANDLE ep;
	uint64_t from;			/* of the request that is under way */
};

struct crowd {
	struct tool *t;
	struct consumer c;		/* an adapter of this process */
	struct crowd_slot *slots;	/* -q of them */
	struct sockaddr_in to;
	struct crowd_sample *samples;
	uint64_t n, room, limit, until;	/* made; as many as that; until: ticks, 0 for none */
	uint64_t begun, ended;
	_Atomic uint64_t *seen;		/* n, for who looks on; NULL: nobody does */
};

int crowd_open(struct crowd *c);
/* Connects and disconnects until limit or until, and all have ended. 0 or -1. */
int crowd_run(struct crowd *c);
void crowd_close(struct crowd *c);

/* The server's: tool_test.open and .serve. */
int crowd_listen(struct tool *t);
int crowd_serve(struct tool *t);

#endif
