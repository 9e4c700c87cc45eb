/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Work of threads other than the poller on a CQ that they own: they remove the completions of a
 * destroyed QP, reap internal completions for credit, and check whether a WQE has completed.
 *
 * A slot is released only after its CQE has left the CQ, so a poster may take credit only from
 * internal completions before its first visible one. So an endpoint never has more CQEs in a CQ
 * than blocks in its queues.
 */
#include "hw_mlx5/lock.h"

uint32_t m5_cq_end(const struct m5_cq *cq)
{
	uint32_t i = cq->ci;

	while (i - cq->ci <= cq->mask &&
	       m5_cqe_ours(cq, i, dap_load_owner(&m5_cqe_at(cq, i)->op_own)))
		i++;
	dap_rmb_cqe_owner();
	return i;
}

/*
 * Removes the CQEs in [ci, end) that gone() selects: moves the others towards end, and gives the freed
 * entries to the device. Each entry keeps its own owner bit.
 */
static void remove_cqes(struct m5_cq *cq, uint32_t end,
			bool (*gone)(const struct m5_cqe *, uint32_t, const void *), const void *arg)
{
	uint32_t n = 0;

	for (uint32_t i = end; i-- != cq->ci;) {
		const struct m5_cqe *src = m5_cqe_at(cq, i);
		struct m5_cqe *dst = m5_cqe_at(cq, i + n);
		uint8_t owner = dst->op_own & 1;

		if (gone(src, i, arg)) {
			n++;
		} else if (n) {
			*dst = *src;
			dst->op_own = (uint8_t)((src->op_own & ~1) | owner);
		}
	}
	m5_count_add(&cq->aside, n);
	if (n)
		m5_cq_publish(cq, cq->ci + n);
}

static bool is_of(const struct m5_cqe *cqe, uint32_t uidx)
{
	return (be32_to_cpu(cqe->uidx) & 0xffffff) == uidx;
}

static bool is_request(const struct m5_cqe *cqe)
{
	unsigned int op = cqe->op_own >> 4;

	return op == M5_CQE_REQ || op == M5_CQE_REQ_ERR;
}

static bool is_of_uidx(const struct m5_cqe *cqe, uint32_t i, const void *arg)
{
	(void)i;
	return is_of(cqe, *(const uint32_t *)arg);
}

/* Binds, and receives of an SRQ, have effects beside their completion, which must not be lost. */
static void purge_effects(struct m5_cq *cq, uint32_t end, struct m5_ep *e)
{
	for (uint32_t i = cq->ci; i != end; i++) {
		const struct m5_cqe *cqe = m5_cqe_at(cq, i);
		uint32_t index = be16_to_cpu(cqe->wqe_counter);

		if (!is_of(cqe, e->uidx))
			continue;
		if (!is_request(cqe)) {
			if (e->done.shared)
				m5_srq_release(&e->done.rq_slots[index & e->done.rq_mask]);
			continue;
		}
		if (e->done.sq_slots[index & e->done.sq_mask].kind & M5_KIND_BIND)
			m5_bind_done(e->done.sq_slots, e->done.sq_mask, index,
				     cqe->op_own >> 4 == M5_CQE_REQ);
	}
}

void m5_cq_purge(struct dap_evd *evd, struct dap_ep *ep)
{
	struct m5_cq *cq = m5_cq(evd);
	struct m5_ep *e = m5_ep(ep);
	uint32_t end;

	m5_cq_own(evd);
	end = m5_cq_end(cq);
	purge_effects(cq, end, e);
	remove_cqes(cq, end, is_of_uidx, &e->uidx);
	m5_cq_release(evd);
}

struct reap {
	uint32_t uidx, stop;		/* requests before stop are internal and successful */
};

static bool is_reapable(const struct m5_cqe *cqe, uint32_t i, const void *arg)
{
	const struct reap *r = arg;

	return (int32_t)(r->stop - i) > 0 && is_of(cqe, r->uidx) && is_request(cqe);
}

/* Finds the first request of this QP that the consumer must see; end if there is none. */
static uint32_t reap_scan(struct m5_cq *cq, struct dap_ep *ep, struct m5_ep *e, uint32_t end,
			  uint32_t *credit)
{
	for (uint32_t i = cq->ci; i != end; i++) {
		const struct m5_cqe *cqe = m5_cqe_at(cq, i);
		uint32_t index = be16_to_cpu(cqe->wqe_counter);
		const struct m5_slot *slot;

		if (!is_of(cqe, e->uidx) || !is_request(cqe))
			continue;
		slot = &e->done.sq_slots[index & e->done.sq_mask];
		if (cqe->op_own >> 4 != M5_CQE_REQ ||
		    !(slot->kind & (M5_KIND_INTERNAL | M5_KIND_NOP)))
			return i;
		if (slot->kind & M5_KIND_BIND)
			m5_bind_done(e->done.sq_slots, e->done.sq_mask, index, true);
		if (m5_cqe_is_small(cqe))
			m5_cqe_spread(ep, cqe);
		*credit = slot->end;
	}
	return end;
}

void m5_sq_reap(struct dap_ep *ep)
{
	struct m5_cq *cq = m5_cq(ep->request_evd);
	struct m5_ep *e = m5_ep(ep);
	struct reap r = { .uidx = e->uidx };
	uint32_t end, credit;

	m5_cq_own(ep->request_evd);
	credit = e->done.sq_ci;
	end = m5_cq_end(cq);
	r.stop = reap_scan(cq, ep, e, end, &credit);
	remove_cqes(cq, end, is_reapable, &r);
	__atomic_store_n(&e->done.sq_ci, credit, __ATOMIC_RELEASE);
	m5_cq_release(ep->request_evd);
}

