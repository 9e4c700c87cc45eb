/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What comes out of order. A packet that is not next leaves the beginning of its CQE in its place of
 * the window, a request that is not the oldest is marked as done: that is all that is stored for it.
 * Once the next one has come, efa_evd.has says so as long as the one behind it is there, and dequeues
 * take them from where they are, without a look at the CQ. So each costs one way in and one way out,
 * whatever the order.
 *
 * While it says so nothing is wrong with the endpoint: what finds that has been in efa_settle first.
 */

/* The first is next, and what was parked behind it may be then. */
static __attribute__((noinline)) DAT_RETURN efa_turn_message(struct dap_evd *evd, DAT_EVENT *event,
							     struct dap_ep *ep,
							     const struct efa_cqe *cqe)
{
	struct efa_engine *eng = efa_evd(evd)->eng;
	struct efa_rx *rx = &efa_ep(ep)->rx;
	uint32_t len = le16_to_cpu(cqe->length);
	struct efa_recv *r;
	const uint8_t *back;

	if (efa_has_attention(evd) ||
	    efa_unlikely((le16_to_cpu(cqe->req_id) ^ rx->gen) >= rx->nbufs))
		return efa_quick_end(evd, event, false);
	/* What is parked was sent later: its ack is newer. */
	if (!rx->ahead)
		efa_ep(ep)->tx.heard = efa_word(cqe, 12);
	r = efa_receive_of(rx, len);
	if (efa_unlikely(!r))
		return efa_quick_end(evd, event, false);
	back = efa_deliver(evd, event, ep, r, le16_to_cpu(cqe->req_id), len);
	efa_cqe_pass(&eng->cq, cqe);
	if (rx->place[rx->next & rx->place_mask].word)
		efa_set_ready(evd, ep, EFA_HAS_MESSAGE);
	if (efa_unlikely(back == rx->ring_at))
		return efa_batch_go(ep);
	efa_go(eng);
	return DAT_SUCCESS;
}

EFA_INLINE bool efa_turn_request(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
				 struct efa_slot *slot, const struct efa_dto *d)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;

	if (efa_has_attention(evd))
		return false;
	slot->state = EFA_SLOT_DONE;
	efa_request_event(evd, event, ep, d);
	if (tx->early && tx->dto[tx->done & tx->mask].state & EFA_D_DONE)
		efa_set_ready(evd, ep, EFA_HAS_REQUEST);
	return true;
}

/* What a CQE begins with. */
EFA_INLINE uint64_t efa_begin_of(const struct efa_cqe *cqe)
{
	uint64_t word;

	__builtin_memcpy(&word, cqe, sizeof(word));
	return word;
}

/* What of that is the same in all CQEs of one kind and endpoint. */
#define EFA_ROW_MESSAGE ((uint64_t)0xffff << 32 | EFA_KIND(0xff, 0xff ^ EFA_CQE_PHASE))
#define EFA_ROW_PHASE ((uint64_t)EFA_CQE_PHASE << 24)
#define EFA_ROW_REQUEST ((uint64_t)0xffff << 32 | EFA_KIND(0xff, EFA_CQE_QUEUE_MASK))

/*
 * The entry is there, and of this lap: on x86, which reads eight bytes at a time and sees stores in
 * their order, the comparison of all that it begins with finds that out.
 */
#define EFA_PHASE_FIRST() __asm__ volatile("" : : : "memory")	/* before what else is in the CQE */
#if defined(__x86_64__) && !DAP_TSAN
EFA_INLINE bool efa_cqe_there(const struct efa_cqe *cqe, const struct efa_cqring *r)
{
	(void)cqe;
	(void)r;
	__asm__ volatile("" : : : "memory");
	return true;
}
#else
EFA_INLINE bool efa_cqe_there(const struct efa_cqe *cqe, const struct efa_cqring *r)
{
	if (!((dap_load_owner(&cqe->flags) ^ r->theirs) & EFA_CQE_PHASE))
		return false;
	dap_rmb_cqe_owner();
	return true;
}
#endif

/* The ack of a packet that was sent last of a row: others, parked before, may have been sent later. */
EFA_INLINE void efa_hear(struct efa_ep *e, uint32_t ack)
{
	const uint32_t limit = e->tx.limit;	/* none is beyond it, nor EFA_ACK_MASK behind */

	if ((limit - ack) << 20 < (limit - e->tx.heard) << 20)
		e->tx.heard = ack;
}

/*
 * Parks a row of messages that are not next. What ended it: nothing is known of that; it is next, but
 * for what efa_turn_message looks at; or it was the first, and is none of them.
 */
enum efa_parked { EFA_PARKED, EFA_TURN, EFA_ODD };
enum { PLACE_SHIFT = 12 - 3 };
_Static_assert(sizeof(union efa_place) == 1 << 3, "so that a number's place is a shift away");

