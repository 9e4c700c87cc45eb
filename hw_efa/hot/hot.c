/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Posts of uDAPL on an EFA, and this object's table EFA_HOT. The Makefile compiles this for each API
 * level and length of WQEs; EFA_WIDE: 128 bytes.
 */
#include "hw_efa/calls.h"
#include "hw_efa/hot/common.inl"
#include "hw_efa/hot/post.inl"

#define EFA_FULL_LOOKS 64		/* for completions, before a post is refused */

/* ---- All that does not go at once, and what is refused ---- */

/* A rejected argument first, else what efa_request needs. */
EFA_INLINE int efa_check_args(const struct efa_tx *tx, unsigned int op, int n,
			      const DAT_LMR_TRIPLET *iov, const DAT_RMR_TRIPLET *remote,
			      unsigned int flags)
{
	uint32_t deny = op == EFA_SEND ? tx->deny_send : tx->deny_rdma;
	uint32_t most = op == EFA_SEND   ? tx->max_iov
			: op == EFA_READ ? tx->max_read_iov
					 : tx->max_write_iov;

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
			   const DAT_LMR_TRIPLET *iov, uint64_t remote_len)
{
	uint64_t max = r->op == EFA_SEND ? tx->max_msg : tx->max_rdma, sum = 0;
	bool read = r->op == EFA_READ;

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
		r->seg[r->nseg++] = (struct efa_iov){ front_lmr_va(&iov[i]), (uint32_t)len,
						     front_lmr_key(&iov[i]) };
		sum += len;
	}
	if (read ? sum < remote_len : r->op != EFA_SEND && sum > remote_len)
		return DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	r->bytes = (uint32_t)sum;
	return 0;
}

EFA_INLINE DAT_RETURN efa_post_any(struct dap_ep *ep, unsigned int op, int n,
				   const DAT_LMR_TRIPLET *iov, uint64_t cookie,
				   const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	struct efa_tx *tx = &efa_ep(ep)->tx;
	struct efa_request r = { .ep = ep, .op = (uint8_t)op, .flags = (uint8_t)flags,
				 .cookie = cookie };
	int err = efa_check_args(tx, op, n, iov, remote, flags);

	if (!err)
		err = efa_measure(tx, &r, n, iov, remote ? front_rmr_len(remote) : 0);
	if (err)
		return efa_return(err);
	if (remote) {
		r.remote = front_rmr_va(remote);
		r.rkey = front_rmr_key(remote);
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
	return efa_return(err);
}

/*
 * A post that did not go at once: by whatever way into the engine there is, once it is known what may
 * go. True: it went.
 */
EFA_INLINE bool efa_post_again(struct dap_ep *ep, unsigned int op, int n,
			       const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			       const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	struct efa_engine *eng = efa_ep(ep)->tx.eng;
	enum efa_end end = EFA_SLOW;
	struct efa_was was;

	efa_enter(eng);
	if (n == 1 && efa_arm(efa_ep(ep))) {
		if (op == EFA_SEND)
			end = efa_send_one(ep, iov, cookie, flags, &was, true, true);
		else if (op == EFA_WRITE)
			end = efa_write_one(ep, iov, cookie, remote, flags, &was, true, true);
		else
			end = efa_read_one(ep, iov, cookie, remote, flags, &was, true, true);
	}
	efa_leave(eng);
	return end == EFA_POSTED;
}

/* ---- Send ---- */

static EFA_COLD DAT_RETURN efa_send_slow(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					 uint64_t cookie, unsigned int flags)
{
	if (efa_post_again(ep, EFA_SEND, n, iov, cookie, NULL, flags))
		return DAT_SUCCESS;
	return efa_post_any(ep, EFA_SEND, n, iov, cookie, NULL, flags);
}

static __attribute__((noinline)) DAT_RETURN efa_send_far(struct dap_ep *ep, int n,
							 const DAT_LMR_TRIPLET *iov,
							 uint64_t cookie, unsigned int flags)
{
	struct efa_was was;
	enum efa_end end;

	end = efa_send_one(ep, iov, cookie, flags, &was, false, true);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return efa_send_slow(ep, n, iov, cookie, flags);
	return efa_send_slow(ep, n, iov, was.cookie, was.flags);
}

static DAT_RETURN efa_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			   DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct efa_was was;
	enum efa_end end;

	if (efa_unlikely(n != 1))
		return efa_send_slow(ep, n, iov, cookie.as_64, flags);
	end = efa_send_one(ep, iov, cookie.as_64, flags, &was, false, false);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return efa_send_slow(ep, n, iov, cookie.as_64, flags);
	if (end == EFA_FAR)
		return efa_send_far(ep, n, iov, cookie.as_64, flags);
	return end == EFA_NOTED_FAR ? efa_send_far(ep, n, iov, was.cookie, was.flags)
				    : efa_send_slow(ep, n, iov, was.cookie, was.flags);
}

