/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of a post: LMR checks, the slot of a request, and its WQE in registers. */
#include "core/probe.h"
#include "hw_mlx5/hot/seg.inl"
#include "hw_mlx5/hot/ring.inl"

/* Returns true if the range is inside of the LMR: both differences are non-negative. len < 2
 * GiB. */
M5_INLINE bool m5_in_lmr(const struct dap_lmr *lmr, uint64_t va, uint64_t len)
{
	uint64_t off = va - lmr->addr, room = lmr->length - len;

	/* Hides off from the compiler, which would otherwise compute it twice. */
	M5_HIDE(off);
	return (int64_t)(off | (room - off)) >= 0;
}

/* Called before the lock is taken. If two threads post at once, the LMR of either post will do. */
M5_INLINE const struct dap_lmr *m5_last_lmr(const struct m5_sq *sq)
{
	return M5_LOCKED ? __atomic_load_n(&sq->lmr, __ATOMIC_RELAXED) : sq->lmr;
}

/*
 * Copies only from an LMR in the endpoint's zone with the right to read. Everything else is sent
 * by reference, so that the device refuses it with a completion. The last LMR is cached until it is
 * freed (m5_lmr_destroy).
 */
M5_INLINE bool m5_may_copy(const struct dap_ep *ep, struct m5_sq *sq, uint32_t key, uint64_t va,
			   uint64_t len)
{
	const struct dap_lmr *lmr = m5_last_lmr(sq);

	if (m5_unlikely(lmr->lmr_context != key)) {
		lmr = dap_lmr_find(ep->obj.ia, key);
		if (!lmr || !(lmr->priv & DAP_PRIV_LOCAL_READ) || lmr->zero_based ||
		    lmr->pz != sq->pz)
			return false;
		__atomic_store_n(&sq->lmr, lmr, __ATOMIC_RELAXED);
	}
	return m5_likely(m5_in_lmr(lmr, va, len));
}

M5_INLINE struct m5_slot *m5_slot_set(const struct m5_sq *sq, uint32_t pi, uint64_t cookie,
				      uint32_t bytes, uint32_t end, unsigned int flags)
{
	struct m5_slot *slot = &sq->slots[pi & sq->mask];

	slot->cookie = cookie;
	slot->bytes = bytes;
	slot->end = (uint16_t)end;
	slot->kind = 0;
	slot->flags = (uint8_t)flags;
	return slot;
}

/* fm_ce_se for the WQE of a slot. Every signal_every-th suppressed request is signaled. */
M5_INLINE uint8_t m5_signal(struct m5_sq *sq, unsigned int flags, struct m5_slot *slot)
{
	uint8_t fm = sq->fm[flags | sq->fence];

	__atomic_store_n(&sq->fence, 0, __ATOMIC_RELAXED);
	if (m5_unlikely(flags & DAP_COMP_SUPPRESS) && ++sq->unsignaled >= sq->signal_every) {
		sq->unsignaled = 0;
		fm |= M5_CE_ALWAYS;
		slot->kind = M5_KIND_INTERNAL;
	}
	return fm;
}

/*
 * Counts a send, write or read. Posts of 8 bytes, the most frequent ones, use one counter if the
 * code posts nothing else. Call it after the last load that the compiler might repeat because of
 * it, with a length that needs no extension.
 */
M5_INLINE void m5_count_posted(struct m5_sq *sq, unsigned int op, uint64_t bytes)
{
	unsigned int kind = op == M5_OP_RDMA_READ ? DAP_COUNT_READ :
			    op == M5_OP_RDMA_WRITE ? DAP_COUNT_WRITE : DAP_COUNT_SEND;

	if (__builtin_constant_p(bytes) && bytes == 8) {
		m5_count_add(&sq->eights[kind], 1);
		return;
	}
	m5_count_add(&sq->posted[kind].number, 1);
	m5_count_add(&sq->posted[kind].bytes, bytes);
}

/* The operation of a constant opcode. */
M5_INLINE enum dap_dto_op m5_op_dto(unsigned int op)
{
	switch (op) {
	case M5_OP_RDMA_WRITE: return DAP_OP_RDMA_WRITE;
	case M5_OP_RDMA_READ: return DAP_OP_RDMA_READ;
	case M5_OP_RDMA_WRITE_IMM: return DAP_OP_WRITE_IMMED;
	case M5_OP_ATOMIC_CS: return DAP_OP_CMP_SWAP;
	case M5_OP_ATOMIC_FA: return DAP_OP_FETCH_ADD;
	default: return DAP_OP_SEND;
	}
}

