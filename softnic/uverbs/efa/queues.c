/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and queue pairs: memory of the device that libefa maps by its offset. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/efa-abi.h>

#include "softnic/uverbs/efa/front.h"

enum { WIDE = 128, NARROW = 64, RX_DESC = 16, LONG_CQE = 32 };

/* With the fields that this system's header may be too old for: they follow on. */
struct create_qp {
	struct efa_ibv_create_qp old;
	uint16_t flags;
	uint8_t sl, rsvd[5];
};

enum {
	WITH_UNSOLICITED = 1 << 0,
	WITH_REQ_ID_64 = 1 << 1,
	CQ_WITH_EVENTS = 1 << 0,
	CQ_WITH_SGID = 1 << 1,
	CQ_WITH_REQ_ID_64 = 1 << 2,
};

static unsigned int cq_flags(uint8_t flags)
{
	return (flags & CQ_WITH_EVENTS ? SOFTNIC_EFA_CQ_EVENTS : 0u) |
		(flags & CQ_WITH_SGID ? SOFTNIC_EFA_CQ_SGID : 0u) |
		(flags & CQ_WITH_REQ_ID_64 ? SOFTNIC_EFA_CQ_REQ_ID_64 : 0u);
}

static uint32_t round_up(uint32_t n)
{
	uint32_t p = 2;

	while (p < n && p < UINT32_C(1) << 31)
		p *= 2;
	return p;
}

static int new_cq(struct uv_req *req, const struct ib_uverbs_ex_create_cq *core,
		  const struct efa_ibv_create_cq *drv, struct uv_obj *cq)
{
	struct uve_cq *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->attr = (struct softnic_efa_cq_attr){
		.entries = round_up(core->cqe),
		.entry_size = uve_wished(UVE_LONG_CQE) ? LONG_CQE : (uint16_t)drv->cq_entry_size,
		.sub_cqs = drv->num_sub_cqs, .flags = cq_flags(drv->flags),
	};
	err = softnic_efa_cq_create(req->dev->efa, &q->attr, &q->cq);
	if (err) {
		free(q);
		return err;
	}
	cq->queues = q;
	cq->number = q->cq.cq;
	cq->cqe_size = drv->cq_entry_size;
	return 0;
}

static void tell_cq(struct uv_req *req, const struct uv_obj *cq)
{
	const struct uve_cq *q = cq->queues;
	struct ib_uverbs_ex_create_cq_resp resp = {
		.base = { .cq_handle = cq->handle, .cqe = q->attr.entries },
		.response_length = sizeof(resp),
	};
	struct efa_ibv_create_cq_resp drv = { 0 };

	drv.q_mmap_key = q->cq.ring_bar_offset;
	drv.q_mmap_size = q->cq.ring_bytes;
	drv.cq_idx = q->cq.cq;
	if (q->cq.doorbell) {
		drv.comp_mask |= EFA_CREATE_CQ_RESP_DB_OFF;
		drv.db_off = q->cq.doorbell_page_offset;
		drv.db_mmap_key = q->cq.doorbell_bar_offset;
	}
	uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	uv_copy_out(req->uhw_out, req->uhw_out_len, &drv, sizeof(drv));
}

static int create_cq(struct uv_req *req, bool extended)
{
	struct ib_uverbs_ex_create_cq core;
	struct efa_ibv_create_cq drv;
	struct uv_chan *chan = NULL;
	struct uv_obj *cq;
	int err;

	uv_create_cq_args(req, extended, &core);
	uv_copy_in(&drv, sizeof(drv), req->uhw_in, req->uhw_in_len);
	if (core.comp_mask || core.flags || core.comp_vector || drv.comp_mask || !core.cqe)
		return -EINVAL;
	if (core.comp_channel >= 0) {
		chan = uv_chan_find(req->dev, UV_CHAN_COMP, core.comp_channel);
		if (!chan || !(drv.flags & CQ_WITH_EVENTS))
			return -EINVAL;
	}
	cq = uv_obj_new(req->ctx, UV_CQ);
	if (!cq)
		return -ENOMEM;
	err = new_cq(req, &core, &drv, cq);
	if (err) {
		uv_obj_free(cq);
		return err;
	}
	cq->user_handle = core.user_handle;
	cq->chan = chan;
	if (chan)
		chan->refs++;
	uv_source_add(cq);
	tell_cq(req, cq);
	return 0;
}

