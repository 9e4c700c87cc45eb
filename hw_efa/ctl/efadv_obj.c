/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The operations of the access. libibverbs and libefa create the objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hw_efa/ctl/efadv.h"

enum { WIDE = 128, NARROW = 64, RX_DESC = 16, RNR_FOR_EVER = 7 };

_Static_assert((int)EFA_LOCAL_WRITE == IBV_ACCESS_LOCAL_WRITE &&
	       (int)EFA_REMOTE_WRITE == IBV_ACCESS_REMOTE_WRITE &&
	       (int)EFA_REMOTE_READ == IBV_ACCESS_REMOTE_READ, "mr_reg passes them on");

/* Each library call is between enter() and leave(), or leave_with() if it returns an object and
 * sets errno. */
static void enter(void)
{
	hw_enter();
	errno = 0;
}

static int leave(int ret)
{
	int err = hw_error(ret);

	hw_leave();
	return err;
}

static int leave_with(const void *object)
{
	int err = object ? 0 : hw_errno();

	hw_leave();
	return err;
}

static int edv_pd_alloc(struct efa_ctl *ctl, void **pd)
{
	struct ibv_pd *new;

	enter();
	new = ibv_alloc_pd(edv_of(ctl)->ctx);
	if (new)
		*pd = new;
	return leave_with(new);
}

static int edv_pd_free(struct efa_ctl *ctl, void *pd)
{
	(void)ctl;
	enter();
	return leave(ibv_dealloc_pd(pd));
}

static int edv_mr_reg(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
		      struct efa_mr *mr)
{
	struct ibv_mr *new;

	(void)ctl;
	enter();
	new = ibv_reg_mr(pd, (void *)(uintptr_t)addr, len, access);
	if (new)
		*mr = (struct efa_mr){ .lkey = new->lkey, .rkey = new->rkey, .priv = new };
	return leave_with(new);
}

static int edv_mr_dereg(struct efa_ctl *ctl, struct efa_mr *mr)
{
	(void)ctl;
	enter();
	return leave(ibv_dereg_mr(mr->priv));
}

static int edv_ah_create(struct efa_ctl *ctl, struct efa_ah *ah)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = EDV_PORT };
	struct efadv_ah_attr made = { 0 };
	struct ibv_ah *new;
	int err;

	(void)ctl;
	memcpy(attr.grh.dgid.raw, ah->gid, sizeof(ah->gid));
	enter();
	new = ibv_create_ah(ah->pd, &attr);
	if (new)
		err = hw_error(efadv_query_ah(new, &made, sizeof(made)));
	else
		err = errno == EINVAL ? -EINVAL : hw_errno();
	if (new && err)
		ibv_destroy_ah(new);
	hw_leave();
	if (err)
		return err;
	ah->number = made.ahn;
	ah->priv = new;
	return 0;
}

static void edv_ah_destroy(struct efa_ctl *ctl, struct efa_ah *ah)
{
	(void)ctl;
	enter();
	leave(ibv_destroy_ah(ah->priv));
}

/* ---- completion queues ---- */

struct edv_cq {				/* efa_cq_res.priv points to it */
	struct ibv_cq *cq;
	struct ibv_comp_channel *channel;	/* NULL: the CQ cannot be armed */
};

static int channel_open(struct edv *dv, struct edv_cq *q)
{
	q->channel = ibv_create_comp_channel(dv->ctx);
	return q->channel ? hw_nonblocking(q->channel->fd) : hw_errno();
}

