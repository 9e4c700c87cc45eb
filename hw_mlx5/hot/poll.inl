/* SPDX-License-Identifier: BSD-2-Clause */
/* Dequeue: writes the next completion of a CQ directly to the consumer's event. */

/* Returns true if front_event_dto() can describe this kind of completion. */
M5_INLINE bool m5_is_plain(unsigned int cqe_op)
{
#ifdef DAP_DAT20
	return cqe_op == M5_CQE_RESP_SEND;
#else
	return cqe_op < M5_CQE_RESIZE;
#endif
}

/*
 * Takes one successful DTO of this endpoint: fills the event and releases the slot. False: the CQE
 * is something else; no effect.
 */
M5_INLINE bool m5_take_dto(struct dap_evd *evd, struct dap_ep *ep, const struct m5_cqe *cqe,
			   uint8_t op_own, DAT_EVENT *event)
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
		front_event_dto(event, evd, ep, slot->cookie, slot->bytes, m5_cqe_dto(cqe));
		__atomic_store_n(&done->sq_ci, end, __ATOMIC_RELEASE);
	} else {
		if (m5_unlikely(!m5_is_plain(op_own >> 4)))
			return false;
		slot = &done->rq_slots[index & done->rq_mask];
		bytes = be32_to_cpu(cqe->byte_cnt);
		front_event_dto(event, evd, ep, slot->cookie, bytes, DAP_OP_RECEIVE);
		m5_count_add(&done->rq_bytes, bytes);
		__atomic_store_n(&done->rq_ci, done->rq_ci + 1, __ATOMIC_RELEASE);
		if (m5_unlikely(done->shared))
			m5_srq_release(slot);
	}
	return true;
}

/* Does the same for the next CQE of the CQ, and releases the CQE. */
M5_INLINE bool m5_poll_dto(struct dap_evd *evd, struct m5_cq *cq, const struct m5_cqe *cqe,
			   uint8_t op_own, DAT_EVENT *event)
{
	struct dap_ep *ep = m5_cqe_ep(cq, cqe);

	if (m5_unlikely(!ep) || !m5_take_dto(evd, ep, cqe, op_own, event))
		return false;
	m5_cq_step(cq);
	return true;
}

/* Takes a CQE that m5_poll_dto refused. Returns true if the CQE has an event. Leaves the CQ in both
 * cases. */
static M5_COLD bool m5_poll_slow(struct dap_evd *evd, DAT_EVENT *event)
{
	struct dap_event ev;
	bool visible = m5_cqe_slow(evd, &ev);

	m5_cq_leave(m5_cq(evd), M5_LOCKED);
	if (visible)
		front_event(&ev, evd, event);
	m5_cqe_follow_up(evd, &ev);
	return visible;
}

/* Reads a word that other threads write; later loads stay behind it. */
M5_INLINE uint32_t m5_peek(const uint32_t *p)
{
#if defined(__x86_64__) && !DAP_TSAN
	return *p;		/* the caller's barriers for dap_load_owner order this load */
#else
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
#endif
}

/* Software events come first, so evd->slow is tested after the CQE (core/dap.h). */
M5_INLINE bool m5_evd_is_slow(const struct dap_evd *evd)
{
	return m5_unlikely(m5_peek(&evd->slow));
}

/* Returns true if software owns the next CQE. */
M5_INLINE bool m5_cqe_next(const struct m5_cq *cq, uint8_t op_own)
{
	return !((op_own ^ cq->lap) & 1);
}

/*
 * The slow path of m5_dequeue: waits for a CQ in use, and takes rare completions. If one gives no
 * event, it takes the next one.
 */
static M5_COLD M5_NOINLINE DAT_RETURN m5_dequeue_slow(struct dap_evd *evd, DAT_EVENT *event)
{
	struct m5_cq *cq = m5_cq(evd);
	const struct m5_cqe *cqe;
	uint8_t op_own;

	for (;;) {
		m5_cq_enter(cq, M5_LOCKED);
		cqe = cq->next;
		op_own = dap_load_owner(&cqe->op_own);
		dap_rmb_cqe_owner();
		if (m5_evd_is_slow(evd) || m5_unlikely(!event)) {
			m5_cq_leave(cq, M5_LOCKED);
			return front_dequeue_cold(evd, event);
		}
		if (!m5_cqe_next(cq, op_own)) {
			m5_count_add(&cq->missed, 1);
			m5_cq_leave(cq, M5_LOCKED);
			return FRONT_CQ_EMPTY;
		}
		if (!m5_cqe_is_slow(op_own) && m5_poll_dto(evd, cq, cqe, op_own, event)) {
			m5_cq_leave(cq, M5_LOCKED);
			return DAT_SUCCESS;
		}
		if (m5_poll_slow(evd, event))
			return DAT_SUCCESS;
	}
}

/* Called if the EVD needs the slow path, or another thread has its CQ. */
M5_INLINE DAT_RETURN m5_dequeue_not_entered(struct dap_evd *evd, DAT_EVENT *event)
{
	if (m5_evd_is_slow(evd))
		return front_dequeue_cold(evd, event);
	return m5_dequeue_slow(evd, event);
}

/* Enters the CQ, unless another thread has it or the EVD needs the slow path. */
M5_INLINE bool m5_dequeue_enter(struct dap_evd *evd, struct m5_cq *cq)
{
	if (M5_LOCKED)
		return !m5_evd_is_slow(evd) && m5_cq_enter_try(cq, M5_LOCKED);
	__atomic_store_n(&cq->in_poll, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (m5_likely(!(m5_peek(&evd->slow) | m5_peek(&cq->revoked)))) {
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		return true;
	}
	m5_cq_leave(cq, M5_LOCKED);
	return false;
}

/*
 * Takes the next completion if it is a plain one. All calls are tail calls, so this function saves
 * no registers. The first test of evd->slow keeps EVDs without a CQ out. If there is no CQE, the
 * first test is also the last: both queues were empty then.
 */
static DAT_RETURN m5_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dap_evd *evd = handle;
	struct m5_cq *cq = m5_cq(evd);
	const struct m5_cqe *cqe;
	uint8_t op_own;

	if (m5_unlikely(!m5_dequeue_enter(evd, cq)))
		return m5_dequeue_not_entered(evd, event);
	cqe = cq->next;
	op_own = dap_load_owner(&cqe->op_own);
	dap_rmb_cqe_owner();
	if (!m5_cqe_next(cq, op_own)) {
		m5_count_add(&cq->missed, 1);
		m5_cq_leave(cq, M5_LOCKED);
		return FRONT_CQ_EMPTY;
	}
	if (m5_evd_is_slow(evd) || m5_unlikely(!event)) {
		m5_cq_leave(cq, M5_LOCKED);
		return front_dequeue_cold(evd, event);
	}
	if (m5_likely(!m5_cqe_is_slow(op_own)) &&
	    m5_likely(m5_poll_dto(evd, cq, cqe, op_own, event))) {
		m5_cq_leave(cq, M5_LOCKED);
		return DAT_SUCCESS;
	}
	m5_cq_leave(cq, M5_LOCKED);
	return m5_dequeue_slow(evd, event);
}
