/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The software queue of an EVD, and the order between it and the CQ:
 *
 *	1. software, connection request and connection events, as posted,
 *	2. completions that a wait has set aside (stash), then those of the CQ,
 *	3. DISCONNECTED and BROKEN (after_cq), once the CQ was empty after they were posted, and the
 *	   completions that were set aside by then are dequeued.
 *
 * So ESTABLISHED is dequeued before any completion of its connection, and the end after all of
 * them. Completions of other connections that arrive later do not delay the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/ep/ep.h"
#include "core/evd/cno.h"
#include "core/mem/srq.h"
#include "core/thread.h"

void dap_evd_update_slow(struct core_evd *evd)
{
	uint32_t bits = 0;

	if (dap_evd_soft_count(evd) || dap_evd_stash_count(evd))
		bits |= DAP_SLOW_SOFT;
	if (evd->waiting)
		bits |= DAP_SLOW_WAITER;
	if (evd->dead || evd->overflowed)
		bits |= DAP_SLOW_DEAD;
	if (!evd->pub.has_cq)
		bits |= DAP_SLOW_NO_CQ;
	else if (evd->cno)
		bits |= DAP_SLOW_CNO;
	if (evd->counted)
		bits |= DAP_SLOW_COUNT;
	if (evd->off_hot_path)
		bits |= DAP_SLOW_LOCKED;
	if (evd->early)
		bits |= DAP_SLOW_EARLY;
	__atomic_store_n(&evd->pub.slow, bits, __ATOMIC_RELEASE);
}

static void set_off_hot_path(struct core_evd *evd, bool off)
{
	pthread_mutex_lock(&evd->lock);
	evd->off_hot_path = off;
	dap_evd_update_slow(evd);
	pthread_mutex_unlock(&evd->lock);
}

void dap_evd_leave_hot_path(struct core_evd *evd)
{
	set_off_hot_path(evd, true);
	if (evd->pub.has_cq)
		evd->pub.obj.ia->hw->cq_settle(&evd->pub);
}

void dap_evd_join_hot_path(struct core_evd *evd)
{
	set_off_hot_path(evd, false);
}

/* A notifying event has arrived: wakes a waiter or triggers the CNO. */
static void notify_event(struct core_evd *evd)
{
	evd->notified = true;
	evd->counts.notifies++;
	if (evd->cno && evd->enabled && !evd->waiting)
		dap_cno_trigger(evd);
}

void dap_evd_signal(struct core_evd *evd)
{
	dap_thread_signal(evd->wake_fd);
}

void dap_evd_wake(struct core_evd *evd)
{
	if (evd->asleep && evd->wake_fd >= 0)
		dap_evd_signal(evd);
}

static bool is_connection_event(const struct dap_event *ev)
{
	return ev->number >= DAP_EV_ESTABLISHED && ev->number <= DAP_EV_UNREACHABLE;
}

static const char *const connection_events[] = {
	"ESTABLISHED", "PEER_REJECTED", "NON_PEER_REJECTED", "ACCEPT_COMPLETION_ERROR",
	"DISCONNECTED", "BROKEN", "TIMED_OUT", "UNREACHABLE",
};

static bool is_async_event(const struct dap_event *ev)
{
	return ev->number >= DAP_EV_ASYNC_EVD_OVERFLOW && ev->number <= DAP_EV_ASYNC_INTERNAL;
}

static const char *const async_events[] = {
	"EVD_OVERFLOW", "IA_CATASTROPHIC", "EP_BROKEN", "TIMED_OUT", "PROVIDER_INTERNAL_ERROR",
};

static int append_event(struct core_evd *evd, const struct dap_event *ev)
{
	if (evd->dead)
		return 0;	/* the EVD is going away: drop the event */
	if (dap_evd_soft_count(evd) >= evd->qlen)
		return -ENOSPC;
	*dap_evd_soft_at(evd, evd->soft_head++) = *ev;
	evd->counts.connection_events += is_connection_event(ev);
	dap_evd_update_slow(evd);
	if (!ev->unsignalled) {
		notify_event(evd);
		dap_evd_wake(evd);
	}
	return 0;
}

/* Returns the name of an event that did not fit, if its loss must be reported: once until there is room.
 * Posters of other events report the loss themselves. */
