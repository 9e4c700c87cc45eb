/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next completion straight into the consumer's event: that of the oldest request of its endpoint,
 * or of the message that is next, of one packet, for a receive of one segment. Whatever is not as it
 * mostly is stays on the CQ for efa_dequeue, which takes all there is.
 */

#include "hw_efa/efa_rq.h"

/* Each field of a CQE is read once, and none wider than the device wrote it. */
EFA_INLINE uint32_t efa_word(const struct efa_cqe *cqe, unsigned int at)
{
	uint32_t word;

	__builtin_memcpy(&word, (const uint8_t *)cqe + at, sizeof(word));
	return word;
}

#define EFA_KIND(status, flags) ((uint32_t)(status) << 16 | (uint32_t)(flags) << 24)

/* What says of which kind a CQE is. */
EFA_INLINE uint32_t efa_kind_of(const struct efa_cqe *cqe)
{
	return efa_word(cqe, 0) & EFA_KIND(0xff, 0xff ^ EFA_CQE_PHASE);
}

/* A completion of plain success of the send queue; of a send that has come. */
EFA_INLINE bool efa_is_request(uint32_t kind)
{
	return (kind & EFA_KIND(0xff, EFA_CQE_QUEUE_MASK)) ==
	       EFA_KIND(0, EFA_CQE_SQ << EFA_CQE_QUEUE_SHIFT);
}

EFA_INLINE bool efa_is_message(uint32_t kind)
{
	return kind == EFA_KIND(0, EFA_CQE_RQ << EFA_CQE_QUEUE_SHIFT | EFA_CQE_HAS_IMM);
}

typedef EFA_RET efa_dequeue_fn(struct dap_evd *evd, EFA_EVENT *event);

/* How the quick ways leave: with the event, or for what takes all there is. */
EFA_INLINE EFA_RET efa_quick_end(struct dap_evd *evd, EFA_EVENT *event, struct efa_cell *c,
				 bool got, efa_dequeue_fn *all, enum efa_how how)
{
	efa_go(efa_evd(evd)->eng, c, how);
	return got ? DAT_SUCCESS : all(evd, event);
}

/* A request of one WQE, of which no flag says anything. */
#define EFA_D_QUICK EFA_INFO(1, 0u, (unsigned int)EFA_D_ISSUED, 0)
#define EFA_D_ANY EFA_INFO(0, 3u, (unsigned int)EFA_D_PLACED, 0)

EFA_INLINE EFA_RET efa_quick_request(struct dap_evd *evd, EFA_EVENT *event, struct dap_ep *ep,
				     const struct efa_cqe *cqe, struct efa_cell *c,
				     efa_dequeue_fn *all, enum efa_how how)
{
	static const uint8_t ops[] = { DAP_OP_SEND, DAP_OP_RDMA_WRITE, DAP_OP_RDMA_READ };
	struct efa_engine *eng = efa_evd(evd)->eng;
	struct efa_ep *e = efa_ep(ep);
	struct efa_sq *sq = &e->sq;
	struct efa_tx *tx = &e->tx;
	struct efa_slot *slot;
	struct efa_dto *d;
	uint32_t id;
	uint64_t of;

	for (;;) {
		id = le16_to_cpu(cqe->req_id) ^ sq->gen;
		/* Nothing is wrong with the endpoint, nor does a request wait for this. */
		if (efa_unlikely(id > sq->mask) || efa_unlikely(tx->blocked))
			return efa_quick_end(evd, event, c, false, all, how);
		slot = &sq->slots[id];
		of = slot->word;	/* more than 32 bits: of no request, or done */
		d = &tx->dto[of & tx->mask];
		if (efa_unlikely(of >> 32) || efa_unlikely((d->info & ~EFA_D_ANY) != EFA_D_QUICK))
			return efa_quick_end(evd, event, c, false, all, how);
		slot->state = EFA_SLOT_DONE;
		efa_cqe_pass(&eng->cq[0], (const void *)eng->cq[0].next);
		if (efa_likely(of == tx->done))
			break;
		/* Others are before it. */
		d->info ^= EFA_INFO(1, 0u, (unsigned int)EFA_D_DONE, 0);
		tx->early++;
		cqe = efa_cqe_next(&eng->cq[0]);
		if (!cqe || efa_ep_or_nobody(eng, le16_to_cpu(cqe->qp_num)) != ep ||
		    !efa_is_request(efa_kind_of(cqe)))
			return efa_quick_end(evd, event, c, false, all, how);
	}
	tx->done++;
	tx->free_at++;
	efa_event_dto(event, evd, ep, d->cookie, d->bytes, ops[d->op]);
	if (efa_unlikely(tx->early))
		efa_catch_up(ep);
	return efa_quick_end(evd, event, c, true, all, how);
}

typedef EFA_RET efa_packet_fn(struct dap_evd *evd, EFA_EVENT *event, struct dap_ep *ep,
			      const struct efa_cqe *cqe, struct efa_cell *c);
