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

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of WQEs are assembled for little-endian hosts"
#endif

typedef uint64_t m5_v2 __attribute__((vector_size(16), may_alias, aligned(16)));

struct m5_block {
	m5_v2 v[4];
};

M5_INLINE m5_v2 m5_ctrl(const struct m5_sq *sq, uint32_t pi, unsigned int op, unsigned int ds,
			uint8_t fm, uint32_t imm)
{
	uint32_t index = __builtin_bswap32((uint32_t)(uint16_t)pi << 8);

	return (m5_v2){ sq->ctrl | (uint64_t)ds << 56 | op << 24 | index,
			(uint32_t)fm << 24 | (uint64_t)__builtin_bswap32(imm) << 32 };
}

M5_INLINE m5_v2 m5_raddr(uint64_t va, uint32_t rkey)
{
	return (m5_v2){ __builtin_bswap64(va), __builtin_bswap32(rkey) };
}

/* Also a KLM. */
M5_INLINE m5_v2 m5_data(uint32_t bytes, uint32_t lkey, uint64_t va)
{
	return (m5_v2){ __builtin_bswap32(bytes) | (uint64_t)__builtin_bswap32(lkey) << 32,
			__builtin_bswap64(va) };
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
	uint64_t off = va - lmr->addr;

	return (int64_t)(off | (lmr->length - off - len)) >= 0;
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

/* fm_ce_se of a WQE, and what its slot says. Suppressed work is signalled now and then. */
M5_INLINE uint8_t m5_signal(struct m5_sq *sq, unsigned int flags, uint8_t *kind)
{
	uint8_t fm = sq->fm[flags | sq->fence];

	sq->fence = 0;
	*kind = 0;
	if (m5_unlikely(flags & DAP_COMP_SUPPRESS) && ++sq->quiet >= sq->quiet_max) {
		sq->quiet = 0;
		fm |= M5_CE_ALWAYS;
		*kind = M5_KIND_HIDDEN;
	}
	return fm;
}

M5_INLINE void m5_slot_set(const struct m5_sq *sq, uint32_t pi, uint64_t cookie, uint32_t bytes,
			   uint32_t end, uint8_t kind, unsigned int flags)
{
	struct m5_slot *slot = &sq->slots[pi & sq->mask];

	slot->cookie = cookie;
	slot->bytes = bytes;
	slot->end = (uint16_t)end;
	slot->kind = kind;
	slot->flags = (uint8_t)flags;
}

M5_INLINE uint8_t *m5_sq_at(const struct m5_sq *sq, uint32_t pi)
{
	return sq->ring + ((size_t)(pi & sq->mask) << M5_BB_SHIFT);
}

/* The half to write now; they take turns (PRM, "BlueFlame"). A register is 512 bytes, aligned. */
M5_INLINE volatile uint8_t *m5_reg_next(struct m5_sq *sq)
{
	volatile uint8_t *reg = sq->reg;

	sq->reg = (volatile uint8_t *)((uintptr_t)reg ^ 256);
	return reg;
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

/* A WQE of one block, for which there is credit: inline when copy, else one segment by reference. */
M5_INLINE M5_RET m5_post_one(struct m5_sq *sq, unsigned int op, const M5_LMR *iov,
			     const M5_RMR *remote, uint32_t len, bool copy, uint64_t cookie,
			     unsigned int flags, bool soft, bool locked)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_block b = { 0 };
	uint32_t pi = sq->pi;
	uint8_t kind, fm = m5_signal(sq, flags, &kind);

	b.v[0] = m5_ctrl(sq, pi, op, copy ? head + (len + 4 + 15) / 16 : head + 1, fm, 0);
	if (head == 2)
		b.v[1] = m5_raddr(m5_rmr_va(remote), m5_rmr_key(remote));
	if (copy)
		m5_inline_short(&b.v[head], &b.v[head + 1], m5_lmr_va(iov), len);
	else
		b.v[head] = m5_data(len, m5_lmr_key(iov), m5_lmr_va(iov));
	m5_slot_set(sq, pi, cookie, len, pi + 1, kind, flags);
	m5_store(m5_sq_at(sq, pi), &b);
	m5_ring(sq, pi, 1, b.v[0], &b, soft);
	m5_sq_end(sq, locked);
	return DAT_SUCCESS;
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

M5_INLINE M5_RET m5_post_send(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, m5_send_fn *slow, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;
	bool copy;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov) || m5_unlikely(flags & sq->deny_send))
		return slow(ep, n, iov, cookie, flags);
	len = m5_lmr_len(iov);
	if (m5_unlikely(len - 1 >= sq->max_msg))
		return slow(ep, n, iov, cookie, flags);
	copy = len <= sq->inline_max && m5_may_copy(ep, sq, m5_lmr_key(iov), m5_lmr_va(iov), len);
	if (m5_unlikely(copy && len > M5_SHORT) || m5_unlikely(!m5_sq_try(sq, locked)))
		return slow(ep, n, iov, cookie, flags);
	if (copy)
		return m5_post_one(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, true, cookie, flags,
				   soft, locked);
	return m5_post_one(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, false, cookie, flags, soft,
			   locked);
}

