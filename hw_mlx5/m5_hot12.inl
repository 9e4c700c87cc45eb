/* SPDX-License-Identifier: BSD-2-Clause */
/* One variant of m5_hot12.c: M5_SOFT and M5_LOCKED say which, M5_V names its functions. */

static __attribute__((noinline)) DAT_RETURN
M5_V(m5_any12)(struct dap_ep *ep, unsigned int op, int n, const DAT_LMR_TRIPLET *iov,
	       uint64_t cookie, const DAT_RMR_TRIPLET *remote, unsigned int flags)
{
	return m5_post_any(ep, op, n, iov, cookie, remote, flags, M5_SOFT, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_send12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return m5_post_send(ep, n, iov, cookie.as_64, flags, M5_V(m5_any12), M5_SOFT, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_recv12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return m5_post_recv(ep, n, iov, cookie.as_64, flags, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_read12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
				  DAT_COMPLETION_FLAGS flags)
{
	return m5_post_read(ep, n, iov, cookie.as_64, from, flags, M5_V(m5_any12), M5_SOFT,
			    M5_LOCKED);
}

static DAT_RETURN M5_V(m5_write12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				   DAT_COMPLETION_FLAGS flags)
{
	return m5_post_write(ep, n, iov, cookie.as_64, to, flags, M5_V(m5_any12), M5_SOFT,
			     M5_LOCKED);
}

static DAT_RETURN M5_V(m5_bind12)(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				  DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return m5_bind(rmr, triplet, priv, ep, cookie.as_64, flags, context, M5_SOFT, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_dequeue12)(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return m5_dequeue(evd, event, M5_SOFT, M5_LOCKED);
}
