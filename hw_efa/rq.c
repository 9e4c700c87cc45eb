/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Receive buffers go back to the device in batches with one doorbell. The next packet to the peer
 * acknowledges their places. If none is sent for half a window, a control message does.
 */
#include "hw_efa/rq.h"
#include "hw_efa/sq.h"

static void ring_rq(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);

	e->rx.rung = e->rx.pi;
	dap_wc_flush();
	dap_store_dbrec(e->rx.doorbell, htole32(e->rx.pi & 0xffff));
	efa_kick(e);
}

void efa_rx_refill(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	for (uint32_t i = 0; i < rx->nbufs; i++)
		efa_refill(rx, i | rx->gen, efa_buf_at(rx, i | rx->gen));
	ring_rq(ep);
}

/* EFA_CTRL_ASK also asks the peer for acks. Only one credit is outstanding, because the peer has
 * few spare buffers. */
static EFA_COLD void send_credit(struct dap_ep *ep, uint32_t flags)
{
	efa_ep(ep)->cold->credit_out = true;
	efa_ctrl_post(ep, EFA_S_CREDIT, EFA_C_CREDIT, flags, 0);
	efa_wr_ring(ep);
}

void efa_credit(struct dap_ep *ep)
{
	const struct efa_ep *e = efa_ep(ep);

	if (e->rx.acked_to - e->rx.advertised < (e->rx.asked ? 1 : e->rx.window / 2) ||
	    e->cold->credit_out || e->tx.blocked & (EFA_B_DOWN | EFA_B_STOP))
		return;
	if (efa_sq_has(&e->sq, true))
		send_credit(ep, 0);
	else
		efa_defer(ep);
}

void efa_ask_ack(struct dap_ep *ep)
{
	struct efa_ep_cold *m = efa_ep(ep)->cold;

	if (m->has_asked || m->credit_out || !efa_sq_has(&efa_ep(ep)->sq, true))
		return;
	m->has_asked = true;
	send_credit(ep, EFA_CTRL_ASK);
}

void efa_give_ack(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;

	if (rx->pi != rx->rung)
		ring_rq(ep);
	efa_ack_delivered(ep);
	efa_credit(ep);
}

void efa_give_back(struct dap_ep *ep)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	uint32_t unrung = rx->pi - rx->rung;

	if (!unrung)
		efa_ack_delivered(ep);
	if (unrung >= rx->batch || rx->asked || rx->next - rx->advertised >= rx->window / 2)
		efa_give_ack(ep);
}
