/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One segment that goes out at once as one packet; all else is posted by efa_request. A WQE is assembled
 * in registers and stored whole, in pieces of 16 bytes, into write-combined memory. Constant arguments:
 * inside, the caller has the engine's lock; far, also what is not as most is.
 */
#include "hw_efa/place.h"
#include "hw_efa/rq.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of WQEs are assembled for little-endian hosts"
#endif

typedef uint64_t efa_v2 __attribute__((vector_size(16), may_alias, aligned(16)));

/*
 * What does not lie in an LMR of the endpoint's zone is refused with a completion, by efa_request. An
 * LMR that is freed loses its context, so that one seen before is known again by it.
 */
EFA_INLINE bool efa_known(const struct dap_ep *ep, struct efa_tx *tx, const DAT_LMR_TRIPLET *iov,
			  uint64_t len)
{
	const struct dap_lmr *lmr = tx->lmr;
	uint32_t key = front_lmr_key(iov);

	if (efa_unlikely(lmr->lmr_context != key)) {
		lmr = dap_lmr_find(ep->obj.ia, key);
		if (!lmr || lmr->pz != ep->pz)
			return false;
		tx->lmr = lmr;
	}
	EFA_APART();
	return efa_likely(efa_inside(lmr, front_lmr_va(iov), len));
}

EFA_INLINE void efa_buf(efa_u64 *to, uint64_t len, uint32_t key, uint64_t va)
{
	to[0] = len | (uint64_t)key << 32;
	to[1] = va;
}

/* inside: the caller is in the engine already. */
EFA_INLINE bool efa_come_unless(struct efa_engine *eng, bool inside)
{
	return inside || efa_likely(efa_come(eng));
}

EFA_INLINE void efa_go_unless(struct efa_engine *eng, bool inside)
{
	if (!inside)
		efa_go(eng);
}

/*
 * What became of a post: it may be for efa_*_far, or for what takes all there is. NOTED: what it was
 * called with has been recalled.
 */
enum efa_end { EFA_POSTED, EFA_FAR, EFA_SLOW, EFA_NOTED_FAR, EFA_NOTED_SLOW };

/* The request, as far as the WQE does not matter; nobody sees it before efa_issue_one. */
EFA_INLINE void efa_note(struct efa_tx *tx, uint64_t cookie, uint64_t remote, uint64_t len,
			 unsigned int op, unsigned int state, unsigned int flags)
{
	struct efa_dto *d = &tx->dto[tx->posted & tx->mask];

	d->cookie = cookie;
	d->remote = remote;
	d->bytes = (uint32_t)len;
	d->info = EFA_INFO(1, op, state, flags);
}

/*
 * What a post that does not go this way was called with. Read back, so that the way of those that go
 * need not keep it in registers; within the lock, if there is one: the next post notes it anew.
 */
struct efa_was {
	uint64_t cookie;
	unsigned int flags;
};

EFA_INLINE enum efa_end efa_recall(const struct efa_tx *tx, struct efa_was *was, enum efa_end end)
{
	const struct efa_dto *d;

	EFA_ANEW();
	d = &tx->dto[tx->posted & tx->mask];
	was->cookie = d->cookie;
	was->flags = d->flags;
	return end;
}

/* The same, and out of the engine. */
EFA_INLINE enum efa_end efa_off(const struct efa_tx *tx, bool inside, struct efa_was *was,
				enum efa_end end)
{
	efa_recall(tx, was, end);
	efa_go_unless(tx->eng, inside);
	return end;
}

/*
 * The next WQE, with its first word, for the request. It is written eight bytes or more at a time, and
 * none of them twice.
 */
EFA_INLINE efa_u64 *efa_wqe(struct efa_ep *e, uint32_t of, enum efa_form form, uint64_t len)
{
	struct efa_sq *sq = &e->sq;
	efa_u64 *to;
	uint64_t at;

	e->tx.posted = of + 1;
	EFA_ANEW();
	at = sq->pi & sq->mask;
	sq->slots[at].word = of;
	dap_wc_flush();
	to = (efa_u64 *)(sq->ring + (at << (EFA_WIDE ? 7 : 6)));
	to[0] = sq->form[form] | len << 48 | at;
	return to;
}

