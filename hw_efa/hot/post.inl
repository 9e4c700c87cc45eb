/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting, as bodies that are instantiated for each API level and variant. Who includes this gives
 * the types EFA_RET, EFA_LMR and EFA_RMR, the accessors efa_lmr_key/va/len and efa_rmr_key/va/len,
 * and efa_ret, which turns a DAP_ERR into an EFA_RET. Arguments that are constants: wide,
 * WQEs have 128 bytes; inside, the caller has the engine's lock.
 *
 * One segment that goes out at once as one packet is posted here, all else by efa_request. A WQE is
 * assembled in registers and stored whole, in pieces of 16 bytes, into write-combined memory.
 */
#include "hw_efa/place.h"
#include "hw_efa/lock.h"
#include "hw_efa/rq.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of WQEs are assembled for little-endian hosts"
#endif

typedef uint64_t efa_v2 __attribute__((vector_size(16), may_alias, aligned(16)));

/* Keeps a test a branch: two at a time take longer to be made one than to be made. */
#define EFA_APART() __asm__ volatile("")
/* What has been loaded is loaded again where it is wanted, rather than kept in a register. */
#define EFA_ANEW() __asm__ volatile("" : : : "memory")

#define EFA_FULL_LOOKS 64		/* for completions, before a post is refused */

/* A rejected argument first, else what efa_request needs. */
EFA_INLINE int efa_check_args(const struct efa_tx *tx, unsigned int op, int n, const EFA_LMR *iov,
			      const EFA_RMR *remote, unsigned int flags)
{
	uint32_t deny = op == EFA_SEND ? tx->deny_send : tx->deny_rdma;
	uint32_t most = op == EFA_SEND ? tx->max_iov :
			op == EFA_READ ? tx->max_read_iov : tx->max_write_iov;

	if (op == EFA_READ && tx->no_reads)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1);
	if ((unsigned int)n > most)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (op != EFA_SEND && !remote)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if (flags & deny & ~(uint32_t)DAP_COMP_BARRIER)
		return DAP_ERR(DAP_INVALID_PARAMETER, op == EFA_SEND ? DAP_SUB_ARG5 : DAP_SUB_ARG6);
	return 0;
}

/* Of a read only so much of the local segments counts as the remote buffer has. */
EFA_INLINE int efa_measure(const struct efa_tx *tx, struct efa_request *r, int n,
			   const EFA_LMR *iov, uint64_t remote_len)
{
	uint64_t max = r->op == EFA_SEND ? tx->max_msg : tx->max_rdma, sum = 0;
	bool read = r->op == EFA_READ;

	if (read && remote_len > max)
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	for (int i = 0; i < n; i++) {
		uint64_t len = efa_lmr_len(&iov[i]);

		if (!read && len > max - sum)
			return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
		if (read && len > remote_len - sum)
			len = remote_len - sum;
		if (!len)
			continue;
		r->seg[r->nseg++] = (struct efa_iov){ efa_lmr_va(&iov[i]), (uint32_t)len,
						      efa_lmr_key(&iov[i]) };
		sum += len;
	}
	if (read ? sum < remote_len : r->op != EFA_SEND && sum > remote_len)
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	r->bytes = (uint32_t)sum;
	return 0;
}

EFA_INLINE EFA_RET efa_post_any(struct dap_ep *ep, unsigned int op, int n, const EFA_LMR *iov,
				uint64_t cookie, const EFA_RMR *remote, unsigned int flags)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	struct efa_tx *tx = &efa_ep(ep)->tx;
	struct efa_request r = { .ep = ep, .op = (uint8_t)op, .flags = (uint8_t)flags,
				 .cookie = cookie };
	int err = efa_check_args(tx, op, n, iov, remote, flags);

	if (!err)
		err = efa_measure(tx, &r, n, iov, remote ? efa_rmr_len(remote) : 0);
	if (err)
		return efa_ret(err);
	if (remote) {
		r.remote = efa_rmr_va(remote);
		r.rkey = efa_rmr_key(remote);
	}
	efa_enter(eng);
	/* Full of work whose completions nobody is to see: they are taken here. */
	for (int i = 0; i < EFA_FULL_LOOKS && efa_unlikely(tx->posted == tx->free_at); i++) {
		efa_pump(eng);
		efa_drain(eng, 64);
	}
	err = efa_request(&r);
	efa_leave(eng);
	if (err && dap_ep_reap(ep, false)) {
		efa_enter(eng);
		err = efa_request(&r);
		efa_leave(eng);
	}
	return efa_ret(err);
}

