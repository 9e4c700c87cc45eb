/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The hot calls of uDAPL on a ConnectX; M5_HOT is the table of this object. The Makefile compiles
 * this file for each API level, instruction set and kind of instance. M5_LOCKED: a spin lock
 * protects each queue.
 *
 * The fast path posts one segment without flags and without a preceding bind, if there is credit.
 * Everything else is in functions that are not inlined. They have the same arguments in the same
 * positions and are tail-called, so that the fast path saves no registers.
 */
#include "core/front/triplet.h"
#include "hw_mlx5/hot/hot.h"
#include "hw_mlx5/lock.h"

#include "hw_mlx5/hot/post.inl"
#include "hw_mlx5/hot/post_slow.inl"

/* ---- Send ---- */

static M5_NOINLINE DAT_RETURN m5_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);

/* The general path: posts any send, and returns all errors. */
static M5_NOINLINE DAT_RETURN m5_send_slow(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					   uint64_t cookie, unsigned int flags)
{
	return m5_post_work(ep, (struct m5_work){ .op = M5_OP_SEND }, n, iov, cookie, NULL, flags);
}

/* Called if only credit was missing: recomputes the credit, then posts. */
static M5_NOINLINE DAT_RETURN m5_send_refill(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					     uint64_t cookie, unsigned int flags)
{
	if (m5_refilled(ep, 2))
		return m5_send(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
			       (DAT_DTO_COOKIE){ .as_64 = cookie }, flags);
	return m5_send_slow(ep, n, iov, cookie, flags);
}

/* Posts one segment: with flags, after a bind, inlined up to 28 bytes, or an error. */
static M5_NOINLINE DAT_RETURN m5_send_1sge(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					   uint64_t cookie, unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len = front_lmr_len(iov);
	bool copy = len <= sq->inline_max &&
		    m5_may_copy(ep, sq, front_lmr_key(iov), front_lmr_va(iov), len);

	if (m5_unlikely(len - 1 >= sq->max_msg) || m5_unlikely(copy && len > M5_SHORT) ||
	    m5_unlikely(flags & sq->deny_send) || m5_unlikely(!m5_sq_try(sq, 1)))
		return m5_send_slow(ep, n, iov, cookie, flags);
	if (copy)
		return m5_post_short(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, cookie, flags);
	return m5_post_ref(sq, M5_OP_SEND, iov, NULL, (uint32_t)len, cookie, flags);
}

/* Posts 64 bytes inline, without flags. */
static M5_NOINLINE DAT_RETURN m5_send_64(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					 uint64_t cookie)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (m5_unlikely(M5_LINE >= sq->inline_end) || !m5_in_last_lmr(sq, iov, M5_LINE))
		return m5_send_1sge(ep, n, iov, cookie, 0);
	if (!m5_sq_try(sq, 2))
		return m5_send_refill(ep, n, iov, cookie, 0);
	return m5_post_64(sq, M5_OP_SEND, iov, NULL, cookie);
}

M5_INLINE DAT_RETURN m5_send_sges(struct dap_ep *ep, unsigned int n, const DAT_LMR_TRIPLET *iov,
				  uint64_t cookie, unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t sum;

	if (m5_unlikely(!iov) || !m5_no_flags(sq, flags) || m5_unlikely(n > sq->max_iov) ||
	    !m5_sges_sum(n, iov, &sum) || m5_unlikely(sum - sq->inline_end >= sq->send_len_range))
		return m5_send_slow(ep, (int)n, iov, cookie, flags);
	if (!m5_sq_try(sq, (1 + n + 3) / 4))
		return m5_send_refill(ep, (int)n, iov, cookie, flags);
	m5_compiler_barrier();
	return m5_sges_write(sq, M5_OP_SEND, n, iov, sum, cookie, NULL);
}

/* Posts a list that does not have one segment, or is NULL. */
static M5_NOINLINE DAT_RETURN m5_send_not_1sge(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					       uint64_t cookie, unsigned int flags)
{
	if (n == 4)
		return m5_send_sges(ep, 4, iov, cookie, flags);
	if (n == 2)
		return m5_send_sges(ep, 2, iov, cookie, flags);
	if (n == 3)
		return m5_send_sges(ep, 3, iov, cookie, flags);
	return m5_send_slow(ep, n, iov, cookie, flags);
}

