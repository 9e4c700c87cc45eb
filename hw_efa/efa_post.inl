/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting, as bodies that are instantiated for each API level and variant. Who includes this gives
 * the types EFA_RET, EFA_LMR and EFA_RMR, the accessors efa_lmr_key/va/len and efa_rmr_key/va/len,
 * and efa_ret, which turns a DAP_ERR into an EFA_RET. Arguments that are constants: soft, the
 * doorbell drives the model; locked, a lock guards the engine.
 *
 * One segment that goes out at once as one packet is posted here, all else by efa_request. A WQE is
 * assembled in registers and stored whole, in pieces of 16 bytes, into write-combined memory.
 */
#include "hw_efa/efa_lock.h"
#include "softnic/softnic_efa.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of WQEs are assembled for little-endian hosts"
#endif

typedef uint64_t efa_v2 __attribute__((vector_size(16), may_alias, aligned(16)));

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
				uint64_t cookie, const EFA_RMR *remote, unsigned int flags,
				bool soft, bool locked)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	struct efa_tx *tx = &efa_ep(ep)->tx;
	struct efa_request r = { .ep = ep, .op = (uint8_t)op, .flags = (uint8_t)flags,
				 .cookie = cookie };
	int err = efa_check_args(tx, op, n, iov, remote, flags);
	struct efa_cell *c;

	if (!err)
		err = efa_measure(tx, &r, n, iov, remote ? efa_rmr_len(remote) : 0);
	if (err)
		return efa_ret(err);
	if (remote) {
		r.remote = efa_rmr_va(remote);
		r.rkey = efa_rmr_key(remote);
	}
	c = efa_enter(eng, locked);
	/* Full of work whose completions nobody is to see: they are taken here. */
	for (int i = 0; i < EFA_FULL_LOOKS && efa_unlikely(tx->posted == tx->free_at); i++) {
		if (soft)
			efa_pump(eng);
		efa_drain(eng, 64);
	}
	err = efa_request(&r);
	efa_leave(eng, c, locked);
	if (err && dap_ep_reap(ep, false)) {
		c = efa_enter(eng, locked);
		err = efa_request(&r);
		efa_leave(eng, c, locked);
	}
	return efa_ret(err);
}

/* Nothing is before it, and there is a credit, a place in the queue, and one for its completion. */
EFA_INLINE bool efa_may_issue(const struct efa_ep *e)
{
	return efa_likely(!e->tx.blocked) && efa_likely(e->tx.seq != e->tx.limit) &&
	       efa_likely(e->tx.posted != e->tx.free_at) &&
	       efa_likely(e->sq.pi - e->sq.ci < e->sq.room);
}

/* Neither before its start nor beyond its end. */
EFA_INLINE bool efa_inside(const struct dap_lmr *lmr, uint64_t va, uint64_t len)
{
	uint64_t off = va - lmr->addr, room = lmr->length - len;

	return (int64_t)(off | (room - off)) >= 0;
}

/*
 * What does not lie in an LMR of the endpoint's zone is refused with a completion, by efa_request. An
 * LMR that is freed loses its context, so that one seen before is known again by it.
 */
EFA_INLINE bool efa_known(const struct dap_ep *ep, struct efa_tx *tx, uint32_t key, uint64_t va,
			     uint64_t len)
{
	const struct dap_lmr *lmr = tx->lmr;

	if (efa_unlikely(lmr->lmr_context != key)) {
		lmr = dap_lmr_find(ep->obj.ia, key);
		if (!lmr || lmr->pz != ep->pz)
			return false;
		tx->lmr = lmr;
	}
	return efa_likely(efa_inside(lmr, va, len));
}

/* word0 of the WQE at pi. */
EFA_INLINE uint64_t efa_word0(const struct efa_sq *sq, uint32_t pi, unsigned int op,
			      unsigned int ctrl, uint32_t length)
{
	return sq->word0 | (uint64_t)(op | EFA_TX_HAS_IMM | ctrl) << 16 |
	       (uint64_t)length << 48 | (uint64_t)(pi >> sq->log & 1) << 24 |
	       (uint16_t)((pi & sq->mask) | sq->gen);
}

