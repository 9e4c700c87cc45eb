/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and queue pairs: device memory that libefa maps by its offset. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/efa-abi.h>

#include "softnic/uverbs/efa/front.h"

enum { WIDE = 128, NARROW = 64, RX_DESC = 16, LONG_CQE = 32 };

/* Linux's struct efa_ibv_create_qp. The header of rdma-core 44 lacks the fields from flags on. */
struct create_qp {
	uint32_t comp_mask, rq_ring_size, sq_ring_size, driver_qp_type;
	uint16_t flags;
	uint8_t sl, rsvd[5];
};
_Static_assert(sizeof(struct create_qp) == 24 && offsetof(struct create_qp, flags) == 16, "Linux's layout");

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
	struct uve_cq *q = cq->queues = calloc(1, sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	q->attr = (struct softnic_efa_cq_attr){
		.entries = round_up(core->cqe),
		.entry_size = uve_wished(UVE_LONG_CQE) ? LONG_CQE : (uint16_t)drv->cq_entry_size,
		.sub_cqs = drv->num_sub_cqs, .flags = cq_flags(drv->flags),
	};
	err = softnic_efa_cq_create(req->dev->efa, &q->attr, &q->cq);
	if (err)
		return err;
	cq->number = q->cq.cq;
	cq->cqe_size = drv->cq_entry_size;
	return 0;
}

static int answer_cq(struct uv_req *req, const struct ib_uverbs_ex_create_cq *core)
{
	const struct uve_cq *q = req->made->queues;
	struct efa_ibv_create_cq_resp drv = { 0 };

	drv.q_mmap_key = q->cq.ring_bar_offset;
	drv.q_mmap_size = q->cq.ring_bytes;
	drv.cq_idx = q->cq.cq;
	if (q->cq.doorbell) {
		drv.comp_mask |= EFA_CREATE_CQ_RESP_DB_OFF;
		drv.db_off = q->cq.doorbell_page_offset;
		drv.db_mmap_key = q->cq.doorbell_bar_offset;
	}
	return uv_cq_ready(req, core, q->attr.entries, &drv, sizeof(drv));
}

static int check_cq(const struct uv_req *req, const struct ib_uverbs_ex_create_cq *core,
		    const struct efa_ibv_create_cq *drv)
{
	static const uint8_t none[sizeof(drv->reserved_58)];

	if (core->comp_mask || core->comp_vector >= uve_vectors(req->dev) || !core->cqe)
		return -EINVAL;
	if (core->flags)
		return -EOPNOTSUPP;
	if (req->uhw_in_len < offsetof(struct efa_ibv_create_cq, flags) || drv->comp_mask ||
	    drv->cq_entry_size > UINT16_MAX ||
	    memcmp(drv->reserved_58, none, sizeof(none)) != 0)
		return -EINVAL;
	return core->comp_channel >= 0 && !(drv->flags & CQ_WITH_EVENTS) ? -EINVAL : 0;
}

int uve_create_cq(struct uv_req *req)
{
	struct ib_uverbs_ex_create_cq core;
	struct efa_ibv_create_cq drv;
	int err;

	uv_create_cq_args(req, &core);
	uv_copy_in(&drv, sizeof(drv), req->uhw_in, req->uhw_in_len);
	err = check_cq(req, &core, &drv);
	if (!err)
		err = uv_source_channel(req->made, core.comp_channel);
	if (!err)
		err = new_cq(req, &core, &drv, req->made);
	return err ? err : answer_cq(req, &core);
}

/* The provider's part of the command. */
static int check_drv(const struct uv_req *req, const struct create_qp *drv)
{
	static const uint8_t none[sizeof(drv->rsvd)];

	if (req->uhw_in_len < offsetof(struct create_qp, flags) || drv->comp_mask ||
	    drv->sq_ring_size % NARROW || drv->rq_ring_size % RX_DESC ||
	    memcmp(drv->rsvd, none, sizeof(none)) != 0)
		return -EINVAL;
	return drv->flags & ~(WITH_UNSOLICITED | WITH_REQ_ID_64) ? -EOPNOTSUPP : 0;
}