/* Neither before its start nor beyond its end. */
EFA_INLINE bool efa_inside(const struct dap_lmr *lmr, uint64_t va, uint64_t len)
{
	uint64_t off = va - lmr->addr, room = lmr->length - len;

	__asm__("" : "+r"(off));	/* this order takes no register more */
	return (int64_t)(off | (room - off)) >= 0;
}

/*
 * What does not lie in an LMR of the endpoint's zone is refused with a completion, by efa_request. An
 * LMR that is freed loses its context, so that one seen before is known again by it.
 */
EFA_INLINE bool efa_known(const struct dap_ep *ep, struct efa_tx *tx, const EFA_LMR *iov,
			  uint64_t len)
{
	const struct dap_lmr *lmr = tx->lmr;
	uint32_t key = efa_lmr_key(iov);

	if (efa_unlikely(lmr->lmr_context != key)) {
		lmr = dap_lmr_find(ep->obj.ia, key);
		if (!lmr || lmr->pz != ep->pz)
			return false;
		tx->lmr = lmr;
	}
	EFA_APART();
	return efa_likely(efa_inside(lmr, efa_lmr_va(iov), len));
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
EFA_INLINE efa_u64 *efa_wqe(struct efa_ep *e, uint32_t of, enum efa_form form, uint64_t len,
			    bool wide)
{
	struct efa_sq *sq = &e->sq;
	efa_u64 *to;
	uint64_t at;

	e->tx.posted = of + 1;
	EFA_ANEW();
	at = sq->pi & sq->mask;
	sq->slots[at].word = of;
	dap_wc_flush();
	to = (efa_u64 *)(sq->ring + (at << (wide ? 7 : 6)));
	to[0] = sq->form[form] | len << 48 | at;
	return to;
}

/* The rest of its first half; more: what a wide one has in its second 64 bytes, if anything. */
EFA_INLINE void efa_issue(struct efa_ep *e, efa_u64 *to, uint64_t word1, const efa_v2 *more, bool wide)
{
	struct efa_sq *sq = &e->sq;
	const efa_v2 zero = { 0 };

	to[1] = word1;
	*(efa_v2 *)(to + 2) = *(const efa_v2 *)sq->word2;
	for (unsigned int i = 0; wide && i < 4; i++)
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

/* The call once more, out of line. */
typedef EFA_RET efa_send_fn(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
			    unsigned int flags);
typedef EFA_RET efa_rdma_fn(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
			    const EFA_RMR *remote, unsigned int flags);

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
EFA_INLINE enum efa_end efa_send_one(struct dap_ep *ep, const EFA_LMR *iov, uint64_t cookie,
				     unsigned int flags, struct efa_was *was,
				     bool wide, bool inside, bool far)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	uint64_t len, va, word1;
	const efa_v2 *more = NULL;
	efa_v2 data[6];
	efa_u64 *to;

	if (efa_unlikely(!iov) || efa_unlikely(flags & tx->deny_send))
		return EFA_SLOW;
	len = efa_lmr_len(iov);
	va = efa_lmr_va(iov);
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
		to = efa_wqe(e, tx->posted, EFA_F_SEND8, 0, wide);
		__builtin_memcpy(to + 4, (const void *)(uintptr_t)va, 8);
		to[5] = to[6] = to[7] = 0;
	} else if (far && len <= e->sq.inline_max) {
		to = efa_wqe(e, tx->posted, EFA_F_INLINE, len, wide);
		more = efa_put_inline(to + 4, data, va, len);
	} else {
		to = efa_wqe(e, tx->posted, EFA_F_SEND, 0, wide);
		efa_buf(to + 4, len, efa_lkey(efa_lmr_key(iov)), va);
		to[6] = to[7] = 0;
	}
	word1 = efa_imm_of(&e->sq, EFA_K_MSG) | (flags & DAP_COMP_SOLICITED ? EFA_IMM_SE : 0);
	efa_issue(e, to, word1, more, wide);
	efa_imm_next(e);
	efa_go_unless(tx->eng, inside);
	return EFA_POSTED;
}

