/* SPDX-License-Identifier: BSD-2-Clause */
/* Polls the CQ of the engine: each completion goes to the EVD of its endpoint. */
#include "core/front/triplet.h"
#include "hw_efa/lock.h"
#include "hw_efa/rq.h"
#include "hw_efa/sq.h"

/* A dequeue whose ring is empty gets the next plain completion of its EVD without the ring. */
struct efa_poller {
	struct dap_evd *evd;		/* NULL: all completions go into rings */
	DAT_EVENT *event;
	bool got, aside;		/* aside: the completion has been handled and gave no
					 * event */
};

/* Software events come first, so evd->slow is read after the CQE (core/dap.h). */
EFA_INLINE void efa_deliver(struct efa_poller *to, struct dap_evd *evd, struct efa_done d)
{
	if (to->evd && efa_likely(to->evd == evd) &&
	    efa_likely(!__atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE))) {
		front_event_dto(to->event, evd, d.ep, d.cookie, d.bytes, d.op);
		efa_done_dequeued(d.ep, d.receive);
		to->got = true;
		return;
	}
	efa_done_enqueue(evd, d);
}

/*
 * Completes a request without flags, and delivers it if it is the oldest. False: request.c handles
 * it.
 */
EFA_INLINE bool efa_plain_request(struct efa_poller *to, struct dap_ep *ep, struct efa_dto *d,
				  uint32_t index)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;

	if (efa_unlikely(d->left | d->flags | d->status) || efa_unlikely(tx->failed) ||
	    efa_unlikely((d->state & ~EFA_D_PLACED) != EFA_D_ISSUED))
		return false;
	if (index != tx->done) {
		d->state = EFA_D_ISSUED | EFA_D_DONE;
		return true;
	}
	tx->done = index + 1;
	efa_deliver(to, ep->request_evd, efa_done_of(ep, d));
	if (efa_unlikely(tx->dto[tx->done & tx->mask].state & EFA_D_DONE))
		efa_deliver_requests(ep);
	return true;
}

/* Called when a WQE of a request has completed. False: cqe.c handles the completion. */
EFA_INLINE bool efa_request_done(struct efa_poller *to, struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_ep *e = efa_ep(ep);
	uint32_t id = le16_to_cpu(cqe->req_id) ^ e->sq.gen, of;
	struct efa_dto *d;

	if (efa_unlikely(id > e->sq.mask) || efa_unlikely(e->sq.slots[id].kind != EFA_S_DTO))
		return false;
	of = e->sq.slots[id].of;
	efa_slot_free(&e->sq, id);
	d = &e->tx.dto[of & e->tx.mask];
	d->left--;
	if (efa_unlikely(!efa_plain_request(to, ep, d, of)))
		efa_dto_progress(ep, of);
	if (efa_unlikely(e->tx.blocked & EFA_B_QUEUE))
		efa_push(ep);
	return true;
}

/*
 * Delivers the next message, if it is whole and its receive has one segment. False: rx.c handles
 * it.
 */
EFA_INLINE bool efa_plain_message(struct efa_poller *to, struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	struct efa_recv *r = &rx->recv[rx->match & rx->recv_mask];
	const struct dap_lmr *lmr = r->lmr;
	const uint32_t id = le16_to_cpu(cqe->req_id), len = le16_to_cpu(cqe->length);
	const uint8_t *from = efa_buf_at(rx, id);

	if (efa_unlikely(rx->match == rx->posted) || efa_unlikely(!lmr) ||
	    efa_unlikely(lmr->lmr_context != r->seg[0].key) || efa_unlikely(len > r->room))
		return false;
	efa_copy(r->seg[0].addr, from, len);
	rx->done = ++rx->match;
	rx->received += len;
	rx->next++;
	efa_deliver(to, ep->recv_evd, (struct efa_done){
		.ep = ep, .cookie = r->cookie, .op = DAP_OP_RECEIVE, .bytes = len,
		.receive = true });
	efa_refill(rx, id, from);
	return true;
}