EFA_INLINE enum efa_parked efa_park(struct efa_cqring *r, struct efa_ep *e, const struct efa_cqe *first)
{
	const uint64_t same = EFA_ROW_MESSAGE | EFA_ROW_PHASE | e->rx.row_gen;
	const uint64_t kind = (efa_begin_of(first) & (EFA_ROW_MESSAGE | EFA_ROW_PHASE)) | e->rx.gen;
	/* Both as numbers lie in the immediate word. */
	const uint32_t behind = ((uint16_t)e->rx.next + 1u) << 12, mask = e->rx.place_mask << 12;
	const uint32_t from = e->from;
	uint8_t *const places = (uint8_t *)e->rx.place;
	const struct efa_cqe *cqe = first, *const end = (const void *)r->end;
	enum efa_parked end_is = EFA_PARKED;
	uint32_t last = 0;	/* of the row, by the distance from what is next: and its ack */

	do {
		uint64_t begin = efa_begin_of(cqe);
		union efa_place *place;
		uint32_t imm, far;

		EFA_PHASE_FIRST();
		imm = efa_word(cqe, 12);
		far = imm - behind;
		if (efa_unlikely((begin & same) != kind) || efa_unlikely(efa_word(cqe, 8) != from))
			break;
		EFA_APART();
		if (efa_unlikely(far >= mask)) {
			end_is = far >= UINT32_MAX << 12 ? EFA_TURN : EFA_PARKED;
			break;
		}
		place = (void *)(places + ((imm & mask) >> PLACE_SHIFT));
		if (efa_unlikely(place->word))
			break;
		place->word = begin;
		last = far > last ? far : last;
		cqe++;
	} while (cqe != end && efa_cqe_there(cqe, r));
	EFA_ANEW();
	first = (const void *)r->next;	/* loaded anew, rather than kept in a register */
	if (cqe == first)
		return end_is == EFA_TURN ? EFA_TURN : EFA_ODD;
	e->rx.ahead += (uint32_t)(cqe - first);
	efa_hear(e, last);
	efa_cqe_pass(r, cqe - 1);
	return end_is;
}

/* Marks a row of requests that are over, and not the oldest; false: not even the first. */
EFA_INLINE bool efa_mark(struct efa_cqring *r, struct efa_ep *e, const struct efa_cqe *first)
{
	const uint64_t same = EFA_ROW_REQUEST | EFA_ROW_PHASE, kind = efa_begin_of(first) & same;
	const uint64_t oldest = e->tx.done;
	const uint32_t mask = e->sq.mask;
	const struct efa_cqe *cqe = first, *const end = (const void *)r->end;

	do {
		uint64_t begin = efa_begin_of(cqe), of;
		uint32_t id = (uint16_t)begin ^ e->sq.gen;
		struct efa_dto *d;

		if (efa_unlikely((begin & same) != kind) || efa_unlikely(id > mask))
			break;
		of = e->sq.slots[id].word;
		d = &e->tx.dto[of & e->tx.mask];
		if (efa_unlikely(of >> 32) || efa_unlikely((d->info & ~EFA_D_ANY) != EFA_D_QUICK) ||
		    efa_unlikely(of == oldest))
			break;
		e->sq.slots[id].state = EFA_SLOT_DONE;
		d->info ^= EFA_D_QUICK ^ EFA_D_EARLY;
		cqe++;
	} while (cqe != end && efa_cqe_there(cqe, r));
	if (cqe == first)
		return false;
	e->tx.early += (uint32_t)(cqe - first);
	efa_cqe_pass(r, cqe - 1);
	return true;
}

/* None of the CQEs that there were is next. */
EFA_INLINE DAT_RETURN efa_sorted(struct dap_evd *evd, DAT_EVENT *event)
{
	struct efa_engine *eng = efa_evd(evd)->eng;

	if (efa_unlikely(eng->ready != NULL))
		return efa_quick_end(evd, event, false);
	efa_go(eng);
	return efa_has_attention(evd) ? front_dequeue_cold(evd, event) : FRONT_CQ_EMPTY;
}

/* From a message of this EVD on, which is not in order: mostly a row of them, and one that is. */
static __attribute__((noinline)) DAT_RETURN efa_row(struct dap_evd *evd, DAT_EVENT *event,
						    struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_cqring *r = &efa_evd(evd)->eng->cq;
	struct efa_ep *e = efa_ep(ep);
	enum efa_parked parked;

	if (efa_unlikely(e->rx.rare | e->tx.blocked))
		return efa_quick_end(evd, event, false);
	parked = efa_park(r, e, cqe);
	if (efa_likely(parked == EFA_TURN))
		return efa_turn_message(evd, event, ep, (const void *)r->next);
	if (efa_unlikely(parked == EFA_ODD))
		return efa_quick_end(evd, event, false);
	cqe = efa_cqe_next(r);
	if (!cqe)
		return efa_sorted(evd, event);
	ep = efa_ep_or_nobody(efa_evd(evd)->eng, le16_to_cpu(cqe->qp_num));
	return efa_sort(evd, event, ep, cqe);
}

