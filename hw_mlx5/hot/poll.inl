/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dequeue: the next completion of a CQ, straight into the consumer's event. Who includes this gives
 * M5_RET, M5_EVENT, m5_event_dto, which fills one, m5_dequeue_cold (core's part), m5_event_rare (a
 * neutral event in the consumer's form) and m5_is_plain: of a receive m5_event_dto says all.
 */
#include "hw_mlx5/lock.h"

/*
 * One successful DTO of this endpoint: its event, and its slot is given back. False: it is
 * something else, nothing has been done.
 */
M5_INLINE bool m5_take_dto(struct dap_evd *evd, struct dap_ep *ep, const struct m5_cqe *cqe,
			   uint8_t op_own, M5_EVENT *event)
{
	uint32_t index = be16_to_cpu(cqe->wqe_counter);
	struct m5_done *done = &m5_ep(ep)->done;
	struct m5_slot *slot;
	uint32_t bytes;
	uint16_t end;

	if (op_own >> 4 == M5_CQE_REQ) {
		slot = &done->sq_slots[index & done->sq_mask];
		if (m5_unlikely(slot->kind))
			return false;
		end = slot->end;
		m5_event_dto(event, evd, ep, slot->cookie, slot->bytes, m5_cqe_dto(cqe));
		__atomic_store_n(&done->sq_ci, end, __ATOMIC_RELEASE);
	} else {
		if (m5_unlikely(!m5_is_plain(op_own >> 4)))
			return false;
		slot = &done->rq_slots[index & done->rq_mask];
		bytes = be32_to_cpu(cqe->byte_cnt);
		m5_event_dto(event, evd, ep, slot->cookie, bytes, DAP_OP_RECEIVE);
		m5_tally(&done->rq_bytes, bytes);
		__atomic_store_n(&done->rq_ci, done->rq_ci + 1, __ATOMIC_RELEASE);
		if (m5_unlikely(done->shared))
			m5_srq_give(slot);
	}
	return true;
}

/* The same of the CQE that is next, which is given back. */
M5_INLINE bool m5_poll_dto(struct dap_evd *evd, struct m5_cq *cq, const struct m5_cqe *cqe,
			   uint8_t op_own, M5_EVENT *event)
{
	struct dap_ep *ep = m5_cqe_ep(cq, cqe);

	if (m5_unlikely(!ep) || !m5_take_dto(evd, ep, cqe, op_own, event))
		return false;
	m5_cq_step(cq);
	return true;
}

/* What m5_poll_dto left: true when an event came of it. The CQ is left either way. */
static M5_COLD bool m5_poll_rare(struct dap_evd *evd, M5_EVENT *event, bool locked)
{
	struct m5_rare r;
	bool visible = m5_cqe_rare(evd, &r);

	m5_cq_leave(m5_cq(evd), locked);
	if (visible)
		m5_event_rare(&r.ev, evd, event);
	m5_cqe_follow_up(evd, &r);
	return visible;
}

/* A word that others write; what is loaded after it is loaded later. */
M5_INLINE uint32_t m5_peek(const uint32_t *p)
{
#if defined(__x86_64__) && !DAP_TSAN
	return *p;		/* between the barriers of dap_load_owner's caller */
#else
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
#endif
}

/* Software events go first, so attention is looked at once the CQE has been seen (core/dap.h). */
M5_INLINE bool m5_has_attention(const struct dap_evd *evd)
{
	return m5_unlikely(m5_peek(&evd->attention));
}

/* The CQE that is next is software's. */
M5_INLINE bool m5_cqe_next(const struct m5_cq *cq, uint8_t op_own)
{
	return !((op_own ^ cq->lap) & 1);
}

/*
 * All that m5_dequeue leaves: a CQ that others are at, and rare completions, one after another if
 * they are swallowed.
 */
static M5_COLD M5_APART M5_RET m5_dequeue_slow(struct dap_evd *evd, M5_EVENT *event, bool locked)
{
	struct m5_cq *cq = m5_cq(evd);
	const struct m5_cqe *cqe;
	uint8_t op_own;

	for (;;) {
		m5_cq_enter(cq, locked);
		cqe = cq->next;
		op_own = dap_load_owner(&cqe->op_own);
		dap_rmb_cqe_owner();
		if (m5_has_attention(evd) || m5_unlikely(!event)) {
			m5_cq_leave(cq, locked);
			return m5_dequeue_cold(evd, event);
		}
		if (!m5_cqe_next(cq, op_own)) {
			m5_tally(&cq->missed, 1);
			m5_cq_leave(cq, locked);
			return FRONT_CQ_EMPTY;
		}
		if (!m5_cqe_is_rare(op_own) && m5_poll_dto(evd, cq, cqe, op_own, event)) {
			m5_cq_leave(cq, locked);
			return DAT_SUCCESS;
		}
		if (m5_poll_rare(evd, event, locked))
			return DAT_SUCCESS;
	}
}

/* The EVD wants attention, or somebody else has its CQ. */
M5_INLINE M5_RET m5_dequeue_odd(struct dap_evd *evd, M5_EVENT *event, bool locked)
{
	if (m5_has_attention(evd))
		return m5_dequeue_cold(evd, event);
	return m5_dequeue_slow(evd, event, locked);
}

/* The poller is at the CQ, nobody else is, and the EVD wants no attention. */
M5_INLINE bool m5_dequeue_enter(struct dap_evd *evd, struct m5_cq *cq, bool locked)
{
	if (locked)
		return !m5_has_attention(evd) && m5_cq_enter_try(cq, locked);
	__atomic_store_n(&cq->busy, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (m5_likely(!(m5_peek(&evd->attention) | m5_peek(&cq->gate)))) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return true;
	}
	m5_cq_leave(cq, locked);
	return false;
}

/*
 * The next completion if it is a plain one, or none. Every call is in tail position, so that this
 * body saves no register. The first look at attention keeps EVDs without a CQ out; where there is
 * no CQE it is also the last: both were empty when it was made.
 */
M5_INLINE M5_RET m5_dequeue(struct dap_evd *evd, M5_EVENT *event, bool locked)
{
	struct m5_cq *cq = m5_cq(evd);
	const struct m5_cqe *cqe;
	uint8_t op_own;

	if (m5_unlikely(!m5_dequeue_enter(evd, cq, locked)))
		return m5_dequeue_odd(evd, event, locked);
	cqe = cq->next;
	op_own = dap_load_owner(&cqe->op_own);
	dap_rmb_cqe_owner();
	if (!m5_cqe_next(cq, op_own)) {
		m5_tally(&cq->missed, 1);
		m5_cq_leave(cq, locked);
		return FRONT_CQ_EMPTY;
	}
	if (m5_has_attention(evd) || m5_unlikely(!event)) {
		m5_cq_leave(cq, locked);
		return m5_dequeue_cold(evd, event);
	}
	if (m5_likely(!m5_cqe_is_rare(op_own)) &&
	    m5_likely(m5_poll_dto(evd, cq, cqe, op_own, event))) {
		m5_cq_leave(cq, locked);
		return DAT_SUCCESS;
	}
	m5_cq_leave(cq, locked);
	return m5_dequeue_slow(evd, event, locked);
}