#define EFA_PLAIN_IMM 0x0fffffffu	/* largest immediate of a whole message that is not solicited */

/*
 * Puts a packet that is not next in sequence into the window. False: its place is taken, or is
 * outside of the window.
 */
EFA_INLINE bool efa_window_store(struct efa_rx *rx, const struct efa_cqe *cqe, uint32_t seq)
{
	struct efa_cqe *at = &rx->place[seq & rx->place_mask];

	if (efa_unlikely((uint16_t)(seq - rx->next) >= rx->window) ||
	    efa_unlikely(!efa_place_is_empty(at)))
		return false;
	__builtin_memcpy(at, cqe, offsetof(struct efa_cqe, sgid));
	return true;
}

/* Handles a whole message that is not solicited. False: rx.c handles it. */
EFA_INLINE bool efa_message(struct efa_poller *to, struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;
	const uint32_t imm = le32_to_cpu(cqe->imm), seq = imm >> 12;

	if (efa_unlikely(imm > EFA_PLAIN_IMM) || efa_unlikely(efa_cqe_from(cqe) != e->from) ||
	    efa_unlikely((le16_to_cpu(cqe->req_id) ^ rx->gen) >= rx->nbufs) ||
	    efa_unlikely(e->tx.blocked | rx->unusual))
		return false;
	efa_receive_ack(e, imm);
	if (efa_unlikely((uint16_t)seq != (uint16_t)rx->next)) {
		to->aside = efa_window_store(rx, cqe, seq);
		return to->aside;
	}
	if (efa_unlikely(!efa_plain_message(to, ep, cqe)))
		return false;
	if (efa_unlikely(!efa_place_is_empty(&rx->place[rx->next & rx->place_mask])))
		efa_rx_prefix(ep);
	else if (efa_unlikely(rx->pi - rx->rung >= rx->batch))
		efa_give_ack(ep);
	return true;
}

/* Status and flags of successful CQEs: of a received send, and of a WQE of any operation. */
enum {
	EFA_NEW = EFA_CQE_PHASE << 8,
	EFA_MESSAGE = EFA_NEW | (EFA_CQE_RQ << EFA_CQE_QUEUE_SHIFT | EFA_CQE_HAS_IMM) << 8,
	EFA_REQUEST = EFA_NEW | EFA_CQE_SQ << EFA_CQE_QUEUE_SHIFT << 8,
	EFA_OPS = (EFA_CQE_OP_MASK | EFA_CQE_HAS_IMM) << 8,
};

/* kind: status and flags, with the phase as EFA_NEW. False: cqe.c handles the completion. */
EFA_INLINE bool efa_cqe_fast(struct efa_poller *to, struct dap_ep *ep, const struct efa_cqe *cqe,
			     uint32_t kind)
{
	if (efa_unlikely(!ep))
		return false;
	if (kind == EFA_MESSAGE)
		return efa_message(to, ep, cqe);
	return (kind & ~(uint32_t)EFA_OPS) == EFA_REQUEST && efa_request_done(to, ep, cqe);
}

/*
 * Handles the next completion of any endpoint. False: there is none. The device writes the phase
 * last. The phase starts at 1 and changes with each lap of the ring.
 */
EFA_INLINE bool efa_poll_one(struct efa_engine *eng, struct efa_poller *to)
{
	const uint32_t ci = eng->cq.ci;
	const struct efa_cqe *cqe = &eng->cq.base[ci & eng->cq.mask];
	const uint32_t kind = le16toh(dap_load_owner16(&cqe->status)) ^ eng->cq.taken;

	if (!(kind & EFA_NEW))
		return false;
	dap_rmb_cqe_owner();
	if (efa_unlikely(!efa_cqe_fast(to, eng->eps[le16_to_cpu(cqe->qp_num)], cqe, kind)))
		efa_cqe_slow(eng, cqe);
	__atomic_store_n(&eng->cq.ci, ci + 1, __ATOMIC_RELAXED);
	if (efa_unlikely(!((ci + 1) & eng->cq.lag)))
		efa_cq_write_consumed(eng);
	return true;
}
