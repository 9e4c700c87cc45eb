/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Queue pairs: create and destroy.
 *
 * Memory of a QP: receive ring, send ring, and the doorbell record in its own cache line; for
 * software only, one slot for each block and receive. The consumer may have as many requests
 * outstanding as the endpoint's attributes say, whatever their size, plus one block for the end of
 * a drain.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/alloc.h"
#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"

#define SPARE_BLOCKS 8u			/* reserved for the NOP of a drain and one unbind before a bind */
#define SIGNAL_EVERY_MAX 64u
#define MAX_BLOCKS 32768u		/* the producer index has 16 bits */

struct shape {
	uint32_t blocks, recvs, signal_every, internal;
	unsigned int rq_shift;
	size_t rq_bytes, sq_bytes, dbrec, bytes;
};

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t blocks_per_request(const struct m5_ia *ia, const struct dap_ep_attr *a)
{
	uint32_t iov = max_u32(a->max_request_iov, max_u32(a->max_rdma_read_iov,
							   a->max_rdma_write_iov));
	uint32_t by_ref = (2 + iov + 3) / 4;
	uint32_t by_copy = (2 + (ia->params.inline_max + 4u + 15) / 16 + 3) / 4;

	return max_u32(M5_BIND_BLOCKS, max_u32(by_ref, by_copy));
}

/* Chooses the number and size of the receive WQEs. The ring has at least 64 bytes, which the WQEs fill,
 * so a short ring has more of them than requested. */
static void recv_shape(const struct dap_ep_attr *a, struct shape *s)
{
	s->recvs = 1u << m5_log2_up(a->max_recv_dtos);
	s->rq_shift = 4u + m5_log2_up(a->max_recv_iov);
	s->rq_bytes = max_u32(s->recvs << s->rq_shift, M5_BB);
	while ((size_t)s->recvs << s->rq_shift < s->rq_bytes)
		s->recvs *= 2;
}

/* An unsignaled read has no CQE for its data, and no manual says where the data goes then. */
static uint32_t signal_every(const struct m5_ia *ia, uint32_t dtos)
{
	if (ia->params.scatter_cqe == M5_SCATTER_READS_TOO)
		return 1;
	return max_u32(1, m5_min(SIGNAL_EVERY_MAX, dtos / 4));
}

/*
 * s->internal: internal completions that can be in the CQ, without suppressed binds. One per signal_every
 * suppressed requests, one for the end of a drain, and one for the unbind of a key rotation.
 */
static int shape_of(const struct m5_ia *ia, const struct dap_ep *ep, struct shape *s)
{
	const struct dap_ep_attr *a = &ep->attr;
	uint32_t dtos = max_u32(a->max_request_dtos, 1), limit = m5_min(ia->dev.max_qp_blocks, MAX_BLOCKS);
	uint32_t per = blocks_per_request(ia, a);

	if (dtos + SPARE_BLOCKS > limit || a->max_recv_dtos > limit ||
	    max_u32(a->max_request_iov, a->max_recv_iov) > M5_MAX_IOV ||
	    max_u32(a->max_rdma_read_iov, a->max_rdma_write_iov) > M5_MAX_IOV)
		return -EINVAL;
	s->blocks = m5_min(1u << m5_log2_up(m5_min(dtos, limit) * per + SPARE_BLOCKS), limit);
	s->signal_every = signal_every(ia, dtos);
	s->internal = m5_min(dtos, dtos / s->signal_every + 1) + 2;
	s->sq_bytes = (size_t)s->blocks << M5_BB_SHIFT;
	s->recvs = 0;
	s->rq_bytes = s->rq_shift = 0;
	if (!ep->srq)
		recv_shape(a, s);
	s->dbrec = s->rq_bytes + s->sq_bytes;
	s->bytes = s->dbrec + 64;
	return 0;
}