/* From a first CQE on, which is not in order, up to one that is next. */
static __attribute__((noinline)) DAT_RETURN efa_sort(struct dap_evd *evd, DAT_EVENT *event,
						     struct dap_ep *ep, const struct efa_cqe *cqe)
{
	struct efa_engine *eng = efa_evd(evd)->eng;
	struct efa_slot *slot;
	struct efa_dto *d;
	uint64_t of;

	do {
		uint32_t kind = efa_kind_of(cqe);
		struct efa_ep *e = efa_ep(ep);

		if (efa_is_message(kind) && efa_likely(ep->recv_evd == evd) &&
		    efa_likely(!(e->rx.rare | e->tx.blocked))) {
			enum efa_parked parked = efa_park(&eng->cq, e, cqe);

			if (parked == EFA_TURN)
				return efa_turn_message(evd, event, ep,
							(const void *)eng->cq.next);
			if (efa_unlikely(parked == EFA_ODD))
				return efa_quick_end(evd, event, false);
		} else if (efa_is_request(kind) && efa_likely(ep->request_evd == evd) &&
			   efa_likely(!e->tx.blocked)) {
			if (!efa_mark(&eng->cq, e, cqe)) {
				slot = efa_slot_of(e, cqe, &of, &d);
				if (!slot || of != e->tx.done ||
				    !efa_turn_request(evd, event, ep, slot, d))
					return efa_quick_end(evd, event, false);
				efa_cqe_pass(&eng->cq, cqe);
				efa_go(eng);
				return DAT_SUCCESS;
			}
		} else {
			return efa_quick_end(evd, event, false);
		}
		cqe = efa_cqe_next(&eng->cq);
		if (cqe)
			ep = efa_ep_or_nobody(eng, le16_to_cpu(cqe->qp_num));
	} while (cqe);
	return efa_sorted(evd, event);
}

/* Who has come by another's completion has put ours into the ring. */
EFA_INLINE bool efa_had_ring(struct dap_evd *evd, struct efa_evd *q, DAT_EVENT *event)
{
	const struct efa_done *d = &q->ring[q->tail & q->mask];

	if (efa_unlikely(d->status | (d->flags & ~EFA_DONE_RECEIVE)) || efa_has_attention(evd))
		return false;
	if (d->flags)
		efa_ep(d->ep)->rx.free_at++;
	else
		efa_ep(d->ep)->tx.free_at++;
	front_event_dto(event, evd, d->ep, d->cookie, d->bytes, d->op);
	efa_took(q);
	return true;
}

static __attribute__((noinline)) DAT_RETURN efa_had_request(struct dap_evd *evd, DAT_EVENT *event,
							    struct dap_ep *ep)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;
	const struct efa_dto *d = &tx->dto[tx->done & tx->mask];

	if (efa_has_attention(evd) || efa_unlikely((d->info & ~EFA_D_ANY) != EFA_D_EARLY))
		return efa_quick_end(evd, event, false);
	efa_request_event(evd, event, ep, d);
	if (!--tx->early || !(tx->dto[tx->done & tx->mask].state & EFA_D_DONE))
		efa_evd(evd)->has = 0;
	efa_go(efa_evd(evd)->eng);
	return DAT_SUCCESS;
}

/* What does not come from the CQ. far: a message of any length, else one of 8 bytes. */
static DAT_RETURN efa_had_far(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep);

EFA_INLINE DAT_RETURN efa_had_message(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
				      bool far)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	union efa_place *at = &rx->place[rx->next & rx->place_mask];
	uint32_t id, len = far ? at->length : 8;
	struct efa_recv *r;
	const uint8_t *back;

	if (!far && efa_unlikely(at->length != 8))
		return efa_had_far(evd, event, ep);
	if (efa_has_attention(evd) || (far && (efa_unlikely(at->kind) || efa_unlikely(!at->word))))
		return efa_quick_end(evd, event, false);
	r = efa_receive_of(rx, len);
	if (efa_unlikely(!r))
		return efa_quick_end(evd, event, false);
	id = at->id;
	at->word = 0;
	rx->ahead--;
	back = efa_deliver(evd, event, ep, r, id, len);
	if (!rx->place[rx->next & rx->place_mask].word)
		efa_evd(evd)->has = 0;
	if (efa_unlikely(back == rx->ring_at))
		return efa_batch_go(ep);
	efa_go(efa_evd(evd)->eng);
	return DAT_SUCCESS;
}

static __attribute__((noinline)) DAT_RETURN efa_had_far(struct dap_evd *evd, DAT_EVENT *event,
							struct dap_ep *ep)
{
	return efa_had_message(evd, event, ep, true);
}

static __attribute__((noinline)) DAT_RETURN efa_had(struct dap_evd *evd, DAT_EVENT *event,
						    struct dap_ep *ep)
{
	struct efa_evd *q = efa_evd(evd);

	if (efa_likely(q->has == EFA_HAS_MESSAGE))
		return efa_had_message(evd, event, ep, false);
	EFA_ANEW();
	if (efa_likely(q->has == EFA_HAS_REQUEST))
		return efa_had_request(evd, event, ep);
	return efa_quick_end(evd, event, efa_had_ring(evd, q, event));
}
