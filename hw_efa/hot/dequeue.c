/* SPDX-License-Identifier: BSD-2-Clause */
/* Dequeue: the next completion of an EVD. Compiled for each API level. */
#include "hw_efa/calls.h"
#include "hw_efa/hot/hot.h"
#include "hw_efa/hot/poll.inl"

#define EFA_LOOKS 64			/* completions of other EVDs before this one counts as empty */

static EFA_COLD void efa_convert(const struct efa_done *d, struct dap_evd *evd, DAT_EVENT *event)
{
	struct dap_event ev;

	efa_event(d, &ev);
	front_event(&ev, evd, event);
}

/* Until the poller has a completion or the ring of its EVD has. */
EFA_INLINE void efa_poll_until(const struct efa_evd *q, struct efa_engine *eng, struct efa_poller *to)
{
	for (int i = 0; i < EFA_LOOKS && efa_poll_one(eng, to); i++)
		if (efa_likely(to->got) || q->head != q->tail)
			break;
}

/* The oldest completion of the ring, if software events do not come first. */
static __attribute__((noinline)) DAT_RETURN efa_dequeue_ring(struct dap_evd *evd, struct efa_evd *q,
							     DAT_EVENT *event)
{
	bool cold = __atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE), got = !cold && q->head != q->tail;

	if (got) {
		const struct efa_done *d = &q->ring[q->tail++ & q->mask];

		efa_done_taken(d->ep, d->flags);
		if (efa_unlikely(d->status) || efa_unlikely(d->flags & EFA_DONE_BIND))
			efa_convert(d, evd, event);
		else
			front_event_dto(event, evd, d->ep, d->cookie, d->bytes, d->op);
	}
	efa_leave(q->eng);
	if (efa_unlikely(cold))
		return front_dequeue_cold(evd, event);
	return got ? DAT_SUCCESS : FRONT_CQ_EMPTY;
}

DAT_RETURN efa_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dap_evd *evd = handle;
	struct efa_evd *q = efa_evd(evd);
	struct efa_engine *eng = q->eng;
	struct efa_poller to = { .evd = evd, .event = event };

	/* An EVD without a CQ has no engine. */
	if (efa_unlikely(!event) || efa_unlikely(!eng))
		return front_dequeue_cold(evd, event);
	efa_enter(eng);
	if (q->head == q->tail)
		efa_poll_until(q, eng, &to);
	if (efa_unlikely(eng->driven) && !to.got && q->head == q->tail) {
		efa_pump(eng);
		efa_poll_until(q, eng, &to);
	}
	if (efa_unlikely(!to.got))
		return efa_dequeue_ring(evd, q, event);
	efa_leave(eng);
	return DAT_SUCCESS;
}
