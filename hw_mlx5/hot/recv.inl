/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting to an endpoint's receive queue. No doorbell: the device reads the record. */

/* Passes the receive at pi, whose slot and WQE are written, to the device. */
M5_INLINE void m5_recv_posted(struct m5_rq *rq, uint32_t pi)
{
	m5_index_set(&rq->pi, pi + 1);
	dap_wmb_wqe_before_dbrec();
	m5_store_dbrec(&rq->dbrec[0], pi + 1);
}

M5_INLINE void m5_recv_note(const struct m5_rq *rq, uint32_t pi, uint64_t cookie,
			    unsigned int flags)
{
	struct m5_slot *slot = &rq->slots[pi & rq->mask];

	slot->cookie = cookie;
	slot->flags = (uint8_t)flags;
}

M5_INLINE m5_v2 *m5_rq_at(const struct m5_rq *rq, uint32_t pi)
{
	return (m5_v2 *)(rq->ring + (size_t)((pi & rq->mask) * rq->stride));
}

M5_INLINE int m5_recv_check(const struct m5_rq *rq, int n, const DAT_LMR_TRIPLET *iov,
			    unsigned int flags)
{
	if (flags & rq->deny)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if ((unsigned int)n > rq->max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (int i = 0; i < n; i++)
		if (front_lmr_len(&iov[i]) > INT32_MAX)
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	return 0;
}

static M5_NOINLINE DAT_RETURN m5_recv_slow(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					   uint64_t cookie, unsigned int flags)
{
	struct m5_rq *rq = &m5_ep(ep)->rq;
	unsigned int used = 0;
	int err = m5_recv_check(rq, n, iov, flags);
	m5_v2 *wqe;

	if (err)
		return front_return(err);
	if (M5_LOCKED)
		m5_spin_lock(&rq->lock);
	if (rq->limit == rq->pi && !m5_rq_credit(ep)) {
		if (M5_LOCKED)
			m5_spin_unlock(&rq->lock);
		/* An endpoint with an SRQ receives through the SRQ only. */
		return front_return(ep->srq ? DAP_ERR(DAP_INVALID_STATE, DAP_SUB_NONE)
					    : DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	}
	wqe = m5_rq_at(rq, rq->pi);
	for (int i = 0; i < n; i++)
		m5_count_add(&rq->bytes, front_lmr_len(&iov[i]));
	for (int i = 0; i < n; i++)
		if (front_lmr_len(&iov[i]))
			wqe[used++] = m5_data((uint32_t)front_lmr_len(&iov[i]),
					      front_lmr_key(&iov[i]), front_lmr_va(&iov[i]));
	if (used * M5_DS != rq->stride)
		wqe[used] = m5_data(0, M5_NULL_LKEY, 0);
	if (used != 1 && rq->stride != M5_DS)
		rq->uneven = 1;
	m5_recv_note(rq, rq->pi, cookie, flags);
	DAP_PROBE4(post, ep, DAP_OP_RECEIVE, cookie, 0);
	m5_recv_posted(rq, rq->pi);
	if (M5_LOCKED)
		m5_spin_unlock(&rq->lock);
	return DAT_SUCCESS;
}

/*
 * One segment without flags. The next segment, which ends the list, was written when the queue was
 * created. It is written again only if lists of other lengths have been posted. A threadsafe IA can
 * tell that only under the lock.
 */
static DAT_RETURN m5_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;
	struct m5_rq *rq = &m5_ep(ep)->rq;
	front_len len;
	uint32_t pi;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov) || m5_unlikely(flags | (M5_LOCKED ? 0 : rq->uneven)))
		return m5_recv_slow(ep, n, iov, cookie.as_64, flags);
	len = front_lmr_len(iov);
	if (m5_unlikely(len - 1 >= INT32_MAX))
		return m5_recv_slow(ep, n, iov, cookie.as_64, flags);
	if (M5_LOCKED && !m5_spin_try(&rq->lock))
		return m5_recv_slow(ep, n, iov, cookie.as_64, flags);
	if (m5_unlikely(rq->limit == rq->pi) || (M5_LOCKED && m5_unlikely(rq->uneven))) {
		if (M5_LOCKED)
			m5_spin_unlock(&rq->lock);
		return m5_recv_slow(ep, n, iov, cookie.as_64, flags);
	}
	pi = rq->pi;
	DAP_PROBE4(post, ep, DAP_OP_RECEIVE, cookie.as_64, 0);
	m5_recv_note(rq, pi, cookie.as_64, 0);
	m5_count_add(&rq->bytes, len);
	*m5_rq_at(rq, pi) = m5_data((uint32_t)len, front_lmr_key(iov), front_lmr_va(iov));
	m5_recv_posted(rq, pi);
	if (M5_LOCKED)
		m5_spin_unlock(&rq->lock);
	return DAT_SUCCESS;
}
