/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Protection domains, registrations, address handles and queue pairs: the library's to make. */
#include <errno.h>
#include <string.h>

#include "core/dap.h"
#include "hw_efa/ctl/efadv.h"

enum { WIDE = 128, NARROW = 64, RX_DESC = 16, RNR_FOR_EVER = 7 };

int edv_pd_alloc(struct efa_ctl *ctl, void **pd)
{
	struct ibv_pd *new;
	int err = 0;

	hw_enter();
	errno = 0;
	new = ibv_alloc_pd(edv_of(ctl)->ctx);
	if (!new)
		err = hw_errno();
	hw_leave();
	if (!err)
		*pd = new;
	return err;
}

int edv_pd_free(struct efa_ctl *ctl, void *pd)
{
	int err;

	(void)ctl;
	hw_enter();
	err = hw_error(ibv_dealloc_pd(pd));
	hw_leave();
	return err;
}

static unsigned int verbs_access(unsigned int access)
{
	return (access & EFA_LOCAL_WRITE ? (unsigned int)IBV_ACCESS_LOCAL_WRITE : 0) |
	       (access & EFA_REMOTE_WRITE ? (unsigned int)IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & EFA_REMOTE_READ ? (unsigned int)IBV_ACCESS_REMOTE_READ : 0);
}

int edv_mr_reg(struct efa_ctl *ctl, void *pd, uint64_t addr, uint64_t len, unsigned int access,
	      struct efa_mr *mr)
{
	struct ibv_mr *new;
	int err = 0;

	(void)ctl;
	hw_enter();
	errno = 0;
	new = ibv_reg_mr(pd, (void *)(uintptr_t)addr, len, verbs_access(access));
	if (!new)
		err = hw_errno();
	hw_leave();
	if (!err)
		*mr = (struct efa_mr){ .lkey = new->lkey, .rkey = new->rkey, .priv = new };
	return err;
}

int edv_mr_dereg(struct efa_ctl *ctl, struct efa_mr *mr)
{
	int err;

	(void)ctl;
	hw_enter();
	err = hw_error(ibv_dereg_mr(mr->priv));
	hw_leave();
	return err;
}

static int ah_number(struct ibv_ah *ah, uint16_t *number)
{
	struct efadv_ah_attr attr = { 0 };
	int err = hw_error(efadv_query_ah(ah, &attr, sizeof(attr)));

	if (!err)
		*number = attr.ahn;
	return err;
}

int edv_ah_create(struct efa_ctl *ctl, void *pd, const uint8_t gid[16], uint16_t *ah, void **priv)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = EDV_PORT };
	struct ibv_ah *new;
	int err;

	(void)ctl;
	memcpy(attr.grh.dgid.raw, gid, sizeof(attr.grh.dgid.raw));
	hw_enter();
	errno = 0;
	new = ibv_create_ah(pd, &attr);
	if (new)
		err = ah_number(new, ah);
	else
		err = errno == EINVAL ? -EINVAL : hw_errno();
	if (new && err)
		ibv_destroy_ah(new);
	hw_leave();
	if (!err)
		*priv = new;
	return err;
}

void edv_ah_destroy(struct efa_ctl *ctl, void *pd, uint16_t ah, void *priv)
{
	(void)ctl;
	(void)pd;
	(void)ah;
	hw_enter();
	ibv_destroy_ah(priv);
	hw_leave();
}

/* ---- queue pairs ---- */

static uint64_t operations(const struct efa_caps *c)
{
	return IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
	       (c->rdma_read ? (uint64_t)IBV_QP_EX_WITH_RDMA_READ : 0) |
	       (c->rdma_write ? (uint64_t)(IBV_QP_EX_WITH_RDMA_WRITE |
					   IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM) : 0);
}