static int check_cap(struct uv_device *dev, const struct ib_uverbs_ex_create_qp *core)
{
	struct softnic_efa_caps c;

	softnic_efa_caps(dev->efa, &c);
	if (core->max_send_wr > c.max_sq_wr || core->max_recv_wr > c.max_rq_wr ||
	    core->max_send_sge > c.max_send_sge || core->max_recv_sge > c.max_recv_sge)
		return -EINVAL;
	return core->max_inline_data > (c.wide_wqe ? c.inline_max_wide : c.inline_max) ? -EINVAL : 0;
}

static int check_qp(const struct uv_req *req, const struct ib_uverbs_ex_create_qp *core,
		    const struct create_qp *drv)
{
	int err = check_drv(req, drv);

	if (!err)
		err = check_cap(req->dev, core);
	if (err)
		return err;
	if (core->comp_mask || core->create_flags || core->source_qpn || core->is_srq)
		return -EOPNOTSUPP;
	if (core->qp_type != IBV_QPT_UD && (core->qp_type != IBV_QPT_DRIVER ||
					    drv->driver_qp_type != EFA_QP_DRIVER_TYPE_SRD))
		return -EOPNOTSUPP;
	return 0;
}

/* A send queue that needs twice the bytes for its WQEs has WQEs of 128 bytes. */
static struct softnic_efa_qp_attr attr_of(const struct uv_obj *qp, const struct create_qp *drv)
{
	uint32_t bytes = drv->sq_ring_size * (uve_wished(UVE_WIDE) ? WIDE / NARROW : 1);
	bool wide = qp->cap.max_send_wr && bytes / qp->cap.max_send_wr >= WIDE;

	return (struct softnic_efa_qp_attr){
		.pd = (uint16_t)qp->held[UV_HELD_PD]->number,
		.send_cq = (uint16_t)qp->held[UV_HELD_SEND_CQ]->number,
		.recv_cq = (uint16_t)qp->held[UV_HELD_RECV_CQ]->number,
		.sq_depth = bytes / (wide ? WIDE : NARROW),
		.rq_depth = drv->rq_ring_size / RX_DESC,
		.flags = (wide ? SOFTNIC_EFA_QP_WIDE : 0u) |
			(qp->cap.qp_type == IBV_QPT_UD ? SOFTNIC_EFA_QP_UD : 0u) |
			(drv->flags & WITH_UNSOLICITED || uve_wished(UVE_UNSOLICITED) ?
			 SOFTNIC_EFA_QP_UNSOLICITED : 0u) |
			(drv->flags & WITH_REQ_ID_64 ? SOFTNIC_EFA_QP_REQ_ID_64 : 0u),
	};
}

static int new_qp(struct uv_req *req, const struct create_qp *drv, struct uv_obj *qp)
{
	struct softnic_efa_qp_attr attr = attr_of(qp, drv);
	struct softnic_efa_qp *q = qp->queues = calloc(1, sizeof(*q));
	int err = q ? softnic_efa_qp_create(req->dev->efa, &attr, q) : -ENOMEM;

	if (!err)
		qp->number = q->handle;
	return err;
}

static int answer_qp(struct uv_req *req)
{
	const struct softnic_efa_qp *q = req->made->queues;
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
	return uv_qp_ready(req, q->qpn, &drv, sizeof(drv));
}

int uve_create_qp(struct uv_req *req)
{
	struct uv_obj *qp = req->made;
	struct create_qp drv;
	int err;

	uv_create_qp_args(req, &qp->cap);
	uv_copy_in(&drv, sizeof(drv), req->uhw_in, req->uhw_in_len);
	err = check_qp(req, &qp->cap, &drv);
	if (!err)
		err = uv_qp_hold(qp);
	if (!err)
		err = new_qp(req, &drv, qp);
	return err ? err : answer_qp(req);
}

int uve_query_qp(struct uv_req *req)
{
	const uint32_t known = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_SQ_PSN |
		IBV_QP_CAP | IBV_QP_RNR_RETRY;
	struct ib_uverbs_query_qp_resp resp = { 0 };
	struct softnic_efa_modify now = { 0 };
	struct ib_uverbs_query_qp in;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (in.attr_mask & ~known)
		return -EOPNOTSUPP;
	err = softnic_efa_qp_query(req->dev->efa, req->obj->number, &now);
	if (err)
		return err;
	resp.qp_state = resp.cur_qp_state = req->obj->state;
	resp.qkey = now.qkey;
	resp.sq_psn = now.sq_psn;
	resp.rnr_retry = now.rnr_retry;
	resp.port_num = 1;
	return uv_qp_queried(req, &resp);
}
