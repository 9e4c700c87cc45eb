/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Creates and destroys QPs. An endpoint has one, with receive buffers for the whole window and for
 * control messages out of sequence. All completions that its QP can have outstanding have entries
 * of the CQ reserved, or the endpoint is refused, because an EFA overruns a CQ without an error. So
 * QPs do not use unsolicited receives: nothing would limit the completions of a peer's writes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "hw_common/near.h"
#include "hw_common/random.h"
#include "hw_efa/lock.h"
#include "hw_efa/ops.h"
#include "hw_efa/rq.h"
#include "hw_efa/sq.h"

#define SQ_WQES 128u
#define RX_BATCH 8u
#define UNSEQ_BUFS (EFA_ASKS * 2 + 8)	/* FINs of long messages and of emulated writes; credits; ASK */

void efa_set_shape(struct efa_ia *ia)
{
	const struct efa_caps *dev = &ia->dev;
	const bool wide = dev->wide_wqe && ia->params.inl > dev->inline_max;
	const uint32_t can = wide ? efa_min(dev->inline_max_wide, 96) : efa_min(dev->inline_max, 32);
	const uint32_t bufs = ia->params.window + UNSEQ_BUFS, stride = (dev->mtu + 63) & ~63u;
	uint32_t sq = SQ_WQES;

	while (sq > dev->max_sq_wr / (wide ? 2 : 1))
		sq /= 2;
	ia->shape = (struct efa_shape){
		.sq = sq, .rq = efa_pow2_up(bufs), .bufs = bufs, .cqes = sq + bufs, .stride = stride,
		.mem = ((size_t)bufs * stride + sq * EFA_STAGE + 4095) & ~(size_t)4095,
		.inline_max = (uint16_t)efa_min(can, ia->params.inl), .wide = wide,
	};
}

/* Returns the bytes that rings_alloc() allocates. */
static size_t rings_bytes(const struct efa_ia *ia, uint32_t requests, uint32_t receives)
{
	return ia->params.window * sizeof(struct efa_cqe) + receives * sizeof(struct efa_recv) +
	       requests * (sizeof(struct efa_dto) + sizeof(struct efa_work)) +
	       ia->shape.sq * (sizeof(union efa_slot) + sizeof(uint16_t));
}

size_t efa_ep_memory(const struct efa_ia *ia)
{
	const struct efa_shape *s = &ia->shape;

	return dap_ep_size() + sizeof(struct efa_ep_cold) + s->mem + s->sq * (s->wide ? 128 : 64) +
	       s->rq * sizeof(struct efa_rx_desc) + rings_bytes(ia, 64, 64) +
	       (ia->ctl->ops->qp_memory ? ia->ctl->ops->qp_memory(s->sq) : 0);
}

/* Receive buffers and the stage lie in one registration. */
static int mem_alloc(struct dap_ep *ep)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	const struct efa_shape *s = &ia->shape;
	struct efa_ep *e = efa_ep(ep);
	void *mem = hw_near_map(s->mem, ia->ctl->node);
	int err;

	if (!mem)
		return -ENOMEM;
	e->rx.bufs = mem;
	e->cold->stage = e->rx.bufs + (size_t)s->bufs * s->stride;
	err = ia->ctl->ops->mr_reg(ia->ctl, efa_pz(ep->pz)->pd, (uintptr_t)mem, s->mem,
				   EFA_LOCAL_WRITE, &e->cold->mr);
	if (err)
		munmap(mem, s->mem);
	return err;
}

static void mem_free(struct dap_ep *ep)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_ep *e = efa_ep(ep);

	/* If the device may still write to the memory, it must not be reused. */
	if (!ia->ctl->ops->mr_dereg(ia->ctl, &e->cold->mr) && !e->cold->kept)
		munmap(e->rx.bufs, ia->shape.mem);
}

/* An entry counts as in use until the device knows that its CQE has been taken. */
static uint32_t free_cqes(const struct efa_engine *eng)
{
	uint32_t used = eng->cq_used + eng->cq.lag;

	return eng->cq_entries > used ? eng->cq_entries - used : 0;
}