/* Passes the static probe "post" for a request that has credit and is about to be written. */
M5_INLINE void m5_probe_post(const struct m5_sq *sq, unsigned int op, uint64_t bytes, uint64_t cookie)
{
	DAP_PROBE4(post, (const uint8_t *)sq - offsetof(struct dap_ep, hw), m5_op_dto(op), cookie, bytes);
}

/* Keeps a length in a 64-bit register only: gcc would keep a 32-bit copy beside it. */
M5_INLINE uint64_t m5_len64(front_len length)
{
	uint64_t len = length;

	if (sizeof(length) < sizeof(len))
		M5_HIDE(len);
	return len;
}

/* Passes a WQE of n blocks to the device; it is in registers and does not wrap in the ring. */
M5_INLINE DAT_RETURN m5_post_at(struct m5_sq *sq, struct m5_wqe_pos pos, m5_v2 ctrl, const m5_half *w,
				uint32_t n)
{
	uint8_t *to = m5_block_in(sq, pos.slot_off);

	/* Hides the address from the compiler, which would otherwise compute it for each store. */
	if (n > 1)
		M5_HIDE(to);
	m5_store_blocks(to, w, n);
	m5_ring_to(sq, pos.end, n, ctrl, w);
	m5_sq_end(sq);
	return DAT_SUCCESS;
}

/* A one-block WQE: ctrl segment, remote address unless it is a send, and a segment of two
 * pieces. */
M5_INLINE DAT_RETURN m5_post_block(struct m5_sq *sq, struct m5_wqe_pos pos, unsigned int op, m5_v2 ctrl,
				   m5_v2 raddr, m5_v2 a, m5_v2 b)
{
	m5_half w[M5_HALVES], *h;

	h = m5_put_segments(w, ctrl, op == M5_OP_SEND ? a : raddr);
	if (op == M5_OP_SEND)
		m5_put_segment_zeros(h, b);
	else
		m5_put_segments(h, a, b);
	return m5_post_at(sq, pos, ctrl, w, 1);
}

/* The ctrl segment of a WQE without flags. ds is added to the count of segments in ctrl_send and
 * ctrl_write. */
M5_INLINE m5_v2 m5_ctrl_plain(const struct m5_sq *sq, unsigned int op, unsigned int ds, uint32_t pi)
{
	m5_v2 v = m5_ctrl_of(op == M5_OP_SEND ? sq->ctrl_send : sq->ctrl_write, pi);

	if (op == M5_OP_RDMA_READ)
		v ^= (m5_v2){ (uint64_t)(M5_OP_RDMA_READ ^ M5_OP_RDMA_WRITE) << 24, 0 };
	if (ds)
		v += (m5_v2){ (uint64_t)ds << 56, 0 };
	return v;
}

/* The remote address segment, except for sends. */
M5_INLINE m5_v2 m5_raddr_of(unsigned int op, const DAT_RMR_TRIPLET *remote)
{
	return op == M5_OP_SEND ? (m5_v2){ 0 }
				: m5_raddr(front_rmr_va(remote), front_rmr_key(remote));
}

/* Posts one segment by reference; there is credit. */
M5_INLINE DAT_RETURN m5_post_ref(struct m5_sq *sq, unsigned int op, const DAT_LMR_TRIPLET *iov,
				 const DAT_RMR_TRIPLET *remote, uint32_t len, uint64_t cookie,
				 unsigned int flags)
{
	struct m5_wqe_pos pos = m5_wqe_pos(sq, 1);
	struct m5_slot *slot = m5_slot_set(sq, pos.pi, cookie, len, pos.end, flags);
	uint8_t fm = m5_signal(sq, flags, slot);
	m5_v2 ctrl = m5_ctrl(sq, pos.pi, op, op == M5_OP_SEND ? 2 : 3, fm, 0);

	m5_probe_post(sq, op, len, cookie);
	m5_count_posted(sq, op, len);
	return m5_post_block(sq, pos, op, ctrl, m5_raddr_of(op, remote),
			     m5_data(len, front_lmr_key(iov), front_lmr_va(iov)), (m5_v2){ 0 });
}

