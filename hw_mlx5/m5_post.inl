/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting, as bodies that are instantiated for each API level and variant. Who includes this gives
 * the types M5_RET, M5_LMR and M5_RMR, the accessors m5_lmr_key/va/len and m5_rmr_key/va/len, and
 * m5_fail, which turns a DAP_ERR into an M5_RET. Arguments that are constants: soft, the doorbell
 * drives the model; locked, a spin lock guards the queue; any, the variant's own m5_post_any.
 */
#include "hw_mlx5/m5_lock.h"
#include "softnic/softnic.h"
#include "hw_mlx5/m5_seg.inl"

/* Neither before its start nor beyond its end: no sign in either difference. len < 2 GiB. */
M5_INLINE bool m5_inside(const struct dap_lmr *lmr, uint64_t va, uint64_t len)
{
	uint64_t off = va - lmr->addr, room = lmr->length - len;

	/* Or the compiler finds off twice, from either end. */
	__asm__("" : "+r"(off));
	return (int64_t)(off | (room - off)) >= 0;
}

/*
 * Only what lies in an LMR of the endpoint's zone, with the right to be read, is copied here; all
 * else goes out by reference, for the device to refuse with a completion. An LMR that is freed
 * loses its context (m5_lmr_destroy), so that one seen before is known again by it.
 */
M5_INLINE bool m5_may_copy(const struct dap_ep *ep, struct m5_sq *sq, uint32_t key, uint64_t va,
			   uint64_t len)
{
	const struct dap_lmr *lmr = sq->lmr;

	if (m5_unlikely(lmr->lmr_context != key)) {
		lmr = dap_lmr_find(ep->obj.ia, key);
		if (!lmr || !(lmr->priv & DAP_PRIV_LOCAL_READ) || lmr->zero_based ||
		    lmr->pz != sq->pz)
			return false;
		sq->lmr = lmr;
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

	sq->fence = 0;
	if (m5_unlikely(flags & DAP_COMP_SUPPRESS) && ++sq->quiet >= sq->quiet_max) {
		sq->quiet = 0;
		fm |= M5_CE_ALWAYS;
		slot->kind = M5_KIND_HIDDEN;
	}
	return fm;
}

M5_INLINE uint8_t *m5_sq_at(const struct m5_sq *sq, uint32_t pi)
{
	return sq->ring + ((size_t)(pi & sq->mask) << M5_BB_SHIFT);
}

/* The half to write now; they take turns (PRM, "BlueFlame"). A register is 512 bytes, aligned. */
M5_INLINE volatile uint8_t *m5_reg_next(struct m5_sq *sq)
{
	uintptr_t reg = sq->reg;

#if defined(__x86_64__) && !DAP_TSAN
	/* One instruction, where the compiler takes three; from the endpoint, as all is addressed. */
	__asm__ volatile("xorq $256, %c1(%0)"
			 : : "r"((uint8_t *)sq - offsetof(struct dap_ep, hw)),
			     "i"(offsetof(struct dap_ep, hw) + offsetof(struct m5_sq, reg))
			 : "cc", "memory");
#else
	sq->reg = reg ^ 256;
#endif
	return (volatile uint8_t *)reg;
}

/* x86 pushes a full write-combining line out by itself. */
M5_INLINE void m5_bf_end(void)
{
#if !defined(__x86_64__)
	dap_wc_flush();
#endif
}

M5_INLINE void m5_bf_ring(volatile uint8_t *reg, const struct m5_sq *sq, uint32_t pi, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, reg += M5_BB) {
		m5_store_mmio(reg, (const struct m5_block *)m5_sq_at(sq, pi + i), 1);
		m5_bf_end();
	}
}

/* b: the blocks, where they are in registers; else they are read back from the ring. */
M5_INLINE void m5_ring_silicon(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl,
			       const struct m5_block *b)
{
	volatile uint8_t *reg = m5_reg_next(sq);

	dap_wmb_dbrec_before_mmio();
	if (DAP_TSAN || m5_unlikely(n > sq->bf)) {
		dap_mmio_store64((volatile uint64_t *)reg, ctrl[0]);
		dap_wc_flush();
	} else if (b) {
		m5_store_mmio(reg, b, n);
		m5_bf_end();
	} else {
		m5_bf_ring(reg, sq, pi, n);
	}
}

