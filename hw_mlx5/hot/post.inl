/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting, as bodies that are instantiated for each API level and variant. Who includes this gives
 * the types M5_RET, M5_LMR, M5_RMR and m5_len, the accessors m5_lmr_key/va/len and m5_rmr_key/va/len, and
 * m5_fail, which turns a DAP_ERR into an M5_RET. A constant
 * argument: locked, a spin lock guards the queue.
 */
#include "hw_mlx5/hot/seg.inl"
#include "hw_mlx5/hot/ring.inl"

/* Neither before its start nor beyond its end: no sign in either difference. len < 2 GiB. */
M5_INLINE bool m5_inside(const struct dap_lmr *lmr, uint64_t va, uint64_t len)
{
	uint64_t off = va - lmr->addr, room = lmr->length - len;

	/* Or the compiler finds off twice, from either end. */
	__asm__("" : "+r"(off));
	return (int64_t)(off | (room - off)) >= 0;
}

/* Looked at before the lock: of two threads that post at once either's will do. */
M5_INLINE const struct dap_lmr *m5_last_lmr(const struct m5_sq *sq, bool locked)
{
	return locked ? __atomic_load_n(&sq->lmr, __ATOMIC_RELAXED) : sq->lmr;
}

/*
 * Only what lies in an LMR of the endpoint's zone, with the right to be read, is copied here; all
 * else goes out by reference, for the device to refuse with a completion. An LMR that is freed
 * loses its context (m5_lmr_destroy), so that one seen before is known again by it.
 */
M5_INLINE bool m5_may_copy(const struct dap_ep *ep, struct m5_sq *sq, uint32_t key, uint64_t va,
			   uint64_t len, bool locked)
{
	const struct dap_lmr *lmr = m5_last_lmr(sq, locked);

	if (m5_unlikely(lmr->lmr_context != key)) {
		lmr = dap_lmr_find(ep->obj.ia, key);
		if (!lmr || !(lmr->priv & DAP_PRIV_LOCAL_READ) || lmr->zero_based ||
		    lmr->pz != sq->pz)
			return false;
		__atomic_store_n(&sq->lmr, lmr, __ATOMIC_RELAXED);
	}
	return m5_likely(m5_inside(lmr, va, len));
}

M5_INLINE struct m5_slot *m5_slot_set(const struct m5_sq *sq, uint32_t pi, uint64_t cookie,
				      uint32_t bytes, uint32_t end, uint8_t kind,
				      unsigned int flags)
{
	struct m5_slot *slot = &sq->slots[pi & sq->mask];

	slot->cookie = cookie;
	slot->bytes = bytes;
	slot->end = (uint16_t)end;
	slot->kind = kind;
	slot->flags = (uint8_t)flags;
	return slot;
}

/* fm_ce_se of the WQE of a slot. Suppressed work is signalled now and then. */
M5_INLINE uint8_t m5_signal(struct m5_sq *sq, unsigned int flags, struct m5_slot *slot)
{
	uint8_t fm = sq->fm[flags | sq->fence];

	__atomic_store_n(&sq->fence, 0, __ATOMIC_RELAXED);
	if (m5_unlikely(flags & DAP_COMP_SUPPRESS) && ++sq->quiet >= sq->quiet_max) {
		sq->quiet = 0;
		fm |= M5_CE_ALWAYS;
		slot->kind = M5_KIND_HIDDEN;
	}
	return fm;
}

/*
 * Sends, writes and reads are counted. Those of 8 bytes, where the code posts nothing else, by one
 * number, for they are posted most. To be called once nothing is read any more that the compiler could
 * take to have changed by it, with a length that needs no extension.
 */
M5_INLINE void m5_count_posted(struct m5_sq *sq, unsigned int op, uint64_t bytes)
{
	unsigned int kind = op == M5_OP_RDMA_READ ? DAP_COUNT_READ :
			    op == M5_OP_RDMA_WRITE ? DAP_COUNT_WRITE : DAP_COUNT_SEND;

	if (__builtin_constant_p(bytes) && bytes == 8) {
		m5_tally(&sq->eights[kind], 1);
		return;
	}
	m5_tally(&sq->posted[kind].number, 1);
	m5_tally(&sq->posted[kind].bytes, bytes);
}

