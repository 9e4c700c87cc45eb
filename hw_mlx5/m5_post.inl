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
	return (m5_v2){ (uint64_t)(sq->qpn_be | ds << 24) << 32 | op << 24 |
				(uint32_t)__builtin_bswap16((uint16_t)pi) << 8,
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
	uint64_t d0, d1 = 0, d2 = 0, d3 = 0;

	if (m5_likely(n == 8)) {
		d0 = m5_load(p, 8);
		*a = (m5_v2){ head | d0 << 32, d0 >> 32 };
		*b = (m5_v2){ 0, 0 };
		return;
	}
	d0 = m5_load_some(p, n < 8 ? n : 8);
	if (n > 8)
		d1 = m5_load_some(p + 8, n < 16 ? n - 8 : 8);
	if (n > 16)
		d2 = m5_load_some(p + 16, n < 24 ? n - 16 : 8);
	if (n > 24)
		d3 = m5_load(p + n - 4, 4) >> (8 * (28 - n));
	*a = (m5_v2){ head | d0 << 32, d0 >> 32 | d1 << 32 };
	*b = (m5_v2){ d1 >> 32 | d2 << 32, d2 >> 32 | d3 << 32 };
}

/*
 * Only what lies in an LMR of the endpoint's zone, with the right to be read, is copied here; all
 * else goes out by reference, for the device to refuse with a completion.
 */
M5_INLINE bool m5_may_copy(const struct dap_ep *ep, const struct dap_pz *pz, uint32_t key,
			   uint64_t va, uint64_t len)
{
	const struct dap_lmr *lmr = dap_lmr_find(ep->obj.ia, key);

	return m5_likely(lmr) && len <= lmr->length && va - lmr->addr <= lmr->length - len &&
	       lmr->priv & DAP_PRIV_LOCAL_READ && lmr->pz == pz;
}

/* fm_ce_se of a WQE, and what its slot says. Suppressed work is signalled now and then. */
M5_INLINE uint8_t m5_signal(struct m5_sq *sq, unsigned int flags, unsigned int *kind)
{
	uint8_t fm = sq->fm[flags | sq->fence];

	sq->fence = 0;
	*kind = 0;
	if (m5_likely(!(flags & DAP_COMP_SUPPRESS))) {
		sq->quiet = 0;
	} else {
		if (++sq->quiet >= sq->quiet_max) {
			sq->quiet = 0;
			fm |= M5_CE_ALWAYS;
			*kind = M5_KIND_HIDDEN;
		}
	}
	return fm;
}

M5_INLINE void m5_slot_set(struct m5_sq *sq, uint32_t pi, uint64_t cookie, uint64_t info)
{
	struct m5_slot *slot = &sq->slots[pi & sq->mask];

	slot->cookie = cookie;
	slot->info = info;
}

M5_INLINE uint8_t *m5_sq_at(const struct m5_sq *sq, uint32_t pi)
{
	return sq->ring + ((size_t)(pi & sq->mask) << M5_BB_SHIFT);
}

/* Whole blocks from the ring, which may wrap, in the order of their addresses. */
M5_INLINE void m5_bf_ring(volatile uint8_t *reg, const struct m5_sq *sq, uint32_t pi, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const m5_v2 *from = (const m5_v2 *)m5_sq_at(sq, pi + i);
		volatile m5_v2 *to = (volatile m5_v2 *)(reg + ((size_t)i << M5_BB_SHIFT));

		to[0] = from[0];
		to[1] = from[1];
		to[2] = from[2];
		to[3] = from[3];
	}
}

M5_INLINE void m5_ring_silicon(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl,
			       const struct m5_block *b)
{
	volatile uint8_t *reg = sq->reg + sq->bf_half;

	dap_wmb_dbrec_before_mmio();
	if (DAP_TSAN || m5_unlikely(n > sq->bf)) {
		dap_mmio_store64((volatile uint64_t *)reg, ctrl[0]);
		dap_wc_flush();
		return;
	}
	if (b) {
		volatile m5_v2 *to = (volatile m5_v2 *)reg;

		to[0] = b->v[0];
		to[1] = b->v[1];
		to[2] = b->v[2];
		to[3] = b->v[3];
	} else {
		m5_bf_ring(reg, sq, pi, n);
	}
#if !defined(__x86_64__)
	/* x86 pushes a full write-combining line out by itself. */
	dap_wc_flush();
#endif
}

