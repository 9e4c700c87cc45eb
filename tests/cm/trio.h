/* SPDX-License-Identifier: BSD-2-Clause */
/* Three nodes: a connects to b, which holds the request and can hand it off to c, if c listens. */
#ifndef TEST_CM_TRIO_H
#define TEST_CM_TRIO_H

#include "tests/cm/node.h"

#define QUAL th_qual()			/* b's */
#define NEXT (th_qual() + 1)		/* c's, or another process's */
#define ID 0x1122334455667788

extern struct trio {
	struct node a, b, c;
	struct dap_cm_conn *conn;	/* a's */
} trio;

void trio_open(void);
void trio_close(void);
void trio_ask(void);			/* b has the request */
int trio_ask_bare(void);		/* of a bare socket, which is returned */
int trio_hand_off(struct node *from, uint64_t to);
/* Connects to the handoff socket of a qualifier: its descriptor, or -errno. */
int trio_knock(uint64_t conn_qual, int flags);

#endif