static void fm_fill(uint8_t umr_fence, uint8_t *fm)
{
	for (unsigned int i = 0; i < 32; i++) {
		unsigned int fence = i & 16 ? umr_fence : 0;

		if (i & DAP_COMP_BARRIER && fence != M5_FENCE_STRONG)
			fence = M5_FENCE_SMALL_READ;
		fm[i] = (uint8_t)(fence | (i & DAP_COMP_SUPPRESS ? M5_CE_ERROR : M5_CE_ALWAYS) |
				  (i & DAP_COMP_SOLICITED ? M5_SE : 0));
	}
}

/* PRM, "Control segment": the first eight bytes without the index, as the host loads them. */
static uint64_t ctrl_start(uint32_t qpn, unsigned int ds, unsigned int op)
{
	return (uint64_t)htobe32(qpn << 8 | ds) << 32 | htobe32(op);
}

static uint64_t len_range(uint64_t max, uint16_t inline_max)
{
	return max > inline_max ? max - inline_max : 0;
}

void m5_sq_derive(struct m5_sq *sq, uint32_t qpn, uint8_t umr_fence)
{
	fm_fill(umr_fence, sq->fm);
	sq->ctrl = ctrl_start(qpn, 0, 0);
	sq->ctrl_send[0] = ctrl_start(qpn, 2, M5_OP_SEND);
	sq->ctrl_write[0] = ctrl_start(qpn, 3, M5_OP_RDMA_WRITE);
	sq->ctrl_send[1] = sq->ctrl_write[1] = (uint64_t)sq->fm[0] << 24;
	for (unsigned int after = 0; after < 2; after++) {
		sq->ctrl_umr[after][0] = ctrl_start(qpn, 12, M5_OP_UMR);
		sq->ctrl_umr[after][1] = (uint64_t)sq->fm[after * 16] << 24;
	}
	sq->inline_end = sq->inline_max + 1u;
	sq->send_len_range = len_range(sq->max_msg, sq->inline_max);
	sq->rdma_len_range = len_range(sq->max_rdma, sq->inline_max);
}

const struct dap_lmr m5_no_lmr;

static void sq_fill(struct dap_ep *ep, const struct shape *s)
{
	const struct dap_ep_attr *a = &ep->attr;
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);
	uint32_t allow = DAP_COMP_SUPPRESS |
			 (a->request_completion_flags & DAP_COMP_UNSIGNALLED);

	/* inline= under 8 disables inlining, because the fast path assumes that 8 bytes fit. */
	uint16_t inline_max = ia->params.inline_max < 8 ? 0 : ia->params.inline_max;

	e->sq = (struct m5_sq){
		.ring = (uint8_t *)e->mem.base + s->rq_bytes,
		.slots = e->done.sq_slots,
		.dbrec = (volatile uint32_t *)((uint8_t *)e->mem.base + s->dbrec),
		.reg = (uintptr_t)e->uar.reg,
		.mask = s->blocks - 1,
		.lmr = &m5_no_lmr,
		.signal_every = (uint16_t)s->signal_every,
		.inline_max = inline_max,
		.bf_bb_limit = e->own_uar && e->uar.bf && ia->mmio == M5_MMIO_BLUEFLAME ?
			  M5_BF_BLOCKS + 1 : 1,
		.read_segs = 1,
		.max_iov = (uint8_t)a->max_request_iov,
		.max_read_iov = (uint8_t)a->max_rdma_read_iov,
		.max_write_iov = (uint8_t)a->max_rdma_write_iov,
		.deny_send = ~(allow | DAP_COMP_SOLICITED),
		.deny_rdma = ~allow,
		.max_msg = a->max_message_size,
		.max_rdma = a->max_rdma_size,
		.uar_page = e->uar.page,
		.pz = ep->pz,
	};
	m5_sq_derive(&e->sq, e->qp.qpn, ia->dev.umr_fence);
}

void m5_rq_derive(struct m5_rq *rq)
{
	struct m5_data_seg *seg = (struct m5_data_seg *)rq->ring;
	uint32_t per = rq->stride / M5_DS;

	rq->uneven = 0;
	if (per == 1)
		return;
	for (uint32_t i = 0; i <= rq->mask; i++, seg += per)
		seg[1] = (struct m5_data_seg){ .lkey = cpu_to_be32(M5_NULL_LKEY) };
}