M5_INLINE void m5_ring_soft(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl)
{
	uint32_t offset = (uint32_t)((uintptr_t)m5_reg_next(sq) & 0xfff);
	uint64_t db = ctrl[0];

	if (m5_likely(n <= sq->bf && (pi & sq->mask) + n <= sq->mask + 1))
		softnic_mmio_write(sq->soft, sq->uar_page, offset, m5_sq_at(sq, pi),
				   (size_t)n << M5_BB_SHIFT);
	else
		softnic_mmio_write(sq->soft, sq->uar_page, offset, &db, sizeof(db));
}

/* All before pi is posted: for a device that looks at the doorbell record. */
M5_INLINE void m5_record(struct m5_sq *sq, uint32_t pi)
{
	sq->pi = pi;
	dap_wmb_wqe_before_dbrec();
	dap_store_dbrec(&sq->dbrec[1], __builtin_bswap32((uint16_t)pi));
}

/*
 * Tells the device of n blocks of work at pi. An 8-byte doorbell carries the ctrl segment of the
 * last WQE; BlueFlame is for a single one.
 */
M5_INLINE void m5_ring(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl,
		       const struct m5_block *b, bool soft)
{
	m5_record(sq, pi + n);
	if (soft)
		m5_ring_soft(sq, pi, n, ctrl);
	else
		m5_ring_silicon(sq, pi, n, ctrl, b);
}

/* The queue is the caller's and has room for n blocks: true. Otherwise it is not locked. */
M5_INLINE bool m5_sq_begin(struct dap_ep *ep, uint32_t n, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (locked)
		m5_spin_lock(&sq->lock);
	if (m5_likely((int32_t)(sq->limit - sq->pi - n) >= 0) || m5_sq_credit(ep, n))
		return true;
	if (locked)
		m5_spin_unlock(&sq->lock);
	return false;
}

M5_INLINE void m5_sq_end(struct m5_sq *sq, bool locked)
{
	if (locked)
		m5_spin_unlock(&sq->lock);
}

