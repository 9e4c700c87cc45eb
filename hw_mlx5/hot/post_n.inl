/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts several requests with one doorbell. Plain writes of 8 bytes are written here; everything
 * else by the calls for one request, whose doorbells then go to ordinary memory.
 */
#include <dat/dapl_direct.h>

/* Loads two words of a request, each for one comparison: op, segments and flags; context and
 * length. */
typedef uint64_t __attribute__((may_alias, aligned(4))) m5_u64;

_Static_assert(offsetof(struct dapl_work, flags) == 4 && offsetof(struct dapl_work, length) == 12,
	       "two comparisons find a plain write");

/* The index in a complete ctrl segment: bytes 1 and 2. */
M5_INLINE void m5_store_index(uint8_t *ctrl, uint32_t pi)
{
	typedef uint16_t __attribute__((may_alias, aligned(1))) half;

#if defined(__MOVBE__)
	__asm__ volatile("movbe %w1, %0" : "=m"(*(half *)(ctrl + 1)) : "r"(pi));
#else
	*(half *)(ctrl + 1) = __builtin_bswap16((uint16_t)pi);
#endif
}

#define M5_RUN 4			/* plain writes that are written without a loop */

/* The position of the next plain write in the ring, and the values that a request must have to be one. */
struct m5_run {
	const struct dapl_work *w;
	uint8_t *ring, *slots;
	size_t slot_off;
	uint32_t pi;
	const uint8_t *base;		/* start of the LMR of the last inline post */
	/* largest offset of 8 bytes in that LMR; its context, with a length of 8 */
	uint64_t room, what;
	m5_v2 ctrl;
};

/*
 * Writes request i after r->w as an inline WQE of three 16-byte pieces; the last 16 bytes of the block are
 * unused. False: it is not a plain write of 8 bytes.
 */
M5_INLINE bool m5_run_write(struct m5_run *r, unsigned int i)
{
	const struct dapl_work *w = r->w + i;
	struct m5_slot *slot = (struct m5_slot *)(r->slots + r->slot_off) + i;
	uint8_t *to = r->ring + 4 * r->slot_off + i * M5_BB;
	uint64_t at = w->address - (uintptr_t)r->base;

	/* Hides the offset from the compiler, which would otherwise keep the address, too. */
	M5_HIDE(at);
	if (m5_unlikely(*(const m5_u64 *)&w->op != DAPL_WORK_WRITE) ||
	    m5_unlikely(*(const m5_u64 *)&w->lmr_context != r->what) || m5_unlikely(at > r->room))
		return false;
	*(m5_v2 *)to = r->ctrl;
	m5_store_index(to, r->pi++);
	/* Hides the value from the compiler, which would otherwise add 1 for each use. */
	M5_HIDE(r->pi);
	((m5_v2 *)to)[1] = m5_raddr(w->target, w->rmr_context);
	*(uint32_t *)(to + 32) = __builtin_bswap32(8 | M5_INLINE_SEG);
	*(m5_u64 *)(to + 36) = *(const m5_u64 *)(r->base + at);
	slot->cookie = w->cookie.as_64;
	*(m5_u64 *)&slot->bytes = 8;
	slot->end = (uint16_t)r->pi;
	return true;
}

M5_INLINE void m5_run_advance(struct m5_run *r, unsigned int n)
{
	r->w += n;
	r->slot_off += n * sizeof(struct m5_slot);
}

/* Writes the plain writes that come first, as far as there is credit; returns their number. The
 * caller owns the queue. */
M5_INLINE DAT_COUNT m5_write_plain_n(struct m5_sq *sq, DAT_COUNT n, const struct dapl_work *w)
{
	const struct dap_lmr *lmr = m5_last_lmr(sq);
	uint32_t pi = sq->pi, left = m5_min((uint32_t)n, sq->limit - pi);
	struct m5_run r = { w, sq->ring, (uint8_t *)sq->slots, m5_slot_off(sq, pi), pi,
			    (const uint8_t *)lmr->addr, lmr->length - 8,
			    (uint64_t)8 << 32 | lmr->lmr_context, *(const m5_v2 *)sq->ctrl_write };

	if (m5_unlikely(sq->fence) || m5_unlikely(lmr->length < 8))
		return 0;
	for (; left >= M5_RUN; left -= M5_RUN) {
		M5_UNROLL
		for (unsigned int i = 0; i < M5_RUN; i++)
			if (!m5_run_write(&r, i))
				goto end;
		m5_run_advance(&r, M5_RUN);
	}
	for (; left && m5_run_write(&r, 0); left--)
		m5_run_advance(&r, 1);
end:
	sq->pi = r.pi;
	m5_count_add(&sq->eights[DAP_COUNT_WRITE], r.pi - pi);
	DAP_PROBE2(post_n, (const uint8_t *)sq - offsetof(struct dap_ep, hw), r.pi - pi);
	return (DAT_COUNT)(r.pi - pi);
}