/* WQEs of 128 bytes come with more inline data than fits into one of 64. */
static struct ibv_qp *make(struct edv *dv, const struct efa_qp_param *p)
{
	const struct efa_caps *c = &dv->caps;
	struct ibv_cq *cq = ((struct edv_cq *)p->cq->priv)->cq;
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_DRIVER, .pd = p->pd, .send_cq = cq, .recv_cq = cq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = operations(c),
		.cap = { .max_send_wr = p->sq_entries, .max_recv_wr = p->rq_entries,
			 .max_send_sge = c->max_send_sge, .max_recv_sge = 1,
			 .max_inline_data = p->wide ? c->inline_max_wide : c->inline_max },
	};
	struct edv_qp_init_attr efa = {
		.driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD,
		.flags = p->unsolicited ? EDV_QP_UNSOLICITED : 0,
	};

	errno = 0;
	return efadv_create_qp_ex(dv->ctx, &attr, (struct efadv_qp_init_attr *)&efa, sizeof(efa));
}

static bool as_expected(const struct efa_qp_param *p, const struct edv_wq_attr *sq,
			const struct edv_wq_attr *rq)
{
	return sq->buffer && sq->doorbell && rq->buffer && rq->doorbell &&
	       sq->entry_size == (p->wide ? WIDE : NARROW) && rq->entry_size == RX_DESC;
}

int edv_qp_make(struct edv *dv, const struct efa_qp_param *p, struct ibv_qp **qp,
	       struct edv_wq_attr *sq, struct edv_wq_attr *rq)
{
	struct ibv_qp *new;
	int err;

	*sq = *rq = (struct edv_wq_attr){ 0 };
	hw_enter();
	new = make(dv, p);
	err = new ? hw_error(dv->query.wqs(new, sq, rq, sizeof(*sq))) : hw_errno();
	if (!err && !as_expected(p, sq, rq)) {
		dap_log(DAP_LOG_ERR, "libefa reports queues that this driver does not know: "
			"entries of %u and %u bytes", sq->entry_size, rq->entry_size);
		err = -EPROTO;
	}
	if (new && err)
		ibv_destroy_qp(new);
	hw_leave();
	if (!err)
		*qp = new;
	return err;
}

static int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err;

	hw_enter();
	err = hw_error(ibv_modify_qp(qp, attr, mask | IBV_QP_STATE));
	hw_leave();
	return err;
}

static void destroy(struct ibv_qp *qp)
{
	hw_enter();
	ibv_destroy_qp(qp);
	hw_leave();
}

static struct efa_ring ring_of(const struct edv_wq_attr *q)
{
	return (struct efa_ring){ q->buffer, q->doorbell, q->num_entries, (uint16_t)q->entry_size };
}

int edv_qp_create(struct efa_ctl *ctl, const struct efa_qp_param *p, uint32_t qkey,
		 struct efa_qp_res *to)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = EDV_PORT, .qkey = qkey };
	struct edv_wq_attr sq, rq;
	struct ibv_qp *qp;
	int err = edv_qp_make(edv_of(ctl), p, &qp, &sq, &rq);

	if (err)
		return err;
	/* The driver counts free places from the lengths that it asked for. */
	err = sq.num_entries != p->sq_entries || rq.num_entries != p->rq_entries ? -EPROTO :
	      modify(qp, &attr, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	if (err) {
		destroy(qp);
		return err;
	}
	*to = (struct efa_qp_res){ .sq = ring_of(&sq), .rq = ring_of(&rq),
				   .qpn = (uint16_t)qp->qp_num, .max_batch = sq.max_batch,
				   .priv = qp };
	return 0;
}

int edv_qp_ready(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .rnr_retry = RNR_FOR_EVER };
	int err = modify(qp->priv, &rtr, 0);

	if (err)
		return err;
	return modify(qp->priv, &rts, IBV_QP_SQ_PSN |
		      (edv_of(ctl)->caps.rnr_retry ? IBV_QP_RNR_RETRY : 0));
}

int edv_qp_error(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int err;

	(void)ctl;
	hw_enter();
	err = hw_error(ibv_modify_qp(qp->priv, &attr, IBV_QP_STATE));
	hw_leave();
	return err;
}

void edv_qp_destroy(struct efa_ctl *ctl, struct efa_qp_res *qp)
{
	(void)ctl;
	destroy(qp->priv);
}