/* A WQE of n blocks, in registers and in one piece in the ring, becomes the device's. */
M5_INLINE M5_RET m5_post_blocks(struct m5_sq *sq, const struct m5_block *b, uint32_t pi, uint32_t n,
				bool soft, bool locked)
{
	m5_store_blocks(m5_sq_at(sq, pi), b, n);
	m5_ring(sq, pi, n, b->v[0], b, soft);
	m5_sq_end(sq, locked);
	return DAT_SUCCESS;
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

/* One segment by reference, for which there is credit. */
M5_INLINE M5_RET m5_post_ref(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			     const M5_RMR *remote, uint32_t len, uint64_t cookie,
			     unsigned int flags, bool soft, bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_block b = { 0 };
	uint32_t pi = sq->pi;
	struct m5_slot *slot = m5_slot_set(sq, pi, cookie, len, pi + 1, 0, flags);
	uint8_t fm = m5_signal(sq, flags, slot);

	b.v[0] = m5_ctrl(sq, pi, op, head + 1, fm, 0);
	if (head == 2)
		b.v[1] = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	b.v[head] = m5_data(len, m5_lmr_key(iov), m5_lmr_va(iov));
	return m5_post_blocks(sq, &b, pi, 1, soft, locked);
}

/* One short segment that travels in the WQE. */
M5_INLINE M5_RET m5_post_short(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			       const M5_RMR *remote, uint32_t len, uint64_t cookie,
			       unsigned int flags, bool soft, bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_block b = { 0 };
	uint32_t pi = sq->pi;
	struct m5_slot *slot = m5_slot_set(sq, pi, cookie, len, pi + 1, 0, flags);
	uint8_t fm = m5_signal(sq, flags, slot);

	b.v[0] = m5_ctrl(sq, pi, op, head + (len + 4 + 15) / 16, fm, 0);
	if (head == 2)
		b.v[1] = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	m5_inline_short(&b.v[head], &b.v[head + 1], m5_lmr_va(iov), len);
	return m5_post_blocks(sq, &b, pi, 1, soft, locked);
}

/* ---- Posts without flags that follow no bind ---- */

M5_INLINE bool m5_plain(const struct m5_sq *sq, unsigned int flags)
{
	return m5_likely(!(flags | sq->fence));
}

M5_INLINE void m5_slot_plain(const struct m5_sq *sq, uint32_t pi, uint32_t n, uint64_t cookie,
			     uint32_t bytes)
{
	struct m5_slot *slot = &sq->slots[pi & sq->mask];

	slot->cookie = cookie;
	slot->bytes = bytes;
	slot->rest = (uint16_t)(pi + n);
}

/* The segment's LMR is that of the last inline post, and len bytes of it are meant. */
M5_INLINE bool m5_known(const struct m5_sq *sq, const M5_LMR *iov, uint32_t len)
{
	return m5_likely(m5_lmr_key(iov) == sq->lmr->lmr_context) &&
	       m5_likely(m5_inside(sq->lmr, m5_lmr_va(iov), len));
}

/* One segment, copied or referred to, as the piece seg. */
M5_INLINE M5_RET m5_post_plain(struct m5_sq *sq, unsigned int op, m5_v2 seg, const M5_RMR *remote,
			       uint32_t bytes, uint64_t cookie, bool soft, bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_block b = { 0 };
	uint32_t pi = sq->pi;

	b.v[0] = m5_ctrl_plain(sq, op, 0, pi);
	if (head == 2)
		b.v[1] = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	b.v[head] = seg;
	m5_slot_plain(sq, pi, 1, cookie, bytes);
	return m5_post_blocks(sq, &b, pi, 1, soft, locked);
}

/* A cache line of data that travels in the WQE. */
M5_INLINE M5_RET m5_post_line(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			      const M5_RMR *remote, uint64_t cookie, bool soft, bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_block b[2] = { 0 };
	uint32_t pi = sq->pi;
	m5_v2 p[5];

	m5_inline_line(p, m5_lmr_va(iov));
	b[0].v[0] = m5_ctrl_plain(sq, op, 4, pi);
	if (head == 2)
		b[0].v[1] = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	M5_UNROLL
	for (unsigned int i = 0; i < 5; i++)
		b[(head + i) / 4].v[(head + i) % 4] = p[i];
	m5_slot_plain(sq, pi, 2, cookie, M5_LINE);
	return m5_post_blocks(sq, b, pi, 2, soft, locked);
}

/*
 * There is credit for n blocks at once, before the end of the ring, and the queue is the caller's:
 * what else there is to do, and be it to wait for a lock, is done elsewhere.
 */
M5_INLINE bool m5_sq_try(struct m5_sq *sq, uint32_t n, bool locked)
{
	if (locked && !m5_spin_try(&sq->lock))
		return false;
	if (m5_likely(n == 1 ? sq->limit != sq->pi : (int32_t)(sq->limit - (sq->pi + n)) >= 0))
		return true;
	if (locked)
		m5_spin_unlock(&sq->lock);
	return false;
}

/*
 * Credit for n blocks is what a short way lacked: there is some, before the end of the ring, and
 * the queue is the caller's. Nothing is called, so nothing is saved.
 */
M5_INLINE bool m5_sq_refill(struct dap_ep *ep, uint32_t n, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (locked && !m5_spin_try(&sq->lock))
		return false;
	if ((sq->pi & sq->mask) + n <= sq->mask + 1 && m5_sq_look(m5_ep(ep), n))
		return true;
	if (locked)
		m5_spin_unlock(&sq->lock);
	return false;
}

/* The same for who starts again: where others post, too, it may be gone by then. */
M5_INLINE bool m5_refilled(struct dap_ep *ep, uint32_t n, bool locked)
{
	if (!m5_sq_refill(ep, n, locked))
		return false;
	m5_sq_end(&m5_ep(ep)->sq, locked);
	return true;
}

/* What is not one segment of one block with credit at hand: the call itself once more, out of line. */
typedef M5_RET m5_send_fn(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			  unsigned int flags);
typedef M5_RET m5_rdma_fn(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			  const M5_RMR *remote, unsigned int flags);

/* What m5_post_send and m5_post_write leave of single segments: short ones, and what is refused. */
M5_INLINE M5_RET m5_send_one(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			     unsigned int flags, m5_send_fn *slow, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len = m5_lmr_len(iov);
	bool copy = len <= sq->inline_max &&
		    m5_may_copy(ep, sq, m5_lmr_key(iov), m5_lmr_va(iov), len);

	if (m5_unlikely(len - 1 >= sq->max_msg) || m5_unlikely(copy && len > M5_SHORT) ||
	    m5_unlikely(flags & sq->deny_send) || m5_unlikely(!m5_sq_try(sq, 1, locked)))
		return slow(ep, 1, iov, cookie, flags);
	if (copy)
		return m5_post_short(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, cookie, flags, soft,
				     locked);
	return m5_post_ref(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, cookie, flags, soft, locked);
}

M5_INLINE M5_RET m5_write_one(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *to, unsigned int flags, m5_rdma_fn *slow, bool soft,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len = m5_lmr_len(iov);
	bool copy = len <= sq->inline_max &&
		    m5_may_copy(ep, sq, m5_lmr_key(iov), m5_lmr_va(iov), len);

	if (m5_unlikely(len - 1 >= sq->max_rdma) || m5_unlikely(len > m5_rmr_len(to)) ||
	    m5_unlikely(copy && len > M5_SHORT) || m5_unlikely(flags & sq->deny_rdma) || m5_unlikely(!m5_sq_try(sq, 1, locked)))
		return slow(ep, 1, iov, cookie, to, flags);
	if (copy)
		return m5_post_short(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags,
				     soft, locked);
	return m5_post_ref(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags, soft,
			   locked);
}

/* What of a post is done out of line, by the same arguments in the same places. */
struct m5_send_ways {
	m5_send_fn *many;		/* not one segment */
	m5_send_fn *one;		/* with flags, after a bind, short, too long */
	m5_send_fn *line;		/* a cache line that travels in the WQE */
	m5_send_fn *refill;		/* no credit */
};

struct m5_rdma_ways {
	m5_rdma_fn *many, *one, *line, *refill;
};

/*
 * Posts of one segment without flags that follow no bind: eight bytes that travel in the WQE, and
 * what is too long to. What is done elsewhere is called in tail position, so that the body saves
 * no register. The same holds for m5_post_write and m5_post_read.
 */
M5_INLINE M5_RET m5_post_send(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, struct m5_send_ways ways, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov))
		return ways.many(ep, n, iov, cookie, flags);
	len = m5_lmr_len(iov);
	if (m5_unlikely(!m5_plain(sq, flags)))
		return ways.one(ep, n, iov, cookie, flags);
	if (len == 8) {
		if (!m5_known(sq, iov, 8))
			return ways.one(ep, n, iov, cookie, flags);
		if (!m5_sq_try(sq, 1, locked))
			return ways.refill(ep, n, iov, cookie, flags);
		return m5_post_plain(sq, M5_OP_SEND, m5_inline_eight(m5_lmr_va(iov)), NULL, 8,
				     cookie, soft, locked);
	}
	if (len == M5_LINE)
		return ways.line(ep, n, iov, cookie, flags);
	/* Longer than inline_max, and not longer than max_msg. */
	if (m5_unlikely(len - sq->long_from >= sq->send_span))
		return ways.one(ep, n, iov, cookie, flags);
	if (!m5_sq_try(sq, 1, locked))
		return ways.refill(ep, n, iov, cookie, flags);
	return m5_post_plain(sq, M5_OP_SEND,
			     m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov)), NULL,
			     (uint32_t)len, cookie, soft, locked);
}