static const char *lost_name(struct core_evd *evd, const struct dap_event *ev)
{
	bool async = is_async_event(ev), *reported = async ? &evd->async_reported : &evd->full_reported;

	if (*reported || (!async && !is_connection_event(ev)))
		return NULL;
	*reported = true;
	return async ? async_events[ev->number - DAP_EV_ASYNC_EVD_OVERFLOW]
		     : connection_events[ev->number - DAP_EV_ESTABLISHED];
}

int dap_evd_post(struct dap_evd *handle, const struct dap_event *ev)
{
	struct core_evd *evd = core_evd(handle);
	const char *lost;
	int err;

	pthread_mutex_lock(&evd->lock);
	err = append_event(evd, ev);
	lost = err ? lost_name(evd, ev) : NULL;
	pthread_mutex_unlock(&evd->lock);
	if (!lost)
		return err;
	dap_log(DAP_LOG_ERR, "EVD %p of %s, with room for %u events, is full, and event %s is lost: create "
		"it with a greater evd_min_qlen", (void *)evd, handle->obj.ia->name, evd->qlen, lost);
	/* After an asynchronous event, an overflow event would not fit either. */
	if (is_connection_event(ev))
		dap_async_post(evd->pub.obj.ia, DAP_EV_ASYNC_EVD_OVERFLOW, &evd->pub.obj, 0);
	return err;
}

void dap_evd_feed(struct dap_evd *handle)
{
	struct core_evd *evd = core_evd(handle);

	__atomic_add_fetch(&evd->feeders, 1, __ATOMIC_RELAXED);
}

void dap_evd_unfeed(struct dap_evd *handle)
{
	struct core_evd *evd = core_evd(handle);
	uint32_t before = __atomic_fetch_sub(&evd->feeders, 1, __ATOMIC_RELEASE);

	dap_invariant(&evd->pub.obj, before > 0);
}

int dap_evd_post_last(struct dap_evd *handle, const struct dap_event *ev)
{
	struct core_evd *evd = core_evd(handle);
	int err;

	pthread_mutex_lock(&evd->lock);
	err = append_event(evd, ev);
	if (!err)
		dap_evd_unfeed(handle);
	pthread_mutex_unlock(&evd->lock);
	return err;
}

static bool is_drained(const struct core_evd *evd)
{
	return (int32_t)(evd->drained_soft - evd->soft_tail) > 0;
}

/* Removes the event at index i of the software queue; moves older events up. */
static void remove_at(struct core_evd *evd, uint32_t i, struct dap_event *ev)
{
	dap_invariant(&evd->pub.obj, i - evd->soft_tail < dap_evd_soft_count(evd));
	*ev = *dap_evd_soft_at(evd, i);
	for (; i != evd->soft_tail; i--)
		*dap_evd_soft_at(evd, i) = *dap_evd_soft_at(evd, i - 1);
	evd->soft_tail++;
	/* Otherwise 2^31 events later it would seem to be ahead. */
	if (!is_drained(evd))
		evd->drained_soft = evd->soft_tail;
	evd->full_reported = evd->async_reported = false;
	dap_evd_update_slow(evd);
}

/*
 * ESTABLISHED of one endpoint may be queued behind a DISCONNECTED of another that waits for an
 * empty CQ. If a completion of its endpoint is next, ESTABLISHED goes first. The end of an earlier
 * connection of that endpoint goes before: dat_ep_reset() has dropped the completions of that one.
 * Returns the index of the event that goes first, or soft_head if there is none.
 */
static uint32_t find_established(const struct core_evd *evd, const struct dap_event *next)
{
	const struct dap_ep *ep = next->dto.ep;
	uint32_t first = evd->soft_head;

	for (uint32_t i = evd->soft_tail; next->number == DAP_EV_DTO && i != evd->soft_head; i++) {
		const struct dap_event *other = dap_evd_soft_at(evd, i);

		if (!is_connection_event(other) || other->conn.ep != ep)
			continue;
		if (first == evd->soft_head)
			first = i;
		if (other->number == DAP_EV_ESTABLISHED)
			return first;
	}
	return evd->soft_head;
}

static bool take_established(struct core_evd *evd, const struct dap_event *next,
			     struct dap_event *ev)
{
	uint32_t first = find_established(evd, next);

	if (first == evd->soft_head)
		return false;
	remove_at(evd, first, ev);
	return true;
}

/*
 * Returns true for a message that has overtaken the ESTABLISHED event of its connection. A request is
 * posted after that event was dequeued, although the endpoint may still be marked.
 */
