/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the EVD share. evd->lock is held where a comment does not say otherwise. */
#ifndef DAP_EVD_INT_H
#define DAP_EVD_INT_H

#include "core/api.h"
#include "core/hw.h"

static inline uint32_t dap_evd_soft_count(const struct dap_evd *evd)
{
	return evd->soft_head - evd->soft_tail;
}

static inline uint32_t dap_evd_stash_count(const struct dap_evd *evd)
{
	return evd->stash_head - evd->stash_tail;
}

static inline struct dap_event *dap_evd_soft_at(const struct dap_evd *evd, uint32_t i)
{
	return &evd->soft[i & (evd->soft_size - 1)];
}

static inline struct dap_event *dap_evd_stash_at(const struct dap_evd *evd, uint32_t i)
{
	return &evd->stash[i & (evd->soft_size - 1)];
}

/* The only writer of evd->attention. */
void dap_evd_set_attention(struct dap_evd *evd);
/* The next event that is not in the CQ: software events before set aside completions, and what must
 * come after those (DISCONNECTED) only from before index limit. False when there is none. */
bool dap_evd_take_soft(struct dap_evd *evd, struct dap_event *ev);
bool dap_evd_take_after(struct dap_evd *evd, uint32_t limit, struct dap_event *ev);
int dap_evd_need_stash(struct dap_evd *evd);
/* The turn is held, the lock is not. When leave returns no hot dequeue is under way, and each dequeue
 * takes the turn, until join. Around dap_evd_collect() where nothing else keeps dequeues off. */
void dap_evd_leave_hot_path(struct dap_evd *evd);
void dap_evd_join_hot_path(struct dap_evd *evd);
/* The lock is not held for these two, but the turn is. One completion out of the CQ; and all of them
 * set aside, as far as there is room: returns the index up to which after_cq events may now be
 * taken. */
bool dap_evd_poll(struct dap_evd *evd, struct dap_event *ev);
uint32_t dap_evd_collect(struct dap_evd *evd);
void dap_evd_wake(struct dap_evd *evd);
/* The same for a waiter that is on its way to sleep: its next sleep ends at once. */
void dap_evd_signal(struct dap_evd *evd);

/* ---- ep/recv.c ---- */
/* The completion has been set aside; or it leaves to be delivered. */
void dap_evd_count(struct dap_evd *evd, const struct dap_event *ev);
void dap_evd_uncount(struct dap_evd *evd, const struct dap_event *ev);

/* ---- trigger.c; the turn is held, the lock is not ---- */
/* waiting, enabled or the streams have changed: the CNO looks at the CQ, or no longer does. */
void dap_evd_cno_update(struct dap_evd *evd);
/* Triggers the CNO if something came to the CQ, which is armed for what is to come. */
void dap_evd_cno_look(struct dap_evd *evd);

#endif
