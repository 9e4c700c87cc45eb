/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The objects for statements: a side is an IA with one object of each type that most calls need. Two
 * sides in one process can be connected; a second process is needed only for tests in which it dies or
 * stops. Offsets are counted in the memory of a side.
 */
#ifndef TESTS_CONFORM_FIXTURE_H
#define TESTS_CONFORM_FIXTURE_H

#include "tests/conformance/conform.h"

#define SOON_MS 15000			/* only guards against hangs */
#define SOON (SOON_MS * 1000u)		/* in us */
#define MEM 65536
#define DTOS 16

#define RIGHTS_LOCAL (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG)
#define RIGHTS_REMOTE (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define FLUSHED DAT_DTO_ERR_FLUSHED
#define DEFAULT DAT_COMPLETION_DEFAULT_FLAG
#define SUPPRESS DAT_COMPLETION_SUPPRESS_FLAG
#define SOLICITED DAT_COMPLETION_SOLICITED_WAIT_FLAG
#define UNSIGNALLED DAT_COMPLETION_UNSIGNALLED_FLAG
#define BARRIER DAT_COMPLETION_BARRIER_FENCE_FLAG

/* Starts a process that opens the adapter too. Skips the statement if two processes cannot have it open. */
void spawn_end(struct th_child *child, int (*fn)(int sock, void *arg), void *arg);

struct side {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, cr_evd, conn_evd, recv_evd, req_evd, soft_evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;		/* the qualifier, once the side listens */
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR attr;
	bool is_peer;
	char *mem;			/* MEM bytes, aligned to a page */
};

/* Opens an IA. The second side uses the IA name of the peer. */
void side_open(struct side *s);
void side_open_peer(struct side *s);
void side_close(struct side *s);	/* closes abruptly */
void side_free(struct side *s);		/* frees the objects in turn, then closes gracefully */
DAT_IA_HANDLE ia_open(DAT_EVD_HANDLE *async);

DAT_EVD_HANDLE side_evd(struct side *s, DAT_COUNT qlen, int flags);
DAT_EP_ATTR side_attr(void);
DAT_EP_HANDLE side_ep(struct side *s, const DAT_EP_ATTR *attr);
/* recv_evd NULL: the EVD of the side */
DAT_EP_HANDLE side_ep_on(struct side *s, const DAT_EP_ATTR *attr, DAT_EVD_HANDLE recv_evd);
/* registers the memory of the side once more */
DAT_LMR_HANDLE side_lmr(struct side *s, DAT_PZ_HANDLE pz, int priv, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context);

/* ---- Connections ---- */

DAT_IA_ADDRESS_PTR side_address(struct side *s);
void side_listen(struct side *s);
DAT_CONN_QUAL some_qual(int i);		/* a qualifier of this process, 0 <= i < 16 */
DAT_RETURN dial(DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout);
DAT_RETURN dial_with(DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual, const void *pd, int len);
DAT_CR_HANDLE side_request(struct side *s);
/* the endpoint that came with the request, or a null handle */
DAT_EP_HANDLE ep_of(DAT_CR_HANDLE cr);
/* gives the endpoint the PZ and the EVDs of the side */
void give_all(struct side *s, DAT_EP_HANDLE ep);
DAT_CONNECTION_EVENT_DATA took_conn(struct side *s, DAT_EP_HANDLE ep, DAT_EVENT_NUMBER number);
/* connects, and checks that no service point is there */
void no_listener(struct side *from, DAT_EP_HANDLE ep, struct side *to, DAT_CONN_QUAL qual);
void join(struct side *a, DAT_EP_HANDLE ea, struct side *b, DAT_EP_HANDLE eb);
void two_open_apart(struct side *a, struct side *b);	/* opens both sides */
void two_open(struct side *a, struct side *b);		/* opens both sides and connects a to b */
void two_open_with(struct side *a, struct side *b, const DAT_EP_ATTR *attr);
void two_close(struct side *a, struct side *b);
/* Skips the statement if, by the provider's attribute, a send can complete before the peer's receive has
 * taken it. */
void needs_end_to_end(const struct side *s);
DAT_EP_STATE state_of(DAT_EP_HANDLE ep);
bool gets_to(DAT_EP_HANDLE ep, DAT_EP_STATE state);

/*
 * Brings s->ep into the state by calls of a consumer. b is the peer side; if it is not open, only its
 * memory is used. bring_done undoes this.
 */
struct bring {
	struct side s, peer;
	struct th_child child;
	/* in PASSIVE_ and TENTATIVE_CONNECTION_PENDING, the request */
	DAT_CR_HANDLE cr;
	/* in RESERVED and PASSIVE_CONNECTION_PENDING, the RSP of s->ep */
	DAT_RSP_HANDLE rsp;
};
/*
 * Returns false only for TENTATIVE_CONNECTION_PENDING, if the provider makes no endpoints. In that state
 * s->ep is an endpoint that the provider made.
 */
bool bring(struct bring *b, DAT_EP_STATE state);
void bring_done(struct bring *b);

/* ---- Posts and events ---- */

DAT_LMR_TRIPLET seg(const struct side *s, size_t off, size_t len);
DAT_RMR_TRIPLET far(const struct side *s, size_t off, size_t len);
DAT_RMR_TRIPLET through(DAT_RMR_CONTEXT context, const struct side *s, size_t off, size_t len);
DAT_CONTEXT cookie(uint64_t n);

/* These functions post 64 bytes at offset off on the side's endpoint. They record the return code
 * without checking it. */
DAT_RETURN do_recv(struct side *s, uint64_t cookie, size_t off, size_t len);
DAT_RETURN do_send(struct side *s, uint64_t cookie, size_t off, size_t len, int flags);
DAT_RETURN do_write(struct side *s, uint64_t cookie, size_t off, DAT_RMR_TRIPLET to, int flags);
DAT_RETURN do_read(struct side *s, uint64_t cookie, size_t off, DAT_RMR_TRIPLET from, int flags);
DAT_RETURN do_bind(struct side *s, DAT_RMR_HANDLE rmr, uint64_t cookie, size_t off, size_t len,
		   int priv, DAT_RMR_CONTEXT *context);

/* Waits until another thread, which has stored its id in *tid, is inside its wait. */
void is_waiting(const pid_t *tid);
DAT_EVENT took(DAT_EVD_HANDLE evd);			/* polls until an event comes, and returns it */
DAT_DTO_COMPLETION_EVENT_DATA took_any(DAT_EVD_HANDLE evd, uint64_t cookie);
size_t took_dto(DAT_EVD_HANDLE evd, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status);
void took_bind(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
	       DAT_DTO_COMPLETION_STATUS status);
void nothing_on(DAT_EVD_HANDLE evd);
void post_soft(DAT_EVD_HANDLE evd, uintptr_t n);
uintptr_t took_soft(DAT_EVD_HANDLE evd);

#endif
