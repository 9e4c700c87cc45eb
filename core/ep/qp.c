/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue pair of an endpoint, and the EVDs that its completions feed. */
#include "core/ep/ep.h"
#include "core/evd/evd.h"
#include "core/totals.h"

/* SOLICITED concerns receives: for requests it only permits the flag. */
static uint32_t request_flags(const struct dap_ep *ep)
{
	return ep->attr.request_completion_flags & DAP_COMP_UNSIGNALLED;
}

/* *place keeps the consumer's EVD; of an internal one nothing remains. */
static void detach_evd(struct dap_evd **place, uint32_t flags)
{
	struct dap_evd *evd = *place;

	if (!evd)
		return;
	*place = dap_evd_visible(evd);
	dap_evd_remove_stream(evd, flags);
	if (!*place)
		dap_evd_destroy(evd);
}

/* A QP needs a CQ even if the consumer wants no events. */
static int attach_evd(struct dap_ep *ep, struct dap_evd **place, uint32_t flags, uint32_t dtos, bool qp)
{
	struct dap_evd *evd = *place;
	bool internal = !evd;
	int err = 0;

	if (internal && !qp)
		return 0;
	if (internal) {
		err = dap_evd_create(ep->obj.ia, dtos ? dtos : 1, DAP_EVD_DTO | DAP_EVD_RMR_BIND, NULL,
				     &evd);
		if (err)
			return err;
		core_evd(evd)->internal = true;
	}
	err = dap_evd_add_stream(evd, flags);
	if (!err)
		*place = evd;
	else if (internal)
		dap_evd_destroy(evd);
	return err;
}

static int create_qp(struct dap_ep *ep)
{
	const struct dap_hw *hw = ep->obj.ia->hw;
	int err;

	dap_invariant(&ep->obj, !ep->has_qp && ep->recv_evd->has_cq && ep->request_evd->has_cq);
	err = hw->qp_create(ep);
	if (err)
		return dap_err_from_errno(err);
	err = hw->qp_address(ep);
	if (err) {
		hw->qp_destroy(ep);
		return dap_err_from_errno(err);
	}
	__atomic_store_n(&ep->has_qp, true, __ATOMIC_RELEASE);
	dap_totals_qp_begin(ep);
	if (ep->srq)
		dap_srq_join(ep->srq, ep);
	return 0;
}

static int attach(struct dap_ep *ep, bool qp)
{
	uint32_t recvs = ep->srq ? ep->srq->room : ep->attr.max_recv_dtos;
	int err = attach_evd(ep, &ep->recv_evd, ep->attr.recv_completion_flags, recvs, qp);

	if (err)
		return err;
	err = attach_evd(ep, &ep->request_evd, request_flags(ep), ep->attr.max_request_dtos, qp);
	if (err)
		goto detach_recv;
	err = qp ? create_qp(ep) : 0;
	if (err)
		goto detach_request;
	core_ep(ep)->attached = true;
	err = dap_ep_count(ep);
	if (err)
		dap_ep_detach(ep);
	return err;

detach_request:
	detach_evd(&ep->request_evd, request_flags(ep));
detach_recv:
	detach_evd(&ep->recv_evd, ep->attr.recv_completion_flags);
	return err;
}

int dap_ep_attach(struct dap_ep *ep)
{
	return attach(ep, ep->pz);
}

int dap_ep_reattach(struct dap_ep *ep)
{
	int err = dap_ep_attach(ep);

	if (err)
		attach(ep, false);
	return err;
}

bool dap_ep_reap(struct dap_ep *ep, bool recv)
{
	struct dap_evd *evd = recv ? ep->recv_evd : ep->request_evd;
	struct dap_event ev;
	bool some = false;

	if (!core_evd(evd)->internal)
		return false;
	pthread_mutex_lock(&core_evd(evd)->reap_lock);
	while (ep->obj.ia->hw->cq_poll(evd, &ev))
		some = true;
	pthread_mutex_unlock(&core_evd(evd)->reap_lock);
	return some;
}

/* With both cq_locks held, no thread has a completion that it took from a CQ but has not set
 * aside. */
static void destroy_qp(struct dap_ep *ep)
{
	struct dap_evd *a = ep->recv_evd, *b = ep->request_evd, *first = a < b ? a : b;

	dap_invariant(&ep->obj, dap_ep_state(ep) != DAP_EP_CONNECTED);
	pthread_mutex_lock(&core_evd(first)->cq_lock);
	if (a != b)
		pthread_mutex_lock(&core_evd(first == a ? b : a)->cq_lock);
	dap_totals_qp_end(ep);	/* the next QP counts from 0 */
	ep->obj.ia->hw->qp_destroy(ep);
	dap_evd_purge(a, ep);
	dap_evd_purge(b, ep);
	pthread_mutex_unlock(&core_evd(a)->cq_lock);
	if (a != b)
		pthread_mutex_unlock(&core_evd(b)->cq_lock);
}

void dap_ep_detach(struct dap_ep *ep)
{
	if (!core_ep(ep)->attached)
		return;
	dap_ep_uncount(ep);
	if (ep->has_qp && ep->srq)
		dap_srq_leave(ep->srq, ep);
	if (ep->has_qp)
		destroy_qp(ep);
	core_ep(ep)->attached = false;
	__atomic_store_n(&ep->has_qp, false, __ATOMIC_RELAXED);
	detach_evd(&ep->recv_evd, ep->attr.recv_completion_flags);
	detach_evd(&ep->request_evd, request_flags(ep));
}
