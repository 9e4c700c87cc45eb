/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The posts that are not one segment of one block: none or many segments, gathered inline data,
 * and all that is refused. No lock either, but loops. Comes after post.inl.
 */

struct m5_work {			/* what a post asks for, once it is understood */
	unsigned int op;
	uint32_t total;			/* bytes transferred */
	unsigned int segs;		/* that are not empty */
	bool copy;			/* all of them may travel in the WQE */
	uint32_t imm;			/* or the context to end; host order */
	uint8_t kind;			/* enum m5_kind */
};

M5_INLINE bool m5_is_send(unsigned int op)
{
	return op == M5_OP_SEND || op == M5_OP_SEND_INVAL;
}

M5_INLINE int m5_check_args(const struct m5_sq *sq, unsigned int op, int n, const M5_LMR *iov,
			    const M5_RMR *remote, unsigned int flags)
{
	bool rdma = !m5_is_send(op);
	unsigned int max = op == M5_OP_RDMA_READ ? sq->max_read_iov :
			   rdma ? sq->max_write_iov : sq->max_iov;

	if (op == M5_OP_RDMA_READ && sq->read_segs == M5_NO_READS)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1);
	if ((unsigned int)n > max)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (rdma && !remote)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if (flags & (rdma ? sq->deny_rdma : sq->deny_send) & ~(uint32_t)DAP_COMP_BARRIER)
		return DAP_ERR(DAP_INVALID_PARAMETER, rdma ? DAP_SUB_ARG6 : DAP_SUB_ARG5);
	return 0;
}

/*
 * Adds up. Of a read only so much of the local segments counts as the remote buffer has: w->total
 * is that length then, and the last segment used may be cut.
 */
M5_INLINE int m5_measure(const struct dap_ep *ep, struct m5_sq *sq, int n, const M5_LMR *iov,
			 const M5_RMR *remote, struct m5_work *w, bool locked)
{
	bool read = w->op == M5_OP_RDMA_READ;
	uint64_t max = m5_is_send(w->op) ? sq->max_msg : sq->max_rdma, sum = 0;

	if (read && m5_rmr_len(remote) > max)
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	w->copy = !read;
	for (int i = 0; i < n; i++) {
		uint64_t len = m5_lmr_len(&iov[i]);

		if (!read && len > max - sum)
			return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
		if (read && sum >= m5_rmr_len(remote))
			break;
		if (read && len > m5_rmr_len(remote) - sum)
			len = m5_rmr_len(remote) - sum;
		w->segs += len != 0;
		sum += len;
		w->copy = w->copy && sum <= sq->inline_max &&
			  (!len || m5_may_copy(ep, sq, m5_lmr_key(&iov[i]), m5_lmr_va(&iov[i]), len,
						    locked));
	}
	/* No sum is beyond max, which lengths of either level can be. */
	if (read ? (m5_len)sum < m5_rmr_len(remote) :
	    !m5_is_send(w->op) && (m5_len)sum > m5_rmr_len(remote))
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	w->copy = w->copy && sum;
	w->total = (uint32_t)sum;
	return 0;
}

/* Where the piece of 16 bytes at number at lies; they run on, and the ring wraps between any two. */
M5_INLINE m5_v2 *m5_piece(const struct m5_sq *sq, uint32_t at)
{
	return (m5_v2 *)(sq->ring + (size_t)(at & (sq->mask * 4 + 3)) * M5_DS);
}

/* Data behind the header of an inline segment at piece at: from byte 4 on, wrapping. */
M5_INLINE void m5_gather(const struct m5_sq *sq, uint32_t at, int n, const M5_LMR *iov,
			 uint32_t total)
{
	uint32_t bytes = (sq->mask + 1) << M5_BB_SHIFT, to = at * M5_DS & (bytes - 1);

	*(uint32_t *)(void *)(sq->ring + to) = __builtin_bswap32(total | M5_INLINE_SEG);
	to += 4;
	for (int i = 0; i < n; i++) {
		const uint8_t *from = (const uint8_t *)(uintptr_t)m5_lmr_va(&iov[i]);
		uint32_t len = (uint32_t)m5_lmr_len(&iov[i]);
		uint32_t first = len < bytes - to ? len : bytes - to;

		if (!len)
			continue;
		__builtin_memcpy(sq->ring + to, from, first);
		__builtin_memcpy(sq->ring, from + first, len - first);
		to = (to + len) & (bytes - 1);
	}
}