EFA_INLINE EFA_RET efa_post_send(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				 unsigned int flags, efa_send_fn *far, efa_send_fn *slow,
				 bool wide)
{
	struct efa_was was;
	enum efa_end end;

	if (efa_unlikely(n != 1))
		return slow(ep, n, iov, cookie, flags);
	end = efa_send_one(ep, iov, cookie, flags, &was, wide, false, !far);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return slow(ep, n, iov, cookie, flags);
	if (end == EFA_FAR)
		return far(ep, n, iov, cookie, flags);
	return end == EFA_NOTED_FAR ? far(ep, n, iov, was.cookie, was.flags) :
				      slow(ep, n, iov, was.cookie, was.flags);
}

/* It is read outside of the engine, and the first RDMA that is done raises it. */
EFA_INLINE uint64_t efa_most(const uint64_t *most)
{
	return DAP_TSAN ? __atomic_load_n(most, __ATOMIC_RELAXED) : *most;
}

/* far: also what is not seen at a glance to touch no bytes of a write under way. */
EFA_INLINE enum efa_end efa_write_one(struct dap_ep *ep, const EFA_LMR *iov, uint64_t cookie,
				     const EFA_RMR *to, unsigned int flags,
				     struct efa_was *was, bool wide,
				     bool inside, bool far)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	uint32_t *line, of;
	uint64_t len, remote;
	efa_u64 *wqe;

	if (efa_unlikely(!iov))
		return EFA_SLOW;
	EFA_APART();
	if (efa_unlikely(!to) || efa_unlikely(flags & tx->deny_rdma))
		return EFA_SLOW;
	len = efa_lmr_len(iov);
	if (efa_unlikely(len - 1 >= efa_most(&tx->most_write)) || efa_unlikely(len > efa_rmr_len(to)))
		return EFA_SLOW;
	remote = efa_rmr_va(to);
	if (!far && efa_unlikely(!efa_one_line(remote, len)))
		return EFA_FAR;
	if (!efa_come_unless(tx->eng, inside))
		return EFA_SLOW;
	efa_note(tx, cookie, remote, len, EFA_WRITE, EFA_D_ISSUED | EFA_D_PLACED, flags);
	if (efa_unlikely(tx->posted == tx->stop) ||
	    efa_unlikely(!efa_known(ep, tx, iov, len)))
		return efa_off(tx, inside, was, EFA_NOTED_SLOW);
	line = far ? NULL : efa_line_free(tx, remote);
	if (far ? !efa_place_far(tx, remote, len, tx->posted) : !line)
		return efa_off(tx, inside, was, far ? EFA_NOTED_SLOW : EFA_NOTED_FAR);
	EFA_ANEW();
	of = tx->posted;
	if (!far)
		efa_place_line(tx, line, of);
	wqe = efa_wqe(e, of, EFA_F_WRITE, 0, wide);
	efa_buf(wqe + 4, len, efa_rmr_key(to), remote);
	efa_buf(wqe + 6, len, efa_lkey(efa_lmr_key(iov)), efa_lmr_va(iov));
	efa_issue(e, wqe, efa_imm_of(&e->sq, EFA_K_WRITE), NULL, wide);
	efa_imm_next(e);
	efa_go_unless(tx->eng, inside);
	return EFA_POSTED;
}