/* Rings the doorbell for all blocks before sq->pi, with the first word of the last WQE. */
M5_INLINE void m5_ring_posted(struct m5_sq *sq, uint64_t word)
{
	dap_wmb_wqe_before_dbrec();
	m5_store_dbrec(&sq->dbrec[1], sq->pi);
	m5_ring_reg(sq, sq->pi, UINT32_MAX, (m5_v2){ word, 0 }, NULL);
}

/*
 * Posts any request by the calls without locks, because the caller owns the queue. Its doorbell
 * goes to memory; *word is what was written there.
 */
static M5_COLD M5_NOINLINE DAT_RETURN m5_post_unrung(struct dap_ep *ep, const struct dapl_work *work,
						     uint64_t *word)
{
	const struct dap_hot *calls = m5_ia(ep->obj.ia)->v3 ? &m5_hot_v3 : &m5_hot_base;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	_Alignas(512) uint64_t reg[64];
	uint32_t limit = sq->bf_bb_limit, record[2];
	volatile uint32_t *dbrec = sq->dbrec;
	uintptr_t real = sq->reg;
	DAT_RETURN ret;

	sq->reg = (uintptr_t)reg;
	sq->dbrec = record;
	sq->bf_bb_limit = 1;
	ret = front_post_one(calls, ep, work);
	if (ret == DAT_SUCCESS)
		*word = reg[0];
	sq->reg = real;
	sq->dbrec = dbrec;
	sq->bf_bb_limit = limit;
	return ret;
}

/* Returns the first word of a WQE of one block that has just been written. */
M5_INLINE uint64_t m5_last_word(const struct m5_sq *sq)
{
	return m5_load(m5_sq_at(sq, sq->pi - 1), 8);
}

/* Continues after done plain writes. The caller owns the queue; this gives it back. */
static M5_COLD M5_NOINLINE DAT_RETURN m5_post_n_slow(struct dap_ep *ep, DAT_COUNT n,
						     const struct dapl_work *work, DAT_COUNT *posted,
						     DAT_COUNT done)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t word = done ? m5_last_word(sq) : 0;
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_COUNT plain;

	while (done < n) {
		ret = m5_post_unrung(ep, &work[done], &word);
		if (ret != DAT_SUCCESS)
			break;
		done++;
		plain = m5_write_plain_n(sq, n - done, &work[done]);
		if (plain)
			word = m5_last_word(sq);
		done += plain;
	}
	if (done)
		m5_ring_posted(sq, word);
	m5_sq_end(sq);
	*posted = done;
	return ret;
}

static DAT_RETURN m5_post_n(DAT_EP_HANDLE handle, DAT_COUNT n, const struct dapl_work *work,
			    DAT_COUNT *posted)
{
	struct dap_ep *ep = handle;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	DAT_COUNT done;

	if (m5_unlikely(n <= 0) || m5_unlikely(!work) || m5_unlikely(!posted))
		return front_list_args(n, work, posted);
	if (M5_LOCKED)
		m5_spin_lock(&sq->lock);
	if (m5_unlikely((int32_t)(sq->limit - sq->pi - (uint32_t)n) < 0))
		m5_sq_recheck(m5_ep(ep), 1);
	done = m5_write_plain_n(sq, n, work);
	if (m5_unlikely(done != n))
		return m5_post_n_slow(ep, n, work, posted, done);
	m5_ring_posted(sq, m5_last_word(sq));
	m5_sq_end(sq);
	*posted = n;
	return DAT_SUCCESS;
}
