/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of the EVD. evd->lock is held, unless noted. */
#ifndef DAP_EVD_INT_H
#define DAP_EVD_INT_H

#include "core/api.h"
#include "core/hw.h"

/* A CNO has two queues; each trigger goes to both: threads in dat_cno_wait(), and the agent. */
enum { DAP_CNO_WAITERS, DAP_CNO_AGENT, DAP_CNO_QUEUES };

struct dap_evd_counts {
	uint64_t notifies, connection_events;
	uint64_t waits, sleeps, waited;	/* waits, their sleeps and events; atomic */
	uint64_t found, missed;		/* slow-path dequeues with and without an event; atomic */
	uint64_t polls, polled;		/* those that polled the CQ, and found an event; atomic */
};

struct core_evd {
	struct dap_evd pub;		/* the part that backends see */

	pthread_mutex_t lock;
	uint32_t qlen;
	struct dap_event *soft;		/* ring of soft_size (power of two >= qlen + 1) events */
	uint32_t soft_size, soft_head, soft_tail;	/* free running; added at head, removed at tail */
	/* Completions that a wait took from the CQ, older than those in it: a ring of soft_size events. */
	struct dap_event *stash;	/* NULL until the first wait */
	uint32_t stash_head, stash_tail;
	/* Heads of both rings when the CQ was empty: the connections that ended before drained_soft have no
	 * completions after drained_stash. */
	uint32_t drained_soft, drained_stash;
	int wake_fd;			/* eventfd; -1 until the first wait */
	struct dap_evd_counts counts;	/* protected by lock */
	bool in_totals;			/* under totals.lock: core/totals.h */
	uint64_t idle_looks;		/* empty polls that took no lock; atomic */
	uint32_t feeders;		/* EPs, PSPs, RSPs and IAs that feed it; atomic; evd_free refuses */
	/* Completion flags of the DTO streams that feed it, the number of streams, and of those with
	 * unsignalled completions. */
	uint32_t stream_flags, streams, unsignalled;	/* written under cq_lock and lock */
	bool waitable, enabled;
	bool overflowed;		/* the CQ overflowed: no more completions arrive */
	bool full_reported;		/* EVD_OVERFLOW was raised, and the queue is still full */
	bool async_reported;		/* the loss of an asynchronous event was logged; still full */
	/* a thread waits; the EVD is being destroyed; both written under cq_lock and lock */
	bool waiting, dead;
	uint32_t threshold;		/* number of events that the waiter waits for */
	bool asleep;			/* the waiter sleeps, or is about to */
	/* a notifying event arrived during the wait, and the wait has not returned its number */
	bool notified;
	bool turned_away;		/* the EVD became unwaitable during the wait */
	bool off_hot_path;		/* a slow call holds cq_lock */
	bool internal;			/* the consumer has no handle of it: its completions are dropped */
	uint32_t early;			/* endpoints whose peer may send before ESTABLISHED is posted */
	pthread_cond_t left;		/* the waiter has returned */

	/* Held while completions are taken from the CQ in the slow path; taken before lock. */
	pthread_mutex_t cq_lock;
	/* held while the completions of an internal EVD are dropped, perhaps by a poster (DESIGN.md) */
	pthread_mutex_t reap_lock;
	struct dap_cno *cno;		/* written under cq_lock, lock and the CNO's lock */
	/* under cq_lock: the CNO polls the CQ; the CQ must be armed; the device is gone, no wait polls it */
	bool watched, unarmed, gone;
	struct dap_cno_member *member;	/* the EVD's entry in cno; under lock */

	/* High watermarks, see ep/recv.c: endpoints whose receives are counted; written under
	 * cq_lock and lock. passed: an endpoint may have passed a watermark. */
	struct dap_ep *counted;
	bool passed;
	struct dap_timer count_timer;
	uint64_t *cleared;		/* 2.0: counters at the last reset, or NULL */
};

/* pub is the first member, so a handle is the address of both structs. */
static inline struct core_evd *core_evd(const struct dap_evd *evd)
{
	return (struct core_evd *)(uintptr_t)evd;
}

