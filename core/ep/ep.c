/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: their life. Each has a queue pair as soon as it has a PZ, so that receives can be posted:
 * those of the consumer's from the start. */
#include <stdlib.h>
#include <string.h>

#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/evd/evd.h"

static void detach(struct dap_evd *evd)
{
	bool internal;

	if (!evd)
		return;
	internal = core_evd(evd)->internal;
	dap_evd_remove_stream(evd);
	if (internal)
		dap_evd_destroy(evd);
}

/* A QP needs a completion queue even where the consumer wants no events. */
static int attach(struct dap_ep *ep, struct dap_evd *evd, uint32_t flags, uint32_t dtos,
		  struct dap_evd **out)
{
	bool internal = !evd;
	int err = 0;

	if (internal && !ep->pz)
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
		*out = evd;
	else if (internal)
		dap_evd_destroy(evd);
	return err;
}

static int create_qp(struct dap_ep *ep)
{
	const struct dap_hw *hw = ep->obj.ia->hw;
	int err = hw->qp_create(ep);

	if (err)
		return dap_err_from_errno(err);
	err = hw->qp_address(ep);
	if (err) {
		hw->qp_destroy(ep);
		return dap_err_from_errno(err);
	}
	ep->has_qp = true;
	if (ep->srq)
		dap_srq_join(ep->srq, ep);
	return 0;
}

int dap_ep_attach(struct dap_ep *ep)
{
	/* SOLICITED is of receives: for requests it says only what may be posted. */
	uint32_t request_flags = ep->attr.request_completion_flags & DAP_COMP_UNSIGNALLED;
	uint32_t recvs = ep->srq ? ep->srq->room : ep->attr.max_recv_dtos;
	int err = attach(ep, ep->recv_evd, ep->attr.recv_completion_flags, recvs, &ep->recv_evd);

	if (err)
		return err;
	err = attach(ep, ep->request_evd, request_flags, ep->attr.max_request_dtos,
		     &ep->request_evd);
	if (err)
		goto detach_recv;
	err = ep->pz ? create_qp(ep) : 0;
	if (err)
		goto detach_request;
	core_ep(ep)->attached = true;
	err = dap_ep_count(ep);
	if (err)
		dap_ep_detach(ep);
	return err;

detach_request:
	detach(ep->request_evd);
detach_recv:
	detach(ep->recv_evd);
	return err;
}

size_t dap_ep_size(void)
{
	return sizeof(struct core_ep);
}

void dap_ep_tally(struct dap_ep *ep, enum dap_count what, uint64_t bytes)
{
	struct core_ep *own = core_ep(ep);

	__atomic_add_fetch(&own->counts.work[what].number, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&own->counts.work[what].bytes, bytes, __ATOMIC_RELAXED);
}

/* The next QP counts from 0. */
static void keep_totals(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	struct dap_ep_counts c = { 0 };

	if (!ep->obj.ia->hw->ep_total)
		return;
	ep->obj.ia->hw->ep_total(ep, &c);
	for (int i = 0; i < DAP_COUNTS; i++) {
		__atomic_add_fetch(&own->counts.work[i].number, c.work[i].number, __ATOMIC_RELAXED);
		__atomic_add_fetch(&own->counts.work[i].bytes, c.work[i].bytes, __ATOMIC_RELAXED);
	}
}

/* Nobody is between taking a completion off the CQ and setting it aside meanwhile. */
static void destroy_qp(struct dap_ep *ep)
{
	struct dap_evd *a = ep->recv_evd, *b = ep->request_evd, *first = a < b ? a : b;

	pthread_mutex_lock(&core_evd(first)->turn);
	if (a != b)
		pthread_mutex_lock(&core_evd(first == a ? b : a)->turn);
	keep_totals(ep);
	ep->obj.ia->hw->qp_destroy(ep);
	dap_evd_purge(a, ep);
	dap_evd_purge(b, ep);
	pthread_mutex_unlock(&core_evd(a)->turn);
	if (a != b)
		pthread_mutex_unlock(&core_evd(b)->turn);
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
	core_ep(ep)->attached = ep->has_qp = false;
	detach(ep->recv_evd);
	detach(ep->request_evd);
}

