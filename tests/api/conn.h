/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections as seen by a consumer. A side has its own IA, so two of them connect within one process as
 * well as between two.
 */
#ifndef TESTS_API_CONN_H
#define TESTS_API_CONN_H

#include "tests/api/api.h"

#define CONN_SOON 20000000	/* in us: only a guard against hangs */

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

/* Returns the qualifier of this test process, which its children share: call this before they are
 * forked. */
DAT_CONN_QUAL conn_qual(void);
DAT_IA_ADDRESS_PTR conn_host(void);	/* the address of this host */

void side_open(struct side *s);
void side_close(struct side *s);
/* Frees each object in its order, so that the IA can be closed gracefully. */
void side_close_gracefully(struct side *s);
/* Two sides for most suites, opened by .init and closed by .fini. */
extern struct side a, b;
void sides_open(void);
void sides_close(void);
void side_listen(struct side *s);
DAT_EP_HANDLE side_ep(struct side *s);
DAT_RETURN side_try_connect(struct side *s, DAT_EP_HANDLE ep, DAT_TIMEOUT timeout);
void side_connect(struct side *s);		/* connects s->ep, without a time limit */
DAT_CR_HANDLE side_request(struct side *s);	/* waits for a connection request */
/* Waits for the next connection event and checks number and endpoint. */
DAT_CONNECTION_EVENT_DATA side_event(struct side *s, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number);
/* Checks that no further event comes. Those in flight have arrived by the time of the peer's event. */
void side_quiet(struct side *s);
void side_pair(struct side *a, struct side *b);	/* connects both, and takes the events */
DAT_EP_STATE side_state(DAT_EP_HANDLE ep);
DAT_RETURN side_recv(struct side *s, DAT_EP_HANDLE ep, DAT_UINT64 cookie);
DAT_RETURN side_send(struct side *s, DAT_EP_HANDLE ep, DAT_UINT64 cookie);
/* Waits for the next completion and checks its cookie. */
DAT_DTO_COMPLETION_STATUS side_dto(struct side *s, DAT_UINT64 cookie);

/*
 * Brings s->ep into the state by calls of a consumer. peer is the other end; for COMPLETION_PENDING it
 * is child, which is stopped.
 */
void side_bring(struct side *s, struct side *peer, struct th_child *child, DAT_EP_STATE state);
/* Starts a process with one side, which connects after th_meet. Call this before the caller opens
 * its own side. */
void side_spawn_connector(struct th_child *child);

#endif