/* Counts the requests from *at to pi; each slot contains the index of the next one. */
static uint32_t count_requests(const struct m5_sq *sq, uint32_t *at, uint32_t pi)
{
	uint32_t n = 0;

	for (; *at != pi; n++)
		*at += (uint16_t)(sq->slots[*at & sq->mask].end - *at);
	return n;
}

/* Counts the requests between ci and pi. Continues from an earlier count if its slots are still
 * there. */
static uint32_t count_outstanding(struct m5_ep *e, uint32_t ci)
{
	struct m5_sq *sq = &e->sq;

	if (sq->pi - e->done_to > sq->mask + 1) {
		e->posted_to = e->done_to = ci;
		e->ops_posted = e->ops_done = 0;
	}
	e->ops_posted += count_requests(sq, &e->posted_to, sq->pi);
	e->ops_done += count_requests(sq, &e->done_to, ci);
	return e->ops_posted - e->ops_done;
}

/*
 * The exact test, if m5_sq_recheck found no credit. Each request takes at least one block, so
 * requests are counted only if the blocks exceed their limit.
 */
static bool sq_has(struct m5_ep *e, uint32_t n)
{
	struct m5_sq *sq = &e->sq;
	uint16_t used;
	uint32_t room, ops;

	if (m5_sq_recheck(e, n))
		return true;
	used = (uint16_t)(sq->pi - __atomic_load_n(&e->done.sq_ci, __ATOMIC_ACQUIRE));
	room = sq->mask - used;
	ops = e->max_ops + m5_rotating(e, used) - count_outstanding(e, sq->pi - used);
	if ((int32_t)ops <= 0 || (int32_t)room < (int32_t)n)
		return false;
	if (ops < n)
		ops = n;
	m5_sq_limit(sq, n, room < ops ? room : ops);
	return true;
}

bool m5_sq_credit(struct dap_ep *ep, uint32_t n)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct m5_ep *e = m5_ep(ep);

	if (sq_has(e, n))
		return true;
	m5_drive_model(ia);
	m5_sq_reap(ep);
	return sq_has(e, n) || (dap_ep_reap(ep, false) && sq_has(e, n));
}

bool m5_rq_credit(struct dap_ep *ep)
{
	struct m5_ep *e = m5_ep(ep);
	struct m5_rq *rq = &e->rq;

	if (e->done.shared)
		return false;
	__atomic_store_n(&rq->posted, rq->posted + (rq->pi - (uint32_t)rq->posted), __ATOMIC_RELAXED);
	do {
		rq->limit = (uint32_t)__atomic_load_n(&e->done.rq_ci, __ATOMIC_ACQUIRE) +
			    e->max_recvs;
	} while (rq->limit == rq->pi && dap_ep_reap(ep, true));
	return rq->limit != rq->pi;
}

enum m5_seen m5_sq_seen(struct dap_ep *ep, uint16_t index)
{
	struct m5_cq *cq = m5_cq(ep->request_evd);
	struct m5_ep *e = m5_ep(ep);
	enum m5_seen seen = M5_SEEN_NOT;
	uint32_t end;

	m5_cq_own(ep->request_evd);
	end = m5_cq_end(cq);
	for (uint32_t i = cq->ci; i != end && seen == M5_SEEN_NOT; i++) {
		const struct m5_cqe *cqe = m5_cqe_at(cq, i);

		if (is_of(cqe, e->uidx) && is_request(cqe) &&
		    be16_to_cpu(cqe->wqe_counter) == index)
			seen = cqe->op_own >> 4 == M5_CQE_REQ ? M5_SEEN_OK : M5_SEEN_ERROR;
	}
	m5_cq_release(ep->request_evd);
	return seen;
}

/* Does this request have a completion even if it succeeds? */
static bool is_signaled(const struct m5_slot *slot)
{
	return slot->kind & (M5_KIND_INTERNAL | M5_KIND_BIND | M5_KIND_NOP) ||
	       !(slot->flags & DAP_COMP_SUPPRESS);
}

/* Returns the index after the last request that has a completion, taken or in the CQ. */
static uint16_t completed_to(const struct m5_cq *cq, const struct m5_ep *e)
{
	uint16_t at = (uint16_t)__atomic_load_n(&e->done.sq_ci, __ATOMIC_ACQUIRE);
	uint32_t end = m5_cq_end(cq);

	for (uint32_t i = cq->ci; i != end; i++) {
		const struct m5_cqe *cqe = m5_cqe_at(cq, i);

		if (is_of(cqe, e->uidx) && is_request(cqe))
			at = e->done.sq_slots[be16_to_cpu(cqe->wqe_counter) & e->done.sq_mask].end;
	}
	return at;
}

/* Up to 32768 blocks can be outstanding, one more than a signed distance holds. So distances count from ci,
 * and one that is longer than the ring means that ci has passed index. */
bool m5_sq_completed(struct dap_ep *ep, uint16_t index)
{
	const struct m5_ep *e = m5_ep(ep);
	const struct m5_slot *slots = e->done.sq_slots;
	uint32_t mask = e->done.sq_mask;
	uint16_t ci, at, outstanding;

	m5_cq_own(ep->request_evd);
	ci = (uint16_t)__atomic_load_n(&e->done.sq_ci, __ATOMIC_ACQUIRE);
	outstanding = (uint16_t)(index - ci);
	if (outstanding > mask + 1)
		outstanding = 0;
	at = completed_to(m5_cq(ep->request_evd), e);
	while ((uint16_t)(at - ci) < outstanding && !is_signaled(&slots[at & mask]))
		at = slots[at & mask].end;
	m5_cq_release(ep->request_evd);
	return (uint16_t)(at - ci) >= outstanding;
}
