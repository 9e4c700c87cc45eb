/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Posts of requests, receives and binds, and the table of hot calls. The fast path posts a request
 * that has one segment, fits one packet and need not wait; efa_request takes all others. Compiled
 * for each API level.
 */
#include "core/front/triplet.h"
#include "hw_efa/hot/hot.h"
#include "hw_efa/lock.h"
#include "hw_efa/place.h"
#include "hw_efa/sq.h"

EFA_INLINE DAT_RETURN efa_return(int err)
{
	return efa_likely(!err) ? DAT_SUCCESS : front_return(err);
}

/* ---- slow path ---- */

static int efa_check_args(const struct efa_tx *tx, unsigned int op, int n, const DAT_LMR_TRIPLET *iov,
			  const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	if (op == EFA_READ && tx->no_reads)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1);
	if ((unsigned int)n > tx->max_iov[op])
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (op != EFA_SEND && !remote)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if (flags & tx->deny[op] & ~(uint32_t)DAP_COMP_BARRIER)
		return DAP_ERR(DAP_INVALID_PARAMETER, op == EFA_SEND ? DAP_SUB_ARG5 : DAP_SUB_ARG6);
	return 0;
}

/* A read transfers as many bytes as its remote buffer has; the local segments may have more. */
static int efa_measure(const struct efa_tx *tx, struct efa_request *r, int n,
		       const DAT_LMR_TRIPLET *iov, uint64_t remote_len)
{
	uint64_t max = r->dto.op == EFA_SEND ? tx->max_msg : tx->max_rdma, sum = 0;
	bool read = r->dto.op == EFA_READ;

	if (read && remote_len > max)
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	for (int i = 0; i < n; i++) {
		uint64_t len = front_lmr_len(&iov[i]);

		if (!read && len > max - sum)
			return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
		if (read && len > remote_len - sum)
			len = remote_len - sum;
		if (!len)
			continue;
		r->work.seg[r->work.nseg++] = (struct efa_iov){
			front_lmr_va(&iov[i]), (uint32_t)len, front_lmr_key(&iov[i]) };
		sum += len;
	}
	if (read ? sum < remote_len : r->dto.op != EFA_SEND && sum > remote_len)
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	r->dto.bytes = (uint32_t)sum;
	return 0;
}

static EFA_COLD DAT_RETURN efa_post_any(struct dap_ep *ep, unsigned int op, int n,
					const DAT_LMR_TRIPLET *iov, uint64_t cookie,
					const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;
	struct efa_engine *eng = tx->eng;
	struct efa_request r = { .ep = ep, .dto = { .cookie = cookie, .op = (uint8_t)op,
						    .flags = (uint8_t)flags } };
	int err = efa_check_args(tx, op, n, iov, remote, flags);

	if (!err)
		err = efa_measure(tx, &r, n, iov, remote ? front_rmr_len(remote) : 0);
	if (err)
		return efa_return(err);
	if (remote) {
		r.dto.remote = front_rmr_va(remote);
		r.work.rkey = front_rmr_key(remote);
	}
	do {
		efa_enter(eng);
		efa_make_place(ep);
		err = efa_request(&r);
		efa_leave(eng);
	} while (err && dap_ep_reap(ep, false));
	return efa_return(err);
}

/* ---- fast path ---- */

