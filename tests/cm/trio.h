/* SPDX-License-Identifier: BSD-2-Clause */
/* Three nodes. Node a connects to b; b holds the request and can hand it off to c, if c listens. */
#ifndef TEST_CM_TRIO_H
#define TEST_CM_TRIO_H

#include "tests/cm/node.h"

#define NEXT (th_qual() + 1)		/* the qualifier of c, or of another process */
#define ID 0x1122334455667788

extern struct trio {
	struct node a, b, c;
	struct dap_cm_conn *conn;	/* connection of node a */
} trio;

void trio_open(void);
void trio_close(void);
void trio_ask(void);			/* lets a connect, until b has the request */
/* sends a request from a plain socket in place of node a; returns the socket */
int trio_ask_bare(void);
int trio_hand_off(struct node *from, uint64_t to);
/* Connects to the handoff socket of a qualifier. Returns a descriptor, or -errno. */
int trio_knock(uint64_t conn_qual, int flags);

#endif