static int set_attr(struct dap_ep *ep, const struct dap_ep_attr *attr)
{
	int err;

	dap_ep_attr_default(ep->obj.ia, &ep->attr);
	if (!attr)
		return 0;
	ep->attr = *attr;
	/* dat_ep_create_with_srq(3): how long a receive's list is, the SRQ has said. */
	if (ep->srq)
		ep->attr.max_recv_iov = ep->srq->max_recv_iov;
	err = dap_ep_attr_check(ep->obj.ia, &ep->attr);
	return err || !ep->srq ? err : dap_ep_soft_high(ep, ep->attr.srq_soft_hw);
}

static struct dap_ep *alloc(struct dap_ia *ia)
{
	struct dap_ep *ep = dap_obj_alloc(DAP_EP, ia);
	struct core_ep *own = core_ep(ep);

	if (!ep)
		return NULL;
	pthread_mutex_init(&own->lock, NULL);
	own->local_addr = ia->caps.address;
	own->hard_high = DAP_NO_WATERMARK;
	return ep;
}

int dap_ep_create(struct dap_ia *ia, const struct dap_ep_args *args, struct dap_ep **out)
{
	struct dap_ep *ep = alloc(ia);
	struct core_ep *own = core_ep(ep);
	int err;

	if (!ep)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	ep->pz = args->pz;
	ep->srq = args->srq;
	ep->recv_evd = args->recv_evd;
	ep->request_evd = args->request_evd;
	own->connect_evd = args->connect_evd;
	if (ep->srq)
		dap_srq_hold(ep->srq);
	err = set_attr(ep, args->attr);
	if (!err)
		err = dap_ep_attach(ep);
	if (err) {
		if (ep->srq)
			dap_srq_drop(ep->srq);
		dap_obj_free(ep);
		return err;
	}
	dap_pz_hold(ep->pz);
	if (own->connect_evd)
		dap_evd_feed(own->connect_evd);
	dap_ep_fsm_init(ep);
	*out = ep;
	return 0;
}

int dap_ep_provide(struct dap_ia *ia, struct dap_ep **out)
{
	struct dap_ep *ep = alloc(ia);

	if (!ep)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	core_ep(ep)->provided = true;
	dap_ep_attr_default(ia, &ep->attr);
	ep->attr.max_rdma_read_in = 0;
	ep->attr.max_rdma_read_out = ia->caps.max_rdma_read_out;
	core_ep(ep)->attached = true;
	dap_ep_fsm_init(ep);
	*out = ep;
	return 0;
}

void dap_ep_destroy(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);

	dap_conn_ep_release(ep);
	dap_ep_detach(ep);
	if (ep->srq)
		dap_srq_drop(ep->srq);
	if (own->connect_evd)
		dap_evd_unfeed(own->connect_evd);
	if (ep->pz)
		dap_pz_drop(ep->pz);
	free(own->cleared);
	dap_obj_free(ep);
}

/* Endpoints of other openings may have it: their connections end without a word from now on. */
void dap_ep_forget_evd(void *object, void *evd)
{
	struct dap_ep *ep = object;
	struct core_ep *own = core_ep(ep);

	pthread_mutex_lock(&own->lock);
	if (own->connect_evd == evd) {
		own->connect_evd = NULL;
		dap_evd_unfeed(evd);
	}
	pthread_mutex_unlock(&own->lock);
}

int dap_ep_free(struct dap_ep *ep)
{
	int err;

	pthread_mutex_lock(&core_ep(ep)->lock);
	err = dap_ep_fsm(ep, DAP_CAUSE_FREE);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	if (!err)
		dap_ep_destroy(ep);
	return err;
}

int dap_ep_get_status(struct dap_ep *ep, uint32_t *state, bool *recv_idle, bool *request_idle)
{
	pthread_mutex_lock(&core_ep(ep)->lock);
	*state = dap_ep_state(ep);
	*recv_idle = *request_idle = true;
	if (ep->has_qp)
		ep->obj.ia->hw->qp_idle(ep, recv_idle, request_idle);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	return 0;
}

bool dap_ep_reap(struct dap_ep *ep, bool recv)
{
	struct dap_evd *evd = recv ? ep->recv_evd : ep->request_evd;
	struct dap_event ev;
	bool some = false;

	if (!core_evd(evd)->internal)
		return false;
	while (ep->obj.ia->hw->cq_poll(evd, &ev))
		some = true;
	return some;
}
