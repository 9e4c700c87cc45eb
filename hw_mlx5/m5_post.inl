/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting, as bodies that are instantiated for each API level and variant. Who includes this gives
 * the types M5_RET, M5_LMR and M5_RMR, the accessors m5_lmr_key/va/len and m5_rmr_key/va/len, and
 * m5_fail, which turns a DAP_ERR into an M5_RET. Arguments that are constants: soft, the doorbell
 * drives the model; locked, a spin lock guards the queue; any, the variant's own m5_post_any.
 *
 * A WQE is assembled in registers and stored whole in pieces of 16 bytes, so that who reads it
 * next (BlueFlame, a model) finds no store narrower than its load in flight.
 */
#include "hw_mlx5/m5_lock.h"
#include "softnic/softnic.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of WQEs are assembled for little-endian hosts"
#endif

typedef uint64_t m5_v2 __attribute__((vector_size(16), may_alias, aligned(16)));

struct m5_block {
	m5_v2 v[4];
};

/* PRM, "Control segment"; start: its first eight bytes without the index. */
M5_INLINE m5_v2 m5_ctrl_at(uint64_t start, uint32_t pi, uint64_t rest)
{
	return (m5_v2){ start | (uint32_t)__builtin_bswap16((uint16_t)pi) << 8, rest };
}

M5_INLINE m5_v2 m5_ctrl(const struct m5_sq *sq, uint32_t pi, unsigned int op, unsigned int ds,
			uint8_t fm, uint32_t imm)
{
	return m5_ctrl_at(sq->ctrl | (uint64_t)ds << 56 | op << 24, pi,
			  (uint32_t)fm << 24 | (uint64_t)__builtin_bswap32(imm) << 32);
}

M5_INLINE m5_v2 m5_raddr(uint64_t va, uint32_t rkey)
{
	return (m5_v2){ __builtin_bswap64(va), __builtin_bswap32(rkey) };
}

/* Also a KLM. The two words of its first half are turned round as one. */
M5_INLINE m5_v2 m5_data(uint32_t bytes, uint32_t lkey, uint64_t va)
{
	return (m5_v2){ __builtin_bswap64((uint64_t)bytes << 32 | lkey), __builtin_bswap64(va) };
}

M5_INLINE void m5_store(uint8_t *to, const struct m5_block *b)
{
	m5_v2 *p = (m5_v2 *)to;

	p[0] = b->v[0];
	p[1] = b->v[1];
	p[2] = b->v[2];
	p[3] = b->v[3];
}

M5_INLINE uint64_t m5_load(const uint8_t *p, unsigned int bytes)
{
	uint64_t v = 0;

	__builtin_memcpy(&v, p, bytes);
	return v;
}

/* n <= 8 bytes as a word, zero above them, with no load beyond either end. */
M5_INLINE uint64_t m5_load_some(const uint8_t *p, unsigned int n)
{
	if (n == 8)
		return m5_load(p, 8);
	if (n >= 4)
		return m5_load(p, 4) | (m5_load(p + n - 4, 4) >> (8 * (8 - n))) << 32;
	if (!n)
		return 0;
	return p[0] | (uint64_t)p[n / 2] << (8 * (n / 2)) | (uint64_t)p[n - 1] << (8 * (n - 1));
}

/* Eight bytes behind the header of their segment, by one shift of the whole piece. */
M5_INLINE m5_v2 m5_inline_eight(uint64_t va)
{
	uint64_t d = m5_load((const uint8_t *)(uintptr_t)va, 8);
	uint64_t head = __builtin_bswap32(8 | M5_INLINE_SEG);
#if defined(__SSE2__)
	return (m5_v2)_mm_slli_si128(_mm_cvtsi64_si128((long long)d), 4) | (m5_v2){ head, 0 };
#else
	return (m5_v2){ head | d << 32, d >> 32 };
#endif
}

#define M5_SHORT 28			/* inline bytes after a remote address in one block */

/* The inline segment of at most 28 bytes: header and data as two pieces. */
M5_INLINE void m5_inline_short(m5_v2 *a, m5_v2 *b, uint64_t va, uint32_t n)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)va;
	uint64_t head = __builtin_bswap32(n | M5_INLINE_SEG);
	uint64_t d0 = m5_load_some(p, n < 8 ? n : 8), d1 = 0, d2 = 0, d3 = 0;

	if (n > 8)
		d1 = m5_load_some(p + 8, n < 16 ? n - 8 : 8);
	if (n > 16)
		d2 = m5_load_some(p + 16, n < 24 ? n - 16 : 8);
	if (n > 24)
		d3 = m5_load(p + n - 4, 4) >> (8 * (28 - n));
	*a = (m5_v2){ head | d0 << 32, d0 >> 32 | d1 << 32 };
	*b = (m5_v2){ d1 >> 32 | d2 << 32, d2 >> 32 | d3 << 32 };
}

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
		if (!lmr || !(lmr->priv & DAP_PRIV_LOCAL_READ) || lmr->pz != sq->pz)
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

	sq->reg = reg ^ 256;
	return (volatile uint8_t *)reg;
}

