/* SPDX-License-Identifier: BSD-2-Clause */
/* Dequeue: the next completion of an EVD. Compiled for each API level. */
#include "hw_efa/hot/hot.h"
#include "hw_efa/hot/poll.inl"

#define EFA_LOOKS 64			/* completions of other EVDs after which a dequeue reports empty */
/* Out of line and tail-called, so that the caller saves no registers. */
#define EFA_TAIL_CALL static __attribute__((noinline))

static EFA_COLD DAT_RETURN efa_dequeue_converted(const struct efa_done *d, struct dap_evd *evd,
						 DAT_EVENT *event)
{
	struct dap_event ev;

	efa_event(d, &ev);
	front_event(&ev, evd, event);
	efa_go(efa_evd(evd)->eng);
	return DAT_SUCCESS;
}

/*
 * Called in the engine, which it leaves. The ring is not empty. Software events precede the ring's
 * completions.
 */
EFA_INLINE DAT_RETURN efa_dequeue_ring(struct dap_evd *evd, DAT_EVENT *event)
{
	struct efa_evd *q = efa_evd(evd);
	struct efa_engine *eng = q->eng;
	const struct efa_done *d = &q->ring[q->tail & q->mask];

	if (efa_unlikely(__atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE))) {
		efa_go(eng);
		return front_dequeue_cold(evd, event);
	}
	q->tail++;
	efa_done_dequeued(d->ep, d->receive);
	if (efa_unlikely(d->status))
		return efa_dequeue_converted(d, evd, event);
	front_event_dto(event, evd, d->ep, d->cookie, d->bytes, d->op);
	efa_go(eng);
	return DAT_SUCCESS;
}

/* Polls until the poller or the ring of its EVD has a completion. False: neither has one. */
EFA_INLINE bool efa_poll_for(const struct efa_evd *q, struct efa_engine *eng, struct efa_poller *to)
{
	for (int looks = EFA_LOOKS; looks && efa_poll_one(eng, to); to->aside = false) {
		if (to->aside)
			continue;
		if (efa_likely(to->got) || q->head != q->tail)
			return true;
		looks--;
	}
	return false;
}

/* Called in the engine, which it leaves. */
EFA_TAIL_CALL DAT_RETURN efa_dequeue_poll(struct dap_evd *evd, DAT_EVENT *event)
{
	struct efa_evd *q = efa_evd(evd);
	struct efa_engine *eng = q->eng;
	struct efa_poller to = { .evd = evd, .event = event };
	DAT_RETURN ret = FRONT_CQ_EMPTY;
	uint32_t slow;
	bool over;

	if (!efa_poll_for(q, eng, &to) && efa_unlikely(eng->driven))
		efa_poll_cq(eng);
	over = eng->over;
	if (efa_likely(to.got)) {
		efa_go(eng);
		ret = DAT_SUCCESS;
	} else if (q->head != q->tail) {
		ret = efa_dequeue_ring(evd, event);
	} else {
		/* read once: another thread may clear it at any time */
		slow = __atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE);
		efa_go(eng);
		if (efa_unlikely(slow))
			ret = front_dequeue_cold(evd, event);
	}
	if (efa_unlikely(over))
		efa_report_overflows(eng);
	return ret;
}

EFA_TAIL_CALL DAT_RETURN efa_dequeue_locked(struct dap_evd *evd, DAT_EVENT *event)
{
	efa_spin(&efa_evd(evd)->eng->lock);
	if (efa_evd(evd)->head == efa_evd(evd)->tail)
		return efa_dequeue_poll(evd, event);
	return efa_dequeue_ring(evd, event);
}

DAT_RETURN efa_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dap_evd *evd = handle;
	struct efa_evd *q = efa_evd(evd);

	/* An EVD without a CQ has no engine. */
	if (efa_unlikely(!event) || efa_unlikely(!q->eng))
		return front_dequeue_cold(evd, event);
	if (efa_unlikely(!efa_try_enter(q->eng)))
		return efa_dequeue_locked(evd, event);
	if (q->head == q->tail)
		return efa_dequeue_poll(evd, event);
	return efa_dequeue_ring(evd, event);
}
