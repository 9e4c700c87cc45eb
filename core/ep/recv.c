/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive buffers that an endpoint holds: dat_ep_recv_query(3), dat_ep_set_watermark(3).
 *
 * High watermarks count the buffers that messages have filled and the consumer has not dequeued:
 * these are missing from the SRQ. Adapters do not count them, so the EVD of such an endpoint
 * leaves the hot path, like one behind a CNO. The thread that polls its CQ sets the completions
 * aside, which counts them; the connection manager's thread polls it periodically. Between two
 * dequeues the count only grows, so no peak is missed.
 */
#include <errno.h>

#include "core/cm/cm.h"
#include "core/ep/ep.h"
#include "core/evd/evd.h"

#define LOOK_US 1000

/* Returns true if messages can arrive in this state. */
static bool receives(enum dap_ep_state state)
{
	return state == DAP_EP_ACTIVE_PENDING || state == DAP_EP_COMPLETION_PENDING ||
	       state == DAP_EP_CONNECTED || state == DAP_EP_DISCONNECT_PENDING;
}

int dap_ep_recv_query(struct dap_ep *ep, int32_t *recvs)
{
	uint32_t n = 0;
	int err = 0;

	pthread_mutex_lock(&core_ep(ep)->lock);
	/* Without a connection an endpoint holds no receives of an SRQ. */
	if (ep->has_qp && (!ep->srq || receives(dap_ep_state(ep))))
		err = ep->obj.ia->hw->recv_count(ep, &n);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	if (err && err != -EAGAIN)
		return dap_err_from_errno(err);
	*recvs = err ? -1 : (int32_t)n;
	return 0;
}

/* ---- counting; evd->lock is held ---- */

static bool passes(const struct dap_ep *ep)
{
	const struct core_ep *own = core_ep(ep);

	return own->held_most > own->hard_high || own->held_most > own->soft_high;
}

static void set_held(struct core_evd *evd, struct dap_ep *ep, uint32_t held)
{
	struct core_ep *own = core_ep(ep);

	own->held = held;
	if (held > own->held_most)
		own->held_most = held;
	if (passes(ep))
		evd->passed = true;
}

static bool is_counted(const struct dap_event *ev)
{
	return ev->number == DAP_EV_DTO && ev->receive && core_ep(ev->dto.ep)->counted;
}

void dap_evd_count(struct core_evd *evd, const struct dap_event *ev)
{
	if (is_counted(ev))
		set_held(evd, ev->dto.ep, core_ep(ev->dto.ep)->held + 1);
}

void dap_evd_uncount(struct core_evd *evd, const struct dap_event *ev)
{
	if (is_counted(ev))
		set_held(evd, ev->dto.ep, core_ep(ev->dto.ep)->held - 1);
}

static uint32_t count_stashed(const struct core_evd *evd, const struct dap_ep *ep)
{
	uint32_t n = 0;

	for (uint32_t i = evd->stash_tail; i != evd->stash_head; i++) {
		const struct dap_event *ev = dap_evd_stash_at(evd, i);

		n += ev->number == DAP_EV_DTO && ev->receive && ev->dto.ep == ep;
	}
	return n;
}

/* ---- checking; evd->cq_lock is held, evd->lock is not ---- */

static bool has_watermark(const struct dap_ep *ep)
{
	return core_ep(ep)->hard_high != DAP_NO_WATERMARK || core_ep(ep)->soft_high != DAP_NO_WATERMARK;
}

/* If ESTABLISHED is not posted yet, only the next check breaks the connection. */
static void check_watermarks(struct core_evd *evd, struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	enum dap_ep_state state = dap_ep_state(ep);
	bool soft, hard;

	pthread_mutex_lock(&evd->lock);
	soft = own->held_most > own->soft_high;
	hard = own->held_most > own->hard_high;
	if (soft)
		own->soft_high = DAP_NO_WATERMARK;
	if (hard && (state == DAP_EP_ACTIVE_PENDING || state == DAP_EP_COMPLETION_PENDING))
		evd->passed = true;
	pthread_mutex_unlock(&evd->lock);
	/* DAT 1.2 has a reason code for this watermark, but no event number. */
	if (soft)
		dap_async_post(ep->obj.ia, DAP_EV_ASYNC_INTERNAL, &ep->obj,
			       DAP_EP_SOFT_HIGH_WATERMARK);
	if (hard && (state == DAP_EP_CONNECTED || state == DAP_EP_DISCONNECT_PENDING))
		dap_ep_broken(ep);
}

static void unlink_ep(struct core_evd *evd, struct dap_ep **place)
{
	struct dap_ep *ep = *place;

	pthread_mutex_lock(&evd->lock);
	*place = core_ep(ep)->counted_next;
	core_ep(ep)->counted = false;
	dap_evd_update_slow(evd);
	pthread_mutex_unlock(&evd->lock);
}