/* ---- RDMA write ---- */

static EFA_COLD DAT_RETURN efa_write_slow(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					  uint64_t cookie, const DAT_RMR_TRIPLET *to,
					  unsigned int flags)
{
	if (efa_post_again(ep, EFA_WRITE, n, iov, cookie, to, flags))
		return DAT_SUCCESS;
	return efa_post_any(ep, EFA_WRITE, n, iov, cookie, to, flags);
}

static __attribute__((noinline)) DAT_RETURN efa_write_far(struct dap_ep *ep, int n,
							  const DAT_LMR_TRIPLET *iov,
							  uint64_t cookie,
							  const DAT_RMR_TRIPLET *to,
							  unsigned int flags)
{
	struct efa_was was;
	enum efa_end end;

	end = efa_write_one(ep, iov, cookie, to, flags, &was, false, true);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return efa_write_slow(ep, n, iov, cookie, to, flags);
	return efa_write_slow(ep, n, iov, was.cookie, to, was.flags);
}

static DAT_RETURN efa_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
			    DAT_COMPLETION_FLAGS flags)
{
	struct efa_was was;
	enum efa_end end;

	if (efa_unlikely(n != 1))
		return efa_write_slow(ep, n, iov, cookie.as_64, to, flags);
	end = efa_write_one(ep, iov, cookie.as_64, to, flags, &was, false, false);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return efa_write_slow(ep, n, iov, cookie.as_64, to, flags);
	return end == EFA_NOTED_FAR ? efa_write_far(ep, n, iov, was.cookie, to, was.flags)
				    : efa_write_slow(ep, n, iov, was.cookie, to, was.flags);
}

/* ---- RDMA read ---- */

static EFA_COLD DAT_RETURN efa_read_slow(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					 uint64_t cookie, const DAT_RMR_TRIPLET *from,
					 unsigned int flags)
{
	if (efa_post_again(ep, EFA_READ, n, iov, cookie, from, flags))
		return DAT_SUCCESS;
	return efa_post_any(ep, EFA_READ, n, iov, cookie, from, flags);
}

static __attribute__((noinline)) DAT_RETURN efa_read_far(struct dap_ep *ep, int n,
							 const DAT_LMR_TRIPLET *iov,
							 uint64_t cookie,
							 const DAT_RMR_TRIPLET *from,
							 unsigned int flags)
{
	struct efa_was was;
	enum efa_end end;

	end = efa_read_one(ep, iov, cookie, from, flags, &was, false, true);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return efa_read_slow(ep, n, iov, cookie, from, flags);
	return efa_read_slow(ep, n, iov, was.cookie, from, was.flags);
}

static DAT_RETURN efa_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
			   DAT_COMPLETION_FLAGS flags)
{
	struct efa_was was;
	enum efa_end end;

	if (efa_unlikely(n != 1))
		return efa_read_slow(ep, n, iov, cookie.as_64, from, flags);
	end = efa_read_one(ep, iov, cookie.as_64, from, flags, &was, false, false);
	if (efa_likely(end == EFA_POSTED))
		return DAT_SUCCESS;
	if (end == EFA_SLOW)
		return efa_read_slow(ep, n, iov, cookie.as_64, from, flags);
	return end == EFA_NOTED_FAR ? efa_read_far(ep, n, iov, was.cookie, from, was.flags)
				    : efa_read_slow(ep, n, iov, was.cookie, from, was.flags);
}

const struct dap_hot EFA_HOT = {
	.post_send = efa_send,
	.post_recv = efa_recv,
	.rdma_read = efa_read,
	.rdma_write = efa_write,
	.rmr_bind = efa_hot_bind,
#ifdef DAP_DAT20
	.write_immed = efa_no_write_imm,
	.atomic = efa_no_atomic,
#endif
	.evd_dequeue = efa_dequeue,
	.srq_post_recv = efa_no_srq,
};
