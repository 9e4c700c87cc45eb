/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send ring: ownership, credit, positions of WQEs, and the doorbell.
 */
#include "hw_mlx5/lock.h"

M5_INLINE uint8_t *m5_sq_at(const struct m5_sq *sq, uint32_t pi)
{
	return sq->ring + ((size_t)(pi & sq->mask) << M5_BB_SHIFT);
}

/*
 * Returns the byte offset of the slot of pi. Its block is at four times this offset in the ring, so
 * one computation serves both.
 */
M5_INLINE size_t m5_slot_off(const struct m5_sq *sq, uint32_t pi)
{
	size_t slot_off = (size_t)(pi & sq->mask) * sizeof(struct m5_slot);

	_Static_assert(M5_BB == 4 * sizeof(struct m5_slot), "a block is four slots");
	/* Hides the offset from the compiler, which would otherwise shift the index twice. */
	M5_HIDE(slot_off);
	return slot_off;
}

M5_INLINE struct m5_slot *m5_slot_in(const struct m5_sq *sq, size_t slot_off)
{
	return (struct m5_slot *)((uint8_t *)sq->slots + slot_off);
}

M5_INLINE uint8_t *m5_block_in(const struct m5_sq *sq, size_t slot_off)
{
	return sq->ring + 4 * slot_off;
}

/* Returns the half to write now; the halves alternate (PRM, "BlueFlame"). A register is 512 bytes,
 * aligned. */
M5_INLINE volatile uint8_t *m5_reg_next(struct m5_sq *sq)
{
	uintptr_t reg = sq->reg;

#if defined(__x86_64__) && !DAP_TSAN
	/* Flips the BlueFlame half by one xor to memory; compiled C takes three instructions. The
	 * address is relative to the endpoint, like all accesses. */
	__asm__ volatile("xorq $256, %c1(%0)"
			 : : "r"((uint8_t *)sq - offsetof(struct dap_ep, hw)),
			     "i"(offsetof(struct dap_ep, hw) + offsetof(struct m5_sq, reg))
			 : "cc", "memory");
#else
	sq->reg = reg ^ 256;
#endif
	return (volatile uint8_t *)reg;
}

/* x86 flushes a full write-combining line by itself. */
M5_INLINE void m5_bf_flush(void)
{
#if !defined(__x86_64__)
	dap_wc_flush();
#endif
}

M5_INLINE void m5_bf_ring(volatile uint8_t *reg, const struct m5_sq *sq, uint32_t pi, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, reg += M5_BB) {
		m5_store_mmio(reg, (const m5_half *)m5_sq_at(sq, pi + i), 1);
		m5_bf_flush();
	}
}

/*
 * The line may stay in a write-combining buffer of this CPU for a while after the queue is unlocked, and
 * another CPU's doorbell would pass it: the unlock is a plain store, which does not flush the buffer.
 */
M5_INLINE void m5_bf_before_unlock(void)
{
#if defined(__x86_64__)
	if (M5_LOCKED)
		dap_wc_flush();
#endif
}

/* w: the WQE if it is in registers; else it is read from the ring. */
M5_INLINE void m5_ring_reg(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl, const m5_half *w)
{
	volatile uint8_t *reg = m5_reg_next(sq);

	dap_wmb_dbrec_before_mmio();
	if (DAP_TSAN || m5_unlikely(n >= sq->bf_bb_limit)) {
		dap_mmio_store64((volatile uint64_t *)reg, ctrl[0]);
		dap_wc_flush();
	} else if (w) {
		m5_store_mmio(reg, w, n);
		m5_bf_flush();
		m5_bf_before_unlock();
	} else {
		m5_bf_ring(reg, sq, pi, n);
		m5_bf_before_unlock();
	}
}

/* A doorbell record counts 16 bits; the bits above stay zero. */
M5_INLINE void m5_store_dbrec(volatile uint32_t *dbrec, uint32_t pi)
{
#if DAP_TSAN
	dap_store_dbrec(dbrec, __builtin_bswap32((uint16_t)pi));
#else
	typedef uint16_t __attribute__((may_alias)) half;
	volatile half *count = (volatile half *)dbrec + 1;

#if defined(__MOVBE__)
	/* movbe swaps and stores in one instruction; gcc would swap in a register. */
	__asm__ volatile("movbe %w1, %0" : "=m"(*count) : "r"(pi));
#else
	*count = __builtin_bswap16((uint16_t)pi);
#endif
#endif
}