static bool take_passed(struct core_evd *evd)
{
	bool passed;

	pthread_mutex_lock(&evd->lock);
	passed = evd->passed;
	evd->passed = false;
	if (evd->waiting && evd->notified)
		dap_evd_wake(evd);
	pthread_mutex_unlock(&evd->lock);
	return passed;
}

static void check_counted(struct core_evd *evd)
{
	struct dap_ep **p = &evd->counted;

	dap_evd_collect(evd);
	if (!take_passed(evd))
		return;
	while (*p) {
		check_watermarks(evd, *p);
		if (has_watermark(*p))
			p = &core_ep(*p)->counted_next;
		else
			unlink_ep(evd, p);
	}
}

static void on_tick(void *arg)
{
	struct core_evd *evd = arg;

	pthread_mutex_lock(&evd->cq_lock);
	if (evd->counted)
		check_counted(evd);
	if (evd->counted)
		dap_cm_timer(evd->pub.obj.ia->cm, &evd->count_timer, LOOK_US);
	pthread_mutex_unlock(&evd->cq_lock);
}

/* ---- start and stop ---- */

static int count_begin(struct core_evd *evd, struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);

	pthread_mutex_lock(&evd->lock);
	if (dap_evd_need_stash(evd)) {
		pthread_mutex_unlock(&evd->lock);
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	}
	own->counted_next = evd->counted;
	evd->counted = ep;
	own->counted = true;
	own->held_most = 0;
	set_held(evd, ep, count_stashed(evd, ep));
	pthread_mutex_unlock(&evd->lock);
	/* Set only once: from the first use on the manager may be reading it. */
	if (!evd->count_timer.fn) {
		evd->count_timer.arg = evd;
		evd->count_timer.fn = on_tick;
	}
	dap_cm_timer(ep->obj.ia->cm, &evd->count_timer, LOOK_US);
	return 0;
}

/* If the consumer wants no completions, it holds no receives. */
static bool is_countable(const struct dap_ep *ep)
{
	return ep->has_qp && !core_evd(ep->recv_evd)->internal;
}

int dap_ep_count(struct dap_ep *ep)
{
	struct core_evd *evd = core_evd(ep->recv_evd);
	int err;

	if (!has_watermark(ep) || !is_countable(ep))
		return 0;
	pthread_mutex_lock(&evd->cq_lock);
	dap_evd_leave_hot_path(evd);
	err = count_begin(evd, ep);
	if (!err)
		check_counted(evd);
	dap_evd_join_hot_path(evd);
	pthread_mutex_unlock(&evd->cq_lock);
	return err;
}

void dap_ep_uncount(struct dap_ep *ep)
{
	struct core_evd *evd = core_evd(ep->recv_evd);
	struct dap_ep **p;

	if (!is_countable(ep))
		return;
	pthread_mutex_lock(&evd->cq_lock);
	for (p = &evd->counted; *p && *p != ep; p = &core_ep(*p)->counted_next)
		;
	if (*p)
		unlink_ep(evd, p);
	pthread_mutex_unlock(&evd->cq_lock);
}

static bool is_watermark(uint32_t n)
{
	return n <= INT32_MAX || n == DAP_NO_WATERMARK;
}

/* Setting the marks re-arms the events of both watermarks. */
static int change_marks(struct dap_ep *ep, uint32_t soft, uint32_t hard)
{
	struct core_ep *own = core_ep(ep);
	uint32_t old_soft, old_hard = own->hard_high;
	int err;

	dap_ep_uncount(ep);
	old_soft = own->soft_high;
	own->soft_high = soft;
	own->hard_high = hard;
	err = dap_ep_count(ep);
	if (!err) {
		ep->attr.srq_soft_hw = soft;
		return 0;
	}
	/* Only the first start allocates memory. So if it fails, counting was off before. */
	own->soft_high = old_soft;
	own->hard_high = old_hard;
	return err;
}

int dap_ep_soft_mark(uint32_t *soft)
{
	if (!*soft)
		*soft = DAP_NO_WATERMARK;
	return is_watermark(*soft) ? 0 : DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_NONE);
}

int dap_ep_soft_high(struct dap_ep *ep, uint32_t soft)
{
	return change_marks(ep, soft, core_ep(ep)->hard_high);
}

int dap_ep_set_watermark(struct dap_ep *ep, uint32_t soft, uint32_t hard)
{
	int err;

	if (!is_watermark(soft))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (!is_watermark(hard))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	pthread_mutex_lock(&core_ep(ep)->lock);
	err = change_marks(ep, soft, hard);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	return err;
}