/* Buffers go back to the device, and the engine is left. */
typedef EFA_RET efa_batch_fn(struct dap_ep *ep, struct efa_cell *c);

/* far: of any length, else of 8 bytes, as what is urgent may be. */
EFA_INLINE EFA_RET efa_quick_message(struct dap_evd *evd, EFA_EVENT *event, struct dap_ep *ep,
				     const struct efa_cqe *cqe, struct efa_cell *c,
				     efa_packet_fn *far, efa_batch_fn *batch, efa_dequeue_fn *all,
				     enum efa_how how)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;
	uint32_t id, imm, len = le16_to_cpu(cqe->length);
	const struct efa_recv *r;
	const uint8_t *from, *back;

	if (far && efa_unlikely(len != 8))
		return far(evd, event, ep, cqe, c);
	/* A whole message that asks for no waiter, in its turn, and none waits or is put aside. */
	if (efa_unlikely(efa_word(cqe, 8) != e->from) || efa_unlikely(rx->odd | e->tx.blocked) ||
	    efa_unlikely(rx->match == rx->posted))
		return efa_quick_end(evd, event, c, false, all, how);
	EFA_APART();
	imm = efa_word(cqe, 12);
	e->tx.heard = imm;
	if (efa_unlikely(imm >> 12 != (uint16_t)rx->next))
		return efa_quick_end(evd, event, c, false, all, how);
	id = le16_to_cpu(cqe->req_id);
	r = &rx->recv[rx->match & rx->recv_mask];
	if (efa_unlikely((id ^ rx->gen) >= rx->nbufs) || efa_unlikely(r->info != EFA_R_PLAIN) ||
	    efa_unlikely(len > r->room) || efa_unlikely(r->lmr->lmr_context != r->seg[0].key))
		return efa_quick_end(evd, event, c, false, all, how);
	EFA_ANEW();
	from = efa_buf_at(rx, id);
	__builtin_memcpy((void *)(uintptr_t)r->seg[0].addr, from, far ? 8 : len);
	efa_event_dto(event, evd, ep, r->cookie, len, DAP_OP_RECEIVE);
	efa_cqe_pass(&efa_evd(evd)->eng->cq[0], cqe);
	rx->match++;
	back = efa_buf_back(rx, from, id);
	rx->next++;
	rx->free_at++;
	if (efa_unlikely(back == rx->ring_at))
		return batch(ep, c);
	return efa_quick_end(evd, event, c, true, all, how);
}

/* Who has come by another's completion has put ours into the ring. */
EFA_INLINE bool efa_quick_ring(struct dap_evd *evd, struct efa_evd *q, EFA_EVENT *event)
{
	const struct efa_done *d = &q->ring[q->tail & q->mask];

	if (efa_unlikely(d->status | (d->flags & ~EFA_DONE_RECEIVE)) || efa_has_attention(evd))
		return false;
	if (d->flags)
		efa_ep(d->ep)->rx.free_at++;
	else
		efa_ep(d->ep)->tx.free_at++;
	efa_event_dto(event, evd, d->ep, d->cookie, d->bytes, d->op);
	q->tail++;
	return true;
}

/* What comes in order, and is of this EVD, the others in a call of their own. */
EFA_INLINE EFA_RET efa_dequeue(struct dap_evd *evd, EFA_EVENT *event, efa_packet_fn *request,
			       efa_packet_fn *message, efa_dequeue_fn *all, enum efa_how how,
			       bool soft)
{
	struct efa_evd *q = efa_evd(evd);
	struct efa_engine *eng = q->eng;
	const struct efa_cqe *cqe;
	struct efa_cell *c;
	struct dap_ep *ep;
	uint32_t kind;

	if (efa_has_attention(evd) || efa_unlikely(!event))
		return efa_dequeue_cold(evd, event);
	if (!efa_come(eng, &c, how))
		return all(evd, event);
	if (efa_unlikely(q->head != q->tail))
		return efa_quick_end(evd, event, c, efa_quick_ring(evd, q, event), all, how);
	cqe = efa_cqe_next(&eng->cq[0]);
	if (!cqe && !soft && efa_likely(eng->rings == 1)) {
		efa_go(eng, c, how);
		return efa_has_attention(evd) ? efa_dequeue_cold(evd, event) : DAP12_CQ_EMPTY;
	}
	if (efa_unlikely(!cqe) || efa_has_attention(evd))
		return efa_quick_end(evd, event, c, false, all, how);
	ep = efa_ep_or_nobody(eng, le16_to_cpu(cqe->qp_num));
	kind = efa_kind_of(cqe);
	if (efa_is_message(kind) && efa_likely(ep->recv_evd == evd))
		return message(evd, event, ep, cqe, c);
	if (efa_is_request(kind) && efa_likely(ep->request_evd == evd))
		return request(evd, event, ep, cqe, c);
	return efa_quick_end(evd, event, c, false, all, how);
}