int uve_create_cq(struct uv_req *req)
{
	return create_cq(req, false);
}

int uve_create_cq_ex(struct uv_req *req)
{
	return create_cq(req, true);
}

struct qp_args {
	struct ib_uverbs_ex_create_qp core;
	struct create_qp drv;
	struct uv_obj *pd, *scq, *rcq;
};

static int check_qp(struct uv_req *req, struct qp_args *a)
{
	int err;

	if (a->core.comp_mask || a->core.create_flags || a->core.source_qpn || a->drv.old.comp_mask)
		return -EOPNOTSUPP;
	if (a->core.qp_type != IBV_QPT_UD && (a->core.qp_type != IBV_QPT_DRIVER ||
					      a->drv.old.driver_qp_type != EFA_QP_DRIVER_TYPE_SRD))
		return -EOPNOTSUPP;
	if (a->core.is_srq)
		return -EOPNOTSUPP;
	err = uv_obj_find(req->ctx, UV_PD, a->core.pd_handle, &a->pd);
	if (!err)
		err = uv_obj_find(req->ctx, UV_CQ, a->core.send_cq_handle, &a->scq);
	return err ? err : uv_obj_find(req->ctx, UV_CQ, a->core.recv_cq_handle, &a->rcq);
}

/* A send queue with twice the bytes for its WQEs is one of wide ones. */
static struct softnic_efa_qp_attr attr_of(const struct qp_args *a)
{
	uint32_t bytes = a->drv.old.sq_ring_size * (uve_wished(UVE_WIDE) ? WIDE / NARROW : 1);
	bool wide = a->core.max_send_wr && bytes / a->core.max_send_wr >= WIDE;

	return (struct softnic_efa_qp_attr){
		.pd = (uint16_t)a->pd->number,
		.send_cq = (uint16_t)a->scq->number,
		.recv_cq = (uint16_t)a->rcq->number,
		.sq_depth = bytes / (wide ? WIDE : NARROW),
		.rq_depth = a->drv.old.rq_ring_size / RX_DESC,
		.flags = (wide ? SOFTNIC_EFA_QP_WIDE : 0u) |
			(a->core.qp_type == IBV_QPT_UD ? SOFTNIC_EFA_QP_UD : 0u) |
			(a->drv.flags & WITH_UNSOLICITED || uve_wished(UVE_UNSOLICITED) ?
			 SOFTNIC_EFA_QP_UNSOLICITED : 0u) |
			(a->drv.flags & WITH_REQ_ID_64 ? SOFTNIC_EFA_QP_REQ_ID_64 : 0u),
	};
}

static int new_qp(struct uv_req *req, const struct qp_args *a, struct uv_obj *qp)
{
	struct softnic_efa_qp_attr attr = attr_of(a);
	struct softnic_efa_qp *q = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	err = softnic_efa_qp_create(req->dev->efa, &attr, q);
	if (err) {
		free(q);
		return err;
	}
	qp->queues = q;
	qp->number = q->handle;
	return 0;
}

static void tell_qp(struct uv_req *req, const struct qp_args *a, const struct uv_obj *qp)
{
	const struct softnic_efa_qp *q = qp->queues;
	struct ib_uverbs_ex_create_qp_resp resp = {
		.base = {
			.qp_handle = qp->handle,
			.qpn = q->qpn,
			.max_send_wr = a->core.max_send_wr,
			.max_recv_wr = a->core.max_recv_wr,
			.max_send_sge = a->core.max_send_sge,
			.max_recv_sge = a->core.max_recv_sge,
			.max_inline_data = a->core.max_inline_data,
		},
		.response_length = sizeof(resp),
	};
	struct efa_ibv_create_qp_resp drv = { 0 };

	drv.rq_db_offset = q->rq.doorbell_page_offset;
	drv.sq_db_offset = q->sq.doorbell_page_offset;
	drv.rq_mmap_key = q->rq.ring_bar_offset;
	drv.rq_mmap_size = q->rq.ring_bytes;
	drv.rq_db_mmap_key = q->rq.doorbell_bar_offset;
	drv.sq_db_mmap_key = q->sq.doorbell_bar_offset;
	drv.llq_desc_mmap_key = q->sq.ring_bar_offset;
	drv.send_sub_cq_idx = q->sq.sub_cq;
	drv.recv_sub_cq_idx = q->rq.sub_cq;
	uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	uv_copy_out(req->uhw_out, req->uhw_out_len, &drv, sizeof(drv));
}