/*
 * Rings the doorbell for the n blocks before end. An 8-byte doorbell carries the ctrl segment of
 * the last WQE; BlueFlame carries a single WQE.
 */
M5_INLINE void m5_ring_to(struct m5_sq *sq, uint32_t end, uint32_t n, m5_v2 ctrl, const m5_half *w)
{
	sq->pi = end;
	dap_wmb_wqe_before_dbrec();
	m5_store_dbrec(&sq->dbrec[1], end);
	m5_ring_reg(sq, end - n, n, ctrl, w);
}

/* Rings for n blocks in the ring from pi. */
M5_INLINE void m5_ring(struct m5_sq *sq, uint32_t pi, uint32_t n, m5_v2 ctrl)
{
	m5_ring_to(sq, pi + n, n, ctrl, NULL);
}

/* Is there credit for n blocks? The caller owns the queue. */
M5_INLINE bool m5_sq_fits(struct dap_ep *ep, uint32_t n)
{
	const struct m5_sq *sq = &m5_ep(ep)->sq;

	return m5_likely((int32_t)(sq->limit - sq->pi - n) >= 0) || m5_sq_credit(ep, n);
}

/* Locks the queue and gets credit for n blocks. False: no credit, and not locked. */
M5_INLINE bool m5_sq_begin(struct dap_ep *ep, uint32_t n)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (M5_LOCKED)
		m5_spin_lock(&sq->lock);
	if (m5_sq_fits(ep, n))
		return true;
	if (M5_LOCKED)
		m5_spin_unlock(&sq->lock);
	return false;
}

M5_INLINE void m5_sq_end(struct m5_sq *sq)
{
	if (M5_LOCKED)
		m5_spin_unlock(&sq->lock);
}

/*
 * Locks the queue if that needs no wait, and there is credit for n blocks before the ring's end.
 * False: use a slower path.
 */
M5_INLINE bool m5_sq_try(struct m5_sq *sq, uint32_t n)
{
	if (M5_LOCKED && !m5_spin_try(&sq->lock))
		return false;
	if (m5_likely(n == 1 ? sq->limit != sq->pi : (int32_t)(sq->limit - (sq->pi + n)) >= 0))
		return true;
	if (M5_LOCKED)
		m5_spin_unlock(&sq->lock);
	return false;
}

/*
 * The fast path had no credit for n blocks: recomputes it up to the ring's end, and locks the
 * queue on success. Calls nothing, so no registers are saved.
 */
M5_INLINE bool m5_sq_refill(struct dap_ep *ep, uint32_t n)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (M5_LOCKED && !m5_spin_try(&sq->lock))
		return false;
	if ((sq->pi & sq->mask) + n <= sq->mask + 1 && m5_sq_recheck(m5_ep(ep), n))
		return true;
	if (M5_LOCKED)
		m5_spin_unlock(&sq->lock);
	return false;
}

/* Recomputes the credit as m5_sq_refill() does, but leaves the queue unlocked, for a caller that
 * starts its post again. Other threads may have used up the credit by then. */
M5_INLINE bool m5_refilled(struct dap_ep *ep, uint32_t n)
{
	if (!m5_sq_refill(ep, n))
		return false;
	m5_sq_end(&m5_ep(ep)->sq);
	return true;
}

/* Returns the position of the next WQE, and the index after it. */
struct m5_wqe_pos {
	size_t slot_off;
	uint32_t pi, end;
};

M5_INLINE struct m5_wqe_pos m5_wqe_pos(const struct m5_sq *sq, uint32_t n)
{
	struct m5_wqe_pos pos = { .pi = sq->pi };

	pos.slot_off = m5_slot_off(sq, pos.pi);
	pos.end = pos.pi + n;
	/* Hides the value from the compiler, which would otherwise add 1 for each use. */
	if (n == 1)
		M5_HIDE(pos.end);
	return pos;
}