/* x86 pushes a full write-combining line out by itself. */
M5_INLINE void m5_bf_end(void)
{
#if !defined(__x86_64__)
	dap_wc_flush();
#endif
}

M5_INLINE void m5_bf_write(volatile uint8_t *reg, const struct m5_block *b)
{
	volatile m5_v2 *to = (volatile m5_v2 *)reg;

	to[0] = b->v[0];
	to[1] = b->v[1];
	to[2] = b->v[2];
	to[3] = b->v[3];
	m5_bf_end();
}

M5_INLINE void m5_bf_ring(volatile uint8_t *reg, const struct m5_sq *sq, uint32_t pi, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, reg += M5_BB)
		m5_bf_write(reg, (const struct m5_block *)m5_sq_at(sq, pi + i));
}

/* b: the only block, where it is in registers; else they are read back from the ring. */
M5_INLINE void m5_ring_silicon(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl,
			       const struct m5_block *b)
{
	volatile uint8_t *reg = m5_reg_next(sq);

	dap_wmb_dbrec_before_mmio();
	if (DAP_TSAN || m5_unlikely(n > sq->bf)) {
		dap_mmio_store64((volatile uint64_t *)reg, ctrl[0]);
		dap_wc_flush();
	} else if (b) {
		m5_bf_write(reg, b);
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
	if (m5_likely(sq->limit - sq->pi >= n) || m5_sq_credit(ep, n))
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

/* A WQE of one block, in registers, becomes the device's. */
M5_INLINE M5_RET m5_post_block(struct m5_sq *sq, const struct m5_block *b, uint32_t pi, bool soft,
			       bool locked)
{
	m5_store(m5_sq_at(sq, pi), b);
	m5_ring(sq, pi, 1, b->v[0], b, soft);
	m5_sq_end(sq, locked);
	return DAT_SUCCESS;
}

/* The start of the ctrl segment of a WQE with one short segment, copied or referred to. */
M5_INLINE uint64_t m5_ctrl_one(const struct m5_sq *sq, unsigned int op)
{
	if (op == M5_OP_SEND)
		return sq->ctrl_send;
	return op == M5_OP_RDMA_WRITE ? sq->ctrl_write :
	       sq->ctrl_write + ((uint64_t)(M5_OP_RDMA_READ - M5_OP_RDMA_WRITE) << 24);
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

	b.v[0] = m5_ctrl_at(m5_ctrl_one(sq, op), pi, (uint32_t)fm << 24);
	if (head == 2)
		b.v[1] = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	b.v[head] = m5_data(len, m5_lmr_key(iov), m5_lmr_va(iov));
	return m5_post_block(sq, &b, pi, soft, locked);
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
	return m5_post_block(sq, &b, pi, soft, locked);
}

/* Eight bytes without flags, that follow no bind. */
M5_INLINE M5_RET m5_post_eight(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			       const M5_RMR *remote, uint64_t cookie, bool soft, bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_block b = { 0 };
	uint32_t pi = sq->pi;

	b.v[0] = m5_ctrl_at(m5_ctrl_one(sq, op), pi, sq->fm_plain);
	if (head == 2)
		b.v[1] = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	b.v[head] = m5_inline_eight(m5_lmr_va(iov));
	m5_slot_set(sq, pi, cookie, 8, pi + 1, 0, 0);
	return m5_post_block(sq, &b, pi, soft, locked);
}

/* m5_post_eight may be: as to the flags, and to the segment, whose LMR is that of the last one. */
M5_INLINE bool m5_plain(const struct m5_sq *sq, unsigned int flags)
{
	return m5_likely(!(flags | sq->fence));
}

M5_INLINE bool m5_known(const struct m5_sq *sq, const M5_LMR *iov)
{
	return m5_likely(m5_lmr_key(iov) == sq->lmr->lmr_context) &&
	       m5_likely(m5_inside(sq->lmr, m5_lmr_va(iov), 8));
}

/* Has room for one block at once, and is the caller's: what else there is to do is done elsewhere. */
M5_INLINE bool m5_sq_try(struct m5_sq *sq, bool locked)
{
	if (locked)
		m5_spin_lock(&sq->lock);
	if (m5_likely(sq->limit != sq->pi))
		return true;
	if (locked)
		m5_spin_unlock(&sq->lock);
	return false;
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
	    m5_unlikely(flags & sq->deny_send) || m5_unlikely(!m5_sq_try(sq, locked)))
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

	if (m5_unlikely(len - 1 >= sq->max_rdma) || m5_unlikely(copy && len > M5_SHORT) ||
	    m5_unlikely(flags & sq->deny_rdma) || m5_unlikely(!m5_sq_try(sq, locked)))
		return slow(ep, 1, iov, cookie, to, flags);
	if (copy)
		return m5_post_short(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags,
				     soft, locked);
	return m5_post_ref(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags, soft,
			   locked);
}

/*
 * Eight bytes without flags, and what is too long to be copied, are posted here; the rest by one
 * or slow. These are calls in tail position with the arguments where they are, so that the body
 * saves no register. The same holds for m5_post_write.
 */
M5_INLINE M5_RET m5_post_send(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, m5_send_fn *one, m5_send_fn *slow, bool soft,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov))
		return slow(ep, n, iov, cookie, flags);
	len = m5_lmr_len(iov);
	if (len == 8) {
		if (!m5_plain(sq, flags) || !m5_known(sq, iov) || !m5_sq_try(sq, locked))
			return one(ep, n, iov, cookie, flags);
		return m5_post_eight(sq, M5_OP_SEND, iov, NULL, cookie, soft, locked);
	}
	/* Longer than inline_max, and not longer than max_msg. */
	if (m5_unlikely(len - sq->inline_max - 1 >= sq->send_span))
		return one(ep, n, iov, cookie, flags);
	if (m5_unlikely(flags & sq->deny_send) || !m5_sq_try(sq, locked))
		return slow(ep, n, iov, cookie, flags);
	return m5_post_ref(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, cookie, flags, soft, locked);
}

