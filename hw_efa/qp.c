/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Creates and destroys QPs. An endpoint has one, with receive buffers for the whole window and for
 * control messages out of sequence. All completions that its QP can have outstanding have entries
 * of the CQ reserved, or the endpoint is refused, because an EFA overruns a CQ without an error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "hw_efa/lock.h"
#include "hw_efa/ops.h"
#include "hw_efa/rq.h"
#include "hw_efa/sq.h"

#define SQ_WQES 128u
#define RX_BATCH 8u
#define UNSEQ_BUFS (EFA_ASKS * 2 + 8)	/* FINs of long messages and of emulated writes; credits; ASK */

static uint32_t pow2_up(uint32_t n)
{
	return n > 1 ? 1u << (32 - __builtin_clz(n - 1)) : 1;
}

static uint32_t max_of(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static bool has_wide_wqes(const struct efa_ia *ia)
{
	return ia->dev.wide_wqe && ia->params.inl > ia->dev.inline_max;
}

uint16_t efa_inline_max(const struct efa_ia *ia)
{
	uint32_t can = has_wide_wqes(ia) ? ia->dev.inline_max_wide : ia->dev.inline_max;
	uint32_t room = has_wide_wqes(ia) ? 96 : 32;

	return (uint16_t)efa_min(efa_min(can, room), ia->params.inl);
}

void efa_shape_of(const struct efa_ia *ia, struct efa_shape *s)
{
	const struct efa_caps *dev = &ia->dev;

	s->wide = has_wide_wqes(ia);
	s->sq = SQ_WQES;
	while (s->sq > 16 && s->sq > dev->max_sq_wr / (s->wide ? 2 : 1))
		s->sq /= 2;
	s->bufs = ia->params.window + UNSEQ_BUFS;
	s->rq = pow2_up(s->bufs);
	/* A write that consumes no receive has a CQE, and takes a place of the same window. */
	s->cqes = s->sq + s->bufs;
}

/* Receive buffers and the stage lie in one registration. */
static uint32_t stride_of(const struct efa_ia *ia)
{
	return (ia->dev.mtu + 63) & ~63u;
}

static size_t mem_bytes(const struct efa_ia *ia, const struct efa_shape *s)
{
	size_t bufs = (size_t)s->bufs * stride_of(ia), stage = (size_t)s->sq * EFA_STAGE;

	return (bufs + stage + 4095) & ~(size_t)4095;
}

/* The arrays of software, see rings_alloc. */
static size_t rings_bytes(const struct efa_ia *ia, const struct efa_shape *s, uint32_t requests,
			  uint32_t receives)
{
	return ia->params.window * sizeof(struct efa_cqe) + receives * sizeof(struct efa_recv) +
	       requests * (sizeof(struct efa_dto) + sizeof(struct efa_work)) +
	       s->sq * (sizeof(union efa_slot) + sizeof(uint16_t));
}

size_t efa_ep_memory(const struct efa_ia *ia, uint32_t requests, uint32_t receives)
{
	struct efa_shape s;

	efa_shape_of(ia, &s);
	return dap_ep_size() + sizeof(struct efa_ep_cold) + mem_bytes(ia, &s) +
	       s.sq * (s.wide ? 128 : 64) + s.rq * sizeof(struct efa_rx_desc) +
	       rings_bytes(ia, &s, pow2_up(requests), pow2_up(receives)) +
	       (ia->ctl->ops->qp_memory ? ia->ctl->ops->qp_memory(s.sq) : 0);
}

static int mem_alloc(struct dap_ep *ep, struct efa_ep_cold *m, const struct efa_shape *s)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	int err;

	m->mem_bytes = mem_bytes(ia, s);
	m->mem = mmap(NULL, m->mem_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (m->mem == MAP_FAILED)
		return -ENOMEM;
	m->stage = m->mem + (size_t)s->bufs * stride_of(ia);
	err = ia->ctl->ops->mr_reg(ia->ctl, efa_pz(ep->pz)->pd, (uintptr_t)m->mem, m->mem_bytes,
				   EFA_LOCAL_WRITE, &m->mr);
	if (err)
		munmap(m->mem, m->mem_bytes);
	return err;
}

static void mem_free(struct dap_ep *ep, struct efa_ep_cold *m)
{
	struct efa_ctl *ctl = efa_ia(ep->obj.ia)->ctl;

	/* If the device may still write to the memory, it must not be reused. */
	if (!ctl->ops->mr_dereg(ctl, &m->mr))
		munmap(m->mem, m->mem_bytes);
}

static int reserve_cqes(struct efa_engine *eng, uint32_t cqes)
{
	int err = 0;

	efa_enter(eng);
	if (eng->cq_used + cqes > eng->cq_entries)
		err = -ENOSPC;
	else
		eng->cq_used += cqes;
	efa_leave(eng);
	if (err)
		dap_log(DAP_LOG_ERR, "cannot create an endpoint: it has up to %u completions outstanding, "
			"and %u of the CQ's %u entries are free; open the IA with a greater efa_cq= in "
			"ia_params, or with a smaller efa_window=", cqes,
			eng->cq_entries - eng->cq_used, eng->cq_entries);
	return err;
}

static void release_cqes(struct efa_engine *eng, uint32_t cqes)
{
	efa_enter(eng);
	eng->cq_used -= cqes;
	efa_leave(eng);
}

static const struct dap_lmr no_lmr;	/* contains no address */

/* One allocation; the caller frees rx.place, which is its start. */
static int rings_alloc(struct efa_ep *e, const struct efa_ia *ia, const struct dap_ep_attr *a,
		       const struct efa_shape *s)
{
	uint32_t dtos = pow2_up(a->max_request_dtos), recvs = pow2_up(a->max_recv_dtos);
	uint32_t window = ia->params.window;

	e->rx.place = calloc(1, rings_bytes(ia, s, dtos, recvs));
	if (!e->rx.place)
		return -ENOMEM;
	e->tx.dto = (void *)(e->rx.place + window);
	e->sq.slots = (void *)(e->tx.dto + dtos);
	e->tx.work = (void *)(e->sq.slots + s->sq);
	e->rx.recv = (void *)(e->tx.work + dtos);
	e->sq.ids = (void *)(e->rx.recv + recvs);
	e->tx.mask = dtos - 1;
	e->rx.recv_mask = recvs - 1;
	for (uint32_t i = 0; i < window; i++)
		efa_place_clear(&e->rx.place[i]);
	return 0;
}

/* The ring may be longer than requested: the slots limit the number of WQEs in it. */
static void sq_fill(struct efa_ep *e, const struct efa_ia *ia, uint32_t slots, uint32_t gen)
{
	const struct efa_qp_res *qp = &e->cold->qp;
	struct efa_sq *sq = &e->sq;

	sq->ring = sq->next = qp->sq.base;
	sq->end = sq->ring + (size_t)qp->sq.entries * qp->sq.entry_size;
	sq->doorbell = qp->sq.doorbell;
	sq->mask = slots - 1;
	sq->entry_size = qp->sq.entry_size;
	sq->gen = (uint16_t)(gen * slots);
	sq->room = efa_min(slots - EFA_SPARE_WQES - 1, UINT8_MAX);	/* efa_dto.left */
	sq->max_batch = qp->max_batch ? qp->max_batch : slots;
	sq->handle = qp->handle;
	sq->inline_max = efa_inline_max(ia);
	efa_slots_reset(sq);
}

static void tx_fill(struct dap_ep *ep)
{
	const struct dap_ep_attr *a = &ep->attr;
	struct efa_tx *tx = &efa_ep(ep)->tx;
	uint32_t allow = DAP_COMP_SUPPRESS | (a->request_completion_flags & DAP_COMP_UNSIGNALLED);

	tx->lmr = &no_lmr;
	tx->max = efa_ep(ep)->free_at[EFA_REQUESTS] = max_of(a->max_request_dtos, 1);
	tx->blocked = EFA_B_DOWN;
	tx->mtu = efa_ia(ep->obj.ia)->dev.mtu;
	tx->max_msg = (uint32_t)a->max_message_size;
	tx->max_rdma = (uint32_t)a->max_rdma_size;
	tx->deny[EFA_SEND] = ~(allow | DAP_COMP_SOLICITED);
	tx->deny[EFA_WRITE] = tx->deny[EFA_READ] = ~allow;
	tx->eng = efa_ia(ep->obj.ia)->eng;
	tx->max_iov[EFA_SEND] = a->max_request_iov;
	tx->max_iov[EFA_READ] = a->max_rdma_read_iov;
	tx->max_iov[EFA_WRITE] = a->max_rdma_write_iov;
}

static void rx_fill(struct dap_ep *ep, const struct efa_shape *s, uint32_t gen)
{
	struct efa_ep *e = efa_ep(ep);
	const struct efa_qp_res *qp = &e->cold->qp;
	struct efa_rx *rx = &e->rx;

	rx->ring = qp->rq.base;
	rx->doorbell = qp->rq.doorbell;
	rx->mask = qp->rq.entries - 1;
	rx->log = (uint8_t)__builtin_ctz(qp->rq.entries);
	rx->gen = (uint16_t)(gen << rx->log);
	rx->bufs = e->cold->mem;
	rx->stride = stride_of(efa_ia(ep->obj.ia));
	rx->nbufs = s->bufs;
	rx->lmr = &no_lmr;
	rx->max = e->free_at[EFA_RECEIVES] = max_of(ep->attr.max_recv_dtos, 1);
	rx->window = efa_ia(ep->obj.ia)->params.window;
	rx->place_mask = rx->window - 1;
	rx->deny = ~(ep->attr.recv_completion_flags & DAP_COMP_UNSIGNALLED);
	rx->max_iov = ep->attr.max_recv_iov;
	rx->solicited_only = ep->attr.recv_completion_flags & DAP_COMP_SOLICITED;
	rx->batch = efa_min(rx->window / 2, RX_BATCH);
	rx->desc = (uint64_t)(e->cold->mr.lkey | EFA_RX_FIRST | EFA_RX_LAST) << 32 |
		   rx->stride << 16;
}

/*
 * The device reuses QP numbers at once. The generation in a request id tells late completions
 * apart.
 */
static int make_qp(struct dap_ep *ep, const struct efa_shape *s)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_ep *e = efa_ep(ep);
	const struct efa_qp_param p = {
		.pd = efa_pz(ep->pz)->pd, .cq = &ia->eng->res, .sq_entries = s->sq,
		.rq_entries = s->rq, .wide = s->wide,
		.unsolicited = ia->dev.unsolicited_write_recv,
	};
	uint32_t gen;
	int err;

	if (getrandom(&e->cold->qkey, sizeof(e->cold->qkey), 0) != sizeof(e->cold->qkey))
		return -EIO;
	/* The kernel refuses a qkey with the highest bit. */
	e->cold->qkey &= 0x7fffffff;
	err = ia->ctl->ops->qp_create(ia->ctl, &p, e->cold->qkey, &e->cold->qp);
	if (err)
		return err;
	gen = __atomic_add_fetch(&ia->eng->gen, 1, __ATOMIC_RELAXED);
	sq_fill(e, ia, s->sq, gen);
	tx_fill(ep);
	rx_fill(ep, s, gen);
	e->qpn = e->cold->qp.qpn;
	e->made = true;
	efa_enter(ia->eng);
	/*
	 * Completions of an earlier QP with this number are dropped before the number is assigned.
	 */
	efa_drain(ia->eng);
	ia->eng->eps[e->qpn] = ep;
	efa_rx_refill(ep);
	efa_leave(ia->eng);
	return 0;
}

