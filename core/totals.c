/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "core/cm/cm.h"
#include "core/ep/ep.h"
#include "core/evd/evd.h"
#include "core/ia.h"
#include "core/page.h"
#include "core/probe.h"

static uint64_t load(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static struct dap_totals *lock_totals(const struct dap_obj *obj)
{
	struct dap_totals *t = &core_ia(obj->ia)->totals;

	pthread_mutex_lock(&t->lock);
	return t;
}

/* ---- endpoints ---- */

void dap_totals_qp_begin(struct dap_ep *ep)
{
	struct dap_totals *t = lock_totals(&ep->obj);

	core_ep(ep)->qp_counts = true;
	pthread_mutex_unlock(&t->lock);
}

void dap_totals_qp_end(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	struct dap_ep_counts c = { 0 };
	struct dap_totals *t = lock_totals(&ep->obj);

	if (own->qp_counts)
		ep->obj.ia->hw->ep_total(ep, &c);
	for (int i = 0; i < DAP_COUNTS; i++) {
		__atomic_add_fetch(&own->counts.work[i].number, c.work[i].number, __ATOMIC_RELAXED);
		__atomic_add_fetch(&own->counts.work[i].bytes, c.work[i].bytes, __ATOMIC_RELAXED);
	}
	own->qp_counts = false;
	pthread_mutex_unlock(&t->lock);
}

static void add_ep(void *object, void *sums)
{
	struct dap_ep *ep = object;
	struct core_ep *own = core_ep(ep);
	struct dap_sums *s = sums;
	struct dap_ep_counts c = { 0 };

	if (own->qp_counts)
		ep->obj.ia->hw->ep_total(ep, &c);
	for (int i = 0; i < DAP_COUNTS; i++) {
		s->work[i].number += c.work[i].number + load(&own->counts.work[i].number);
		s->work[i].bytes += c.work[i].bytes + load(&own->counts.work[i].bytes);
	}
}

void dap_totals_ep(struct dap_ep *ep, struct dap_ep_counts *counts)
{
	struct dap_totals *t = lock_totals(&ep->obj);
	struct dap_sums s = { 0 };

	add_ep(ep, &s);
	pthread_mutex_unlock(&t->lock);
	memcpy(counts->work, s.work, sizeof(counts->work));
}

void dap_totals_ep_gone(struct dap_ep *ep)
{
	struct dap_totals *t = lock_totals(&ep->obj);

	add_ep(ep, &t->gone);
	memset(core_ep(ep)->counts.work, 0, sizeof(core_ep(ep)->counts.work));
	pthread_mutex_unlock(&t->lock);
}

/* ---- EVDs ---- */

static void add_evd(void *object, void *sums)
{
	struct dap_evd *evd = object;
	struct core_evd *own = core_evd(evd);
	struct dap_sums *s = sums;
	uint64_t of_cq = 0, missed = 0, events = 0;

	if (!own->in_totals)
		return;
	if (evd->has_cq && evd->obj.ia->hw->cq_total)
		evd->obj.ia->hw->cq_total(evd, &of_cq, &missed, &events);
	s->dequeued += of_cq + load(&own->counts.found) + load(&own->counts.waited);
	s->empty += missed + load(&own->counts.missed) + load(&own->idle_looks);
	s->cq_events += events;
	s->waits += load(&own->counts.waits);
	s->sleeps += load(&own->counts.sleeps);
}

void dap_totals_evd_begin(struct dap_evd *evd)
{
	struct dap_totals *t = lock_totals(&evd->obj);

	core_evd(evd)->in_totals = true;
	pthread_mutex_unlock(&t->lock);
}

void dap_totals_evd_gone(struct dap_evd *evd)
{
	struct dap_totals *t = lock_totals(&evd->obj);

	add_evd(evd, &t->gone);
	core_evd(evd)->in_totals = false;
	pthread_mutex_unlock(&t->lock);
}

/* ---- failures ---- */

void dap_work_failed(const struct dap_event *ev)
{
	bool bind = ev->number == DAP_EV_RMR_BIND;
	const struct dap_ep *ep = bind ? ev->bind.ep : ev->dto.ep;
	uint32_t status = bind ? ev->bind.status : ev->dto.status;

	DAP_PROBE3(error, ep, bind ? ev->bind.cookie : ev->dto.cookie, status);
	if (dap_invariant(&ep->obj, status > DAP_DTO_SUCCESS && status <= DAP_RMR_OPERATION_FAILED))
		__atomic_add_fetch(&core_ia(ep->obj.ia)->totals.failed[status - 1], 1, __ATOMIC_RELAXED);
}

/* ---- all ---- */

/* The types in the order of the page. */
static const enum dap_type types[] = {
	DAP_PZ, DAP_LMR, DAP_RMR, DAP_EVD, DAP_EP, DAP_PSP, DAP_RSP, DAP_CR, DAP_CNO, DAP_SRQ,
};

/* The kinds of posts in the order of the page. Their bytes follow, without those of atomics. */
static const enum dap_count posts[] = {
	DAP_COUNT_SEND, DAP_COUNT_WRITE, DAP_COUNT_READ, DAP_COUNT_WRITE_IMM, DAP_COUNT_CMP_SWAP,
	DAP_COUNT_FETCH_ADD, DAP_COUNT_POST_RECV,
};

#define NTYPES (sizeof(types) / sizeof(types[0]))
#define NPOSTS (sizeof(posts) / sizeof(posts[0]))
_Static_assert(DAP_PAGE_FREED - DAP_PAGE_CREATED == NTYPES && DAP_PAGE_REQ_SENT - DAP_PAGE_FREED == NTYPES &&
	       DAP_PAGE_BYTES - DAP_PAGE_POSTED == NPOSTS && DAP_PAGE_RECEIVES - DAP_PAGE_BYTES == 4 &&
	       DAP_PAGE_ASYNC - DAP_PAGE_CONN == 8 && DAP_PAGE_POSTED - DAP_PAGE_ASYNC == 5 &&
	       DAP_PAGE_NCOUNTERS - DAP_PAGE_FAILED == DAP_RMR_OPERATION_FAILED,
	       "the arrays have the order of the page");

static void read_requests(struct dap_ia *ia, uint64_t *v)
{
	struct dap_cm_counts c;

	dap_cm_count(ia->cm, &c);
	v[DAP_PAGE_REQ_SENT] = c.req_tx;
	v[DAP_PAGE_REQ_REPEATED] = c.retries;
	v[DAP_PAGE_REQ_RECEIVED] = c.req_rx;
	v[DAP_PAGE_REQ_ACCEPTED] = c.rep_tx;
	v[DAP_PAGE_REQ_REJECTED] = c.user_rej_tx;
	v[DAP_PAGE_REQ_REFUSED] = c.rej_tx - c.user_rej_tx;
}

static void copy_counts(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = load(&from[i]);
}

static uint64_t if_known(bool known, uint64_t count)
{
	return known ? count : DAP_PAGE_UNKNOWN;
}

static void read_work(const struct dap_sums *s, uint64_t *v)
{
	for (size_t i = 0; i < NPOSTS; i++) {
		v[DAP_PAGE_POSTED + i] = s->work[posts[i]].number;
		if (i < DAP_PAGE_RECEIVES - DAP_PAGE_BYTES)
			v[DAP_PAGE_BYTES + i] = s->work[posts[i]].bytes;
	}
	v[DAP_PAGE_RECEIVES] = s->work[DAP_COUNT_RECV].number;
	v[DAP_PAGE_RECEIVED_BYTES] = s->work[DAP_COUNT_RECV].bytes + s->work[DAP_COUNT_RECV_IMM].bytes +
				     s->work[DAP_COUNT_RECV_WRITE_IMM].bytes;
}

static void read_events(const struct dap_ia *ia, const struct dap_sums *s, uint64_t *v)
{
	bool known = ia->hw->cq_total;

	v[DAP_PAGE_DEQUEUED] = if_known(known, s->dequeued);
	v[DAP_PAGE_EMPTY] = if_known(known, s->empty);
	v[DAP_PAGE_CQ_EVENTS] = if_known(known, s->cq_events);
	v[DAP_PAGE_WAITS] = s->waits;
	v[DAP_PAGE_SLEEPS] = s->sleeps;
}

void dap_totals_read(struct dap_ia *ia, struct dap_page *page)
{
	struct core_ia *own = core_ia(ia);
	uint64_t *v = page->value;
	struct dap_sums sum;

	/* An object is made before it is freed. So with this order no object is freed that was not made. */
	for (size_t i = 0; i < NTYPES; i++) {
		v[DAP_PAGE_FREED + i] = __atomic_load_n(&own->freed[types[i]], __ATOMIC_ACQUIRE);
		v[DAP_PAGE_CREATED + i] = load(&own->made[types[i]]);
	}
	read_requests(ia, v);
	copy_counts(&v[DAP_PAGE_CONN], own->totals.connections, 8);
	copy_counts(&v[DAP_PAGE_ASYNC], own->asyncs, 5);
	copy_counts(&v[DAP_PAGE_FAILED], own->totals.failed, DAP_RMR_OPERATION_FAILED);
	pthread_mutex_lock(&own->totals.lock);
	sum = own->totals.gone;
	dap_obj_each(DAP_EP, ia, add_ep, &sum);
	dap_obj_each(DAP_EVD, ia, add_evd, &sum);
	pthread_mutex_unlock(&own->totals.lock);
	read_work(&sum, v);
	read_events(ia, &sum, v);
}
