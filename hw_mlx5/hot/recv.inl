/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting to the receive queue of an endpoint, as a body like those of post.inl, which is before it. */

/* The receive at pi is noted and its WQE written: no doorbell, the device reads the record. */
M5_INLINE void m5_recv_posted(struct m5_rq *rq, uint32_t pi)
{
	rq->pi = pi + 1;
	dap_wmb_wqe_before_dbrec();
	m5_record(&rq->dbrec[0], pi + 1);
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

/*
 * One segment without flags. The segment after it ends the list, and was written as such when the
 * queue was made: it is written again only where lists of another length have been posted.
 */
M5_INLINE M5_RET m5_post_recv(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, m5_send_fn *slow, bool locked)
{
	struct m5_rq *rq = &m5_ep(ep)->rq;
	m5_len len;
	uint32_t pi;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov) || m5_unlikely(flags | rq->uneven))
		return slow(ep, n, iov, cookie, flags);
	len = m5_lmr_len(iov);
	if (m5_unlikely(len - 1 >= INT32_MAX))
		return slow(ep, n, iov, cookie, flags);
	if (locked && !m5_spin_try(&rq->lock))
		return slow(ep, n, iov, cookie, flags);
	if (m5_unlikely(rq->limit == rq->pi)) {
		if (locked)
			m5_spin_unlock(&rq->lock);
		return slow(ep, n, iov, cookie, flags);
	}
	pi = rq->pi;
	m5_recv_note(rq, pi, cookie, 0);
	m5_tally(&rq->bytes, len);
	*m5_rq_at(rq, pi) = m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov));
	m5_recv_posted(rq, pi);
	if (locked)
		m5_spin_unlock(&rq->lock);
	return DAT_SUCCESS;
}