static int reserve_cqes(struct efa_engine *eng, uint32_t cqes)
{
	int err = 0;

	efa_enter(eng);
	if (cqes > free_cqes(eng))
		err = -ENOSPC;
	else
		eng->cq_used += cqes;
	efa_leave(eng);
	if (err)
		dap_log(DAP_LOG_ERR, "cannot create an endpoint of %s: it has up to %u completions "
			"outstanding, and %u of the CQ's %u entries are free; open the IA with a "
			"smaller efa_window= in ia_params, or with a greater efa_cq= (at most 32768)",
			eng->ia->name, cqes, free_cqes(eng), eng->cq_entries);
	return err;
}

/* Sets all fields that do not depend on the QP. */
static void init_ep(struct dap_ep *ep)
{
	const struct dap_ep_attr *a = &ep->attr;
	const struct efa_ia *ia = efa_ia(ep->obj.ia);
	const struct efa_shape *s = &ia->shape;
	const uint32_t allow = DAP_COMP_SUPPRESS | (a->request_completion_flags & DAP_COMP_UNSIGNALLED);
	const uint32_t requests = a->max_request_dtos ?: 1, recvs = a->max_recv_dtos;
	const uint32_t window = ia->params.window;

	*efa_ep(ep) = (struct efa_ep){
		.cold = calloc(1, sizeof(struct efa_ep_cold)),
		.free_at = { [EFA_REQUESTS] = requests, [EFA_RECEIVES] = recvs },
		.sq = {
			.mask = s->sq - 1, .inline_max = s->inline_max,
			/* efa_dto.left counts them in 8 bits */
			.room = efa_min(s->sq - EFA_SPARE_WQES - 1, UINT8_MAX),
		},
		.tx = {
			.eng = ia->eng, .lmr = &efa_no_lmr, .blocked = EFA_B_DOWN,
			.max = requests, .mask = efa_pow2_up(requests) - 1,
			.max_msg = (uint32_t)a->max_message_size, .max_rdma = (uint32_t)a->max_rdma_size,
			.deny = { [EFA_SEND] = ~(allow | DAP_COMP_SOLICITED), [EFA_READ] = ~allow,
				  [EFA_WRITE] = ~allow },
			.max_iov = { [EFA_SEND] = a->max_request_iov, [EFA_READ] = a->max_rdma_read_iov,
				     [EFA_WRITE] = a->max_rdma_write_iov },
		},
		.rx = {
			.lmr = &efa_no_lmr, .max = recvs, .recv_mask = efa_pow2_up(recvs) - 1,
			.stride = s->stride, .nbufs = s->bufs,
			.window = window, .place_mask = window - 1, .batch = efa_min(window / 2, RX_BATCH),
			.deny = ~(a->recv_completion_flags & DAP_COMP_UNSIGNALLED),
			.max_iov = a->max_recv_iov,
			.solicited_only = a->recv_completion_flags & DAP_COMP_SOLICITED,
		},
	};
}

/* One allocation, whose start is rx.place. */
static int rings_alloc(struct efa_ep *e, const struct efa_ia *ia)
{
	uint32_t requests = e->tx.mask + 1, recvs = e->rx.recv_mask + 1;

	e->rx.place = calloc(1, rings_bytes(ia, requests, recvs));
	if (!e->rx.place)
		return -ENOMEM;
	e->tx.dto = (void *)(e->rx.place + e->rx.window);
	e->sq.slots = (void *)(e->tx.dto + requests);
	e->tx.work = (void *)(e->sq.slots + ia->shape.sq);
	e->rx.recv = (void *)(e->tx.work + requests);
	e->sq.ids = (void *)(e->rx.recv + recvs);
	for (uint32_t i = 0; i < e->rx.window; i++)
		efa_place_clear(&e->rx.place[i]);
	return 0;
}

/* The ring may be longer than requested: the slots limit the number of WQEs in it. */
static void set_queues(struct efa_ep *e, uint32_t gen)
{
	const struct efa_qp_res *qp = &e->cold->qp;
	struct efa_sq *sq = &e->sq;
	struct efa_rx *rx = &e->rx;

	sq->ring = sq->next = qp->sq.base;
	sq->end = sq->ring + (size_t)qp->sq.entries * qp->sq.entry_size;
	sq->doorbell = qp->sq.doorbell;
	sq->entry_size = qp->sq.entry_size;
	sq->gen = (uint16_t)(gen * (sq->mask + 1));
	sq->max_batch = qp->max_batch ?: sq->mask + 1;
	sq->handle = qp->handle;
	efa_slots_reset(sq);
	rx->ring = qp->rq.base;
	rx->doorbell = qp->rq.doorbell;
	rx->mask = qp->rq.entries - 1;
	rx->gen = (uint16_t)(gen * qp->rq.entries);
	rx->desc = (uint64_t)(e->cold->mr.lkey | EFA_RX_FIRST | EFA_RX_LAST) << 32 | rx->stride << 16;
	e->qpn = qp->qpn;
}