M5_INLINE void m5_refer(const struct m5_sq *sq, uint32_t at, int n, const M5_LMR *iov,
			uint32_t total)
{
	for (int i = 0; i < n && total; i++) {
		uint64_t len = m5_lmr_len(&iov[i]);

		if (!len)
			continue;
		if (len > total)
			len = total;
		*m5_piece(sq, at++) = m5_data((uint32_t)len, m5_lmr_key(&iov[i]),
					      m5_lmr_va(&iov[i]));
		total -= (uint32_t)len;
	}
}

/* w: op, imm and kind are set. */
M5_INLINE M5_RET m5_post_work(struct dap_ep *ep, struct m5_work w, int n, const M5_LMR *iov,
			      uint64_t cookie, const M5_RMR *remote, unsigned int flags,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	unsigned int op = w.op, head = m5_is_send(op) ? 1 : 2, ds;
	uint32_t pi, blocks;
	struct m5_slot *slot;
	m5_v2 ctrl;
	int err = m5_check_args(sq, op, n, iov, remote, flags);

	if (!err)
		err = m5_measure(ep, sq, n, iov, remote, &w, locked);
	if (m5_unlikely(err))
		return m5_fail(err);
	/* A read before it may still have to bring the bytes that are behind the barrier. */
	w.copy = w.copy && !(flags & DAP_COMP_BARRIER);
	ds = head + (w.copy ? (w.total + 4 + 15) / 16 : w.segs);
	blocks = (ds + 3) / 4;
	if (m5_unlikely(!m5_sq_begin(ep, blocks, locked)))
		return m5_fail(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	pi = sq->pi;
	slot = m5_slot_set(sq, pi, cookie, w.total, pi + blocks, 0, flags);
	ctrl = m5_ctrl(sq, pi, op, ds, m5_signal(sq, flags, slot), w.imm);
	slot->kind |= w.kind;
	if (op != M5_OP_RDMA_WRITE_IMM)		/* which the extension counts */
		m5_count_posted(sq, op, w.total);
	*m5_piece(sq, pi * 4) = ctrl;
	if (head == 2)
		*m5_piece(sq, pi * 4 + 1) = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	if (w.copy)
		m5_gather(sq, pi * 4 + head, n, iov, w.total);
	else
		m5_refer(sq, pi * 4 + head, n, iov, w.total);
	m5_ring(sq, pi, blocks, ctrl, locked);
	m5_sq_end(sq, locked);
	return DAT_SUCCESS;
}

M5_INLINE M5_RET m5_post_any(struct dap_ep *ep, unsigned int op, int n, const M5_LMR *iov,
			     uint64_t cookie, const M5_RMR *remote, unsigned int flags,
			     bool locked)
{
	return m5_post_work(ep, (struct m5_work){ .op = op }, n, iov, cookie, remote, flags,
			    locked);
}

/* ---- Segments whose number is known: without flags, none of them empty, none copied ---- */

/* Adds up. False: one of them is empty, or so long that no sum is right. */
M5_INLINE bool m5_few_sum(unsigned int n, const M5_LMR *iov, uint64_t *sum)
{
	uint64_t odd = 0;

	*sum = 0;
	M5_UNROLL
	for (unsigned int i = 0; i < n; i++) {
		uint64_t len = m5_lmr_len(&iov[i]);

		odd |= len - 1;
		*sum += len;
		/* One after another, or all lengths are kept, for which registers are saved. */
		__asm__("" : "+r"(odd), "+r"(*sum));
	}
	return m5_likely(!(odd >> 31));
}

M5_INLINE M5_RET m5_few_write(struct m5_sq *sq, unsigned int op, unsigned int n, const M5_LMR *iov,
			      uint64_t total, uint64_t cookie, const M5_RMR *remote,
			      bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2, blocks = (head + n + 3) / 4;
	struct m5_spot at = m5_spot(sq, blocks);
	m5_half w[2 * M5_HALVES], *h = w;
	m5_v2 v[8];

	v[0] = m5_ctrl_plain(sq, op, n - 1, at.pi);
	v[1] = m5_raddr_of(op, remote);
	M5_UNROLL
	for (unsigned int i = 0; i < n; i++)
		v[head + i] = m5_data((uint32_t)m5_lmr_len(&iov[i]), m5_lmr_key(&iov[i]),
				      m5_lmr_va(&iov[i]));
	M5_UNROLL
	for (unsigned int i = 0; i < blocks * 4; i += 2)
		h = i + 1 < head + n ? m5_put_two(h, v[i], v[i + 1]) :
		    i < head + n ? m5_put_one(h, v[i]) : m5_put_none(h);
	m5_slot_plain(sq, at, cookie, (uint32_t)total);
	m5_count_posted(sq, op, total);
	return m5_post_at(sq, at, v[0], w, blocks, locked);
}

M5_INLINE M5_RET m5_send_few(struct dap_ep *ep, unsigned int n, const M5_LMR *iov, uint64_t cookie,
			     unsigned int flags, m5_send_fn *slow, m5_send_fn *refill,
			     bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t sum;

	if (m5_unlikely(!iov) || !m5_plain(sq, flags, locked) || m5_unlikely(n > sq->max_iov) ||
	    !m5_few_sum(n, iov, &sum) || m5_unlikely(sum - sq->long_from >= sq->send_span))
		return slow(ep, (int)n, iov, cookie, flags);
	if (!m5_sq_try(sq, (1 + n + 3) / 4, locked))
		return refill(ep, (int)n, iov, cookie, flags);
	m5_part();
	return m5_few_write(sq, M5_OP_SEND, n, iov, sum, cookie, NULL, locked);
}

M5_INLINE M5_RET m5_write_few(struct dap_ep *ep, unsigned int n, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *to, unsigned int flags, m5_rdma_fn *slow,
			      m5_rdma_fn *refill, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t sum;

	if (m5_unlikely(!iov) || m5_unlikely(!to) || !m5_plain(sq, flags, locked) ||
	    m5_unlikely(n > sq->max_write_iov) || !m5_few_sum(n, iov, &sum) ||
	    m5_unlikely(sum - sq->long_from >= sq->rdma_span) ||
	    m5_unlikely((m5_len)sum > m5_rmr_len(to)))
		return slow(ep, (int)n, iov, cookie, to, flags);
	if (!m5_sq_try(sq, (2 + n + 3) / 4, locked))
		return refill(ep, (int)n, iov, cookie, to, flags);
	m5_part();
	return m5_few_write(sq, M5_OP_RDMA_WRITE, n, iov, sum, cookie, to, locked);
}

M5_INLINE int m5_recv_check(const struct m5_rq *rq, int n, const M5_LMR *iov, unsigned int flags)
{
	if (flags & rq->deny)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if ((unsigned int)n > rq->max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (int i = 0; i < n; i++)
		if (m5_lmr_len(&iov[i]) > INT32_MAX)
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	return 0;
}

M5_INLINE M5_RET m5_recv_any(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			     unsigned int flags, bool locked)
{
	struct m5_rq *rq = &m5_ep(ep)->rq;
	unsigned int used = 0;
	int err = m5_recv_check(rq, n, iov, flags);
	m5_v2 *wqe;

	if (err)
		return m5_fail(err);
	if (locked)
		m5_spin_lock(&rq->lock);
	if (rq->limit == rq->pi && !m5_rq_credit(ep)) {
		if (locked)
			m5_spin_unlock(&rq->lock);
		/* The receives of an endpoint with an SRQ are the SRQ's. */
		return m5_fail(ep->srq ? DAP_ERR(DAP_INVALID_STATE, DAP_SUB_NONE)
				       : DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	}
	wqe = m5_rq_at(rq, rq->pi);
	for (int i = 0; i < n; i++)
		m5_tally(&rq->bytes, m5_lmr_len(&iov[i]));
	for (int i = 0; i < n; i++)
		if (m5_lmr_len(&iov[i]))
			wqe[used++] = m5_data((uint32_t)m5_lmr_len(&iov[i]), m5_lmr_key(&iov[i]),
					      m5_lmr_va(&iov[i]));
	if (used * M5_DS != rq->stride)
		wqe[used] = m5_data(0, M5_NULL_LKEY, 0);
	if (used != 1 && rq->stride != M5_DS)
		rq->uneven = 1;
	m5_recv_note(rq, rq->pi, cookie, flags);
	m5_recv_posted(rq, rq->pi);
	if (locked)
		m5_spin_unlock(&rq->lock);
	return DAT_SUCCESS;
}