EFA_INLINE efa_v2 efa_buf(uint32_t len, uint32_t key, uint64_t va)
{
	return (efa_v2){ len | (uint64_t)key << 32, va };
}

/* The WQE becomes the device's, the request one more. */
EFA_INLINE void efa_issue_one(struct efa_engine *eng, struct efa_ep *e, uint64_t word0,
			      uint32_t imm, efa_v2 a, efa_v2 b, unsigned int op, uint64_t cookie,
			      uint32_t len, unsigned int flags, unsigned int state, bool soft)
{
	struct efa_sq *sq = &e->sq;
	struct efa_tx *tx = &e->tx;
	uint32_t pi = sq->pi, of = tx->posted;
	efa_v2 *to = (efa_v2 *)(sq->ring + ((size_t)(pi & sq->mask) << sq->shift));
	struct efa_slot *slot = &sq->slots[pi & sq->mask];
	struct efa_dto *d = &tx->dto[of & tx->mask];
	const efa_v2 zero = { 0 };

	dap_wc_flush();
	to[0] = (efa_v2){ word0, sq->word1 | imm };
	to[1] = (efa_v2){ sq->word2, 0 };
	to[2] = a;
	to[3] = b;
	if (sq->shift == 7) {
		to[4] = zero;
		to[5] = zero;
		to[6] = zero;
		to[7] = zero;
	}
	*slot = (struct efa_slot){ .of = of, .kind = EFA_S_DTO };
	d->cookie = cookie;
	d->bytes = len;
	d->left = 1;
	d->op = (uint8_t)op;
	d->flags = (uint8_t)flags;
	d->state = (uint8_t)state;
	d->status = 0;
	tx->posted = tx->next = of + 1;
	sq->rung = sq->pi = pi + 1;
	dap_wc_flush();
	*sq->doorbell = (pi + 1) & 0xffff;
	if (soft)
		softnic_efa_kick(eng->soft, sq->handle);
}

/* The header of the next packet. */
EFA_INLINE uint32_t efa_take_imm(struct efa_ep *e, enum efa_kind kind, unsigned int flags)
{
	uint32_t seq = e->tx.seq++, ack = e->rx.safe;

	e->rx.told = ack;
	return efa_imm(kind, flags & DAP_COMP_SOLICITED, seq, ack);
}

/* What is not one packet at once: the call once more, out of line. */
typedef EFA_RET efa_send_fn(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
			    unsigned int flags);
typedef EFA_RET efa_rdma_fn(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
			    const EFA_RMR *remote, unsigned int flags);

EFA_INLINE EFA_RET efa_post_send(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				 unsigned int flags, efa_send_fn *slow, bool soft, bool locked)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	struct efa_ep *e = efa_ep(ep);
	struct efa_sq *sq = &e->sq;
	struct efa_cell *c;
	uint64_t len, va, word0;
	efa_v2 a, b = { 0 };

	if (efa_unlikely(n != 1) || efa_unlikely(!iov) || efa_unlikely(flags & e->tx.deny_send))
		return slow(ep, n, iov, cookie, flags);
	len = efa_lmr_len(iov);
	va = efa_lmr_va(iov);
	if (efa_unlikely(len - 1 >= e->tx.mtu) || efa_unlikely(len > e->tx.max_msg))
		return slow(ep, n, iov, cookie, flags);
	c = efa_enter(eng, locked);
	if (efa_unlikely(!efa_may_issue(e)) ||
	    efa_unlikely(!efa_known(ep, &e->tx, efa_lmr_key(iov), va, len))) {
		efa_leave(eng, c, locked);
		return slow(ep, n, iov, cookie, flags);
	}
	if (len <= sq->inline_max) {
		word0 = efa_word0(sq, sq->pi, EFA_OP_SEND, EFA_TX_INLINE, (uint32_t)len);
		if (len == 8) {
			uint64_t eight;

			__builtin_memcpy(&eight, (const void *)(uintptr_t)va, 8);
			a = (efa_v2){ eight, 0 };
		} else {
			uint32_t data[8] = { 0 };

			__builtin_memcpy(data, (const void *)(uintptr_t)va, len);
			__builtin_memcpy(&a, data, 16);
			__builtin_memcpy(&b, data + 4, 16);
		}
	} else {
		word0 = efa_word0(sq, sq->pi, EFA_OP_SEND, 0, 1);
		a = efa_buf((uint32_t)len, efa_lkey(efa_lmr_key(iov)), va);
	}
	efa_issue_one(eng, e, word0, efa_take_imm(e, EFA_K_MSG, flags), a, b, EFA_SEND, cookie,
		      (uint32_t)len, flags, EFA_D_ISSUED, soft);
	efa_leave(eng, c, locked);
	return DAT_SUCCESS;
}