static bool is_early_message(const struct core_evd *evd, const struct dap_event *ev)
{
	const struct dap_ep *ep = ev->dto.ep;

	return ev->number == DAP_EV_DTO && ep->recv_evd == &evd->pub && core_ep(ep)->early;
}

/* A receive of an SRQ is outstanding until its completion is dequeued: dat_srq_query(3). */
static void count_of_srq(const struct dap_event *ev, uint32_t n)
{
	const uint32_t receives = 1u << DAP_OP_RECEIVE | 1u << DAP_OP_RECV_INVAL | 1u << DAP_OP_RECV_IMMED |
				  1u << DAP_OP_RECV_WRITE_IMMED;
	struct dap_srq *srq = ev->number == DAP_EV_DTO ? ev->dto.ep->srq : NULL;

	if (srq && receives >> ev->dto.op & 1)
		__atomic_add_fetch(&core_srq(srq)->set_aside, n, __ATOMIC_RELAXED);
}

/* Removes the oldest completion that need not wait; moves older ones up. */
static bool take_stash(struct core_evd *evd, struct dap_event *ev)
{
	uint32_t i = evd->stash_tail;

	while (i != evd->stash_head && is_early_message(evd, dap_evd_stash_at(evd, i)))
		i++;
	if (i == evd->stash_head)
		return false;
	*ev = *dap_evd_stash_at(evd, i);
	if (take_established(evd, ev, ev))
		return true;
	for (; i != evd->stash_tail; i--)
		*dap_evd_stash_at(evd, i) = *dap_evd_stash_at(evd, i - 1);
	evd->stash_tail++;
	dap_evd_uncount(evd, ev);
	count_of_srq(ev, UINT32_MAX);
	dap_evd_update_slow(evd);
	return true;
}

static bool is_end_next(const struct core_evd *evd)
{
	return dap_evd_soft_count(evd) && dap_evd_soft_at(evd, evd->soft_tail)->after_cq;
}

bool dap_evd_end_waits(const struct core_evd *evd)
{
	return is_end_next(evd) && !is_drained(evd);
}

static bool is_soft_next(const struct core_evd *evd)
{
	if (!is_end_next(evd))
		return dap_evd_soft_count(evd);
	return is_drained(evd) && (int32_t)(evd->stash_tail - evd->drained_stash) >= 0;
}

bool dap_evd_take_soft(struct core_evd *evd, struct dap_event *ev)
{
	if (is_soft_next(evd)) {
		remove_at(evd, evd->soft_tail, ev);
		return true;
	}
	return take_stash(evd, ev);
}

bool dap_evd_take_after(struct core_evd *evd, uint32_t limit, struct dap_event *ev)
{
	if (!dap_evd_soft_count(evd) || evd->soft_tail == limit)
		return false;
	remove_at(evd, evd->soft_tail, ev);
	return true;
}

int dap_evd_need_stash(struct core_evd *evd)
{
	if (!evd->stash && evd->pub.has_cq)
		evd->stash = calloc(evd->soft_size, sizeof(*evd->stash));
	return evd->stash || !evd->pub.has_cq ? 0 : -ENOMEM;
}

/* Sets a polled completion aside; returns false if there is no room. */
static bool put_stash(struct core_evd *evd, const struct dap_event *ev)
{
	if (!evd->stash || dap_evd_stash_count(evd) == evd->soft_size)
		return false;
	*dap_evd_stash_at(evd, evd->stash_head++) = *ev;
	dap_evd_count(evd, ev);
	count_of_srq(ev, 1);
	dap_evd_update_slow(evd);
	return true;
}

static void set_drained(struct core_evd *evd, uint32_t soft)
{
	pthread_mutex_lock(&evd->lock);
	evd->drained_soft = soft;
	evd->drained_stash = evd->stash_head;
	pthread_mutex_unlock(&evd->lock);
}

uint32_t dap_evd_collect(struct core_evd *evd)
{
	struct dap_event ev;
	uint32_t limit;
	bool room, end_waits;

	pthread_mutex_lock(&evd->lock);
	limit = evd->soft_head;
	end_waits = dap_evd_end_waits(evd);
	room = evd->stash && dap_evd_stash_count(evd) < evd->soft_size;
	pthread_mutex_unlock(&evd->lock);
	while (room && dap_evd_poll(evd, &ev)) {
		pthread_mutex_lock(&evd->lock);
		put_stash(evd, &ev);
		if (!ev.unsignalled)
			notify_event(evd);
		room = dap_evd_stash_count(evd) < evd->soft_size;
		pthread_mutex_unlock(&evd->lock);
	}
	if (room && end_waits)
		set_drained(evd, limit);
	return limit;
}

