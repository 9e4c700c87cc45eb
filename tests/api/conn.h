/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections seen by a consumer. A side has an IA of its own, so that two of them connect within
 * one process as well as between two.
 */
#ifndef TESTS_API_CONN_H
#define TESTS_API_CONN_H

#include <netinet/in.h>

#include "tests/api/api.h"

#define CONN_SOON 20000000	/* us: a limit against hangs */

struct side {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, cr_evd, conn_evd, dto_evd;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT context;
	char *mem;
};

/* One for each test process, the same in its children: first called before they are forked. */
DAT_CONN_QUAL conn_qual(void);
DAT_IA_ADDRESS_PTR conn_host(void);	/* this one */

void side_open(struct side *s);
void side_close(struct side *s);
/* Two of them, as most suites want it: .init and .fini. */
extern struct side a, b;
void sides_open(void);
void sides_close(void);
void side_listen(struct side *s);
DAT_EP_HANDLE side_ep(struct side *s);
DAT_RETURN side_try_connect(struct side *s, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout);
void side_connect(struct side *s);		/* s->ep, no limit of time */
DAT_CR_HANDLE side_request(struct side *s);	/* waits for one */
/* Waits for the next connection event and checks number and endpoint. */
DAT_CONNECTION_EVENT_DATA side_event(struct side *s, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number);
/* No further event is there; what is on its way has had its time when the peer's event came. */
void side_quiet(struct side *s);
void side_pair(struct side *a, struct side *b);	/* connected, events taken */
DAT_EP_STATE side_state(DAT_EP_HANDLE ep);
DAT_RETURN side_recv(struct side *s, DAT_EP_HANDLE ep, DAT_UINT64 cookie);
DAT_RETURN side_send(struct side *s, DAT_EP_HANDLE ep, DAT_UINT64 cookie);
/* Waits for the next completion and checks its cookie. */
DAT_DTO_COMPLETION_STATUS side_dto(struct side *s, DAT_UINT64 cookie);

/* Brings s->ep into the state by calls that any consumer can make. peer is at the other end; for
 * COMPLETION_PENDING it is child, which will be stopped. */
void side_bring(struct side *s, struct side *peer, struct th_child *child, DAT_EP_STATE state);
/* A process with one side, which connects after th_meet. Before this process opens its own. */
void side_spawn_connector(struct th_child *child);

#endif