/* The rest of its first half; more: what a wide one has in its second 64 bytes, if anything. */
EFA_INLINE void efa_issue(struct efa_ep *e, efa_u64 *to, uint64_t word1, const efa_v2 *more)
{
	struct efa_sq *sq = &e->sq;
	const efa_v2 zero = { 0 };

	to[1] = word1;
	*(efa_v2 *)(to + 2) = *(const efa_v2 *)sq->word2;
	for (unsigned int i = 0; EFA_WIDE && i < 4; i++)
		((efa_v2 *)(to + 8))[i] = more ? more[i] : zero;
	sq->pi++;
	dap_wc_flush();
	dap_store_dbrec(sq->doorbell, sq->pi & 0xffff);
}

/* Kind, sequence number and acknowledgement, beside the address handle. */
EFA_INLINE uint64_t efa_imm_of(const struct efa_sq *sq, enum efa_kind kind)
{
	return sq->imm ^ (uint32_t)(kind ^ EFA_K_WRITE) << 29;
}

EFA_INLINE void efa_imm_next(struct efa_ep *e)
{
	e->sq.imm += 1u << 12;
	e->tx.seq++;
}

/* Inline data of any length there is room for; returns what is left for the second 64 bytes. */
EFA_INLINE const efa_v2 *efa_put_inline(efa_u64 *to, efa_v2 data[6], uint64_t va, uint64_t len)
{
	__builtin_memset(data, 0, 6 * sizeof(data[0]));
	__builtin_memcpy(data, (const void *)(uintptr_t)va, len);
	((efa_v2 *)to)[0] = data[0];
	((efa_v2 *)to)[1] = data[1];
	return data + 2;
}

/* One segment that goes out as one packet at once. far: also inline ones not of 8 bytes. */
EFA_INLINE enum efa_end efa_send_one(struct dap_ep *ep, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
				     unsigned int flags, struct efa_was *was, bool inside, bool far)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	uint64_t len, va, word1;
	const efa_v2 *more = NULL;
	efa_v2 data[6];
	efa_u64 *to;

	if (efa_unlikely(!iov) || efa_unlikely(flags & tx->deny_send))
		return EFA_SLOW;
	len = front_lmr_len(iov);
	va = front_lmr_va(iov);
	if (efa_unlikely(len - 1 >= tx->most_send))
		return EFA_SLOW;
	if (!far && efa_unlikely(len != 8) && len <= e->sq.inline_max)
		return EFA_FAR;
	if (!efa_come_unless(tx->eng, inside))
		return EFA_SLOW;
	efa_note(tx, cookie, 0, len, EFA_SEND, EFA_D_ISSUED, flags);
	if (efa_unlikely(tx->posted == tx->stop) ||
	    efa_unlikely(!efa_known(ep, tx, iov, len)))
		return efa_off(tx, inside, was, EFA_NOTED_SLOW);
	if (len == 8 && efa_likely(e->sq.inline_max)) {
		to = efa_wqe(e, tx->posted, EFA_F_SEND8, 0);
		__builtin_memcpy(to + 4, (const void *)(uintptr_t)va, 8);
		to[5] = to[6] = to[7] = 0;
	} else if (far && len <= e->sq.inline_max) {
		to = efa_wqe(e, tx->posted, EFA_F_INLINE, len);
		more = efa_put_inline(to + 4, data, va, len);
	} else {
		to = efa_wqe(e, tx->posted, EFA_F_SEND, 0);
		efa_buf(to + 4, len, efa_lkey(front_lmr_key(iov)), va);
		to[6] = to[7] = 0;
	}
	word1 = efa_imm_of(&e->sq, EFA_K_MSG) | (flags & DAP_COMP_SOLICITED ? EFA_IMM_SE : 0);
	efa_issue(e, to, word1, more);
	efa_imm_next(e);
	efa_go_unless(tx->eng, inside);
	return EFA_POSTED;
}

/* It is read outside of the engine, and the first RDMA that is done raises it. */
EFA_INLINE uint64_t efa_most(const uint64_t *most)
{
	return DAP_TSAN ? __atomic_load_n(most, __ATOMIC_RELAXED) : *most;
}