/* Returns true if a backend may return this event from the EVD's CQ. */
static bool is_of_cq(const struct core_evd *evd, const struct dap_event *ev)
{
	const struct dap_ep *ep = ev->dto.ep;

	if (ev->number == DAP_EV_RMR_BIND)
		return ev->bind.rmr != NULL;
	return ev->number == DAP_EV_DTO && ep && ep->obj.type == DAP_EP &&
	       (ep->recv_evd == &evd->pub || ep->request_evd == &evd->pub);
}

bool dap_evd_poll(struct core_evd *evd, struct dap_event *ev)
{
	if (!evd->pub.has_cq)
		return false;
	memset(ev, 0, sizeof(*ev));
	return evd->pub.obj.ia->hw->cq_poll(&evd->pub, ev) &&
	       dap_invariant(&evd->pub.obj, is_of_cq(evd, ev));
}

bool dap_evd_in_turn(struct core_evd *evd, const struct dap_event *polled, struct dap_event *ev)
{
	/*
	 * A stashed message may have become deliverable since the stash was last searched, so the polled
	 * completion joins the stash if one of these three conditions holds. Each of them set a bit of
	 * evd->slow before the poll. Otherwise another thread may already have taken the next completion
	 * on the hot path, so this completion must be returned now.
	 */
	bool set_aside = (dap_evd_stash_count(evd) || is_early_message(evd, polled) ||
			  find_established(evd, polled) != evd->soft_head) &&
			 !dap_evd_need_stash(evd) && put_stash(evd, polled);

	if (!set_aside) {
		*ev = *polled;
		return true;
	}
	if (!polled->unsignalled)
		notify_event(evd);
	return dap_evd_take_soft(evd, ev);
}

void dap_evd_early(struct dap_ep *ep)
{
	struct core_evd *evd = core_evd(ep->recv_evd);

	pthread_mutex_lock(&evd->lock);
	core_ep(ep)->early = true;
	evd->early++;
	dap_evd_update_slow(evd);
	pthread_mutex_unlock(&evd->lock);
}

static const struct dap_ep *ep_of(const struct dap_event *ev)
{
	return ev->number == DAP_EV_RMR_BIND ? ev->bind.ep : ev->dto.ep;
}

static bool stash_notifies(const struct core_evd *evd, const struct dap_ep *ep)
{
	for (uint32_t i = evd->stash_tail; i != evd->stash_head; i++) {
		const struct dap_event *ev = dap_evd_stash_at(evd, i);

		if (ep_of(ev) == ep && !ev->unsignalled)
			return true;
	}
	return false;
}

/* A message that was kept back notifies now: a dequeue at its arrival did not find it. */
void dap_evd_not_early(struct dap_ep *ep)
{
	struct core_evd *evd = core_evd(ep->recv_evd);

	pthread_mutex_lock(&evd->lock);
	dap_invariant(&evd->pub.obj, evd->early > 0);
	core_ep(ep)->early = false;
	evd->early--;
	dap_evd_update_slow(evd);
	if (stash_notifies(evd, ep)) {
		notify_event(evd);
		dap_evd_wake(evd);
	}
	pthread_mutex_unlock(&evd->lock);
}

void dap_evd_purge(struct dap_evd *handle, const struct dap_ep *ep)
{
	struct core_evd *evd = core_evd(handle);
	uint32_t keep, gone = 0;

	pthread_mutex_lock(&evd->lock);
	keep = evd->stash_tail;
	for (uint32_t i = evd->stash_tail; i != evd->stash_head; i++) {
		const struct dap_event *ev = dap_evd_stash_at(evd, i);

		if (ep_of(ev) != ep) {
			*dap_evd_stash_at(evd, keep++) = *ev;
			continue;
		}
		gone += (int32_t)(evd->drained_stash - i) > 0;
		count_of_srq(ev, UINT32_MAX);
	}
	evd->stash_head = keep;
	evd->drained_stash -= gone;
	dap_evd_update_slow(evd);
	pthread_mutex_unlock(&evd->lock);
}