EFA_INLINE EFA_RET efa_post_write(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				  const EFA_RMR *to, unsigned int flags, efa_rdma_fn *far,
				  efa_rdma_fn *slow, bool wide)
{
	struct efa_was was;
	enum efa_end end;

	if (efa_unlikely(n != 1))
		return slow(ep, n, iov, cookie, to, flags);
	end = efa_write_one(ep, iov, cookie, to, flags, &was, wide, false, !far);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return slow(ep, n, iov, cookie, to, flags);
	if (end == EFA_FAR)
		return far(ep, n, iov, cookie, to, flags);
	return end == EFA_NOTED_FAR ? far(ep, n, iov, was.cookie, to, was.flags) :
				      slow(ep, n, iov, was.cookie, to, was.flags);
}

/* A read of what a write under way may touch waits for it; no write waits for a read. */
EFA_INLINE bool efa_read_free(const struct efa_tx *tx, uint64_t va, uint64_t len, bool far)
{
	if (efa_likely((int32_t)(tx->small - tx->done) <= 0) &&
	    efa_likely((int32_t)(tx->large - tx->done) <= 0))
		return true;
	return far && !efa_overlaps(tx, va, len, tx->posted);
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
EFA_INLINE enum efa_end efa_read_one(struct dap_ep *ep, const EFA_LMR *iov, uint64_t cookie,
				     const EFA_RMR *from, unsigned int flags,
				     struct efa_was *was, bool wide,
				     bool inside, bool far)
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
	len = efa_rmr_len(from);
	if (efa_unlikely(len - 1 >= efa_most(&tx->most_read)) || efa_unlikely(len > efa_lmr_len(iov)))
		return EFA_SLOW;
	remote = efa_rmr_va(from);
	if (!efa_come_unless(tx->eng, inside))
		return EFA_SLOW;
	efa_note(tx, cookie, remote, len, EFA_READ, EFA_D_ISSUED, flags);
	if (efa_unlikely(tx->posted == tx->stop) ||
	    efa_unlikely(!efa_known(ep, tx, iov, len)) ||
	    efa_unlikely(!(tx->lmr->priv & DAP_PRIV_LOCAL_WRITE)))
		return efa_off(tx, inside, was, EFA_NOTED_SLOW);
	if (efa_unlikely(!efa_read_free(tx, remote, len, far)))
		return efa_off(tx, inside, was, far ? EFA_NOTED_SLOW : EFA_NOTED_FAR);
	wqe = efa_wqe(e, tx->posted, EFA_F_READ, 0, wide);
	efa_buf(wqe + 4, len, efa_rmr_key(from), remote);
	efa_buf(wqe + 6, len, efa_lkey(efa_lmr_key(iov)), efa_lmr_va(iov));
	/* No immediate: a read takes no number. */
	efa_issue(e, wqe, e->sq.word1, NULL, wide);
	efa_go_unless(tx->eng, inside);
	return EFA_POSTED;
}

EFA_INLINE EFA_RET efa_post_read(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				 const EFA_RMR *from, unsigned int flags, efa_rdma_fn *far,
				 efa_rdma_fn *slow, bool wide)
{
	struct efa_was was;
	enum efa_end end;

	if (efa_unlikely(n != 1))
		return slow(ep, n, iov, cookie, from, flags);
	end = efa_read_one(ep, iov, cookie, from, flags, &was, wide, false, !far);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return slow(ep, n, iov, cookie, from, flags);
	if (end == EFA_FAR)
		return far(ep, n, iov, cookie, from, flags);
	return end == EFA_NOTED_FAR ? far(ep, n, iov, was.cookie, from, was.flags) :
				      slow(ep, n, iov, was.cookie, from, was.flags);
}

/*
 * A post that did not go at once: by whatever way into the engine there is, once it is known what may
 * go. True: it went.
 */