/* A doorbell of 8 bytes is the head of the last WQE's ctrl segment, where there are several. */
M5_INLINE void m5_ring_soft(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl)
{
	uint32_t offset = M5_UAR_REG + sq->bf_half;
	uint64_t db = ctrl[0];

	if (m5_likely(n <= sq->bf && (pi & sq->mask) + n <= sq->mask + 1))
		softnic_mmio_write(sq->soft, sq->uar_page, offset, m5_sq_at(sq, pi),
				   (size_t)n << M5_BB_SHIFT);
	else
		softnic_mmio_write(sq->soft, sq->uar_page, offset, &db, sizeof(db));
}

/*
 * Tells the device of n blocks of work at pi; b: the only one, where that is in registers. An
 * 8-byte doorbell carries the ctrl segment of the last WQE; BlueFlame is for a single one.
 * The halves of a BlueFlame register take turns (PRM, "BlueFlame").
 */
M5_INLINE void m5_ring(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl,
		       const struct m5_block *b, bool soft)
{
	sq->pi = pi + n;
	dap_wmb_wqe_before_dbrec();
	dap_store_dbrec(&sq->dbrec[1], __builtin_bswap32((pi + n) & 0xffff));
	if (soft)
		m5_ring_soft(sq, pi, n, ctrl);
	else
		m5_ring_silicon(sq, pi, n, ctrl, b);
	sq->bf_half ^= 256;
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

struct m5_one {				/* one segment, in registers */
	uint64_t va;
	uint32_t len, key;
	uint64_t rva;
	uint32_t rkey;
};

/* A WQE of one block: inline when copy, else one segment by reference. */
M5_INLINE M5_RET m5_post_one(struct dap_ep *ep, unsigned int op, struct m5_one s, bool copy,
			     uint64_t cookie, unsigned int flags, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	unsigned int head = op == M5_OP_SEND ? 1 : 2, kind;
	struct m5_block b = { 0 };
	uint8_t fm;
	uint32_t pi;

	if (m5_unlikely(!m5_sq_begin(ep, 1, locked)))
		return m5_fail(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	pi = sq->pi;
	fm = m5_signal(sq, flags, &kind);
	b.v[0] = m5_ctrl(sq, pi, op, copy ? head + (s.len + 4 + 15) / 16 : head + 1, fm, 0);
	if (head == 2)
		b.v[1] = m5_raddr(s.rva, s.rkey);
	if (copy)
		m5_inline_short(&b.v[head], &b.v[head + 1], s.va, s.len);
	else
		b.v[head] = m5_data(s.len, s.key, s.va);
	m5_store(m5_sq_at(sq, pi), &b);
	m5_slot_set(sq, pi, cookie, m5_info(s.len, pi + 1, kind, flags));
	m5_ring(sq, pi, 1, b.v[0], &b, soft);
	m5_sq_end(sq, locked);
	return DAT_SUCCESS;
}

/* What is not one segment of one block: m5_post_any.inl, out of line. */
typedef M5_RET m5_any_fn(struct dap_ep *ep, unsigned int op, int n, const M5_LMR *iov,
			 uint64_t cookie, const M5_RMR *remote, unsigned int flags);

M5_INLINE M5_RET m5_post_send(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, m5_any_fn *any, bool soft, bool locked)
{
	const struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_one s = { 0 };
	bool copy;

	if (m5_unlikely(n != 1 || !iov || flags & ~(unsigned int)sq->allow_send ||
			m5_lmr_len(iov) - 1 >= sq->max_msg))
		return any(ep, M5_OP_SEND, n, iov, cookie, NULL, flags);
	s.va = m5_lmr_va(iov);
	s.len = (uint32_t)m5_lmr_len(iov);
	s.key = m5_lmr_key(iov);
	copy = s.len <= sq->inline_max && m5_may_copy(ep, sq->pz, s.key, s.va, s.len);
	if (copy && s.len > M5_SHORT)
		return any(ep, M5_OP_SEND, n, iov, cookie, NULL, flags);
	if (copy)
		return m5_post_one(ep, M5_OP_SEND, s, true, cookie, flags, soft, locked);
	return m5_post_one(ep, M5_OP_SEND, s, false, cookie, flags, soft, locked);
}

M5_INLINE M5_RET m5_post_write(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			       const M5_RMR *to, unsigned int flags, m5_any_fn *any, bool soft, bool locked)
{
	const struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_one s = { 0 };
	bool copy;

	if (m5_unlikely(n != 1 || !iov || !to || flags & ~(unsigned int)sq->allow_rdma ||
			m5_lmr_len(iov) - 1 >= sq->max_rdma || m5_lmr_len(iov) > m5_rmr_len(to)))
		return any(ep, M5_OP_RDMA_WRITE, n, iov, cookie, to, flags);
	s.va = m5_lmr_va(iov);
	s.len = (uint32_t)m5_lmr_len(iov);
	s.key = m5_lmr_key(iov);
	s.rva = m5_rmr_va(to);
	s.rkey = m5_rmr_key(to);
	copy = s.len <= sq->inline_max && m5_may_copy(ep, sq->pz, s.key, s.va, s.len);
	if (copy && s.len > M5_SHORT)
		return any(ep, M5_OP_RDMA_WRITE, n, iov, cookie, to, flags);
	if (copy)
		return m5_post_one(ep, M5_OP_RDMA_WRITE, s, true, cookie, flags, soft, locked);
	return m5_post_one(ep, M5_OP_RDMA_WRITE, s, false, cookie, flags, soft, locked);
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
M5_INLINE M5_RET m5_post_read(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      const M5_RMR *from, unsigned int flags, m5_any_fn *any, bool soft, bool locked)
{
	const struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_one s = { 0 };

	if (m5_unlikely(n != 1 || !iov || !from || flags & ~(unsigned int)sq->allow_rdma ||
			m5_rmr_len(from) - 1 >= sq->max_rdma ||
			m5_lmr_len(iov) < m5_rmr_len(from)))
		return any(ep, M5_OP_RDMA_READ, n, iov, cookie, from, flags);
	s.va = m5_lmr_va(iov);
	s.len = (uint32_t)m5_rmr_len(from);
	s.key = m5_lmr_key(iov);
	s.rva = m5_rmr_va(from);
	s.rkey = m5_rmr_key(from);
	return m5_post_one(ep, M5_OP_RDMA_READ, s, false, cookie, flags, soft, locked);
}

/* No doorbell: the device reads the record when a message comes. */
M5_INLINE M5_RET m5_post_recv(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
			      unsigned int flags, bool locked)
{
	struct m5_rq *rq = &m5_ep(ep)->rq;
	M5_RET ret = DAT_SUCCESS;
	unsigned int used = 0;
	m5_v2 *wqe;

	if (m5_unlikely(flags & ~(unsigned int)rq->allow))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5));
	if (m5_unlikely((unsigned int)n > rq->max_iov))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2));
	if (m5_unlikely(n && !iov))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3));
	if (locked)
		m5_spin_lock(&rq->lock);
	if (m5_unlikely(rq->limit == rq->pi) && !m5_rq_credit(ep)) {
		ret = m5_fail(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
		goto unlock;
	}
	wqe = (m5_v2 *)(rq->ring + ((size_t)(rq->pi & rq->mask) << rq->shift));
	for (int i = 0; i < n; i++) {
		uint64_t len = m5_lmr_len(&iov[i]);

		if (m5_unlikely(len > INT32_MAX)) {
			ret = m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3));
			goto unlock;
		}
		if (m5_likely(len))
			wqe[used++] = m5_data((uint32_t)len, m5_lmr_key(&iov[i]),
					      m5_lmr_va(&iov[i]));
	}
	if (used << 4 != 1u << rq->shift)
		wqe[used] = m5_data(0, M5_NULL_LKEY, 0);
	rq->slots[rq->pi & rq->mask] = (struct m5_slot){ cookie, m5_info(0, 0, 0, flags) };
	rq->pi++;
	dap_wmb_wqe_before_dbrec();
	dap_store_dbrec(&rq->dbrec[0], __builtin_bswap32(rq->pi & 0xffff));
unlock:
	if (locked)
		m5_spin_unlock(&rq->lock);
	return ret;
}