EFA_INLINE bool efa_box_add(struct efa_tx *tx, uint64_t va, uint64_t len)
{
	if (efa_unlikely(tx->boxed && va < tx->box_hi && va + len > tx->box_lo))
		return false;
	tx->boxed++;
	tx->box_lo = va < tx->box_lo ? va : tx->box_lo;
	tx->box_hi = va + len > tx->box_hi ? va + len : tx->box_hi;
	return true;
}

EFA_INLINE EFA_RET efa_post_write(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				  const EFA_RMR *to, unsigned int flags, efa_rdma_fn *slow,
				  bool soft, bool locked)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_engine *eng = ia->eng;
	struct efa_ep *e = efa_ep(ep);
	struct efa_cell *c;
	uint64_t len;

	if (efa_unlikely(n != 1) || efa_unlikely(!iov) || efa_unlikely(!to) ||
	    efa_unlikely(flags & e->tx.deny_rdma))
		return slow(ep, n, iov, cookie, to, flags);
	len = efa_lmr_len(iov);
	if (efa_unlikely(len - 1 >= e->tx.max_rdma) || efa_unlikely(len > ia->dev.max_rdma_size) ||
	    efa_unlikely(len > efa_rmr_len(to)))
		return slow(ep, n, iov, cookie, to, flags);
	c = efa_enter(eng, locked);
	if (efa_unlikely(!efa_may_issue(e)) || efa_unlikely(!(e->tx.can & EFA_CAN_WRITE)) ||
	    efa_unlikely(!efa_known(ep, &e->tx, efa_lmr_key(iov), efa_lmr_va(iov), len)) ||
	    !efa_box_add(&e->tx, efa_rmr_va(to), len)) {
		efa_leave(eng, c, locked);
		return slow(ep, n, iov, cookie, to, flags);
	}
	efa_issue_one(eng, e, efa_word0(&e->sq, e->sq.pi, EFA_OP_RDMA_WRITE, 0, 1),
		      efa_take_imm(e, EFA_K_WRITE, 0),
		      efa_buf((uint32_t)len, efa_rmr_key(to), efa_rmr_va(to)),
		      efa_buf((uint32_t)len, efa_lkey(efa_lmr_key(iov)), efa_lmr_va(iov)),
		      EFA_WRITE, cookie, (uint32_t)len, flags, EFA_D_ISSUED | EFA_D_BOXED, soft);
	efa_leave(eng, c, locked);
	return DAT_SUCCESS;
}