EFA_INLINE bool efa_post_again(struct dap_ep *ep, unsigned int op, int n, const EFA_LMR *iov,
			       uint64_t cookie, const EFA_RMR *remote, unsigned int flags,
			       bool wide)
{
	struct efa_engine *eng = efa_ep(ep)->tx.eng;
	enum efa_end end = EFA_SLOW;
	struct efa_was was;

	efa_enter(eng);
	if (n == 1 && efa_arm(efa_ep(ep))) {
		if (op == EFA_SEND)
			end = efa_send_one(ep, iov, cookie, flags, &was, wide, true, true);
		else if (op == EFA_WRITE)
			end = efa_write_one(ep, iov, cookie, remote, flags, &was, wide,
					    true, true);
		else
			end = efa_read_one(ep, iov, cookie, remote, flags, &was, wide,
					   true, true);
	}
	efa_leave(eng);
	return end == EFA_POSTED;
}

EFA_INLINE int efa_recv_check(const struct efa_rx *rx, int n, const EFA_LMR *iov,
			      unsigned int flags)
{
	if (flags & rx->deny)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if ((unsigned int)n > rx->max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (int i = 0; i < n; i++)
		if (efa_lmr_len(&iov[i]) > INT32_MAX)
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	return 0;
}

EFA_INLINE EFA_RET efa_recv_any(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				unsigned int flags)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	int err = efa_recv_check(&efa_ep(ep)->rx, n, iov, flags);
	struct efa_iov seg[EFA_MAX_IOV];
	uint64_t room = 0;
	unsigned int used = 0;

	if (err)
		return efa_ret(err);
	for (int i = 0; i < n; i++) {
		if (!efa_lmr_len(&iov[i]))
			continue;
		seg[used++] = (struct efa_iov){ efa_lmr_va(&iov[i]), (uint32_t)efa_lmr_len(&iov[i]),
						efa_lmr_key(&iov[i]) };
		room += efa_lmr_len(&iov[i]);
	}
	if (room > UINT32_MAX)
		room = UINT32_MAX;
	do {
		efa_enter(eng);
		err = efa_recv_post(ep, used, seg, cookie, flags, (uint32_t)room);
		efa_leave(eng);
	} while (err && dap_ep_reap(ep, true));
	return efa_ret(err);
}

/* Into memory of software's own: no doorbell. */
EFA_INLINE EFA_RET efa_post_recv(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				 unsigned int flags, efa_send_fn *slow)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;
	const struct dap_lmr *lmr;
	struct efa_recv *r;

	if (efa_unlikely(n != 1) || efa_unlikely(!iov) || efa_unlikely(flags & rx->deny) ||
	    efa_unlikely(efa_lmr_len(iov) - 8 >= INT32_MAX - 7) || !efa_come(e->tx.eng))
		return slow(ep, n, iov, cookie, flags);
	lmr = rx->lmr;
	if (efa_unlikely(rx->posted == rx->free_at) || efa_unlikely(rx->stalled) ||
	    efa_unlikely(e->tx.blocked & EFA_B_ERROR) ||
	    efa_unlikely(lmr->lmr_context != efa_lmr_key(iov)) ||
	    efa_unlikely(!efa_inside(lmr, efa_lmr_va(iov), efa_lmr_len(iov)))) {
		efa_go(e->tx.eng);
		return slow(ep, n, iov, cookie, flags);
	}
	EFA_ANEW();
	r = &rx->recv[rx->posted & rx->recv_mask];
	r->cookie = cookie;
	r->room = (uint32_t)efa_lmr_len(iov);
	r->info = EFA_R_PLAIN | flags << 8;
	r->lmr = lmr;
	r->seg[0] = (struct efa_iov){ efa_lmr_va(iov), (uint32_t)efa_lmr_len(iov),
				      efa_lmr_key(iov) };
	rx->posted++;
	efa_go(e->tx.eng);
	return DAT_SUCCESS;
}