/* From 59.0 on CQEs have 32 bytes. In 44.0 they have 32 only if the CQ reports unknown senders. */
static int cq_make(struct edv *dv, uint32_t entries, struct edv_cq *q, struct edv_cq_attr *attr)
{
	struct ibv_cq_init_attr_ex init = { .cqe = entries, .channel = q->channel };
	struct edv_cq_init_attr efa = {
		.wc_flags = dv->ctl.caps.cq_with_sgid ? EFADV_WC_EX_WITH_SGID : 0,
	};
	struct ibv_cq_ex *cq;
	int err;

	cq = efadv_create_cq(dv->ctx, &init, (struct efadv_cq_init_attr *)&efa, sizeof(efa));
	if (!cq)
		return errno == EOPNOTSUPP ? -EOPNOTSUPP : hw_errno();
	q->cq = ibv_cq_ex_to_cq(cq);
	err = hw_error(dv->query_cq(q->cq, attr, sizeof(*attr)));
	if (!err && (attr->num_entries < entries || attr->num_entries & (attr->num_entries - 1) ||
		     attr->entry_size != sizeof(struct efa_cqe)))
		err = -EPROTO;
	return err;
}

static void cq_free(struct edv_cq *q)
{
	if (q->cq)
		ibv_destroy_cq(q->cq);
	if (q->channel)
		ibv_destroy_comp_channel(q->channel);
	free(q);
}

static int edv_cq_create(struct efa_ctl *ctl, uint32_t entries, struct efa_cq_res *to)
{
	struct edv *dv = edv_of(ctl);
	struct edv_cq *q = calloc(1, sizeof(*q));
	struct edv_cq_attr attr = { 0 };
	int err;

	if (!q)
		return -ENOMEM;
	enter();
	err = dv->ctl.caps.cq_doorbell ? channel_open(dv, q) : 0;
	if (!err)
		err = cq_make(dv, entries, q, &attr);
	if (err)
		cq_free(q);
	hw_leave();
	if (err)
		return err;
	*to = (struct efa_cq_res){
		.ring = { attr.buffer, q->channel ? attr.doorbell : NULL, attr.num_entries,
			  sizeof(struct efa_cqe) },
		.fd = q->channel ? q->channel->fd : -1, .priv = q,
	};
	return 0;
}

static void edv_cq_destroy(struct efa_ctl *ctl, struct efa_cq_res *cq)
{
	(void)ctl;
	enter();
	cq_free(cq->priv);
	hw_leave();
}

static bool edv_cq_drain(struct efa_ctl *ctl, struct efa_cq_res *cq)
{
	struct edv_cq *q = cq->priv;
	unsigned int n = 0;
	struct ibv_cq *of;
	void *context;

	(void)ctl;
	while (q->channel && !ibv_get_cq_event(q->channel, &of, &context))
		n++;
	if (!n)
		return q->channel && hw_is_gone(q->channel->fd);
	ibv_ack_cq_events(q->cq, n);
	__atomic_add_fetch(&cq->cmd_sn, n, __ATOMIC_RELEASE);
	return false;
}

/* ---- queue pairs ---- */

static uint64_t operations(const struct efa_caps *c)
{
	return IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	       (c->rdma_read ? (uint64_t)IBV_QP_EX_WITH_RDMA_READ : 0) |
	       (c->rdma_write ? (uint64_t)(IBV_QP_EX_WITH_RDMA_WRITE |
					   IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) : 0);
}

/* libefa makes WQEs of 128 bytes if the inline data does not fit into 64. */
static struct ibv_qp *qp_make(struct edv *dv, const struct efa_qp_param *p)
{
	const struct efa_caps *c = &dv->ctl.caps;
	struct ibv_cq *cq = ((struct edv_cq *)p->cq->priv)->cq;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER, .pd = p->pd, .send_cq = cq, .recv_cq = cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = operations(c),
		.cap = { .max_send_wr = p->sq_entries, .max_recv_wr = p->rq_entries,
			 .max_send_sge = c->max_send_sge, .max_recv_sge = 1,
			 .max_inline_data = p->wide ? c->inline_max_wide : c->inline_max },
	};
	struct edv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };

	return efadv_create_qp_ex(dv->ctx, &attr, (struct efadv_qp_init_attr *)&efa, sizeof(efa));
}