/* A length in a register of 64 bits, and nowhere else: gcc keeps another one of 32 beside it. */
M5_INLINE uint64_t m5_whole(m5_len length)
{
	uint64_t len = length;

	if (sizeof(length) < sizeof(len))
		__asm__("" : "+r"(len));
	return len;
}

/* A WQE of n blocks, in registers and in one piece in the ring, becomes the device's. */
M5_INLINE M5_RET m5_post_at(struct m5_sq *sq, struct m5_spot at, m5_v2 ctrl, const m5_half *w,
			    uint32_t n, bool locked)
{
	uint8_t *to = m5_block_in(sq, at.place);

	/* Or it is put together for each store. */
	if (n > 1)
		__asm__("" : "+r"(to));
	m5_store_blocks(to, w, n);
	m5_ring_to(sq, at.end, n, ctrl, w, locked);
	m5_sq_end(sq, locked);
	return DAT_SUCCESS;
}

/* One of a block: ctrl segment, remote address unless it is a send, and a segment of two pieces. */
M5_INLINE M5_RET m5_post_block(struct m5_sq *sq, struct m5_spot at, unsigned int op, m5_v2 ctrl,
			       m5_v2 raddr, m5_v2 a, m5_v2 b, bool locked)
{
	m5_half w[M5_HALVES], *h;

	h = m5_put_two(w, ctrl, op == M5_OP_SEND ? a : raddr);
	if (op == M5_OP_SEND)
		m5_put_one(h, b);
	else
		m5_put_two(h, a, b);
	return m5_post_at(sq, at, ctrl, w, 1, locked);
}

/* The ctrl segment of a WQE without flags: with one segment, short or referred to, or ds more. */
M5_INLINE m5_v2 m5_ctrl_plain(const struct m5_sq *sq, unsigned int op, unsigned int ds, uint32_t pi)
{
	m5_v2 v = m5_ctrl_of(op == M5_OP_SEND ? sq->ctrl_send : sq->ctrl_write, pi);

	if (op == M5_OP_RDMA_READ)
		v ^= (m5_v2){ (uint64_t)(M5_OP_RDMA_READ ^ M5_OP_RDMA_WRITE) << 24, 0 };
	if (ds)
		v += (m5_v2){ (uint64_t)ds << 56, 0 };
	return v;
}

/* The remote address of what has one. */
M5_INLINE m5_v2 m5_raddr_of(unsigned int op, const M5_RMR *remote)
{
	return op == M5_OP_SEND ? (m5_v2){ 0 } : m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
}

/* One segment by reference, for which there is credit. */
M5_INLINE M5_RET m5_post_ref(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			     const M5_RMR *remote, uint32_t len, uint64_t cookie,
			     unsigned int flags, bool locked)
{
	struct m5_spot at = m5_spot(sq, 1);
	struct m5_slot *slot = m5_slot_set(sq, at.pi, cookie, len, at.end, 0, flags);
	uint8_t fm = m5_signal(sq, flags, slot);
	m5_v2 ctrl = m5_ctrl(sq, at.pi, op, op == M5_OP_SEND ? 2 : 3, fm, 0);

	m5_count_posted(sq, op, len);
	return m5_post_block(sq, at, op, ctrl, m5_raddr_of(op, remote),
			     m5_data(len, m5_lmr_key(iov), m5_lmr_va(iov)), (m5_v2){ 0 }, locked);
}

