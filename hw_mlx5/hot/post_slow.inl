/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts on the slow path: no segment or many, gathered inline data, and all errors. Takes no lock
 * beyond the queue's, but has loops.
 */

struct m5_work {			/* a post with its decoded arguments */
	unsigned int op;
	uint32_t total;			/* bytes transferred */
	unsigned int segs;		/* number of segments that are not empty */
	bool copy;			/* all of them may be inlined */
	uint32_t imm;			/* immediate data or context to invalidate; host order */
	uint8_t kind;			/* enum m5_kind */
};

M5_INLINE bool m5_is_send(unsigned int op)
{
	return op == M5_OP_SEND || op == M5_OP_SEND_INVAL;
}

/* A send or a write with immediate data completes a receive of the peer, which SOLICITED concerns. */
M5_INLINE uint32_t m5_denied_flags(const struct m5_sq *sq, unsigned int op)
{
	uint32_t deny = m5_is_send(op) || op == M5_OP_RDMA_WRITE_IMM ? sq->deny_send : sq->deny_rdma;

	return deny & ~(uint32_t)DAP_COMP_BARRIER;
}

M5_INLINE int m5_check_args(const struct m5_sq *sq, unsigned int op, int n,
			    const DAT_LMR_TRIPLET *iov, const DAT_RMR_TRIPLET *remote,
			    unsigned int flags)
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
	if (flags & m5_denied_flags(sq, op))
		return DAP_ERR(DAP_INVALID_PARAMETER, rdma ? DAP_SUB_ARG6 : DAP_SUB_ARG5);
	return 0;
}

/*
 * Adds up the lengths. For a read, local segments count up to the remote buffer's length, which is
 * then w->total; the last segment used may be shortened.
 */
M5_INLINE int m5_measure(const struct dap_ep *ep, struct m5_sq *sq, int n,
			 const DAT_LMR_TRIPLET *iov, const DAT_RMR_TRIPLET *remote,
			 struct m5_work *w)
{
	bool read = w->op == M5_OP_RDMA_READ;
	uint64_t max = m5_is_send(w->op) ? sq->max_msg : sq->max_rdma, sum = 0;

	if (read && front_rmr_len(remote) > max)
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	w->copy = !read;
	for (int i = 0; i < n; i++) {
		uint64_t len = front_lmr_len(&iov[i]);

		if (!read && len > max - sum)
			return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
		if (read && sum >= front_rmr_len(remote))
			break;
		if (read && len > front_rmr_len(remote) - sum)
			len = front_rmr_len(remote) - sum;
		w->segs += len != 0;
		sum += len;
		w->copy = w->copy && sum <= sq->inline_max &&
			  (!len ||
			   m5_may_copy(ep, sq, front_lmr_key(&iov[i]), front_lmr_va(&iov[i]), len));
	}
	/* Lengths of either level may exceed max, but no sum does. */
	if (read ? (front_len)sum < front_rmr_len(remote)
		 : !m5_is_send(w->op) && (front_len)sum > front_rmr_len(remote))
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	w->copy = w->copy && sum;
	w->total = (uint32_t)sum;
	return 0;
}

/* Returns the address of 16-byte piece number at; numbers are continuous, and the ring may wrap
 * between any two. */
M5_INLINE m5_v2 *m5_piece(const struct m5_sq *sq, uint32_t at)
{
	return (m5_v2 *)(sq->ring + (size_t)(at & (sq->mask * 4 + 3)) * M5_DS);
}

/* Copies data into the inline segment at piece at, from its byte 4 on; the ring may wrap. */
M5_INLINE void m5_write_inline(const struct m5_sq *sq, uint32_t at, int n, const DAT_LMR_TRIPLET *iov,
			       uint32_t total)
{
	uint32_t bytes = (sq->mask + 1) << M5_BB_SHIFT, to = at * M5_DS & (bytes - 1);

	*(uint32_t *)(void *)(sq->ring + to) = __builtin_bswap32(total | M5_INLINE_SEG);
	to += 4;
	for (int i = 0; i < n; i++) {
		const uint8_t *from = (const uint8_t *)(uintptr_t)front_lmr_va(&iov[i]);
		uint32_t len = (uint32_t)front_lmr_len(&iov[i]);
		uint32_t first = len < bytes - to ? len : bytes - to;

		if (!len)
			continue;
		__builtin_memcpy(sq->ring + to, from, first);
		__builtin_memcpy(sq->ring, from + first, len - first);
		to = (to + len) & (bytes - 1);
	}
}