static void rq_fill(struct dap_ep *ep, const struct shape *s)
{
	struct m5_ep *e = m5_ep(ep);


	e->rq = (struct m5_rq){
		.ring = e->mem.base,
		.slots = e->done.rq_slots,
		.dbrec = e->sq.dbrec,
		.mask = s->recvs - 1,
		.stride = 1u << s->rq_shift,
		.max_iov = (uint8_t)ep->attr.max_recv_iov,
		.deny = ~(ep->attr.recv_completion_flags & DAP_COMP_UNSIGNALLED),
	};
	m5_rq_derive(&e->rq);
}

/* The receive queue never has credit, because receives come from the SRQ. Its ring is only for error
 * messages that show a WQE of the SRQ. Of the doorbell record only the word for requests is read. */
static void srq_fill(struct dap_ep *ep)
{
	const struct m5_srq *q = m5_srq(ep->srq);

	m5_ep(ep)->rq = (struct m5_rq){
		.ring = q->ring + sizeof(struct m5_next_seg),
		.dbrec = m5_ep(ep)->sq.dbrec,
		.mask = q->size - 1,
		.stride = 1u << q->shift,
		.max_iov = q->max_iov,
		.deny = ~0u,
	};
	m5_ep(ep)->done.rq_slots = q->slots;
	m5_ep(ep)->done.rq_mask = q->size - 1;
	m5_ep(ep)->done.shared = 1;
}

static int slots_alloc(struct m5_ep *e, const struct shape *s)
{
	struct m5_slot *slots;
	size_t n = (size_t)s->blocks + 1 + s->recvs;	/* + 1: see m5_bind_slots */

	slots = dap_aligned_alloc(64, (n * sizeof(*slots) + 63) & ~(size_t)63);
	if (!slots)
		return -ENOMEM;
	e->done = (struct m5_done){
		.sq_slots = slots,
		.rq_slots = slots + s->blocks + 1,
		.sq_mask = s->blocks - 1,
		.rq_mask = s->recvs ? s->recvs - 1 : 0,
	};
	return 0;
}

/* A BlueFlame register has one owner; later endpoints share a page and write 8 bytes. */
static void uar_get(struct m5_ia *ia, struct m5_ep *e)
{
	bool own;

	pthread_mutex_lock(&ia->lock);
	own = ia->bf_regs_left > 0;
	ia->bf_regs_left -= own;
	pthread_mutex_unlock(&ia->lock);
	e->own_uar = own && !ia->ctl->ops->uar_alloc(ia->ctl, M5_UAR_BF, &e->uar);
	if (e->own_uar)
		return;
	e->uar = ia->uar;
	pthread_mutex_lock(&ia->lock);
	ia->bf_regs_left += own;
	pthread_mutex_unlock(&ia->lock);
}

static void uar_put(struct m5_ia *ia, struct m5_ep *e)
{
	if (!e->own_uar)
		return;
	ia->ctl->ops->uar_free(ia->ctl, &e->uar);
	e->own_uar = false;
	pthread_mutex_lock(&ia->lock);
	ia->bf_regs_left++;
	pthread_mutex_unlock(&ia->lock);
}

/* kept: not 0 if the device has the QP although this fails. */
static int make_qp(struct dap_ep *ep, const struct shape *s, int *kept)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);
	struct m5_qp_param p = {
		.pdn = m5_pz(ep->pz)->pdn,
		.uar_page = e->uar.page,
		.send_cqn = m5_cq(ep->request_evd)->cqn,
		.recv_cqn = m5_cq(ep->recv_evd)->cqn,
		.uidx = e->uidx,
		.log_sq = (unsigned int)__builtin_ctz(s->blocks),
		.log_rq = s->recvs ? (unsigned int)__builtin_ctz(s->recvs) : 0,
		.log_rq_stride = s->recvs ? s->rq_shift - 4 : 0,
		.small_recvs = ia->params.scatter_cqe != M5_SCATTER_NONE,
		.small_reads = ia->params.scatter_cqe == M5_SCATTER_READS_TOO,
		.rmpn = ep->srq ? m5_srq(ep->srq)->rmp.rmpn : 0,
		.umem_id = e->mem.umem.id,
		.offset = e->mem.offset,
		.dbrec = e->mem.offset + s->dbrec,
	};
	const struct m5_port port = m5_ia_port(ep->obj.ia);
	int err;

	e->qp.ctl = ia->ctl;
	err = m5_cmd_qp(ia->ctl, &p, &e->qp.obj, &e->qp.qpn);
	if (err)
		return err;
	err = m5_cmd_qp_init(&e->qp, port.port_num, port.pkey_index, ep->attr.max_rdma_read_in != 0);
	if (err)
		*kept = ia->ctl->ops->obj_destroy(e->qp.obj);
	return err;
}

