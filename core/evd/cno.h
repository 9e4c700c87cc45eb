/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the CNO share. Its lock is held where a comment does not say otherwise. */
#ifndef DAP_CNO_INT_H
#define DAP_CNO_INT_H

#include "core/evd/evd.h"

/* The queue of one ear of a CNO: EVDs that have triggered it and that it has not been told of. */
struct dap_cno_queue {
	struct core_evd *first, *last;
	struct core_evd *stray;		/* one that triggered it before it went to another CNO */
	int fd;				/* eventfd: there is something to look at */
};

struct dap_cno {
	struct dap_obj obj;
	pthread_mutex_t lock;		/* inside of evd->lock */
	pthread_cond_t changed;		/* a waiter, a pin or a call of the agent has ended */
	uint32_t evds, waiters;
	uint32_t ends, leaving;		/* how often all EVDs went; waiters yet to see it */
	bool agent_end;			/* the agent has yet to see it */
	bool agent_changing;		/* a thread changes the agent, and the others wait */
	bool dead;
	int cq_fds;			/* epoll: the CQs of its EVDs */
	int proxy_fd;			/* 2.0: descriptor + 1 that the consumer polls, or 0 */
	struct dap_cno_queue queue[DAP_CNO_QUEUES];
	struct dap_agent *agent;	/* written under lock, by the thread that changes it */
};

/* An EVD joins or leaves; evd->lock is held, the CNO's is not. An EVD that is being destroyed is
 * forgotten altogether, and the last one of them ends the waits. */
void dap_cno_add(struct dap_cno *cno, struct core_evd *evd);
void dap_cno_remove(struct dap_cno *cno, struct core_evd *evd);
/* Nobody of the CNO looks at the EVD any more when it returns. No lock is held. */
void dap_cno_wait_unpinned(struct dap_cno *cno, struct core_evd *evd);

/* evd->lock is held, the CNO's is not. */
void dap_cno_trigger(struct core_evd *evd);
/* All waiters and the agent are to return with no EVD. */
void dap_cno_end_all(struct dap_cno *cno);
/* The EVD that triggered first, or NULL. */
struct core_evd *dap_cno_next(struct dap_cno *cno, unsigned int queue);
/* Those that sleep for the ear wake; nothing wakes them any more. */
void dap_cno_signal(struct dap_cno *cno, unsigned int queue);
void dap_cno_unsignal(struct dap_cno *cno, unsigned int queue);

/* ---- cno_wait.c; no lock is held ---- */
/* Looks at each CQ that has news. */
void dap_cno_poll_cqs(struct dap_cno *cno);
/* Until the ear has news or a CQ has: 0 or -errno. deadline in ns, UINT64_MAX for none. */
int dap_cno_sleep(struct dap_cno *cno, unsigned int queue, uint64_t now, uint64_t deadline);

/* ---- cno_agent.c; no lock is held ---- */
struct dap_agent *dap_agent_start(struct dap_cno *cno, dap_agent_fn fn, void *data, bool once);
/* It has returned, and is not called again; or it is it that asks. */
void dap_agent_stop(struct dap_cno *cno);

#endif