M5_INLINE void m5_write_refs(const struct m5_sq *sq, uint32_t at, int n, const DAT_LMR_TRIPLET *iov,
			     uint32_t total)
{
	for (int i = 0; i < n && total; i++) {
		uint64_t len = front_lmr_len(&iov[i]);

		if (!len)
			continue;
		if (len > total)
			len = total;
		*m5_piece(sq, at++) =
			m5_data((uint32_t)len, front_lmr_key(&iov[i]), front_lmr_va(&iov[i]));
		total -= (uint32_t)len;
	}
}

/* The caller has set op, imm and kind of w. */
M5_INLINE DAT_RETURN m5_post_work(struct dap_ep *ep, struct m5_work w, int n,
				  const DAT_LMR_TRIPLET *iov, uint64_t cookie,
				  const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	unsigned int op = w.op, head = m5_is_send(op) ? 1 : 2, ds;
	uint32_t pi, blocks;
	struct m5_slot *slot;
	m5_v2 ctrl;
	int err = m5_check_args(sq, op, n, iov, remote, flags);

	if (!err)
		err = m5_measure(ep, sq, n, iov, remote, &w);
	if (m5_unlikely(err))
		return front_return(err);
	/* With a barrier, do not copy: an earlier read may still write the bytes, and the adapter waits for
	 * that read before it fetches them. */
	w.copy = w.copy && !(flags & DAP_COMP_BARRIER);
	ds = head + (w.copy ? (w.total + 4 + 15) / 16 : w.segs);
	blocks = (ds + 3) / 4;
	if (m5_unlikely(!m5_sq_begin(ep, blocks)))
		return front_return(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	pi = sq->pi;
	m5_probe_post(sq, op, w.total, cookie);
	slot = m5_slot_set(sq, pi, cookie, w.total, pi + blocks, flags);
	ctrl = m5_ctrl(sq, pi, op, ds, m5_signal(sq, flags, slot), w.imm);
	slot->kind |= w.kind;
	if (op != M5_OP_RDMA_WRITE_IMM)		/* the extension counts these posts itself */
		m5_count_posted(sq, op, w.total);
	*m5_piece(sq, pi * 4) = ctrl;
	if (head == 2)
		*m5_piece(sq, pi * 4 + 1) = m5_raddr(front_rmr_va(remote), front_rmr_key(remote));
	if (w.copy)
		m5_write_inline(sq, pi * 4 + head, n, iov, w.total);
	else
		m5_write_refs(sq, pi * 4 + head, n, iov, w.total);
	m5_ring(sq, pi, blocks, ctrl);
	m5_sq_end(sq);
	return DAT_SUCCESS;
}

/* ---- Two to four segments: without flags, none empty, none inlined ---- */

/* Adds up the lengths. False: one is empty, or too long. */
M5_INLINE bool m5_sges_sum(unsigned int n, const DAT_LMR_TRIPLET *iov, uint64_t *sum)
{
	uint64_t odd = 0;

	*sum = 0;
	M5_UNROLL
	for (unsigned int i = 0; i < n; i++) {
		uint64_t len = front_lmr_len(&iov[i]);

		odd |= len - 1;
		*sum += len;
		/* Adds the lengths one after another: gcc would otherwise keep all of them in
		 * registers, which must be saved. */
		M5_HIDE_BOTH(odd, *sum);
	}
	return m5_likely(!(odd >> 31));
}

M5_INLINE DAT_RETURN m5_sges_write(struct m5_sq *sq, unsigned int op, unsigned int n,
				   const DAT_LMR_TRIPLET *iov, uint64_t total, uint64_t cookie,
				   const DAT_RMR_TRIPLET *remote)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2, blocks = (head + n + 3) / 4;
	struct m5_wqe_pos pos = m5_wqe_pos(sq, blocks);
	m5_half w[2 * M5_HALVES], *h = w;
	m5_v2 v[8];

	v[0] = m5_ctrl_plain(sq, op, n - 1, pos.pi);
	v[1] = m5_raddr_of(op, remote);
	M5_UNROLL
	for (unsigned int i = 0; i < n; i++)
		v[head + i] = m5_data((uint32_t)front_lmr_len(&iov[i]), front_lmr_key(&iov[i]),
				      front_lmr_va(&iov[i]));
	M5_UNROLL
	for (unsigned int i = 0; i < blocks * 4; i += 2)
		h = i + 1 < head + n ? m5_put_segments(h, v[i], v[i + 1]) :
		    i < head + n ? m5_put_segment_zeros(h, v[i]) : m5_put_zeros(h);
	m5_slot_plain(sq, pos, cookie, (uint32_t)total);
	m5_probe_post(sq, op, total, cookie);
	m5_count_posted(sq, op, total);
	return m5_post_at(sq, pos, v[0], w, blocks);
}
