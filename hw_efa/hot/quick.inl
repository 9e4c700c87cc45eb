/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next completion straight into the consumer's event: that of the oldest request of its endpoint,
 * or of the message that is next, of one packet, for a receive of one segment. What came before its
 * turn is for sort.inl; whatever is not as it mostly is stays on the CQ for efa_dequeue_all, which
 * takes all there is.
 */
#include "hw_efa/rq.h"

/* How the quick ways leave: with the event, or for what takes all there is. */
EFA_INLINE DAT_RETURN efa_quick_end(struct dap_evd *evd, DAT_EVENT *event, bool got)
{
	efa_go(efa_evd(evd)->eng);
	return got ? DAT_SUCCESS : efa_dequeue_all(evd, event);
}

/* A request of one WQE, of which no flag says anything; the same, done. */
#define EFA_D_QUICK EFA_INFO(1, 0u, (unsigned int)EFA_D_ISSUED, 0)
#define EFA_D_EARLY EFA_INFO(0, 0u, (unsigned int)(EFA_D_ISSUED | EFA_D_DONE), 0)
#define EFA_D_ANY EFA_INFO(0, 3u, (unsigned int)EFA_D_PLACED, 0)
_Static_assert(EFA_BIND & ~3, "a bind is no DTO");

/* The slot of a WQE that a request was posted hot with, and the request; or NULL. */
EFA_INLINE struct efa_slot *efa_slot_of(struct efa_ep *e, const struct efa_cqe *cqe, uint64_t *of,
					struct efa_dto **d)
{
	uint32_t id = le16_to_cpu(cqe->req_id) ^ e->sq.gen;
	struct efa_slot *slot;

	if (efa_unlikely(id > e->sq.mask))
		return NULL;
	slot = &e->sq.slots[id];
	*of = slot->word;		/* more than 32 bits: of no such request, or done */
	*d = &e->tx.dto[*of & e->tx.mask];
	if (efa_unlikely(*of >> 32) || efa_unlikely(((*d)->info & ~EFA_D_ANY) != EFA_D_QUICK))
		return NULL;
	return slot;
}

/* The oldest request is over. */
EFA_INLINE void efa_request_event(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
				  const struct efa_dto *d)
{
	static const uint8_t ops[] = { DAP_OP_SEND, DAP_OP_RDMA_WRITE, DAP_OP_RDMA_READ };
	struct efa_tx *tx = &efa_ep(ep)->tx;

	tx->done++;
	tx->free_at++;
	front_event_dto(event, evd, ep, d->cookie, d->bytes, ops[d->op]);
}

static __attribute__((noinline)) DAT_RETURN efa_request_done(struct dap_evd *evd, DAT_EVENT *event,
							     struct dap_ep *ep,
							     const struct efa_cqe *cqe)
{
	struct efa_engine *eng = efa_evd(evd)->eng;
	struct efa_ep *e = efa_ep(ep);
	struct efa_slot *slot;
	struct efa_dto *d;
	uint64_t of;

	/* Nothing is wrong with the endpoint, nor does a request wait; none was done too early. */
	if (efa_unlikely(e->tx.held))
		return efa_sort(evd, event, ep, cqe);
	slot = efa_slot_of(e, cqe, &of, &d);
	if (efa_unlikely(!slot) || efa_unlikely(of != e->tx.done))
		return efa_sort(evd, event, ep, cqe);
	slot->state = EFA_SLOT_DONE;
	efa_cqe_pass(&eng->cq, (const void *)eng->cq.next);
	efa_request_event(evd, event, ep, d);
	efa_go(eng);
	return DAT_SUCCESS;
}

/* The receive that is next, where it is one for a message of len bytes as most are; or NULL. */
EFA_INLINE struct efa_recv *efa_receive_of(const struct efa_rx *rx, uint32_t len)
{
	struct efa_recv *r = &rx->recv[rx->match & rx->recv_mask];

	/* One that is not posted is not plain, either. */
	if (efa_unlikely(r->info != EFA_R_PLAIN) || (len != 8 && efa_unlikely(len > r->room)) ||
	    efa_unlikely(r->lmr->lmr_context != r->seg[0].key))
		return NULL;
	return r;
}

/* The message in the buffer of this id goes to it: the place of the next descriptor. */
EFA_INLINE const uint8_t *efa_deliver(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
				      struct efa_recv *r, uint32_t id, uint32_t len)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	const uint8_t *from;

	EFA_ANEW();
	from = efa_buf_at(rx, id);
	if (efa_likely(len == 8))
		__builtin_memcpy((void *)(uintptr_t)r->seg[0].addr, from, 8);
	else
		__builtin_memcpy((void *)(uintptr_t)r->seg[0].addr, from, len);
	front_event_dto(event, evd, ep, r->cookie, len, DAP_OP_RECEIVE);
	r->info = 0;
	rx->match++;
	rx->next++;
	rx->free_at++;
	return efa_buf_back(rx, from, id);
}

/* far: of any length, else of 8 bytes, as what is urgent may be. */
static DAT_RETURN efa_message_far(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
				  const struct efa_cqe *cqe);

EFA_INLINE DAT_RETURN efa_quick_message(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
					const struct efa_cqe *cqe, bool far)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;
	uint32_t id, imm, len = le16_to_cpu(cqe->length);
	struct efa_recv *r;
	const uint8_t *back;

	if (!far && efa_unlikely(len != 8))
		return efa_message_far(evd, event, ep, cqe);
	/* A whole message that asks for no waiter, in its turn, and none waits or is put aside. */
	if (efa_unlikely(efa_word(cqe, 8) != e->from) || efa_unlikely(rx->odd | e->tx.blocked))
		return efa_row(evd, event, ep, cqe);
	EFA_APART();
	imm = efa_word(cqe, 12);
	if (efa_unlikely(imm >> 12 != (uint16_t)rx->next))
		return efa_row(evd, event, ep, cqe);
	e->tx.heard = imm;		/* of none that is late: what is next was sent last */
	id = le16_to_cpu(cqe->req_id);
	if (efa_unlikely((id ^ rx->gen) >= rx->nbufs))
		return efa_quick_end(evd, event, false);
	r = efa_receive_of(rx, far ? len : 8);
	if (efa_unlikely(!r))
		return efa_quick_end(evd, event, false);
	back = efa_deliver(evd, event, ep, r, id, far ? len : 8);
	efa_cqe_pass(&efa_evd(evd)->eng->cq, cqe);
	if (efa_unlikely(back == rx->ring_at))
		return efa_batch_go(ep);
	efa_go(efa_evd(evd)->eng);
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN efa_message_far(struct dap_evd *evd, DAT_EVENT *event,
							    struct dap_ep *ep,
							    const struct efa_cqe *cqe)
{
	return efa_quick_message(evd, event, ep, cqe, true);
}

static __attribute__((noinline)) DAT_RETURN efa_message(struct dap_evd *evd, DAT_EVENT *event,
							struct dap_ep *ep,
							const struct efa_cqe *cqe)
{
	return efa_quick_message(evd, event, ep, cqe, false);
}
