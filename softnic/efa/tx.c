/* SPDX-License-Identifier: BSD-2-Clause */
/* Cuts work requests into packets. Each packet comes from one of the peer's first few requests, chosen at
 * random, so that requests interleave. */
#include "softnic/efa/nic.h"

static uint8_t kind_of(const struct sne_wr *wr)
{
	if (wr->qp->attr.flags & SOFTNIC_EFA_QP_UD)
		return SNE_K_DATAGRAM;
	return wr->op == SNE_SEND ? SNE_K_SEND : wr->op == SNE_WRITE ? SNE_K_WRITE : SNE_K_READ;
}

static void fill(const struct sne_wr *wr, struct sne_hdr *h, uint32_t off, uint32_t len)
{
	h->kind = kind_of(wr);
	if (wr->has_imm)
		h->flags |= SNE_F_IMM;
	if (wr->qp->attr.flags & SOFTNIC_EFA_QP_UNSOLICITED)
		h->flags |= SNE_F_UNSOLICITED;
	h->src_qpn = wr->qp->qpn;
	h->dst_qpn = wr->dest_qpn;
	h->qkey = wr->qkey;
	h->msg = wr->msg;
	h->msg_len = wr->len;
	h->off = off;
	h->len = len;
	h->imm = wr->imm;
	h->rkey = wr->remote.rkey;
	h->addr = wr->remote.addr;
}

static bool cut_piece(struct sne_nic *nic, struct sne_wr *wr, uint32_t off, uint32_t len)
{
	uint32_t bytes = wr->op == SNE_READ ? 0 : len;
	struct sne_pkt *pkt;

	if (!sne_flow_has_room(nic, wr->flow))
		return false;
	pkt = sne_pkt_new(nic, 0);
	if (!pkt)
		return false;
	fill(wr, &pkt->hdr, off, bytes);
	pkt->flow = wr->flow;
	pkt->qp = wr->qp;
	pkt->wr = wr;
	wr->pieces++;
	if (pkt->hdr.kind != SNE_K_DATAGRAM)
		sne_flow_number(wr->flow, pkt);
	sne_hold(nic, pkt);
	return true;
}

/* Cuts one packet from the work request. False: there is no room for it. */
static bool cut_next(struct sne_nic *nic, struct sne_wr *wr)
{
	uint32_t left = wr->len - wr->next, len = left < SNE_MTU ? left : SNE_MTU;

	if (wr->op == SNE_READ)
		len = left;
	if (!cut_piece(nic, wr, wr->next, len))
		return false;
	wr->next += len;
	if (wr->state == SNE_WR_CUTTING && wr->next == wr->len) {
		TAILQ_REMOVE(&wr->flow->cutting, wr, link);
		wr->state = SNE_WR_WAITING;
		sne_update_sender(nic, wr->flow);
	}
	return true;
}

bool sne_cut(struct sne_nic *nic)
{
	struct sne_flow *flow, *next;
	bool did = false;

	for (flow = TAILQ_FIRST(&nic->senders); flow; flow = next) {
		next = TAILQ_NEXT(flow, by_work);
		while (!TAILQ_EMPTY(&flow->cutting) && cut_next(nic, sne_wr_choose(nic, &flow->cutting)))
			did = true;
	}
	return did;
}

bool sne_retry_rnr(struct sne_nic *nic)
{
	struct sne_wr *wr, *next;
	bool did = false;

	for (wr = TAILQ_FIRST(&nic->rnr); wr && wr->when <= nic->now; wr = next) {
		next = TAILQ_NEXT(wr, link);
		if (!cut_piece(nic, wr, wr->redo_off, wr->redo_len))
			continue;
		/* in any other state the WR has already failed, because its memory was
		 * deregistered */
		if (wr->state == SNE_WR_RNR)
			sne_wr_detach(nic, wr);
		did = true;
	}
	return did;
}