/* One short segment that travels in the WQE. */
M5_INLINE M5_RET m5_post_short(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			       const M5_RMR *remote, uint32_t len, uint64_t cookie,
			       unsigned int flags, bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_spot at = m5_spot(sq, 1);
	struct m5_slot *slot = m5_slot_set(sq, at.pi, cookie, len, at.end, 0, flags);
	uint8_t fm = m5_signal(sq, flags, slot);
	m5_v2 ctrl = m5_ctrl(sq, at.pi, op, head + (len + 4 + 15) / 16, fm, 0), a, b;

	m5_inline_short(&a, &b, m5_lmr_va(iov), len);
	m5_count_posted(sq, op, len);
	return m5_post_block(sq, at, op, ctrl, m5_raddr_of(op, remote), a, b, locked);
}

/* ---- Posts without flags that follow no bind ---- */

/* A bind that another thread is just posting comes before or after this post, as it happens. */
M5_INLINE bool m5_plain(const struct m5_sq *sq, unsigned int flags, bool locked)
{
	return m5_likely(!(flags | (locked ? __atomic_load_n(&sq->fence, __ATOMIC_RELAXED) :
					     sq->fence)));
}

M5_INLINE void m5_slot_plain(const struct m5_sq *sq, struct m5_spot at, uint64_t cookie,
			     uint32_t bytes)
{
	struct m5_slot *slot = m5_slot_in(sq, at.place);

	slot->cookie = cookie;
	slot->bytes = bytes;
	slot->rest = (uint16_t)at.end;
}

/* The segment's LMR is that of the last inline post, and len bytes of it are meant. */
M5_INLINE bool m5_known(const struct m5_sq *sq, const M5_LMR *iov, uint32_t len, bool locked)
{
	const struct dap_lmr *lmr = m5_last_lmr(sq, locked);

	return m5_likely(m5_lmr_key(iov) == lmr->lmr_context) &&
	       m5_likely(m5_inside(lmr, m5_lmr_va(iov), len));
}

/* One segment, copied or referred to, as the piece seg. */
M5_INLINE M5_RET m5_post_plain(struct m5_sq *sq, unsigned int op, m5_v2 seg, const M5_RMR *remote,
			       uint64_t bytes, uint64_t cookie, bool locked)
{
	struct m5_spot at = m5_spot(sq, 1);
	m5_v2 ctrl = m5_ctrl_plain(sq, op, 0, at.pi);
	m5_half w[M5_HALVES], *h;

	m5_slot_plain(sq, at, cookie, (uint32_t)bytes);
	if (op == M5_OP_SEND) {
		h = m5_put_two(w, ctrl, seg);
		m5_put_none(h);
	} else {
		h = m5_put_two(w, ctrl, m5_raddr_of(op, remote));
		m5_put_one(h, seg);
	}
	m5_count_posted(sq, op, bytes);
	return m5_post_at(sq, at, ctrl, w, 1, locked);
}

/* A cache line of data that travels in the WQE. */
M5_INLINE M5_RET m5_post_line(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			      const M5_RMR *remote, uint64_t cookie, bool locked)
{
	struct m5_spot at = m5_spot(sq, 2);
	m5_v2 ctrl = m5_ctrl_plain(sq, op, 4, at.pi), p[5];
	m5_half w[2 * M5_HALVES], *h;

	m5_inline_line(p, m5_lmr_va(iov));
	m5_slot_plain(sq, at, cookie, M5_LINE);
	if (op == M5_OP_SEND) {
		h = m5_put_two(w, ctrl, p[0]);
		h = m5_put_two(m5_put_two(h, p[1], p[2]), p[3], p[4]);
		m5_put_none(h);
	} else {
		h = m5_put_two(w, ctrl, m5_raddr_of(op, remote));
		h = m5_put_two(m5_put_two(h, p[0], p[1]), p[2], p[3]);
		m5_put_word(h, (const uint8_t *)(uintptr_t)m5_lmr_va(iov) + M5_LINE - 4);
	}
	m5_count_posted(sq, op, M5_LINE);
	return m5_post_at(sq, at, ctrl, w, 2, locked);
}

/* What is not one segment of one block with credit at hand: the call itself once more, out of line. */
typedef M5_RET m5_send_fn(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			  unsigned int flags);
typedef M5_RET m5_rdma_fn(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			  const M5_RMR *remote, unsigned int flags);