/* To be called in the engine. False: nothing has been done, and efa_request takes the request. */
EFA_INLINE bool efa_post_now(struct dap_ep *ep, unsigned int op, const DAT_LMR_TRIPLET *iov,
			     uint64_t cookie, const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	struct efa_ep *e = efa_ep(ep);
	struct efa_tx *tx = &e->tx;
	const uint64_t len = op == EFA_READ ? front_rmr_len(remote) : front_lmr_len(iov);
	const uint64_t va = front_lmr_va(iov), to = remote ? front_rmr_va(remote) : 0;
	const uint32_t key = front_lmr_key(iov);
	const unsigned int state = EFA_D_ISSUED | (op == EFA_WRITE ? EFA_D_PLACED : 0);
	/* writes do not wait for writes without a number */
	const uint32_t stops = op == EFA_WRITE ? ~(uint32_t)EFA_B_PLAIN : UINT32_MAX;
	struct efa_dto *d;
	struct efa_wr wr = { .op = (uint8_t)op, .kind = EFA_S_DTO, .of = tx->posted };

	if (efa_unlikely(len - 1 >= tx->most[op]) || efa_unlikely(tx->blocked & stops) ||
	    (op == EFA_READ && efa_unlikely(len > front_lmr_len(iov))) ||
	    (op == EFA_WRITE && efa_unlikely(len > front_rmr_len(remote))) ||
	    (op == EFA_SEND && efa_unlikely(tx->seq == tx->limit)) ||
	    efa_unlikely(tx->posted == e->free_at[EFA_REQUESTS]) ||
	    efa_unlikely(!efa_sq_has(&e->sq, false)) ||
	    efa_unlikely(!efa_allowed(ep, op == EFA_READ, key, va, len)) ||
	    efa_unlikely(!efa_placed(tx, op, to, len, tx->posted)))
		return false;
	d = &tx->dto[tx->posted & tx->mask];
	d->cookie = cookie;
	DAP_PROBE4(post, ep, efa_op_dto(op), cookie, len);
	if (op != EFA_SEND)
		d->remote = to;
	d->bytes = (uint32_t)len;
	d->info = 1 | op << 8 | state << 16 | flags << 24;	/* left, op, state, flags */
	tx->posted++;
	efa_tally(&tx->posts[op], len);
	if (op == EFA_SEND && len <= e->sq.inline_max) {
		wr.inl = true;
		wr.data = (const void *)(uintptr_t)va;
		wr.bytes = (uint32_t)len;
	} else {
		wr.nseg = 1;
		wr.seg[0] = (struct efa_iov){ va, (uint32_t)len, efa_lkey(key) };
	}
	if (op != EFA_SEND) {
		wr.seg[1] = wr.seg[0];
		wr.seg[0] = (struct efa_iov){ to, (uint32_t)len, front_rmr_key(remote) };
	}
	if (op == EFA_WRITE && efa_unlikely(tx->seq == tx->limit)) {
		efa_write_plain(tx, d);
	} else if (op != EFA_READ) {
		wr.has_imm = true;
		wr.imm = efa_next_imm(e, op == EFA_SEND ? EFA_K_MSG : EFA_K_WRITE,
				      op == EFA_SEND && flags & DAP_COMP_SOLICITED);
	}
	dap_wc_flush();
	efa_wqe_write(e, &wr);
	efa_sq_doorbell(e);
	return true;
}

EFA_INLINE DAT_RETURN efa_post(struct dap_ep *ep, unsigned int op, int n, const DAT_LMR_TRIPLET *iov,
			       uint64_t cookie, const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	struct efa_tx *tx = &efa_ep(ep)->tx;
	bool posted;

	if (efa_unlikely(n != 1) || efa_unlikely(flags & tx->deny[op]) || efa_unlikely(!iov))
		return efa_post_any(ep, op, n, iov, cookie, remote, flags);
	if (op != EFA_SEND && efa_unlikely(!remote))
		return efa_post_any(ep, op, n, iov, cookie, remote, flags);
	efa_enter(tx->eng);
	posted = efa_post_now(ep, op, iov, cookie, remote, flags);
	efa_go(tx->eng);
	if (efa_likely(posted))
		return DAT_SUCCESS;
	return efa_post_any(ep, op, n, iov, cookie, remote, flags);
}

static DAT_RETURN efa_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return efa_post(ep, EFA_SEND, n, iov, cookie.as_64, NULL, flags);
}

static DAT_RETURN efa_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
			    DAT_COMPLETION_FLAGS flags)
{
	return efa_post(ep, EFA_WRITE, n, iov, cookie.as_64, to, flags);
}

static DAT_RETURN efa_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
			   DAT_COMPLETION_FLAGS flags)
{
	return efa_post(ep, EFA_READ, n, iov, cookie.as_64, from, flags);
}

/* ---- receives: a list for rx.c, since the RQ has the driver's own buffers ---- */

