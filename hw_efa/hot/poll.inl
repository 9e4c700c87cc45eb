/* SPDX-License-Identifier: BSD-2-Clause */
/* The CQ: one completion at a time, those of plain success here, all others by efa_cqe_rare. */
#include "hw_efa/lock.h"

/* A request of one WQE, the oldest of its endpoint, without flags: its event. */
EFA_INLINE bool efa_dto_plain(struct dap_ep *ep, struct efa_tx *tx, uint32_t index,
			      struct efa_dto *d)
{
	static const uint8_t ops[] = { DAP_OP_SEND, DAP_OP_RDMA_WRITE, DAP_OP_RDMA_READ };
	struct efa_done done;

	if (efa_unlikely(index != tx->done) || efa_unlikely(d->flags | d->status) ||
	    efa_unlikely(tx->failed))
		return false;
	done.ep = ep;
	done.cookie = d->cookie;
	done.bytes = d->bytes;
	done.op = ops[d->op];
	done.status = 0;
	done.flags = 0;
	tx->done = index + 1;
	tx->early--;
	efa_put_done(ep->request_evd, &done);
	return true;
}

EFA_INLINE bool efa_tx_done(struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_sq *sq = &e->sq;
	struct efa_tx *tx = &e->tx;
	uint16_t id = le16_to_cpu(cqe->req_id), index = id & (uint16_t)sq->mask;
	struct efa_slot *slot = &sq->slots[index];
	struct efa_dto *d;
	uint32_t of;

	if (efa_unlikely((id ^ index) != sq->gen) || efa_unlikely(slot->done) ||
	    efa_unlikely(slot->kind > EFA_S_PART))
		return false;
	slot->done = 1;
	sq->others -= slot->kind;
	of = slot->of;
	d = &tx->dto[of & tx->mask];
	if (efa_unlikely(--d->left) || efa_unlikely((d->state & (EFA_D_ISSUED | EFA_D_WAITS)) !=
						    EFA_D_ISSUED))
		return true;
	if (efa_unlikely(d->state & EFA_D_PLAIN)) {
		efa_dto_progress(ep, of);
		return true;
	}
	d->state = EFA_D_ISSUED | EFA_D_DONE;
	tx->early++;
	/* Who is next may be done already. */
	if (efa_likely(efa_dto_plain(ep, tx, of, d)) && !tx->early)
		return true;
	if (of + 1 == tx->done || of == tx->done)
		efa_deliver_requests(ep);
	return true;
}

EFA_INLINE void efa_cqe_take(struct efa_engine *eng, const struct efa_cqe *cqe)
{
	struct dap_ep *ep = efa_ep_of(eng, le16_to_cpu(cqe->qp_num));
	unsigned int queue = (cqe->flags & EFA_CQE_QUEUE_MASK) >> EFA_CQE_QUEUE_SHIFT;

	if (efa_unlikely(!ep) || efa_unlikely(cqe->status)) {
		efa_cqe_rare(eng, cqe);
		return;
	}
	if (queue == EFA_CQE_RQ)
		efa_rx_packet(ep, cqe);
	else if (efa_unlikely(!efa_tx_done(ep, cqe)))
		efa_cqe_rare(eng, cqe);
	if (efa_unlikely(efa_ep(ep)->tx.blocked & EFA_B_QUEUE))
		efa_push(ep);
}

/* The phase says whose the entry is; it starts at 1, and turns with each lap. */
EFA_INLINE const struct efa_cqe *efa_cqe_next(const struct efa_cqring *r)
{
	const struct efa_cqe *cqe = (const void *)r->next;

	if ((dap_load_owner(&cqe->flags) ^ r->theirs) & EFA_CQE_PHASE) {
		dap_rmb_cqe_owner();
		return cqe;
	}
	return NULL;
}

/* cqe: what efa_cqe_next gave. */
EFA_INLINE void efa_cqe_pass(struct efa_cqring *r, const struct efa_cqe *cqe)
{
	r->next = (const uint8_t *)cqe + sizeof(*cqe);
	if (efa_likely(r->next != r->end))
		return;
	r->due = true;
	r->end += r->quarter;
	if (r->next != r->last)
		return;
	r->passed += r->entries;
	r->next = r->base;
	r->end = r->base + r->quarter;
	r->theirs ^= EFA_CQE_PHASE;
}

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

/* One completion of any endpoint: false when there is none. */
EFA_INLINE bool efa_poll_one(struct efa_engine *eng)
{
	const struct efa_cqe *cqe;

	if (efa_unlikely(eng->ready != NULL))
		efa_settle(eng);
	efa_tell_taken(eng);
	cqe = efa_cqe_next(&eng->cq);
	if (!cqe)
		return false;
	efa_cqe_pass(&eng->cq, cqe);
	efa_cqe_take(eng, cqe);
	return true;
}