M5_INLINE M5_RET m5_post_write(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *to, unsigned int flags, struct m5_rdma_ways ways,
			       bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1))
		return ways.many(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(!iov))
		return ways.many(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(!to))
		return ways.many(ep, n, iov, cookie, to, flags);
	len = m5_lmr_len(iov);
	if (m5_unlikely(len > m5_rmr_len(to)) || m5_unlikely(!m5_plain(sq, flags)))
		return ways.one(ep, n, iov, cookie, to, flags);
	if (len == 8) {
		if (!m5_known(sq, iov, 8))
			return ways.one(ep, n, iov, cookie, to, flags);
		if (!m5_sq_try(sq, 1, locked))
			return ways.refill(ep, n, iov, cookie, to, flags);
		return m5_post_plain(sq, M5_OP_RDMA_WRITE, m5_inline_eight(m5_lmr_va(iov)), to, 8,
				     cookie, soft, locked);
	}
	if (len == M5_LINE)
		return ways.line(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(len - sq->long_from >= sq->rdma_span))
		return ways.one(ep, n, iov, cookie, to, flags);
	if (!m5_sq_try(sq, 1, locked))
		return ways.refill(ep, n, iov, cookie, to, flags);
	return m5_post_plain(sq, M5_OP_RDMA_WRITE,
			     m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov)), to,
			     (uint32_t)len, cookie, soft, locked);
}

