/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* WQEs off the fast path. One doorbell announces several of them. */
#include <string.h>

#include "core/probe.h"
#include "hw_efa/sq.h"

void efa_slots_reset(struct efa_sq *sq)
{
	for (uint32_t i = 0; i <= sq->mask; i++) {
		sq->slots[i].kind = EFA_S_FREE;
		sq->ids[i] = (uint16_t)i;
	}
	sq->used = sq->before = 0;
}

/* A read and a long write have no immediate, so they carry no ack. */
static bool carries_ack(const struct efa_ep *e, const union efa_slot *slot)
{
	const struct efa_dto *d = &e->tx.dto[slot->of & e->tx.mask];

	if (slot->kind == EFA_S_FIRST)
		return e->cold->first_rdma.has_imm;
	if (slot->kind == EFA_S_DTO)
		return d->op == EFA_SEND || (d->op == EFA_WRITE && efa_is_numbered(&e->tx, d));
	return slot->kind != EFA_S_PULL;
}

/* A WQE that carries no ack moves into each new era: a long read would keep the old one from ending.
 * All slots are searched, because sq->ids lists only the free ones. */
static void begin_era(struct efa_ep *e)
{
	struct efa_sq *sq = &e->sq;

	sq->before = sq->used;
	sq->era ^= UINT64_C(1) << EFA_ERA_SHIFT;
	for (uint32_t i = 0; i <= sq->mask; i++) {
		union efa_slot *slot = &sq->slots[i];

		if (slot->kind == EFA_S_FREE || carries_ack(e, slot))
			continue;
		slot->word ^= UINT64_C(1) << EFA_ERA_SHIFT;
		sq->before--;
	}
}

/*
 * A delayed packet carries an old ack. After 4,096 further acks the peer would take it for a new
 * one. So no ack is sent that is more than EFA_MAX_AHEAD ahead of the oldest one in flight. Acks
 * are grouped in eras to find the oldest one in flight: once no WQE of the previous era is
 * outstanding, no ack in flight is older than mark_ack, and the next era begins.
 */
void efa_bound_ack(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_ep_cold *m = e->cold;
	struct efa_rx *rx = &e->rx;
	bool passed = !e->sq.before;
	uint32_t ahead;

	if (passed)
		m->oldest_ack = e->sq.used ? m->mark_ack : rx->next;
	ahead = rx->next - m->oldest_ack;
	m->holds = ahead > EFA_MAX_AHEAD;
	if (m->holds) {
		rx->acked_to = m->oldest_ack + EFA_MAX_AHEAD;
		efa_defer(ep);
	}
	if (passed) {
		m->mark_ack = rx->acked_to;
		begin_era(e);
	}
	rx->look_at = m->holds ? rx->next :
		      m->oldest_ack + efa_min(ahead + EFA_LOOK_EACH, EFA_MAX_AHEAD + 1);
}

void efa_kick_driven(const struct efa_ep *e)
{
	const struct efa_ctl *ctl = e->tx.eng->ctl;

	ctl->ops->kick(ctl->soft, e->sq.handle);
}

void efa_wr_ring(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	if (e->sq.unrung)
		efa_sq_doorbell(e);
	e->sq.unrung = 0;
}

void *efa_wr_stage(struct dap_ep *ep, struct efa_wr *wr, uint32_t bytes)
{
	struct efa_ep *e = efa_ep(ep);
	uint8_t *at = e->cold->stage + (size_t)e->sq.ids[e->sq.used] * EFA_STAGE;

	memset(at, 0, bytes);
	wr->seg[0] = (struct efa_iov){ (uintptr_t)at, bytes, e->cold->mr.lkey };
	wr->nseg = 1;
	return at;
}

/*
 * A WQE must not reach the device before the doorbell of the previous batch, and a batch must not
 * exceed max_batch.
 */
void efa_wr_post(struct dap_ep *ep, const struct efa_wr *wr)
{
	struct efa_ep *e = efa_ep(ep);

	if (e->sq.unrung == e->sq.max_batch)
		efa_wr_ring(ep);
	if (!e->sq.unrung)
		dap_wc_flush();
	efa_wqe_write(e, wr);
	e->sq.unrung++;
}

void efa_ctrl_post(struct dap_ep *ep, enum efa_slot_kind kind, enum efa_ctrl_op op, uint32_t flags,
		   uint32_t id)
{
	struct efa_wr wr = { .op = EFA_OP_SEND, .has_imm = true, .kind = (uint8_t)kind };
	struct efa_ctrl_msg *m = efa_wr_stage(ep, &wr, sizeof(*m));

	m->op = (uint8_t)op;
	m->flags = (uint8_t)flags;
	m->id = cpu_to_le32(id);
	wr.imm = efa_imm_of(efa_ep(ep), EFA_K_UNSEQ, false, 0);
	efa_wr_post(ep, &wr);
}

/* The first RDMA is kept, because the device of a new peer may refuse it (cqe.c). */
void efa_rdma_post(struct dap_ep *ep, struct efa_wr *wr)
{
	struct efa_ep_cold *m = efa_ep(ep)->cold;

	if (m->rdma != EFA_RDMA_WORKS) {
		m->rdma = EFA_RDMA_TRIED;
		m->first_rdma = *wr;
		wr->kind = EFA_S_FIRST;
	}
	efa_wr_post(ep, wr);
}

/*
 * The WQE keeps its sequence number. Its ack is renewed, because the peer could take an old ack for
 * a new one.
 */
void efa_rdma_again(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_wr wr = e->cold->first_rdma;

	if (e->cold->rdma != EFA_RDMA_REFUSED || e->tx.blocked & EFA_B_STOP)
		return;
	if (!efa_sq_has(&e->sq, false)) {
		efa_defer(ep);
		return;
	}
	if (wr.has_imm)
		wr.imm = (wr.imm & ~EFA_ACK_MASK) | (e->rx.acked_to & EFA_ACK_MASK);
	DAP_PROBE2(retransmit, ep, DAP_PROBE_RDMA);
	efa_rdma_post(ep, &wr);
}