/*
 * The device reuses QP numbers at once. The generation in a request id tells late completions
 * apart.
 */
static int make_qp(struct dap_ep *ep)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	const struct efa_shape *s = &ia->shape;
	struct efa_ep *e = efa_ep(ep);
	const struct efa_qp_param p = {
		.pd = efa_pz(ep->pz)->pd, .cq = &ia->eng->res, .sq_entries = s->sq,
		.rq_entries = s->rq, .wide = s->wide,
	};
	int err = hw_random(&e->cold->qkey, sizeof(e->cold->qkey));

	if (err)
		return err;
	/* The kernel refuses a qkey with the highest bit. */
	e->cold->qkey &= 0x7fffffff;
	err = ia->ctl->ops->qp_create(ia->ctl, &p, e->cold->qkey, &e->cold->qp);
	if (err)
		return err;
	efa_enter(ia->eng);
	set_queues(e, ++ia->eng->gen);
	/*
	 * Completions of an earlier QP with this number are dropped before the number is assigned.
	 */
	efa_drain(ia->eng);
	ia->eng->eps[e->qpn] = ep;
	efa_rx_refill(ep);
	efa_leave(ia->eng);
	return 0;
}

static void free_ep(struct efa_ep *e)
{
	free(e->rx.place);
	free(e->cold);
	*e = (struct efa_ep){ 0 };
}

int efa_qp_create(struct dap_ep *ep)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_ep *e = efa_ep(ep);
	int err = reserve_cqes(ia->eng, ia->shape.cqes);

	if (err)
		return err;
	init_ep(ep);
	err = e->cold ? rings_alloc(e, ia) : -ENOMEM;
	if (!err)
		err = mem_alloc(ep);
	if (err)
		goto free_rings;
	err = make_qp(ep);
	if (!err)
		return 0;
	mem_free(ep);
free_rings:
	free_ep(e);
	efa_enter(ia->eng);
	ia->eng->cq_used -= ia->shape.cqes;
	efa_leave(ia->eng);
	return err;
}

static void remove_deferred(struct efa_engine *eng, struct dap_ep *ep)
{
	struct dap_ep **at = &eng->deferred;

	while (*at && *at != ep)
		at = &efa_ep(*at)->cold->next_deferred;
	if (*at)
		*at = efa_ep(ep)->cold->next_deferred;
}

/* Another QP may get the number from now on, so completions of this one are dropped. */
void efa_qp_end(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_engine *eng = e->tx.eng;

	if (e->cold->destroyed)
		return;
	efa_enter(eng);
	dap_invariant(&ep->obj, eng->eps[e->qpn] == ep);
	eng->eps[e->qpn] = NULL;
	e->sq.doorbell = e->rx.doorbell = &e->cold->nowhere;
	e->cold->destroyed = true;
	e->tx.blocked |= EFA_B_ENDING;	/* a tick beside the command posts nothing to the unmapped queue */
	efa_leave(eng);
	e->cold->kept = eng->ctl->ops->qp_destroy(eng->ctl, &e->cold->qp);
	if (e->cold->kept)
		dap_access_kept(&ep->obj, e->cold->kept);
}

int efa_qp_destroy(struct dap_ep *ep)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_engine *eng = ia->eng;
	struct efa_ep *e = efa_ep(ep);
	int err;

	efa_qp_end(ep);
	err = e->cold->kept;
	efa_enter(eng);
	efa_drain(eng);
	remove_deferred(eng, ep);
	dap_invariant(&ep->obj, eng->emulating >= e->tx.emulates && eng->live >= e->cold->live &&
		      eng->cq_used >= ia->shape.cqes);
	eng->emulating -= e->tx.emulates;
	eng->live -= e->cold->live;
	/* A QP that goes on may complete all that it has. */
	eng->cq_used -= err ? 0 : ia->shape.cqes;
	efa_evd_purge(ep->recv_evd, ep);
	efa_evd_purge(ep->request_evd, ep);
	efa_leave(eng);
	efa_ah_put(ep);
	mem_free(ep);
	free_ep(e);
	return err;
}