/* Posts one segment of at most 28 bytes, inlined. */
M5_INLINE DAT_RETURN m5_post_short(struct m5_sq *sq, unsigned int op, const DAT_LMR_TRIPLET *iov,
				   const DAT_RMR_TRIPLET *remote, uint32_t len, uint64_t cookie,
				   unsigned int flags)
{
	unsigned int head = op == M5_OP_SEND ? 1 : 2;
	struct m5_wqe_pos pos = m5_wqe_pos(sq, 1);
	struct m5_slot *slot = m5_slot_set(sq, pos.pi, cookie, len, pos.end, flags);
	uint8_t fm = m5_signal(sq, flags, slot);
	m5_v2 ctrl = m5_ctrl(sq, pos.pi, op, head + (len + 4 + 15) / 16, fm, 0), a, b;

	m5_probe_post(sq, op, len, cookie);
	m5_inline_short(&a, &b, front_lmr_va(iov), len);
	m5_count_posted(sq, op, len);
	return m5_post_block(sq, pos, op, ctrl, m5_raddr_of(op, remote), a, b);
}

/* ---- Posts without flags and without a preceding bind ---- */

/* A bind that another thread is posting comes before or after this post, in any order. */
M5_INLINE bool m5_no_flags(const struct m5_sq *sq, unsigned int flags)
{
	return m5_likely(
		!(flags | (M5_LOCKED ? __atomic_load_n(&sq->fence, __ATOMIC_RELAXED) : sq->fence)));
}

M5_INLINE void m5_slot_plain(const struct m5_sq *sq, struct m5_wqe_pos pos, uint64_t cookie,
			     uint32_t bytes)
{
	struct m5_slot *slot = m5_slot_in(sq, pos.slot_off);

	slot->cookie = cookie;
	slot->bytes = bytes;
	slot->rest = (uint16_t)pos.end;
}

/* The segment is len bytes within the LMR of the last inline post. */
M5_INLINE bool m5_in_last_lmr(const struct m5_sq *sq, const DAT_LMR_TRIPLET *iov, uint32_t len)
{
	const struct dap_lmr *lmr = m5_last_lmr(sq);

	return m5_likely(front_lmr_key(iov) == lmr->lmr_context) &&
	       m5_likely(m5_in_lmr(lmr, front_lmr_va(iov), len));
}

/* Posts one segment, inlined or by reference, as the piece seg. */
M5_INLINE DAT_RETURN m5_post_plain(struct m5_sq *sq, unsigned int op, m5_v2 seg,
				   const DAT_RMR_TRIPLET *remote, uint64_t bytes, uint64_t cookie)
{
	struct m5_wqe_pos pos = m5_wqe_pos(sq, 1);
	m5_v2 ctrl = m5_ctrl_plain(sq, op, 0, pos.pi);
	m5_half w[M5_HALVES], *h;

	m5_slot_plain(sq, pos, cookie, (uint32_t)bytes);
	m5_probe_post(sq, op, bytes, cookie);
	if (op == M5_OP_SEND) {
		h = m5_put_segments(w, ctrl, seg);
		m5_put_zeros(h);
	} else {
		h = m5_put_segments(w, ctrl, m5_raddr_of(op, remote));
		m5_put_segment_zeros(h, seg);
	}
	m5_count_posted(sq, op, bytes);
	return m5_post_at(sq, pos, ctrl, w, 1);
}

/* Posts 64 bytes, inlined. */
M5_INLINE DAT_RETURN m5_post_64(struct m5_sq *sq, unsigned int op, const DAT_LMR_TRIPLET *iov,
				const DAT_RMR_TRIPLET *remote, uint64_t cookie)
{
	struct m5_wqe_pos pos = m5_wqe_pos(sq, 2);
	m5_v2 ctrl = m5_ctrl_plain(sq, op, 4, pos.pi), p[5];
	m5_half w[2 * M5_HALVES], *h;

	m5_probe_post(sq, op, M5_LINE, cookie);
	m5_inline_64(p, front_lmr_va(iov));
	m5_slot_plain(sq, pos, cookie, M5_LINE);
	if (op == M5_OP_SEND) {
		h = m5_put_segments(w, ctrl, p[0]);
		h = m5_put_segments(m5_put_segments(h, p[1], p[2]), p[3], p[4]);
		m5_put_zeros(h);
	} else {
		h = m5_put_segments(w, ctrl, m5_raddr_of(op, remote));
		h = m5_put_segments(m5_put_segments(h, p[0], p[1]), p[2], p[3]);
		m5_put_word(h, (const uint8_t *)(uintptr_t)front_lmr_va(iov) + M5_LINE - 4);
	}
	m5_count_posted(sq, op, M5_LINE);
	return m5_post_at(sq, pos, ctrl, w, 2);
}