static int build_qp(struct dap_ep *ep, const struct shape *s)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);
	int err = m5_mem_alloc(ia->ctl, s->bytes, &e->mem), kept = 0;

	if (err)
		return err;
	err = slots_alloc(e, s);
	if (err)
		goto err_mem;
	err = m5_uidx_get(ia, ep, &e->uidx);
	if (err)
		goto err_slots;
	uar_get(ia, e);
	err = make_qp(ep, s, &kept);
	if (err)
		goto err_uar;
	sq_fill(ep, s);
	if (ep->srq)
		srq_fill(ep);
	else
		rq_fill(ep, s);
	return 0;

err_uar:
	uar_put(ia, e);
	m5_uidx_put(ia, e->uidx, kept);
err_slots:
	free(e->done.sq_slots);
err_mem:
	m5_mem_free(ia->ctl, &e->mem, kept);
	return err;
}

int m5_qp_create(struct dap_ep *ep)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);
	struct shape s;
	int err = shape_of(ia, ep, &s);

	if (err)
		return err;
	err = m5_cq_reserve(ep->request_evd, s.internal);
	if (err)
		return err;
	*e = (struct m5_ep){ .internal = s.internal };
	err = build_qp(ep, &s);
	if (err) {
		m5_cq_unreserve(ep->request_evd, s.internal);
		return err;
	}
	e->max_ops = max_u32(ep->attr.max_request_dtos, 1);
	e->max_recvs = ep->attr.max_recv_dtos;
	m5_ia_async_settle(ep->obj.ia);
	__atomic_store_n(&e->gen, __atomic_add_fetch(&ia->gen, 1, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	return 0;
}

int m5_bind_reserve(struct dap_ep *ep)
{
	struct m5_ep *e = m5_ep(ep);
	uint32_t all = e->max_ops + 2, more = all - __atomic_exchange_n(&e->internal, all, __ATOMIC_RELAXED);
	int err = more ? m5_cq_reserve(ep->request_evd, more) : 0;

	if (!err)
		return 0;
	__atomic_sub_fetch(&e->internal, more, __ATOMIC_RELAXED);
	return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
}

int m5_qp_destroy(struct dap_ep *ep)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);
	int err;

	dap_invariant(&ep->obj, e->gen && ia->dir[e->uidx >> 12]->ep[e->uidx & 0xfff] == ep);
	m5_rmr_revoke_bound(ep);
	if (e->done.shared)
		m5_qp_last_wqe(ep);
	err = ia->ctl->ops->obj_destroy(e->qp.obj);
	/* If the device has destroyed the QP, it writes no more CQEs of the QP. Purge those in the CQs,
	 * so that no CQE has the user index. */
	m5_cq_purge(ep->request_evd, ep);
	m5_cq_purge(ep->recv_evd, ep);
	/* From here on find_last_bind() in rmr.c does not use this QP. */
	pthread_mutex_lock(&ia->lock);
	__atomic_store_n(&e->gen, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ia->lock);
	m5_uidx_put(ia, e->uidx, err);
	/* A QP that goes on may complete all that it has. */
	if (!err)
		m5_cq_unreserve(ep->request_evd, e->internal);
	uar_put(ia, e);
	free(e->done.sq_slots);
	m5_mem_free(ia->ctl, &e->mem, err);
	if (err)
		dap_access_kept(&ep->obj, err);
	return err;
}
