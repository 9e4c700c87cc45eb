/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dequeue of several events: takes plain completions while the CQ is entered once. Other events
 * are dequeued one by one, so that order and meaning are those of single calls.
 */

/*
 * Takes up to max plain completions; returns the number. *empty: no CQE was left, and the EVD
 * needs no slow path. Each CQE is released at once: its slot is free from then on, and what is
 * posted there may complete at once and need an entry. The endpoint is looked up only when it
 * changes, because no endpoint is destroyed while the CQ is entered.
 */
M5_INLINE DAT_COUNT m5_poll_plain(struct dap_evd *evd, struct m5_cq *cq, DAT_COUNT max,
				  DAT_EVENT *events, bool *empty)
{
	const struct m5_cqe *cqe = cq->next;
	struct dap_ep *ep = NULL;
	uint32_t ci = cq->ci, uidx = 0;
	uint8_t op_own;
	DAT_COUNT n;

	for (n = 0; n < max; n++) {
		op_own = dap_load_owner(&cqe->op_own);
		dap_rmb_cqe_owner();
		*empty = !m5_cqe_next(cq, op_own);
		if (*empty || m5_evd_is_slow(evd) || m5_unlikely(m5_cqe_is_slow(op_own)))
			break;
		if (!ep || cqe->uidx.be != uidx) {
			uidx = cqe->uidx.be;
			ep = m5_cqe_ep(cq, cqe);
		}
		if (m5_unlikely(!ep) || m5_unlikely(!m5_take_dto(evd, ep, cqe, op_own, &events[n])))
			break;
		cqe++;
		ci++;
		if (m5_unlikely(!(ci & cq->mask))) {
			cqe = m5_cqe_at(cq, ci);
			m5_index_set(&cq->lap, cq->lap + 1);
		}
		m5_cq_store_ci(cq, ci);
	}
	m5_index_set(&cq->ci, ci);
	cq->next = (struct m5_cqe *)(uintptr_t)cqe;
	return n;
}

/* Continues m5_dequeue_n with events that are no plain completions, and those behind them. */
static M5_COLD M5_NOINLINE DAT_RETURN m5_dequeue_n_slow(struct dap_evd *evd, DAT_COUNT max,
							DAT_EVENT *events, DAT_COUNT *count,
							DAT_COUNT n)
{
	DAT_RETURN ret = front_list_args(max, events, count);

	if (ret != DAT_SUCCESS)
		return ret;
	for (; n < max; n++) {
		ret = m5_dequeue(evd, &events[n]);
		if (ret != DAT_SUCCESS)
			break;
	}
	if (!n)
		return ret;
	*count = n;
	return DAT_SUCCESS;
}

static DAT_RETURN m5_dequeue_n(DAT_EVD_HANDLE handle, DAT_COUNT max, DAT_EVENT *events,
			       DAT_COUNT *count)
{
	struct dap_evd *evd = handle;
	struct m5_cq *cq = m5_cq(evd);
	bool empty = false;
	DAT_COUNT n;

	if (m5_unlikely(max <= 0) || m5_unlikely(!events) || m5_unlikely(!count) ||
	    m5_unlikely(!m5_dequeue_enter(evd, cq)))
		return m5_dequeue_n_slow(evd, max, events, count, 0);
	n = m5_poll_plain(evd, cq, max, events, &empty);
	if (m5_likely(n == max) || (n && empty)) {
		m5_cq_leave(cq, M5_LOCKED);
		*count = n;
		return DAT_SUCCESS;
	}
	if (empty) {
		m5_count_add(&cq->missed, 1);
		m5_cq_leave(cq, M5_LOCKED);
		return FRONT_CQ_EMPTY;
	}
	m5_cq_leave(cq, M5_LOCKED);
	return m5_dequeue_n_slow(evd, max, events, count, n);
}