M5_INLINE M5_RET m5_post_write(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *to, unsigned int flags, m5_rdma_fn *one,
			       m5_rdma_fn *slow, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov))
		return slow(ep, n, iov, cookie, to, flags);
	len = m5_lmr_len(iov);
	if (m5_unlikely(!to))
		return slow(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(len > m5_rmr_len(to)))
		return slow(ep, n, iov, cookie, to, flags);
	if (len == 8) {
		if (!m5_plain(sq, flags) || !m5_known(sq, iov) || !m5_sq_try(sq, locked))
			return one(ep, n, iov, cookie, to, flags);
		return m5_post_eight(sq, M5_OP_RDMA_WRITE, iov, to, cookie, soft, locked);
	}
	if (m5_unlikely(len - sq->inline_max - 1 >= sq->rdma_span))
		return one(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(flags & sq->deny_rdma) || !m5_sq_try(sq, locked))
		return slow(ep, n, iov, cookie, to, flags);
	return m5_post_ref(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags, soft,
			   locked);
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
M5_INLINE M5_RET m5_post_read(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *from, unsigned int flags, m5_rdma_fn *slow, bool soft,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely((uint32_t)n != sq->read_segs) || m5_unlikely(!iov) || m5_unlikely(!from) ||
	    m5_unlikely(flags & sq->deny_rdma))
		return slow(ep, n, iov, cookie, from, flags);
	len = m5_rmr_len(from);
	if (m5_unlikely(len - 1 >= sq->max_rdma) || m5_unlikely(len > m5_lmr_len(iov)) ||
	    m5_unlikely(!m5_sq_try(sq, locked)))
		return slow(ep, n, iov, cookie, from, flags);
	return m5_post_ref(sq, M5_OP_RDMA_READ, iov, from, (uint32_t)len, cookie, flags, soft,
			   locked);
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

M5_INLINE M5_RET m5_post_recv(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, m5_send_fn *slow, bool locked)
{
	struct m5_rq *rq = &m5_ep(ep)->rq;
	uint32_t pi, stride;
	m5_v2 *wqe;

	if (locked || m5_unlikely(n != 1) || m5_unlikely(!iov) || m5_unlikely(flags & rq->deny) ||
	    m5_unlikely(m5_lmr_len(iov) - 1 >= INT32_MAX) || m5_unlikely(rq->limit == rq->pi))
		return slow(ep, n, iov, cookie, flags);
	pi = rq->pi;
	stride = rq->stride;
	wqe = m5_rq_at(rq, pi);
	m5_recv_note(rq, pi, cookie, flags);
	wqe[0] = m5_data((uint32_t)m5_lmr_len(iov), m5_lmr_key(iov), m5_lmr_va(iov));
	if (stride > M5_DS)
		wqe[1] = m5_data(0, M5_NULL_LKEY, 0);
	m5_recv_posted(rq, pi);
	return DAT_SUCCESS;
}