/* far: also what lies within the range of the writes under way. */
EFA_INLINE enum efa_end efa_write_one(struct dap_ep *ep, const DAT_LMR_TRIPLET *iov,
				      uint64_t cookie, const DAT_RMR_TRIPLET *to,
				      unsigned int flags, struct efa_was *was, bool inside,
				      bool far)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	uint32_t of;
	uint64_t len, remote;
	efa_u64 *wqe;

	if (efa_unlikely(!iov))
		return EFA_SLOW;
	EFA_APART();
	if (efa_unlikely(!to) || efa_unlikely(flags & tx->deny_rdma))
		return EFA_SLOW;
	len = front_lmr_len(iov);
	if (efa_unlikely(len - 1 >= efa_most(&tx->most_write)) ||
	    efa_unlikely(len > front_rmr_len(to)))
		return EFA_SLOW;
	remote = front_rmr_va(to);
	if (!efa_come_unless(tx->eng, inside))
		return EFA_SLOW;
	efa_note(tx, cookie, remote, len, EFA_WRITE, EFA_D_ISSUED | EFA_D_PLACED, flags);
	if (efa_unlikely(tx->posted == tx->stop) ||
	    efa_unlikely(!efa_known(ep, tx, iov, len)))
		return efa_off(tx, inside, was, EFA_NOTED_SLOW);
	if (efa_unlikely(!efa_place(tx, remote, len, tx->posted)) &&
	    (!far || !efa_place_far(tx, remote, len, tx->posted)))
		return efa_off(tx, inside, was, far ? EFA_NOTED_SLOW : EFA_NOTED_FAR);
	EFA_ANEW();
	of = tx->posted;
	wqe = efa_wqe(e, of, EFA_F_WRITE, 0);
	efa_buf(wqe + 4, len, front_rmr_key(to), remote);
	efa_buf(wqe + 6, len, efa_lkey(front_lmr_key(iov)), front_lmr_va(iov));
	efa_issue(e, wqe, efa_imm_of(&e->sq, EFA_K_WRITE), NULL);
	efa_imm_next(e);
	efa_go_unless(tx->eng, inside);
	return EFA_POSTED;
}

/* A read of what a write under way may touch waits for it; no write waits for a read. */
EFA_INLINE bool efa_read_free(struct efa_tx *tx, uint64_t va, uint64_t len, bool far)
{
	return efa_likely(efa_apart(tx, va, len)) ||
	       (far && !efa_overlaps(tx, va, len, tx->posted));
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
EFA_INLINE enum efa_end efa_read_one(struct dap_ep *ep, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
				     const DAT_RMR_TRIPLET *from, unsigned int flags,
				     struct efa_was *was, bool inside, bool far)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	uint64_t len, remote;
	efa_u64 *wqe;

	if (efa_unlikely(!iov))
		return EFA_SLOW;
	EFA_APART();
	if (efa_unlikely(!from) || efa_unlikely(flags & tx->deny_rdma))
		return EFA_SLOW;
	len = front_rmr_len(from);
	if (efa_unlikely(len - 1 >= efa_most(&tx->most_read)) ||
	    efa_unlikely(len > front_lmr_len(iov)))
		return EFA_SLOW;
	remote = front_rmr_va(from);
	if (!efa_come_unless(tx->eng, inside))
		return EFA_SLOW;
	efa_note(tx, cookie, remote, len, EFA_READ, EFA_D_ISSUED, flags);
	if (efa_unlikely(tx->posted == tx->stop) ||
	    efa_unlikely(!efa_known(ep, tx, iov, len)) ||
	    efa_unlikely(!(tx->lmr->priv & DAP_PRIV_LOCAL_WRITE)))
		return efa_off(tx, inside, was, EFA_NOTED_SLOW);
	if (efa_unlikely(!efa_read_free(tx, remote, len, far)))
		return efa_off(tx, inside, was, far ? EFA_NOTED_SLOW : EFA_NOTED_FAR);
	wqe = efa_wqe(e, tx->posted, EFA_F_READ, 0);
	efa_buf(wqe + 4, len, front_rmr_key(from), remote);
	efa_buf(wqe + 6, len, efa_lkey(front_lmr_key(iov)), front_lmr_va(iov));
	/* No immediate: a read takes no number. */
	efa_issue(e, wqe, e->sq.word1, NULL);
	efa_go_unless(tx->eng, inside);
	return EFA_POSTED;
}