/* What m5_post_send and m5_post_write leave of single segments: short ones, and what is refused. */
M5_INLINE M5_RET m5_send_one(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			     unsigned int flags, m5_send_fn *slow, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len = m5_lmr_len(iov);
	bool copy = len <= sq->inline_max &&
		    m5_may_copy(ep, sq, m5_lmr_key(iov), m5_lmr_va(iov), len, locked);

	if (m5_unlikely(len - 1 >= sq->max_msg) || m5_unlikely(copy && len > M5_SHORT) ||
	    m5_unlikely(flags & sq->deny_send) || m5_unlikely(!m5_sq_try(sq, 1, locked)))
		return slow(ep, 1, iov, cookie, flags);
	if (copy)
		return m5_post_short(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, cookie, flags,
				     locked);
	return m5_post_ref(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, cookie, flags, locked);
}

M5_INLINE M5_RET m5_write_one(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *to, unsigned int flags, m5_rdma_fn *slow,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len = m5_lmr_len(iov);
	bool copy = len <= sq->inline_max &&
		    m5_may_copy(ep, sq, m5_lmr_key(iov), m5_lmr_va(iov), len, locked);

	if (m5_unlikely(len - 1 >= sq->max_rdma) || m5_unlikely(len > m5_rmr_len(to)) ||
	    m5_unlikely(copy && len > M5_SHORT) || m5_unlikely(flags & sq->deny_rdma) ||
	    m5_unlikely(!m5_sq_try(sq, 1, locked)))
		return slow(ep, 1, iov, cookie, to, flags);
	if (copy)
		return m5_post_short(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags,
				     locked);
	return m5_post_ref(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags, locked);
}

/* A cache line that travels in the WQE: one segment without flags, so that nobody has to say so. */
typedef M5_RET m5_send_line_fn(struct dap_ep *ep, int any, const M5_LMR *iov, uint64_t cookie);
typedef M5_RET m5_rdma_line_fn(struct dap_ep *ep, int any, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *remote);

/* What of a post is done out of line, by the same arguments in the same places. */
struct m5_send_ways {
	m5_send_fn *many;		/* not one segment */
	m5_send_fn *one;		/* with flags, after a bind, short, too long */
	m5_send_line_fn *line;
	m5_send_fn *refill;		/* no credit */
};

struct m5_rdma_ways {
	m5_rdma_fn *many, *one;
	m5_rdma_line_fn *line;
	m5_rdma_fn *refill;
};

/* An argument that nobody reads: what its register happens to hold. */
M5_INLINE int m5_whatever(void)
{
	int any = 0;
#if defined(__x86_64__)
	__asm__("" : "=r"(any));
#endif
	return any;
}

/*
 * Posts of one segment without flags that follow no bind: eight bytes that travel in the WQE, and
 * what is too long to. What is done elsewhere is called in tail position, so that the body saves
 * no register. The same holds for m5_post_write and m5_post_read.
 */
M5_INLINE M5_RET m5_post_send(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, struct m5_send_ways ways, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov))
		return ways.many(ep, n, iov, cookie, flags);
	if (m5_unlikely(!m5_plain(sq, flags, locked)))
		return ways.one(ep, n, iov, cookie, flags);
	len = m5_whole(m5_lmr_len(iov));
	if (len == 8) {
		if (!m5_known(sq, iov, 8, locked))
			return ways.one(ep, n, iov, cookie, flags);
		if (!m5_sq_try(sq, 1, locked))
			return ways.refill(ep, n, iov, cookie, flags);
		return m5_post_plain(sq, M5_OP_SEND, m5_inline_eight(m5_lmr_va(iov)), NULL, 8,
				     cookie, locked);
	}
	if (len == M5_LINE)
		return ways.line(ep, m5_whatever(), iov, cookie);
	/* Longer than inline_max, and not longer than max_msg. */
	if (m5_unlikely(len - sq->long_from >= sq->send_span))
		return ways.one(ep, n, iov, cookie, flags);
	if (!m5_sq_try(sq, 1, locked))
		return ways.refill(ep, n, iov, cookie, flags);
	return m5_post_plain(sq, M5_OP_SEND,
			     m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov)), NULL,
			     len, cookie, locked);
}