static int create_qp(struct uv_req *req, bool extended)
{
	struct qp_args a;
	struct uv_obj *qp;
	int err;

	uv_create_qp_args(req, extended, &a.core);
	uv_copy_in(&a.drv, sizeof(a.drv), req->uhw_in, req->uhw_in_len);
	err = check_qp(req, &a);
	if (err)
		return err;
	qp = uv_obj_new(req->ctx, UV_QP);
	if (!qp)
		return -ENOMEM;
	err = new_qp(req, &a, qp);
	if (err) {
		uv_obj_free(qp);
		return err;
	}
	uv_obj_hold(qp, 0, a.pd);
	uv_obj_hold(qp, 1, a.scq);
	uv_obj_hold(qp, 2, a.rcq);
	qp->user_handle = a.core.user_handle;
	qp->cap = a.core;
	uv_source_add(qp);
	tell_qp(req, &a, qp);
	return 0;
}

int uve_create_qp(struct uv_req *req)
{
	return create_qp(req, false);
}

int uve_create_qp_ex(struct uv_req *req)
{
	return create_qp(req, true);
}

static const enum softnic_efa_qp_state states[] = {
	[IBV_QPS_RESET] = SOFTNIC_EFA_RESET, [IBV_QPS_INIT] = SOFTNIC_EFA_INIT,
	[IBV_QPS_RTR] = SOFTNIC_EFA_RTR, [IBV_QPS_RTS] = SOFTNIC_EFA_RTS,
	[IBV_QPS_ERR] = SOFTNIC_EFA_ERR,
};

static int modify(struct uv_obj *qp, const struct ib_uverbs_modify_qp *in)
{
	struct softnic_efa_modify m = { .mask = SOFTNIC_EFA_SET_STATE };

	if (!(in->attr_mask & IBV_QP_STATE))
		return -EOPNOTSUPP;
	if (in->qp_state > IBV_QPS_ERR || in->qp_state == IBV_QPS_SQD ||
	    in->qp_state == IBV_QPS_SQE)
		return -EOPNOTSUPP;
	m.state = states[in->qp_state];
	if (in->attr_mask & IBV_QP_QKEY) {
		m.mask |= SOFTNIC_EFA_SET_QKEY;
		m.qkey = in->qkey;
	}
	if (in->attr_mask & IBV_QP_SQ_PSN) {
		m.mask |= SOFTNIC_EFA_SET_SQ_PSN;
		m.sq_psn = in->sq_psn;
	}
	if (in->attr_mask & IBV_QP_RNR_RETRY) {
		m.mask |= SOFTNIC_EFA_SET_RNR_RETRY;
		m.rnr_retry = in->rnr_retry;
	}
	return softnic_efa_qp_modify(qp->ctx->dev->efa, qp->number, &m);
}

int uve_modify_qp(struct uv_req *req)
{
	struct ib_uverbs_ex_modify_qp_resp resp = { .response_length = sizeof(resp) };
	struct ib_uverbs_modify_qp in;
	struct uv_obj *qp;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	err = uv_obj_find(req->ctx, UV_QP, in.qp_handle, &qp);
	if (!err)
		err = modify(qp, &in);
	if (err)
		return err;
	qp->state = in.qp_state;
	uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	return 0;
}

int uve_query_qp(struct uv_req *req)
{
	struct ib_uverbs_query_qp_resp resp = { 0 };
	struct softnic_efa_modify now = { 0 };
	struct ib_uverbs_query_qp in;
	struct uv_obj *qp;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	err = uv_obj_find(req->ctx, UV_QP, in.qp_handle, &qp);
	if (!err)
		err = softnic_efa_qp_query(req->dev->efa, qp->number, &now);
	if (err)
		return err;
	resp.qp_state = resp.cur_qp_state = qp->state;
	resp.qkey = now.qkey;
	resp.sq_psn = now.sq_psn;
	resp.rnr_retry = now.rnr_retry;
	resp.port_num = 1;
	resp.max_send_wr = qp->cap.max_send_wr;
	resp.max_recv_wr = qp->cap.max_recv_wr;
	resp.max_send_sge = qp->cap.max_send_sge;
	resp.max_recv_sge = qp->cap.max_recv_sge;
	resp.max_inline_data = qp->cap.max_inline_data;
	resp.sq_sig_all = qp->cap.sq_sig_all;
	uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	return 0;
}
