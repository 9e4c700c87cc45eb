/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dequeue: the next completion of an EVD, and after the CQ has been looked at for all what is in the
 * EVD's ring. Compiled for each API level.
 */
#include "hw_efa/calls.h"
#include "hw_efa/hot/common.inl"
#include "hw_efa/hot/poll.inl"

#define EFA_LOOKS 64			/* completions for others before ours counts as absent */

/* Software events go first, so evd->slow is tested once the CQ has been read (core/dap.h). */
EFA_INLINE bool efa_has_attention(const struct dap_evd *evd)
{
#if defined(__x86_64__) && !DAP_TSAN
	bool has;		/* compilers load what is atomic, and compare it then */

	__asm__ volatile("cmpl $0, %1" : "=@ccne"(has) : "m"(evd->slow) : "memory");
	return efa_unlikely(has);
#else
	return efa_unlikely(__atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE));
#endif
}

static EFA_COLD void efa_convert(const struct efa_done *d, struct dap_evd *evd, DAT_EVENT *event)
{
	struct dap_event ev;

	efa_event(d, &ev);
	front_event(&ev, evd, event);
}

/* The ring has one: it becomes the consumer's event. */
EFA_INLINE void efa_take_event(struct dap_evd *evd, struct efa_evd *q, DAT_EVENT *event)
{
	const struct efa_done *d = &q->ring[q->tail & q->mask];
	struct efa_ep *e = efa_ep(d->ep);

	if (d->flags & EFA_DONE_RECEIVE)
		e->rx.free_at++;
	else
		e->tx.free_at++;
	if (efa_unlikely(d->status) || efa_unlikely(d->flags & EFA_DONE_BIND))
		efa_convert(d, evd, event);
	else
		front_event_dto(event, evd, d->ep, d->cookie, d->bytes, d->op);
	efa_took(q);
}

/* The next CQE is of a kind that is taken hot: this EVD's own. */
EFA_INLINE bool efa_next_is_hot(const struct dap_evd *evd, const struct efa_engine *eng)
{
	const struct efa_cqe *cqe = efa_cqe_next(&eng->cq);
	const struct dap_ep *ep;

	if (!cqe)
		return false;
	ep = efa_ep_or_nobody(eng, le16_to_cpu(cqe->qp_num));
	return !efa_ep((struct dap_ep *)(uintptr_t)ep)->tx.blocked &&
	       ((efa_is_message(efa_kind_of(cqe)) && ep->recv_evd == evd) ||
		(efa_is_request(efa_kind_of(cqe)) && ep->request_evd == evd));
}

/* What is next in the ring of the EVD, once the CQ has been emptied so far. */
static __attribute__((noinline)) DAT_RETURN efa_dequeue_all(struct dap_evd *evd, DAT_EVENT *event)
{
	struct efa_evd *q = efa_evd(evd);
	struct efa_engine *eng = q->eng;
	bool got;

	if (efa_has_attention(evd))
		return front_dequeue_cold(evd, event);
	efa_enter(eng);
	if (q->head == q->tail) {
		for (int i = 0; i < EFA_LOOKS && q->head == q->tail; i++) {
			if (!efa_poll_one(eng))
				break;
			if (q->head == q->tail && efa_next_is_hot(evd, eng)) {
				efa_leave(eng);
				return efa_dequeue(evd, event);
			}
		}
	}
	if (efa_has_attention(evd)) {
		efa_leave(eng);
		return front_dequeue_cold(evd, event);
	}
	got = q->head != q->tail;
	if (efa_likely(got))
		efa_take_event(evd, q, event);
	efa_leave(eng);
	return got ? DAT_SUCCESS : FRONT_CQ_EMPTY;
}

/* Buffers go back to the device, and the engine is left. */
static __attribute__((noinline)) DAT_RETURN efa_batch_go(struct dap_ep *ep)
{
	efa_batch(ep);
	efa_go(efa_ep(ep)->tx.eng);
	return DAT_SUCCESS;
}

static DAT_RETURN efa_row(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
			  const struct efa_cqe *cqe);
static DAT_RETURN efa_sort(struct dap_evd *evd, DAT_EVENT *event, struct dap_ep *ep,
			   const struct efa_cqe *cqe);

#include "hw_efa/hot/quick.inl"
#include "hw_efa/hot/sort.inl"

/* What comes in order, and is of this EVD, the others in a call of their own. */
DAT_RETURN efa_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dap_evd *evd = handle;
	struct efa_evd *q = efa_evd(evd);
	struct efa_engine *eng = q->eng;
	const struct efa_cqe *cqe;
	struct dap_ep *ep;
	uint32_t kind;

	/* Of an EVD without a CQ there is no engine. Attention is looked at within it. */
	if (efa_unlikely(!event) || efa_unlikely(!eng))
		return front_dequeue_cold(evd, event);
	if (!efa_come(eng))
		return efa_dequeue_all(evd, event);
	if (efa_unlikely(q->has))
		return efa_had(evd, event, q->ready);
	cqe = efa_cqe_next(&eng->cq);
	if (!cqe && efa_likely(!eng->ready)) {
		efa_go(eng);
		return efa_has_attention(evd) ? front_dequeue_cold(evd, event) : FRONT_CQ_EMPTY;
	}
	if (efa_unlikely(!cqe) || efa_has_attention(evd))
		return efa_quick_end(evd, event, false);
	ep = efa_ep_or_nobody(eng, le16_to_cpu(cqe->qp_num));
	kind = efa_kind_of(cqe);
	if (efa_is_message(kind) && efa_likely(ep->recv_evd == evd))
		return efa_message(evd, event, ep, cqe);
	if (efa_is_request(kind) && efa_likely(ep->request_evd == evd))
		return efa_request_done(evd, event, ep, cqe);
	return efa_quick_end(evd, event, false);
}
