/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_modify(3). If a changed attribute determines the QP, a new QP replaces the old one, so the
 * change is refused while receives are posted. Attributes that only connections use are changed in place.
 */
#include <string.h>

#include "core/ep/ep.h"
#include "core/evd/evd.h"

/* Attributes that determine the QP; sets_soft_high: the high watermark is set, perhaps to the same value. */
struct qp_parts {
	struct dap_pz *pz;
	struct dap_evd *recv_evd, *request_evd;
	struct dap_ep_attr attr;
	bool sets_soft_high;
};

static bool pz_may_change(enum dap_ep_state state)
{
	return state == DAP_EP_UNCONNECTED || state == DAP_EP_TENTATIVE_PENDING;
}

static bool rest_may_change(enum dap_ep_state state)
{
	return pz_may_change(state) || state == DAP_EP_RESERVED || state == DAP_EP_PASSIVE_PENDING;
}

static int check_state(const struct dap_ep *ep, uint32_t set)
{
	enum dap_ep_state state = dap_ep_state(ep);
	bool ok = set & DAP_EP_SET_PZ ? pz_may_change(state) : rest_may_change(state);

	return ok ? 0 : DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
}

static struct qp_parts current_parts(const struct dap_ep *ep)
{
	return (struct qp_parts){.pz = ep->pz, .recv_evd = dap_evd_visible(ep->recv_evd),
				 .request_evd = dap_evd_visible(ep->request_evd), .attr = ep->attr};
}

static struct qp_parts changed_parts(const struct dap_ep *ep, const struct dap_ep_change *change)
{
	struct qp_parts m = current_parts(ep);

	if (change->set & DAP_EP_SET_PZ)
		m.pz = change->pz;
	if (change->set & DAP_EP_SET_RECV_EVD)
		m.recv_evd = change->recv_evd;
	if (change->set & DAP_EP_SET_REQUEST_EVD)
		m.request_evd = change->request_evd;
	if (change->set & DAP_EP_SET_ATTR)
		m.attr = change->attr;
	if (ep->srq)		/* the SRQ decides, as in dat_ep_create_with_srq(3) */
		m.attr.max_recv_iov = ep->srq->max_recv_iov;
	m.sets_soft_high = ep->srq && change->set & DAP_EP_SET_SOFT_HIGH;
	return m;
}

/* RDMA reads and QoS are not compared: the QP gets them when it connects. */
static bool same_qp(const struct qp_parts *a, const struct qp_parts *b)
{
	const struct dap_ep_attr *x = &a->attr, *y = &b->attr;

	return a->pz == b->pz && a->recv_evd == b->recv_evd && a->request_evd == b->request_evd &&
	       x->max_message_size == y->max_message_size && x->max_rdma_size == y->max_rdma_size &&
	       x->recv_completion_flags == y->recv_completion_flags &&
	       x->request_completion_flags == y->request_completion_flags &&
	       x->max_recv_dtos == y->max_recv_dtos &&
	       x->max_request_dtos == y->max_request_dtos && x->max_recv_iov == y->max_recv_iov &&
	       x->max_request_iov == y->max_request_iov &&
	       x->max_rdma_read_iov == y->max_rdma_read_iov &&
	       x->max_rdma_write_iov == y->max_rdma_write_iov;
}

static void set_parts(struct dap_ep *ep, const struct qp_parts *m)
{
	ep->pz = m->pz;
	ep->recv_evd = m->recv_evd;
	ep->request_evd = m->request_evd;
	ep->attr = m->attr;
}

static int remake_qp(struct dap_ep *ep, const struct qp_parts *to)
{
	struct qp_parts from = current_parts(ep);
	struct core_ep *own = core_ep(ep);
	bool recv_idle = true, request_idle = true;
	uint32_t soft_high;
	int err;

	if (ep->has_qp)
		ep->obj.ia->hw->qp_idle(ep, &recv_idle, &request_idle);
	if (!recv_idle)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP_NOTREADY);
	dap_ep_detach(ep);
	soft_high = own->soft_high;
	if (to->sets_soft_high)
		own->soft_high = to->attr.srq_soft_hw;
	set_parts(ep, to);
	err = dap_ep_attach(ep);
	if (!err)
		return 0;
	own->soft_high = soft_high;
	set_parts(ep, &from);
	if (dap_ep_reattach(ep))
		dap_log(DAP_LOG_ERR, "endpoint %p of %s: cannot restore its queue pair after a failed "
			"dat_ep_modify(); call it again, or free the endpoint", (void *)ep, ep->obj.ia->name);
	return err;
}

static int change_qp(struct dap_ep *ep, const struct qp_parts *from, const struct qp_parts *to)
{
	int err = 0;

	if (ep->has_qp != (ep->pz != NULL) || !same_qp(from, to))
		return remake_qp(ep, to);
	if (to->sets_soft_high)
		err = dap_ep_soft_high(ep, to->attr.srq_soft_hw);
	if (!err)
		ep->attr = to->attr;
	return err;
}

static void move_connect_evd(struct dap_ep *ep, struct dap_evd *evd)
{
	struct core_ep *own = core_ep(ep);

	if (evd)
		dap_evd_feed(evd);
	if (own->connect_evd)
		dap_evd_unfeed(own->connect_evd);
	own->connect_evd = evd;
}

static int apply_change(struct dap_ep *ep, const struct dap_ep_change *change)
{
	struct qp_parts from = current_parts(ep), to = changed_parts(ep, change);
	int err = dap_ep_attr_check(ep->obj.ia, &to.attr);

	if (!err && to.sets_soft_high)
		err = dap_ep_soft_mark(&to.attr.srq_soft_hw);
	if (!err)
		err = change_qp(ep, &from, &to);
	if (err)
		return err;
	if (to.pz != from.pz) {
		dap_pz_hold(to.pz);
		if (from.pz)
			dap_pz_drop(from.pz);
	}
	if (change->set & DAP_EP_SET_CONNECT_EVD)
		move_connect_evd(ep, change->connect_evd);
	return 0;
}

int dap_ep_modify(struct dap_ep *ep, const struct dap_ep_change *change)
{
	int err = check_state(ep, change->set), cancel;

	if (err)
		return err;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = apply_change(ep, change);
	pthread_setcancelstate(cancel, NULL);
	return err;
}