EFA_INLINE int efa_recv_check(const struct efa_rx *rx, int n, const DAT_LMR_TRIPLET *iov,
			      unsigned int flags)
{
	if (flags & rx->deny)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if ((unsigned int)n > rx->max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (int i = 0; i < n; i++)
		if (front_lmr_len(&iov[i]) > INT32_MAX)
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	return 0;
}

EFA_INLINE int efa_recv_enqueue(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
				unsigned int flags)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	struct efa_recv *r = &rx->recv[rx->posted & rx->recv_mask];
	uint64_t room = 0;

	if (efa_unlikely(rx->posted == efa_ep(ep)->free_at[EFA_RECEIVES]))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	r->nseg = 0;
	for (int i = 0; i < n; i++) {
		uint32_t len = (uint32_t)front_lmr_len(&iov[i]);

		if (!len)
			continue;
		r->seg[r->nseg++] = (struct efa_iov){ front_lmr_va(&iov[i]), len,
						     front_lmr_key(&iov[i]) };
		room += len;
	}
	r->room = room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
	r->cookie = cookie;
	DAP_PROBE4(post, ep, DAP_OP_RECEIVE, cookie, 0);
	r->state = EFA_R_POSTED;
	r->status = 0;
	r->flags = (uint8_t)flags;
	r->lmr = r->nseg == 1 && !flags && efa_writable(ep, &r->seg[0]) ? rx->lmr : NULL;
	rx->posted++;
	efa_tally(&rx->posts, room);
	return 0;
}

static DAT_RETURN efa_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;
	struct efa_ep *e = efa_ep(ep);
	int err = efa_recv_check(&e->rx, n, iov, flags);

	if (efa_unlikely(err))
		return efa_return(err);
	do {
		efa_enter(e->tx.eng);
		err = efa_recv_enqueue(ep, n, iov, cookie.as_64, flags);
		if (efa_unlikely(e->rx.stalled || e->tx.blocked & EFA_B_ERROR))
			efa_rx_resume(ep);
		efa_leave(e->tx.eng);
	} while (efa_unlikely(err) && dap_ep_reap(ep, true));
	return efa_return(err);
}

/* ---- binds ---- */

/* A bind is at least one command to the device, so no part of this is fast. */
static EFA_COLD DAT_RETURN efa_bind_any(struct dap_rmr *rmr, const void *handle,
					const DAT_LMR_TRIPLET *t, unsigned int priv, void *ep,
					uint64_t cookie, unsigned int flags, uint32_t *context)
{
	const unsigned int allow = DAP_COMP_SUPPRESS | DAP_COMP_UNSIGNALLED | DAP_COMP_BARRIER;
	struct dap_ep *e = dap_obj_get(ep, DAP_EP, rmr->obj.ia);
	struct efa_range to = { 0 };
	int err = 0;

	if (!t)
		err = DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_TRIPLET);
	else if (!context)
		err = DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_CONTEXT);
	else if (!e)
		err = DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP);
	else if (flags & ~allow || (flags & DAP_COMP_UNSIGNALLED &&
			       !(e->attr.request_completion_flags & DAP_COMP_UNSIGNALLED)))
		err = DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_FLAGS);
	if (!err && front_lmr_len(t)) {
		to = (struct efa_range){ NULL, front_lmr_va(t), front_lmr_len(t), priv };
		err = front_bind_range(rmr, handle, t, priv, &to.lmr);
	}
	if (!err)
		err = efa_bind(rmr, e, &to, cookie, flags, context);
	return efa_return(err);
}

#ifdef DAP_DAT20

static EFA_COLD DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				 const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
				 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	if (va_type > DAT_VA_TYPE_ZB)
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_VA_TYPE));
	if (va_type != DAT_VA_TYPE_VA)	/* attribute zb_supported */
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	return efa_bind_any(rmr, lmr, triplet, priv, ep, cookie.as_64, flags, context);
}

#else

static EFA_COLD DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				 DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return efa_bind_any(rmr, NULL, triplet, priv, ep, cookie.as_64, flags, context);
}

#endif

/* ---- the table ---- */

static const struct dap_hot efa_calls = {
	.post_send = efa_send,
	.post_recv = efa_recv,
	.rdma_read = efa_read,
	.rdma_write = efa_write,
	.rmr_bind = efa_hot_bind,
	.evd_dequeue = efa_dequeue,
};

const void *efa_hot_calls(const struct dap_ia *ia, enum dap_api api)
{
	(void)ia;
	return api == DAP_API ? &efa_calls : NULL;
}
