/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: create and free. An endpoint with a PZ has a queue pair, so that receives can be
 * posted; the consumer's endpoints have one from the start. */
#include <stdlib.h>
#include <string.h>

#include "core/ep/conn.h"
#include "core/ep/ep.h"
#include "core/ep/fsm.h"
#include "core/evd/evd.h"
#include "core/obj.h"
#include "core/totals.h"

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

static int set_attr(struct dap_ep *ep, const struct dap_ep_attr *attr)
{
	int err;

	dap_ep_attr_default(ep->obj.ia, &ep->attr);
	if (!attr)
		return 0;
	ep->attr = *attr;
	/* dat_ep_create_with_srq(3): the SRQ decides the segments of a receive. */
	if (ep->srq)
		ep->attr.max_recv_iov = ep->srq->max_recv_iov;
	err = dap_ep_attr_check(ep->obj.ia, &ep->attr);
	if (err || !ep->srq)
		return err;
	err = dap_ep_soft_mark(&ep->attr.srq_soft_hw);
	core_ep(ep)->soft_high = ep->attr.srq_soft_hw;
	return err;
}

static struct dap_ep *ep_alloc(struct dap_ia *ia)
{
	struct dap_ep *ep = dap_obj_alloc(DAP_EP, ia);
	struct core_ep *own = core_ep(ep);

	if (!ep)
		return NULL;
	pthread_mutex_init(&own->lock, NULL);
	own->local_addr = ia->caps.address;
	own->soft_high = own->hard_high = DAP_NO_WATERMARK;
	return ep;
}

int dap_ep_create(struct dap_ia *ia, const struct dap_ep_args *args, struct dap_ep **out)
{
	struct dap_ep *ep = ep_alloc(ia);
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
	struct dap_ep *ep = ep_alloc(ia);

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

/* A thread that is cancelled in here would leave a half-freed endpoint, so cancellation is disabled. */
void dap_ep_destroy(struct dap_ep *ep)
{
	struct core_ep *own = core_ep(ep);
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	dap_conn_ep_release(ep);
	dap_ep_detach(ep);
	if (ep->srq)
		dap_srq_drop(ep->srq);
	dap_ep_forget_evd(ep, NULL);
	if (ep->pz)
		dap_pz_drop(ep->pz);
	free(own->cleared);
	dap_totals_ep_gone(ep);
	dap_obj_free(ep);
	pthread_setcancelstate(cancel, NULL);
}

/* Endpoints of other openings of the adapter may use the EVD: their connections then end without an
 * event. Under the lock, because one thread may free the endpoint while another closes the EVD's IA. */
void dap_ep_forget_evd(void *object, void *evd)
{
	struct dap_ep *ep = object;
	struct core_ep *own = core_ep(ep);

	pthread_mutex_lock(&own->lock);
	if (own->connect_evd && (!evd || own->connect_evd == evd)) {
		dap_evd_unfeed(own->connect_evd);
		own->connect_evd = NULL;
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

void dap_ep_get_status(struct dap_ep *ep, uint32_t *state, bool *recv_idle, bool *request_idle)
{
	pthread_mutex_lock(&core_ep(ep)->lock);
	*state = dap_ep_state(ep);
	*recv_idle = *request_idle = true;
	if (ep->has_qp) {
		dap_ep_reap(ep, true);
		dap_ep_reap(ep, false);
		ep->obj.ia->hw->qp_idle(ep, recv_idle, request_idle);
	}
	pthread_mutex_unlock(&core_ep(ep)->lock);
}