static M5_NOINLINE DAT_RETURN m5_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1) || m5_unlikely(!iov))
		return m5_send_not_1sge(ep, n, iov, cookie.as_64, flags);
	if (m5_unlikely(!m5_no_flags(sq, flags)))
		return m5_send_1sge(ep, n, iov, cookie.as_64, flags);
	len = m5_len64(front_lmr_len(iov));
	if (len == 8) {
		if (!m5_in_last_lmr(sq, iov, 8))
			return m5_send_1sge(ep, n, iov, cookie.as_64, flags);
		if (!m5_sq_try(sq, 1))
			return m5_send_refill(ep, n, iov, cookie.as_64, flags);
		return m5_post_plain(sq, M5_OP_SEND, m5_inline_8(front_lmr_va(iov)), NULL, 8,
				     cookie.as_64);
	}
	if (len == M5_LINE)
		return m5_send_64(ep, n, iov, cookie.as_64);
	/* Posts a segment longer than inline_max, at most max_msg. */
	if (m5_unlikely(len - sq->inline_end >= sq->send_len_range))
		return m5_send_1sge(ep, n, iov, cookie.as_64, flags);
	if (!m5_sq_try(sq, 1))
		return m5_send_refill(ep, n, iov, cookie.as_64, flags);
	return m5_post_plain(sq, M5_OP_SEND,
			     m5_data((uint32_t)len, front_lmr_key(iov), front_lmr_va(iov)), NULL,
			     len, cookie.as_64);
}

/* ---- RDMA write: the same paths as for a send ---- */

static M5_NOINLINE DAT_RETURN m5_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				       DAT_COMPLETION_FLAGS flags);

static M5_NOINLINE DAT_RETURN m5_write_slow(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					    uint64_t cookie, const DAT_RMR_TRIPLET *to,
					    unsigned int flags)
{
	const struct m5_work w = { .op = M5_OP_RDMA_WRITE };

	return m5_post_work(ep, w, n, iov, cookie, to, flags);
}

static M5_NOINLINE DAT_RETURN m5_write_refill(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					      uint64_t cookie, const DAT_RMR_TRIPLET *to,
					      unsigned int flags)
{
	if (m5_refilled(ep, 2))
		return m5_write(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
				(DAT_DTO_COOKIE){ .as_64 = cookie }, to, flags);
	return m5_write_slow(ep, n, iov, cookie, to, flags);
}

static M5_NOINLINE DAT_RETURN m5_write_1sge(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					    uint64_t cookie, const DAT_RMR_TRIPLET *to,
					    unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len = front_lmr_len(iov);
	bool copy = len <= sq->inline_max &&
		    m5_may_copy(ep, sq, front_lmr_key(iov), front_lmr_va(iov), len);

	if (m5_unlikely(len - 1 >= sq->max_rdma) || m5_unlikely(len > front_rmr_len(to)) ||
	    m5_unlikely(copy && len > M5_SHORT) || m5_unlikely(flags & sq->deny_rdma) ||
	    m5_unlikely(!m5_sq_try(sq, 1)))
		return m5_write_slow(ep, n, iov, cookie, to, flags);
	if (copy)
		return m5_post_short(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags);
	return m5_post_ref(sq, M5_OP_RDMA_WRITE, iov, to, (uint32_t)len, cookie, flags);
}

static M5_NOINLINE DAT_RETURN m5_write_64(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					  uint64_t cookie, const DAT_RMR_TRIPLET *to)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (m5_unlikely(M5_LINE >= sq->inline_end) || !m5_in_last_lmr(sq, iov, M5_LINE))
		return m5_write_1sge(ep, n, iov, cookie, to, 0);
	if (!m5_sq_try(sq, 2))
		return m5_write_refill(ep, n, iov, cookie, to, 0);
	return m5_post_64(sq, M5_OP_RDMA_WRITE, iov, to, cookie);
}

M5_INLINE DAT_RETURN m5_write_sges(struct dap_ep *ep, unsigned int n, const DAT_LMR_TRIPLET *iov,
				   uint64_t cookie, const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t sum;

	if (m5_unlikely(!iov) || m5_unlikely(!to) || !m5_no_flags(sq, flags) ||
	    m5_unlikely(n > sq->max_write_iov) || !m5_sges_sum(n, iov, &sum) ||
	    m5_unlikely(sum - sq->inline_end >= sq->rdma_len_range) ||
	    m5_unlikely((front_len)sum > front_rmr_len(to)))
		return m5_write_slow(ep, (int)n, iov, cookie, to, flags);
	if (!m5_sq_try(sq, (2 + n + 3) / 4))
		return m5_write_refill(ep, (int)n, iov, cookie, to, flags);
	m5_compiler_barrier();
	return m5_sges_write(sq, M5_OP_RDMA_WRITE, n, iov, sum, cookie, to);
}

static M5_NOINLINE DAT_RETURN m5_write_not_1sge(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
						uint64_t cookie, const DAT_RMR_TRIPLET *to,
						unsigned int flags)
{
	if (n == 4)
		return m5_write_sges(ep, 4, iov, cookie, to, flags);
	if (n == 2)
		return m5_write_sges(ep, 2, iov, cookie, to, flags);
	if (n == 3)
		return m5_write_sges(ep, 3, iov, cookie, to, flags);
	return m5_write_slow(ep, n, iov, cookie, to, flags);
}

