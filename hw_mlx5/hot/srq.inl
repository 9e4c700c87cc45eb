/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting to an SRQ, as a body that is instantiated like those of post.inl, which is before it. */

M5_INLINE int m5_srq_check(const struct m5_srq *q, int n, const M5_LMR *iov)
{
	if ((unsigned int)n > q->max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (int i = 0; i < n; i++)
		if (m5_unlikely(m5_lmr_len(&iov[i]) > INT32_MAX))
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	return 0;
}

/* The WQE that will be the head: mostly those that are posted first come back first. */
M5_INLINE bool m5_srq_next(struct dap_srq *srq, uint32_t *next)
{
	struct m5_srq *q = m5_srq(srq);

	if (m5_unlikely(__atomic_load_n(&q->slots[q->scan].bytes, __ATOMIC_ACQUIRE)))
		return m5_srq_search(srq, next);
	*next = q->scan;
	q->scan = q->scan + 1 < q->usable ? q->scan + 1 : 0;
	return true;
}

M5_INLINE void m5_srq_write(struct m5_srq *q, uint32_t next, int n, const M5_LMR *iov)
{
	m5_v2 *wqe = (m5_v2 *)(q->ring + ((size_t)q->head << q->shift));
	unsigned int used = 1;

	wqe[0] = (m5_v2){ (uint64_t)__builtin_bswap16((uint16_t)next) << 16, 0 };
	for (int i = 0; i < n; i++)
		if (m5_likely(m5_lmr_len(&iov[i])))
			wqe[used++] = m5_data((uint32_t)m5_lmr_len(&iov[i]), m5_lmr_key(&iov[i]),
					      m5_lmr_va(&iov[i]));
	if (used << 4 != 1u << q->shift)
		wqe[used] = m5_data(0, M5_NULL_LKEY, 0);
}

M5_INLINE M5_RET m5_post_srq(struct dap_srq *srq, int n, const M5_LMR *iov, uint64_t cookie,
			     bool locked)
{
	struct m5_srq *q = m5_srq(srq);
	int err = m5_srq_check(q, n, iov);
	uint32_t next;

	if (m5_unlikely(err))
		return m5_fail(err);
	if (locked)
		m5_spin_lock(&q->lock);
	if (m5_unlikely(!m5_srq_next(srq, &next))) {
		if (locked)
			m5_spin_unlock(&q->lock);
		return m5_fail(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	}
	m5_srq_write(q, next, n, iov);
	q->slots[q->head].cookie = cookie;
	q->slots[next].bytes = 1;
	q->head = next;
	q->pi++;
	dap_wmb_wqe_before_dbrec();
	m5_record(&q->dbrec[0], q->pi);
	if (locked)
		m5_spin_unlock(&q->lock);
	return DAT_SUCCESS;
}
