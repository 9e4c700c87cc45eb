/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting to an SRQ. */

M5_INLINE int m5_srq_check(const struct m5_srq *q, int n, const DAT_LMR_TRIPLET *iov)
{
	if ((unsigned int)n > q->max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (int i = 0; i < n; i++)
		if (m5_unlikely(front_lmr_len(&iov[i]) > INT32_MAX))
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	return 0;
}

/* Chooses the next head. WQEs mostly complete in the order of their posting, so the next index is
 * usually free. */
M5_INLINE bool m5_srq_next(struct dap_srq *srq, uint32_t *next)
{
	struct m5_srq *q = m5_srq(srq);

	if (m5_unlikely(__atomic_load_n(&q->slots[q->scan].bytes, __ATOMIC_ACQUIRE)))
		return m5_srq_search(srq, next);
	*next = q->scan;
	q->scan = q->scan + 1 < q->usable ? q->scan + 1 : 0;
	return true;
}

M5_INLINE void m5_srq_write(struct m5_srq *q, uint32_t next, int n, const DAT_LMR_TRIPLET *iov)
{
	m5_v2 *wqe = (m5_v2 *)(q->ring + ((size_t)q->head << q->shift));
	unsigned int used = 1;

	wqe[0] = (m5_v2){ (uint64_t)__builtin_bswap16((uint16_t)next) << 16, 0 };
	for (int i = 0; i < n; i++)
		if (m5_likely(front_lmr_len(&iov[i])))
			wqe[used++] = m5_data((uint32_t)front_lmr_len(&iov[i]),
					      front_lmr_key(&iov[i]), front_lmr_va(&iov[i]));
	if (used << 4 != 1u << q->shift)
		wqe[used] = m5_data(0, M5_NULL_LKEY, 0);
}

static DAT_RETURN m5_srq_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie)
{
	struct m5_srq *q = m5_srq(srq);
	int err = m5_srq_check(q, n, iov);
	uint32_t next;

	if (m5_unlikely(err))
		return front_return(err);
	if (M5_LOCKED)
		m5_spin_lock(&q->lock);
	if (m5_unlikely(!m5_srq_next(srq, &next))) {
		if (M5_LOCKED)
			m5_spin_unlock(&q->lock);
		return front_return(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	}
	DAP_PROBE4(post, srq, DAP_OP_RECEIVE, cookie.as_64, 0);
	m5_srq_write(q, next, n, iov);
	q->slots[q->head].cookie = cookie.as_64;
	q->slots[next].bytes = 1;
	q->head = next;
	q->pi++;
	dap_wmb_wqe_before_dbrec();
	m5_store_dbrec(&q->dbrec[0], q->pi);
	if (M5_LOCKED)
		m5_spin_unlock(&q->lock);
	return DAT_SUCCESS;
}
