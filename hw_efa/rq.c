/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Receive buffers go back to the device, a batch by one doorbell. The next packet acknowledges their
 * places to the peer, or a control message of its own if there is none for long.
 */
#include "hw_efa/calls.h"
#include "hw_efa/rq.h"
#include "hw_efa/seq.h"

EFA_INLINE void ring(struct efa_ep *e)
{
	e->rx.rung += efa_rq_quiet(&e->rx);
	efa_rq_turn(&e->rx);
	dap_wc_flush();
	dap_store_dbrec(e->rx.doorbell, htole32(e->rx.rung & 0xffff));
	efa_kick(e->tx.eng, e);
}

static void ring_rq(struct dap_ep *ep)
{
	ring(efa_ep(ep));
}

void efa_rx_refill(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	for (uint32_t i = 0; i < rx->nbufs; i++) {
		efa_refill(rx, i | rx->gen);
		if (efa_rq_quiet(rx) == rx->batch)
			ring_rq(ep);
	}
	ring_rq(ep);
}

/* One at a time: the peer's reserve is for a few. */
void efa_credit(struct dap_ep *ep)
{
	struct efa_wr wr = { .op = EFA_OP_SEND, .has_imm = true, .kind = EFA_S_CREDIT };
	struct efa_ep *e = efa_ep(ep);
	struct efa_ctrl_msg *m;

	uint32_t due = e->rx.asked ? 1 : e->rx.window / 2;

	if (e->rx.safe - efa_told(e) < due || e->more->credit_out ||
	    e->tx.blocked & (EFA_B_DOWN | EFA_B_HALT | EFA_B_OVER))
		return;
	if (!efa_sq_has(e, 1, true)) {
		efa_lag(ep);
		return;
	}
	m = efa_wr_stage(ep, &wr, sizeof(*m));
	m->op = EFA_C_CREDIT;
	wr.imm = efa_unseq_imm(e);
	e->more->credit_out = true;
	efa_wr_post(ep, &wr);
	efa_wr_ring(ep);
}

/* The peer is to say what it has taken, as soon as it is all. */
void efa_ask_ack(struct dap_ep *ep)
{
	struct efa_wr wr = { .op = EFA_OP_SEND, .has_imm = true, .kind = EFA_S_CREDIT };
	struct efa_ep *e = efa_ep(ep);
	struct efa_ctrl_msg *m;

	if (e->more->has_asked || e->more->credit_out || !efa_sq_has(e, 1, true))
		return;
	e->more->has_asked = true;
	m = efa_wr_stage(ep, &wr, sizeof(*m));
	m->op = EFA_C_CREDIT;
	m->flags = EFA_CTRL_ASK;
	wr.imm = efa_unseq_imm(e);
	e->more->credit_out = true;
	efa_wr_post(ep, &wr);
	efa_wr_ring(ep);
}

void efa_give_ack(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	if (efa_rq_quiet(rx))
		ring_rq(ep);
	efa_set_safe(ep);
	efa_credit(ep);
}

void efa_give_back(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;

	if (!efa_rq_quiet(rx)) {
		efa_set_safe(ep);
	} else if (rx->slot == rx->ring_at || efa_rq_quiet(rx) >= rx->batch ||
		   rx->next - efa_told(e) >= rx->window / 2) {
		ring_rq(ep);
		efa_set_safe(ep);
	}
	if (efa_unlikely(rx->safe - efa_told(e) >= rx->window / 2) ||
	    efa_unlikely(rx->asked))
		efa_give_ack(ep);
}

/* A whole batch, of a hot dequeue: nobody asks, and there is something to be told. */
void efa_batch(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;

	ring(e);
	efa_tell_taken(e->tx.eng);
	efa_set_safe(ep);
	if (efa_unlikely(rx->safe - rx->told >= rx->window / 2) &&
	    rx->safe - efa_told(e) >= rx->window / 2)
		efa_give_ack(ep);
}