/* What is transferred is what the remote buffer says; the local one may be longer. */
EFA_INLINE EFA_RET efa_post_read(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				 const EFA_RMR *from, unsigned int flags, efa_rdma_fn *slow,
				 bool soft, bool locked)
{
	struct efa_ia *ia = efa_ia(ep->obj.ia);
	struct efa_engine *eng = ia->eng;
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	struct efa_cell *c;
	uint64_t len, va;

	if (efa_unlikely(n != 1) || efa_unlikely(!iov) || efa_unlikely(!from) ||
	    efa_unlikely(flags & tx->deny_rdma) || efa_unlikely(tx->no_reads))
		return slow(ep, n, iov, cookie, from, flags);
	len = efa_rmr_len(from);
	va = efa_rmr_va(from);
	if (efa_unlikely(len - 1 >= tx->max_rdma) || efa_unlikely(len > ia->dev.max_rdma_size) ||
	    efa_unlikely(len > efa_lmr_len(iov)))
		return slow(ep, n, iov, cookie, from, flags);
	c = efa_enter(eng, locked);
	if (efa_unlikely(!efa_may_issue(e)) || efa_unlikely(!(tx->can & EFA_CAN_READ)) ||
	    efa_unlikely(tx->peer_no_reads) ||
	    efa_unlikely(!efa_known(ep, tx, efa_lmr_key(iov), efa_lmr_va(iov), len)) ||
	    efa_unlikely(!(tx->lmr->priv & DAP_PRIV_LOCAL_WRITE)) ||
	    efa_unlikely(tx->boxed && va < tx->box_hi && va + len > tx->box_lo)) {
		efa_leave(eng, c, locked);
		return slow(ep, n, iov, cookie, from, flags);
	}
	/* No immediate: a read takes no number. */
	efa_issue_one(eng, e, efa_word0(&e->sq, e->sq.pi, EFA_OP_RDMA_READ, 0, 1) &
		      ~((uint64_t)EFA_TX_HAS_IMM << 16), 0,
		      efa_buf((uint32_t)len, efa_rmr_key(from), va),
		      efa_buf((uint32_t)len, efa_lkey(efa_lmr_key(iov)), efa_lmr_va(iov)), EFA_READ,
		      cookie, (uint32_t)len, flags, EFA_D_ISSUED, soft);
	efa_leave(eng, c, locked);
	return DAT_SUCCESS;
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
				unsigned int flags, bool locked)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	int err = efa_recv_check(&efa_ep(ep)->rx, n, iov, flags);
	struct efa_iov seg[EFA_MAX_IOV];
	uint64_t room = 0;
	unsigned int used = 0;
	struct efa_cell *c;

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
		c = efa_enter(eng, locked);
		err = efa_recv_post(ep, used, seg, cookie, flags, (uint32_t)room);
		efa_leave(eng, c, locked);
	} while (err && dap_ep_reap(ep, true));
	return efa_ret(err);
}

/* Into memory of software's own: no doorbell. */
EFA_INLINE EFA_RET efa_post_recv(struct dap_ep *ep, int n, const EFA_LMR *iov, uint64_t cookie,
				 unsigned int flags, efa_send_fn *slow, bool locked)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	struct efa_ep *e = efa_ep(ep);
	struct efa_rx *rx = &e->rx;
	struct efa_recv *r;
	struct efa_cell *c;

	if (efa_unlikely(n != 1) || efa_unlikely(!iov) || efa_unlikely(flags & rx->deny) ||
	    efa_unlikely(efa_lmr_len(iov) - 1 >= INT32_MAX))
		return slow(ep, n, iov, cookie, flags);
	c = efa_enter(eng, locked);
	if (efa_unlikely(rx->posted == rx->free_at) || efa_unlikely(rx->stalled) ||
	    efa_unlikely(e->tx.blocked & EFA_B_ERROR)) {
		efa_leave(eng, c, locked);
		return slow(ep, n, iov, cookie, flags);
	}
	r = &rx->recv[rx->posted & rx->recv_mask];
	r->cookie = cookie;
	r->room = (uint32_t)efa_lmr_len(iov);
	r->state = EFA_R_POSTED;
	r->status = 0;
	r->flags = (uint8_t)flags;
	r->nseg = 1;
	r->seg[0] = (struct efa_iov){ efa_lmr_va(iov), (uint32_t)efa_lmr_len(iov),
				      efa_lmr_key(iov) };
	rx->posted++;
	efa_leave(eng, c, locked);
	return DAT_SUCCESS;
}