/* The EVD as the consumer sees it: NULL if there is none but an internal one. */
static inline struct dap_evd *dap_evd_visible(struct dap_evd *evd)
{
	return evd && core_evd(evd)->internal ? NULL : evd;
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

/* ---- queue.c, dequeue.c, evd.c; lock is not held ---- */
/* Appends an event and wakes a waiter. Returns 0, or -ENOSPC if the EVD is full: that raises
 * EVD_OVERFLOW, except for software events (the caller gets the error) and connection requests (the
 * peer gets NON_PEER_REJECTED). */
int dap_evd_post(struct dap_evd *evd, const struct dap_event *ev);
/* Like dap_evd_post, for the last event of a stream, a connection request. On success the stream no
 * longer feeds the EVD, so that a thread which has dequeued the event can free the EVD. */
int dap_evd_post_last(struct dap_evd *evd, const struct dap_event *ev);
/* The slow path of dequeue: evd->slow is non-zero or the CQ is empty. Returns 0 or a DAP_ERR. */
int dap_evd_dequeue_cold(struct dap_evd *evd, struct dap_event *ev);
/* Like dap_evd_dequeue_cold, but for any value of evd->slow. ev->dto.stamp or ev->bind.stamp is set. */
int dap_evd_dequeue_stamped(struct dap_evd *evd, struct dap_event *ev);
/* Called when a stream of connection events or requests starts or stops feeding the EVD. */
void dap_evd_feed(struct dap_evd *evd);
void dap_evd_unfeed(struct dap_evd *evd);

/* The only writer of evd->slow. */
void dap_evd_update_slow(struct core_evd *evd);
/* Take the next event outside the CQ; false if there is none. take_soft takes software events
 * before those of the stash. take_after takes events that must follow the CQ (DISCONNECTED), if
 * they are older than index limit and the CQ is empty. end_waits: such an event is the first one, and
 * the completions before it are not known yet. */
bool dap_evd_take_soft(struct core_evd *evd, struct dap_event *ev);
bool dap_evd_take_after(struct core_evd *evd, uint32_t limit, struct dap_event *ev);
bool dap_evd_end_waits(const struct core_evd *evd);
/* Returns the completion just polled, unless it must wait or an older event precedes it: then sets
 * the completion aside, and returns that event, if any. */
bool dap_evd_in_turn(struct core_evd *evd, const struct dap_event *polled, struct dap_event *ev);
int dap_evd_need_stash(struct core_evd *evd);
/* cq_lock is held, lock is not. After leave no hot dequeue is running, and each dequeue takes
 * cq_lock until join. Needed around dap_evd_collect() if nothing else keeps dequeues off the hot
 * path. */
void dap_evd_leave_hot_path(struct core_evd *evd);
void dap_evd_join_hot_path(struct core_evd *evd);
/* cq_lock is held, lock is not. poll takes one completion from the CQ. collect sets all of them
 * aside while there is room; returns the limit for dap_evd_take_after(). */
bool dap_evd_poll(struct core_evd *evd, struct dap_event *ev);
uint32_t dap_evd_collect(struct core_evd *evd);
void dap_evd_wake(struct core_evd *evd);
/* Wakes the waiter. If it is not asleep yet, its next sleep ends at once. */
void dap_evd_signal(struct core_evd *evd);

/* The peer may send, and no event of the connection is posted yet: the endpoint's messages are stashed
 * until dap_evd_not_early(). The endpoint's lock is held, lock is not. */
void dap_evd_early(struct dap_ep *ep);
void dap_evd_not_early(struct dap_ep *ep);

/* ---- ep/recv.c ---- */
/* Called when a completion is set aside, or leaves the stash. */
void dap_evd_count(struct core_evd *evd, const struct dap_event *ev);
void dap_evd_uncount(struct core_evd *evd, const struct dap_event *ev);

/* ---- trigger.c; cq_lock is held, lock is not ---- */
/* waiting, enabled or the streams have changed: starts or stops polling the CQ for the CNO. */
void dap_evd_cno_update(struct core_evd *evd);
/* Polls the CQ, triggers the CNO if something came, and arms the CQ again. */
void dap_evd_cno_poll(struct core_evd *evd);
/* To be called when no thread and no CNO waits for the CQ any more: the backend may drop the arming.
 * evd->lock may be held. */
void dap_evd_disarm(struct core_evd *evd);

#endif
