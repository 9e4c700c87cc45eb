/* SPDX-License-Identifier: BSD-2-Clause */
/* One variant of m5_hot12.c: M5_SOFT and M5_LOCKED say which, M5_V names its functions. */

static DAT_RETURN M5_V(m5_send12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
static DAT_RETURN M5_V(m5_write12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				   DAT_COMPLETION_FLAGS flags);

/* Credit for one block more, and nothing else, is what the fast body lacked: it may try again. */
static inline bool M5_V(m5_refilled)(struct dap_ep *ep)
{
	const struct m5_sq *sq = &m5_ep(ep)->sq;

	return !M5_LOCKED && sq->limit == sq->pi && m5_sq_credit(ep, 1);
}

static M5_APART DAT_RETURN
M5_V(m5_send12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     unsigned int flags)
{
	if (M5_V(m5_refilled)(ep))
		return M5_V(m5_send12)(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
				       (DAT_DTO_COOKIE){ .as_64 = cookie }, flags);
	return m5_post_any(ep, M5_OP_SEND, n, iov, cookie, NULL, flags, M5_SOFT, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_send12_one)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		    unsigned int flags)
{
	(void)n;	/* 1 */
	return m5_send_one(ep, iov, cookie, flags, M5_V(m5_send12_slow), M5_SOFT, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_write12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		      const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	if (M5_V(m5_refilled)(ep))
		return M5_V(m5_write12)(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
					(DAT_DTO_COOKIE){ .as_64 = cookie }, to, flags);
	return m5_post_any(ep, M5_OP_RDMA_WRITE, n, iov, cookie, to, flags, M5_SOFT, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_write12_one)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	(void)n;	/* 1 */
	return m5_write_one(ep, iov, cookie, to, flags, M5_V(m5_write12_slow), M5_SOFT, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_read12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     const DAT_RMR_TRIPLET *from, unsigned int flags)
{
	return m5_post_any(ep, M5_OP_RDMA_READ, n, iov, cookie, from, flags, M5_SOFT, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_recv12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     unsigned int flags)
{
	return m5_recv_any(ep, n, iov, cookie, flags, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_send12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return m5_post_send(ep, n, iov, cookie.as_64, flags, M5_V(m5_send12_one),
			    M5_V(m5_send12_slow), M5_SOFT, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_recv12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return m5_post_recv(ep, n, iov, cookie.as_64, flags, M5_V(m5_recv12_slow), M5_LOCKED);
}

static DAT_RETURN M5_V(m5_read12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
				  DAT_COMPLETION_FLAGS flags)
{
	return m5_post_read(ep, n, iov, cookie.as_64, from, flags, M5_V(m5_read12_slow), M5_SOFT,
			    M5_LOCKED);
}

static DAT_RETURN M5_V(m5_write12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				   DAT_COMPLETION_FLAGS flags)
{
	return m5_post_write(ep, n, iov, cookie.as_64, to, flags, M5_V(m5_write12_one),
			     M5_V(m5_write12_slow), M5_SOFT, M5_LOCKED);
}

#ifdef DAP_DAT20

static DAT_RETURN M5_V(m5_write_imm)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				     DAT_UINT32 imm, DAT_COMPLETION_FLAGS flags)
{
	return m5_post_write_imm(ep, n, iov, cookie.as_64, to, imm, flags, M5_SOFT, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_atomic)(DAT_EP_HANDLE ep, bool swap, DAT_UINT64 operand,
				  DAT_UINT64 compare, DAT_LMR_TRIPLET *result,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *at,
				  DAT_COMPLETION_FLAGS flags)
{
	return m5_post_atomic(ep, swap, operand, compare, result, cookie.as_64, at, flags, M5_SOFT,
			      M5_LOCKED);
}

static DAT_RETURN M5_V(m5_bind12)(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				  const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
				  DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	if (m5_unlikely(va_type != DAT_VA_TYPE_VA))	/* attribute zb_supported */
		return m5_fail(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	return m5_bind(rmr, lmr, triplet, priv, ep, cookie.as_64, flags, context, M5_SOFT,
		       M5_LOCKED);
}

#else

static DAT_RETURN M5_V(m5_bind12)(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				  DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return m5_bind(rmr, NULL, triplet, priv, ep, cookie.as_64, flags, context, M5_SOFT,
		       M5_LOCKED);
}

#endif

static DAT_RETURN M5_V(m5_dequeue12)(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return m5_dequeue(evd, event, M5_SOFT, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_srq12)(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie)
{
	return m5_post_srq(srq, n, iov, cookie.as_64, M5_LOCKED);
}
