/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the CNO. Its lock is held, unless noted. */
#ifndef DAP_CNO_INT_H
#define DAP_CNO_INT_H

#include <sys/queue.h>

#include "core/evd/evd.h"

/* A thread that polls the CQ of an EVD for a CNO. Each CNO has a list of its own, because an EVD that moves
 * may be polled for both. */
struct dap_cno_pin {
	struct core_evd *evd;
	LIST_ENTRY(dap_cno_pin) link;
};

/*
 * An EVD in its CNO. If the EVD leaves for another CNO or for none, its pending triggers keep the member
 * in the queues of the old one until they are reported.
 */
struct dap_cno_member {
	struct core_evd *evd;
	struct dap_cno_member *next[DAP_CNO_QUEUES];
	bool queued[DAP_CNO_QUEUES];
	bool left;			/* the EVD has left */
};

/* Queue of members that have triggered the CNO and are not reported yet. A CNO has one for waiters
 * and one for the agent. */
struct dap_cno_queue {
	struct dap_cno_member *first, *last;
	int fd;				/* eventfd: readable while a trigger is pending */
};

struct dap_cno {
	struct dap_obj obj;
	pthread_mutex_t lock;		/* taken inside evd->lock */
	pthread_cond_t changed;		/* a waiter, a pin or a call of the agent has ended */
	uint32_t evds, waiters;
	uint32_t strays;		/* members in the queues whose EVD has left */
	/* times that the last EVD was freed; waiters that have yet to return for it, without an EVD: those
	 * that began to wait at another value of ends */
	uint32_t ends, leaving;
	bool agent_end;			/* the agent is to be called without an EVD */
	bool agent_done;		/* the agent was to be called once, and that call has begun */
	bool agent_changing;		/* one thread changes the agent; others wait */
	bool dead;
	int cq_fds;			/* epoll: the CQs of its EVDs */
	int consumer_fd;		/* see dap_cno_fd; -1 until the first call */
	bool fd_created;		/* 2.0: the consumer asked for a CNO with a descriptor */
	struct dap_cno_queue queue[DAP_CNO_QUEUES];
	LIST_HEAD(, dap_cno_pin) pins;
	struct dap_agent *agent;	/* written under lock by the thread that changes it */
};

/* An EVD joins or leaves. evd->lock is held, the CNO's is not. If the EVD is being destroyed, its
 * triggers are dropped, and the last such EVD ends all waits. member: zeroed memory, which is freed
 * after the EVD has left. */
void dap_cno_add(struct dap_cno *cno, struct core_evd *evd, struct dap_cno_member *member);
void dap_cno_remove(struct dap_cno *cno, struct core_evd *evd);
/* An EVD is destroyed: drops its triggers from before it moved to another CNO. No lock is held. */
void dap_cno_forget(void *cno, void *evd);
/* Waits until no thread uses the EVD for this CNO. No lock is held. */
void dap_cno_wait_unpinned(struct dap_cno *cno, struct core_evd *evd);

/* evd->lock is held, the CNO's is not. */
void dap_cno_trigger(struct core_evd *evd);
/* Makes all waiters and the agent return without an EVD. */
void dap_cno_end_all(struct dap_cno *cno);
/* The EVD that triggered first, or NULL. */
struct core_evd *dap_cno_next(struct dap_cno *cno, unsigned int queue);
/* Makes the queue's eventfd readable, or not readable. */
void dap_cno_signal(struct dap_cno *cno, unsigned int queue);
void dap_cno_unsignal(struct dap_cno *cno, unsigned int queue);
/* Makes the eventfd of the waiters not readable if no trigger is pending and no waiter has to return. */
void dap_cno_rest(struct dap_cno *cno);

/* ---- cno_wait.c; no lock is held ---- */
/* Polls each CQ whose descriptor is readable. */
void dap_cno_poll_cqs(struct dap_cno *cno);
/* Sleeps until the queue or a CQ has news. Returns 0 or -errno. deadline in ns; UINT64_MAX:
 * none. */
int dap_cno_sleep(struct dap_cno *cno, unsigned int queue, uint64_t now, uint64_t deadline);

/* ---- cno_agent.c; no lock is held ---- */
struct dap_agent *dap_agent_start(struct dap_cno *cno, dap_agent_fn fn, void *data, bool once);
/* After this returns, the agent is not running and not called again, unless the agent itself is the
 * caller. */
void dap_agent_stop(struct dap_cno *cno);

#endif