static M5_NOINLINE DAT_RETURN m5_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				       DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely(n != 1))
		return m5_write_not_1sge(ep, n, iov, cookie.as_64, to, flags);
	if (m5_unlikely(!iov))
		return m5_write_not_1sge(ep, n, iov, cookie.as_64, to, flags);
	if (m5_unlikely(!to))
		return m5_write_not_1sge(ep, n, iov, cookie.as_64, to, flags);
	len = m5_len64(front_lmr_len(iov));
	if (m5_unlikely((front_len)len > front_rmr_len(to)) || m5_unlikely(!m5_no_flags(sq, flags)))
		return m5_write_1sge(ep, n, iov, cookie.as_64, to, flags);
	if (len == 8) {
		if (!m5_in_last_lmr(sq, iov, 8))
			return m5_write_1sge(ep, n, iov, cookie.as_64, to, flags);
		if (!m5_sq_try(sq, 1))
			return m5_write_refill(ep, n, iov, cookie.as_64, to, flags);
		return m5_post_plain(sq, M5_OP_RDMA_WRITE, m5_inline_8(front_lmr_va(iov)), to,
				     8, cookie.as_64);
	}
	if (len == M5_LINE)
		return m5_write_64(ep, n, iov, cookie.as_64, to);
	if (m5_unlikely(len - sq->inline_end >= sq->rdma_len_range))
		return m5_write_1sge(ep, n, iov, cookie.as_64, to, flags);
	if (!m5_sq_try(sq, 1))
		return m5_write_refill(ep, n, iov, cookie.as_64, to, flags);
	return m5_post_plain(sq, M5_OP_RDMA_WRITE,
			     m5_data((uint32_t)len, front_lmr_key(iov), front_lmr_va(iov)), to,
			     len, cookie.as_64);
}

/* ---- RDMA read: never inlined ---- */

static M5_NOINLINE DAT_RETURN m5_read(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
				      DAT_COMPLETION_FLAGS flags);

static M5_NOINLINE DAT_RETURN m5_read_slow(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					   uint64_t cookie, const DAT_RMR_TRIPLET *from,
					   unsigned int flags)
{
	const struct m5_work w = { .op = M5_OP_RDMA_READ };

	return m5_post_work(ep, w, n, iov, cookie, from, flags);
}

static M5_NOINLINE DAT_RETURN m5_read_refill(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					     uint64_t cookie, const DAT_RMR_TRIPLET *from,
					     unsigned int flags)
{
	if (m5_refilled(ep, 2))
		return m5_read(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
			       (DAT_DTO_COOKIE){ .as_64 = cookie }, from, flags);
	return m5_read_slow(ep, n, iov, cookie, from, flags);
}

/* The length is that of the remote buffer; the local one may be longer. */
static M5_NOINLINE DAT_RETURN m5_read(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
				      DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint64_t len;

	if (m5_unlikely((uint32_t)n != sq->read_segs) || m5_unlikely(!iov))
		return m5_read_slow(ep, n, iov, cookie.as_64, from, flags);
	m5_compiler_barrier();
	if (m5_unlikely(!from))
		return m5_read_slow(ep, n, iov, cookie.as_64, from, flags);
	if (m5_unlikely(!m5_no_flags(sq, flags)))
		return m5_read_slow(ep, n, iov, cookie.as_64, from, flags);
	len = front_rmr_len(from);
	if (m5_unlikely(len - 1 >= sq->max_rdma) ||
	    m5_unlikely((front_len)len > front_lmr_len(iov)))
		return m5_read_slow(ep, n, iov, cookie.as_64, from, flags);
	if (m5_unlikely(!m5_sq_try(sq, 1)))
		return m5_read_refill(ep, n, iov, cookie.as_64, from, flags);
	return m5_post_plain(sq, M5_OP_RDMA_READ,
			     m5_data((uint32_t)len, front_lmr_key(iov), front_lmr_va(iov)), from,
			     len, cookie.as_64);
}

#include "hw_mlx5/hot/recv.inl"
#include "hw_mlx5/hot/srq.inl"
#ifdef DAP_DAT20
#include "hw_mlx5/hot/post_ext.inl"
#endif
#include "hw_mlx5/hot/bind.inl"
#ifdef DAP_DAT20
#include "hw_mlx5/hot/bind_ext.inl"
#endif
#include "hw_mlx5/hot/bind_call.inl"
#include "hw_mlx5/hot/poll.inl"
#include "hw_mlx5/hot/poll_n.inl"
#include "hw_mlx5/hot/post_n.inl"

const struct dap_hot M5_HOT = {
	.post_send = m5_send, .post_recv = m5_recv,
	.rdma_read = m5_read, .rdma_write = m5_write, .rmr_bind = m5_bind,
#ifdef DAP_DAT20
	.send_inval = m5_send_inval, .write_immed = m5_write_imm, .atomic = m5_atomic,
#endif
	.evd_dequeue = m5_dequeue, .evd_dequeue_n = m5_dequeue_n, .ep_post_n = m5_post_n,
	.srq_post_recv = m5_srq_recv,
};