/* 64 bytes, without flags: these are m5_post_send's and m5_post_write's way line. */
M5_INLINE M5_RET m5_send_line(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, m5_send_fn *one, m5_send_fn *refill, bool soft,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (m5_unlikely(M5_LINE >= sq->long_from) || !m5_known(sq, iov, M5_LINE))
		return one(ep, 1, iov, cookie, flags);
	if (!m5_sq_try(sq, 2, locked))
		return refill(ep, 1, iov, cookie, flags);
	return m5_post_line(sq, M5_OP_SEND, iov, NULL, cookie, soft, locked);
}

M5_INLINE M5_RET m5_write_line(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *to, unsigned int flags, m5_rdma_fn *one,
			       m5_rdma_fn *refill, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (m5_unlikely(M5_LINE >= sq->long_from) || !m5_known(sq, iov, M5_LINE))
		return one(ep, 1, iov, cookie, to, flags);
	if (!m5_sq_try(sq, 2, locked))
		return refill(ep, 1, iov, cookie, to, flags);
	return m5_post_line(sq, M5_OP_RDMA_WRITE, iov, to, cookie, soft, locked);
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
M5_INLINE M5_RET m5_post_read(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *from, unsigned int flags, m5_rdma_fn *slow,
			      m5_rdma_fn *refill, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely((uint32_t)n != sq->read_segs) || m5_unlikely(!iov) || m5_unlikely(!from))
		return slow(ep, n, iov, cookie, from, flags);
	len = m5_rmr_len(from);
	if (m5_unlikely(!m5_plain(sq, flags)) || m5_unlikely(len - 1 >= sq->max_rdma) ||
	    m5_unlikely(len > m5_lmr_len(iov)))
		return slow(ep, n, iov, cookie, from, flags);
	if (m5_unlikely(!m5_sq_try(sq, 1, locked)))
		return refill(ep, n, iov, cookie, from, flags);
	return m5_post_plain(sq, M5_OP_RDMA_READ,
			     m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov)), from,
			     (uint32_t)len, cookie, soft, locked);
}

/* The receive at pi is noted and its WQE written: no doorbell, the device reads the record. */
M5_INLINE void m5_recv_posted(struct m5_rq *rq, uint32_t pi)
{
	rq->pi = pi + 1;
	dap_wmb_wqe_before_dbrec();
	dap_store_dbrec(&rq->dbrec[0], __builtin_bswap32((uint16_t)(pi + 1)));
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
	uint64_t len;
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
	*m5_rq_at(rq, pi) = m5_data((uint32_t)len, m5_lmr_key(iov), m5_lmr_va(iov));
	m5_recv_posted(rq, pi);
	if (locked)
		m5_spin_unlock(&rq->lock);
	return DAT_SUCCESS;
}