static int qp_check(const struct efa_ctl *ctl, const struct efa_qp_param *p,
		    const struct edv_wq_attr *sq, const struct edv_wq_attr *rq)
{
	const uint32_t size = p->wide ? WIDE : NARROW;

	if (sq->buffer && sq->doorbell && rq->buffer && rq->doorbell && sq->entry_size == size &&
	    rq->entry_size == RX_DESC && rq->num_entries == p->rq_entries &&
	    sq->num_entries >= p->sq_entries)
		return 0;
	dap_log(DAP_LOG_ERR, "%s: libefa reports queue entries of %u and %u bytes, expected %u and "
		"%u, or other queue lengths: please report this", ctl->device, sq->entry_size,
		rq->entry_size, size, RX_DESC);
	return -EPROTO;
}

static struct efa_ring ring_of(const struct edv_wq_attr *q)
{
	return (struct efa_ring){ q->buffer, q->doorbell, q->num_entries, (uint16_t)q->entry_size };
}

static int edv_qp_create(struct efa_ctl *ctl, const struct efa_qp_param *p, uint32_t qkey,
			 struct efa_qp_res *to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = EDV_PORT, .qkey = qkey };
	struct edv_wq_attr sq = { 0 }, rq = { 0 };
	struct edv *dv = edv_of(ctl);
	struct ibv_qp *qp;
	int err;

	enter();
	qp = qp_make(dv, p);
	err = qp ? hw_error(dv->query_wqs(qp, &sq, &rq, sizeof(sq))) : hw_errno();
	if (!err)
		err = qp_check(ctl, p, &sq, &rq);
	if (!err)
		err = hw_error(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					     IBV_QP_PORT | IBV_QP_QKEY));
	if (qp && err)
		ibv_destroy_qp(qp);
	hw_leave();
	if (err)
		return err;
	*to = (struct efa_qp_res){ .sq = ring_of(&sq), .rq = ring_of(&rq),
				   .qpn = (uint16_t)qp->qp_num, .max_batch = sq.max_batch,
				   .priv = qp };
	return 0;
}

static int qp_modify(struct efa_qp_res *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .rnr_retry = RNR_FOR_EVER };

	enter();
	return leave(ibv_modify_qp(qp->priv, &attr, mask | IBV_QP_STATE));
}

static int edv_qp_ready(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	int err = qp_modify(qp, IBV_QPS_RTR, 0);

	return err ? err : qp_modify(qp, IBV_QPS_RTS, IBV_QP_SQ_PSN |
				    (ctl->caps.rnr_retry ? IBV_QP_RNR_RETRY : 0));
}

static int edv_qp_error(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	(void)ctl;
	return qp_modify(qp, IBV_QPS_ERR, 0);
}

static int edv_qp_destroy(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	(void)ctl;
	enter();
	return leave(ibv_destroy_qp(qp->priv));
}

/* ---- the device ---- */

static enum hw_event edv_async_read(struct efa_ctl *ctl)
{
	struct ibv_context *ctx = edv_of(ctl)->ctx;
	enum hw_event event = hw_async_event(ctx, EDV_PORT);

	/* The library's descriptor of a device that is gone stays readable for ever. */
	if (event == HW_EVENT_GONE)
		epoll_ctl(ctl->async_fd, EPOLL_CTL_DEL, ctx->async_fd, NULL);
	return event;
}

static void edv_close(struct efa_ctl *ctl)
{
	struct edv *dv = edv_of(ctl);

	if (ctl->async_fd >= 0)
		close(ctl->async_fd);
	enter();
	if (dv->ctx)
		ibv_close_device(dv->ctx);
	hw_leave();
	free(dv);
}

const struct efa_ctl_ops edv_ops = {
	.access = "efadv",
	.close = edv_close,
	.pd_alloc = edv_pd_alloc,
	.pd_free = edv_pd_free,
	.mr_reg = edv_mr_reg,
	.mr_dereg = edv_mr_dereg,
	.ah_create = edv_ah_create,
	.ah_destroy = edv_ah_destroy,
	.cq_create = edv_cq_create,
	.cq_destroy = edv_cq_destroy,
	.cq_drain = edv_cq_drain,
	.qp_create = edv_qp_create,
	.qp_ready = edv_qp_ready,
	.qp_error = edv_qp_error,
	.qp_destroy = edv_qp_destroy,
	.async_read = edv_async_read,
};