/* Of arguments that m5_post_write has checked, but for the flags. */
M5_INLINE M5_RET m5_write_one(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *to, unsigned int flags, m5_rdma_fn *slow, bool soft,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len = m5_lmr_len(iov);
	bool copy = len <= sq->inline_max &&
		    m5_may_copy(ep, sq, m5_lmr_key(iov), m5_lmr_va(iov), len);

	if (m5_unlikely(copy && len > M5_SHORT) || m5_unlikely(flags & sq->deny_rdma) ||
	    m5_unlikely(!m5_sq_try(sq, locked)))
		return slow(ep, 1, iov, cookie, to, flags);
	if (copy)
		return m5_post_one(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, true, cookie, flags,
				   soft, locked);
	return m5_post_one(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, false, cookie, flags, soft,
			   locked);
}

/* The same of what is too long to be copied. */
M5_INLINE M5_RET m5_write_ref(struct dap_ep *ep, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *to, unsigned int flags, m5_rdma_fn *slow, bool soft,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (m5_unlikely(flags & sq->deny_rdma) || m5_unlikely(!m5_sq_try(sq, locked)))
		return slow(ep, 1, iov, cookie, to, flags);
	return m5_post_one(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)m5_lmr_len(iov), false, cookie,
			   flags, soft, locked);
}

/*
 * Eight bytes without flags are written here; other single segments by ref or one. These are calls
 * in tail position with the arguments where they are, so that this body saves no register.
 */
M5_INLINE M5_RET m5_post_write(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *to, unsigned int flags, m5_rdma_fn *ref,
			       m5_rdma_fn *one, m5_rdma_fn *slow, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov))
		return slow(ep, n, iov, cookie, to, flags);
	len = m5_lmr_len(iov);
	if (m5_unlikely(len - 1 >= sq->max_rdma) || m5_unlikely(!to))
		return slow(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(len > m5_rmr_len(to)))
		return slow(ep, n, iov, cookie, to, flags);
	if (len > sq->inline_max)
		return ref(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(flags) || m5_unlikely(len != 8) ||
	    m5_unlikely(m5_lmr_key(iov) != sq->lmr->lmr_context))
		return one(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(!m5_inside(sq->lmr, m5_lmr_va(iov), 8)))
		return one(ep, n, iov, cookie, to, flags);
	if (m5_unlikely(!m5_sq_try(sq, locked)))
		return slow(ep, n, iov, cookie, to, flags);
	return m5_post_one(sq, M5_OP_RDMA_WRITE, iov, to, 8, true, cookie, 0, soft, locked);
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
M5_INLINE M5_RET m5_post_read(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *from, unsigned int flags, m5_rdma_fn *slow, bool soft,
			      bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov) || m5_unlikely(!from) ||
	    m5_unlikely(flags & sq->deny_rdma))
		return slow(ep, n, iov, cookie, from, flags);
	len = m5_rmr_len(from);
	if (m5_unlikely(len - 1 >= sq->max_rdma) || m5_unlikely(len > m5_lmr_len(iov)) ||
	    m5_unlikely(!m5_sq_try(sq, locked)))
		return slow(ep, n, iov, cookie, from, flags);
	return m5_post_one(sq, M5_OP_RDMA_READ, iov, from, (uint32_t)len, false, cookie, flags, soft,
			   locked);
}

/* The receive is written; no doorbell: the device reads the record when a message comes. */
M5_INLINE void m5_recv_posted(struct m5_rq *rq, uint64_t cookie, unsigned int flags)
{
	struct m5_slot *slot = &rq->slots[rq->pi & rq->mask];

	slot->cookie = cookie;
	slot->flags = (uint8_t)flags;
	rq->pi++;
	dap_wmb_wqe_before_dbrec();
	dap_store_dbrec(&rq->dbrec[0], __builtin_bswap32(rq->pi & 0xffff));
}

M5_INLINE m5_v2 *m5_rq_at(const struct m5_rq *rq)
{
	return (m5_v2 *)(rq->ring + ((size_t)(rq->pi & rq->mask) << rq->shift));
}

M5_INLINE M5_RET m5_post_recv(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, m5_send_fn *slow, bool locked)
{
	struct m5_rq *rq = &m5_ep(ep)->rq;
	m5_v2 *wqe;

	if (locked || m5_unlikely(n != 1) || m5_unlikely(!iov) || m5_unlikely(flags & rq->deny) ||
	    m5_unlikely(m5_lmr_len(iov) - 1 >= INT32_MAX) || m5_unlikely(rq->limit == rq->pi))
		return slow(ep, n, iov, cookie, flags);
	wqe = m5_rq_at(rq);
	wqe[0] = m5_data((uint32_t)m5_lmr_len(iov), m5_lmr_key(iov), m5_lmr_va(iov));
	if (rq->shift > 4)
		wqe[1] = m5_data(0, M5_NULL_LKEY, 0);
	m5_recv_posted(rq, cookie, flags);
	return DAT_SUCCESS;
}