M5_INLINE M5_RET m5_post_write(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *to, unsigned int flags, struct m5_rdma_ways ways,
			       bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1))
		return ways.many(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(!iov))
		return ways.many(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(!to))
		return ways.many(ep, n, iov, cookie, to, flags);
	len = m5_whole(m5_lmr_len(iov));
	if (m5_unlikely((m5_len)len > m5_rmr_len(to)) || m5_unlikely(!m5_plain(sq, flags, locked)))
		return ways.one(ep, n, iov, cookie, to, flags);
	if (len == 8) {
		if (!m5_known(sq, iov, 8, locked))
			return ways.one(ep, n, iov, cookie, to, flags);
		if (!m5_sq_try(sq, 1, locked))
			return ways.refill(ep, n, iov, cookie, to, flags);
		return m5_post_plain(sq, M5_OP_RDMA_WRITE, m5_inline_eight(m5_lmr_va(iov)), to, 8,
				     cookie, locked);
	}
	if (len == M5_LINE)
		return ways.line(ep, m5_whatever(), iov, cookie, to);
	if (m5_unlikely(len - sq->long_from >= sq->rdma_span))
		return ways.one(ep, n, iov, cookie, to, flags);
	if (!m5_sq_try(sq, 1, locked))
		return ways.refill(ep, n, iov, cookie, to, flags);
	return m5_post_plain(sq, M5_OP_RDMA_WRITE,
			     m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov)), to,
			     len, cookie, locked);
}

/* 64 bytes, without flags: these are m5_post_send's and m5_post_write's way line. */
M5_INLINE M5_RET m5_send_line(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			      m5_send_fn *one, m5_send_fn *refill, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (m5_unlikely(M5_LINE >= sq->long_from) || !m5_known(sq, iov, M5_LINE, locked))
		return one(ep, 1, iov, cookie, 0);
	if (!m5_sq_try(sq, 2, locked))
		return refill(ep, 1, iov, cookie, 0);
	return m5_post_line(sq, M5_OP_SEND, iov, NULL, cookie, locked);
}

M5_INLINE M5_RET m5_write_line(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *to, m5_rdma_fn *one, m5_rdma_fn *refill,
			       bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (m5_unlikely(M5_LINE >= sq->long_from) || !m5_known(sq, iov, M5_LINE, locked))
		return one(ep, 1, iov, cookie, to, 0);
	if (!m5_sq_try(sq, 2, locked))
		return refill(ep, 1, iov, cookie, to, 0);
	return m5_post_line(sq, M5_OP_RDMA_WRITE, iov, to, cookie, locked);
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
M5_INLINE M5_RET m5_post_read(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *from, unsigned int flags, m5_rdma_fn *slow,
			      m5_rdma_fn *refill, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely((uint32_t)n != sq->read_segs) || m5_unlikely(!iov))
		return slow(ep, n, iov, cookie, from, flags);
	m5_part();
	if (m5_unlikely(!from))
		return slow(ep, n, iov, cookie, from, flags);
	if (m5_unlikely(!m5_plain(sq, flags, locked)))
		return slow(ep, n, iov, cookie, from, flags);
	len = m5_rmr_len(from);
	if (m5_unlikely(len - 1 >= sq->max_rdma) ||
	    m5_unlikely((m5_len)len > m5_lmr_len(iov)))
		return slow(ep, n, iov, cookie, from, flags);
	if (m5_unlikely(!m5_sq_try(sq, 1, locked)))
		return refill(ep, n, iov, cookie, from, flags);
	return m5_post_plain(sq, M5_OP_RDMA_READ,
			     m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov)), from,
			     len, cookie, locked);
}