int efa_qp_create(struct dap_ep *ep)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_ep *e = efa_ep(ep);
	struct efa_shape s;
	int err;

	efa_shape_of(ia, &s);
	err = reserve_cqes(ia->eng, s.cqes);
	if (err)
		return err;
	*e = (struct efa_ep){ .cold = calloc(1, sizeof(*e->cold)) };
	err = e->cold ? rings_alloc(e, ia, &ep->attr, &s) : -ENOMEM;
	if (!err)
		err = mem_alloc(ep, e->cold, &s);
	if (err)
		goto free_rings;
	e->cold->cqes = s.cqes;
	err = make_qp(ep, &s);
	if (!err)
		return 0;
	mem_free(ep, e->cold);
free_rings:
	free(e->rx.place);
	free(e->cold);
	*e = (struct efa_ep){ 0 };
	release_cqes(ia->eng, s.cqes);
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
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_engine *eng = ia->eng;
	struct efa_ep *e = efa_ep(ep);

	if (e->cold->destroyed)
		return;
	efa_enter(eng);
	dap_invariant(&ep->obj, eng->eps[e->qpn] == ep);
	eng->eps[e->qpn] = NULL;
	e->sq.doorbell = e->rx.doorbell = &e->cold->nowhere;
	e->cold->destroyed = true;
	efa_leave(eng);
	ia->ctl->ops->qp_destroy(ia->ctl, &e->cold->qp);
}

int efa_qp_destroy(struct dap_ep *ep)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_engine *eng = ia->eng;
	struct efa_ep *e = efa_ep(ep);

	efa_qp_end(ep);
	efa_enter(eng);
	efa_drain(eng);
	remove_deferred(eng, ep);
	dap_invariant(&ep->obj, eng->emulating >= e->cold->emulates && eng->live >= e->cold->live &&
		      eng->cq_used >= e->cold->cqes);
	eng->emulating -= e->cold->emulates;
	eng->live -= e->cold->live;
	eng->cq_used -= e->cold->cqes;
	efa_evd_purge(ep->recv_evd, ep);
	if (ep->request_evd != ep->recv_evd)
		efa_evd_purge(ep->request_evd, ep);
	efa_leave(eng);
	if (e->cold->ah)
		efa_ah_put(eng, e->cold->ah);
	mem_free(ep, e->cold);
	free(e->rx.place);
	free(e->cold);
	*e = (struct efa_ep){ 0 };
	return 0;
}
