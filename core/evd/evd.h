/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the EVD share. evd->lock is held where a comment does not say otherwise. */
#ifndef DAP_EVD_INT_H
#define DAP_EVD_INT_H

#include "core/api.h"
#include "core/hw.h"

/* A CNO has two queues, and each trigger goes to both: threads in dat_cno_wait(), and the agent. */
enum { DAP_CNO_WAITERS, DAP_CNO_AGENT, DAP_CNO_QUEUES };

struct dap_evd_counts {
	uint64_t waits, sleeps, notifies, connection_events;
	uint64_t found, missed;		/* by dequeues out of line; atomic, as is the next */
	uint64_t all_missed;		/* by all of a counting instance */
};

struct core_evd {
	struct dap_evd pub;		/* what a backend sees of it */

	pthread_mutex_t lock;
	uint32_t qlen;
	struct dap_event *soft;		/* ring of soft_size (power of two >= qlen + 1) events */
	uint32_t soft_size, soft_head, soft_tail;	/* free running; put at head, taken at tail */
	/* Completions that a wait has taken from the CQ: older than what the CQ holds. Same size. */
	struct dap_event *stash;	/* NULL until somebody waits */
	uint32_t stash_head, stash_tail;
	int wake_fd;			/* eventfd; -1 until somebody waits */
	struct dap_evd_counts counts;	/* under lock */
	uint64_t idle_looks;		/* dequeues that found it empty without its locks; atomic */
	uint32_t feeders;		/* EPs, PSPs, RSPs, IA feeding it; atomic; evd_free refuses */
	/* Completion flags that the DTO streams feeding it agree on, and how many those are. */
	uint32_t stream_flags, streams;	/* written under turn and lock */
	bool waitable, enabled;
	bool overflowed;		/* its CQ was overrun: no completion comes any more */
	bool full_reported;		/* EVD_OVERFLOW was raised since it was last not full */
	bool waiting, dead;		/* a thread is in wait; it is being destroyed */
	bool asleep;			/* the one that waits, or about to be */
	bool notified;			/* something that may wake the waiter came since it waits */
	bool off_hot_path;		/* a slow call holds the turn */
	bool internal;			/* takes what the consumer does not want to see */
	pthread_cond_t left;		/* the waiter has gone */

	/* Held by the thread that takes completions off the CQ in the cold path; outside of lock. */
	pthread_mutex_t cq_lock;
	struct dap_cno *cno;		/* written under turn, lock and the CNO's lock */
	bool watched, unarmed;		/* under turn: the CNO looks at the CQ; is to be armed */
	uint32_t cno_pins;		/* under the CNO's lock, as are the places in its queues */
	struct core_evd *cno_next[DAP_CNO_QUEUES];
	bool cno_queued[DAP_CNO_QUEUES];

	/* High watermarks, ep/recv.c: endpoints whose receives are counted; written under turn and
	 * lock. passed: one of them may have come beyond a watermark. */
	struct dap_ep *counted;
	bool passed;
	struct dap_timer count;
	uint64_t *cleared;		/* 2.0: counters as they were when they were reset; or NULL */
};

/* pub comes first: a handle is the address of either. */
static inline struct core_evd *core_evd(const struct dap_evd *evd)
{
	return (struct core_evd *)(uintptr_t)evd;
}

static inline uint32_t dap_evd_soft_count(const struct core_evd *evd)
{
	return evd->soft_head - evd->soft_tail;
}

static inline uint32_t dap_evd_stash_count(const struct core_evd *evd)
{
	return evd->stash_head - evd->stash_tail;
}

static inline struct dap_event *dap_evd_soft_at(const struct core_evd *evd, uint32_t i)
{
	return &evd->soft[i & (evd->soft_size - 1)];
}

static inline struct dap_event *dap_evd_stash_at(const struct core_evd *evd, uint32_t i)
{
	return &evd->stash[i & (evd->soft_size - 1)];
}

/* The only writer of evd->slow. */
void dap_evd_update_slow(struct core_evd *evd);
/* The next event that is not in the CQ: software events before set aside completions, and what must
 * come after those (DISCONNECTED) only from before index limit. False when there is none. */
bool dap_evd_take_soft(struct core_evd *evd, struct dap_event *ev);
bool dap_evd_take_after(struct core_evd *evd, uint32_t limit, struct dap_event *ev);
/* What was just polled, unless something comes before it: then that, and this follows. */
void dap_evd_in_turn(struct core_evd *evd, const struct dap_event *polled, struct dap_event *ev);
int dap_evd_need_stash(struct core_evd *evd);
/* The turn is held, the lock is not. When leave returns no hot dequeue is under way, and each dequeue
 * takes the turn, until join. Around dap_evd_collect() where nothing else keeps dequeues off. */
void dap_evd_leave_hot_path(struct core_evd *evd);
void dap_evd_join_hot_path(struct core_evd *evd);
/* The lock is not held for these two, but the turn is. One completion out of the CQ; and all of them
 * set aside, as far as there is room: returns the index up to which after_cq events may now be
 * taken. */
bool dap_evd_poll(struct core_evd *evd, struct dap_event *ev);
uint32_t dap_evd_collect(struct core_evd *evd);
void dap_evd_wake(struct core_evd *evd);
/* The same for a waiter that is on its way to sleep: its next sleep ends at once. */
void dap_evd_signal(struct core_evd *evd);

/* ---- ep/recv.c ---- */
/* The completion has been set aside; or it leaves to be delivered. */
void dap_evd_count(struct core_evd *evd, const struct dap_event *ev);
void dap_evd_uncount(struct core_evd *evd, const struct dap_event *ev);

/* ---- trigger.c; the turn is held, the lock is not ---- */
/* waiting, enabled or the streams have changed: the CNO looks at the CQ, or no longer does. */
void dap_evd_cno_update(struct core_evd *evd);
/* Triggers the CNO if something came to the CQ, which is armed for what is to come. */
void dap_evd_cno_poll(struct core_evd *evd);

#endif
