/* SPDX-License-Identifier: BSD-2-Clause */
/* One variant of hot12.c: M5_LOCKED says which, M5_V names its functions. */

static DAT_RETURN M5_V(m5_send12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags);
static DAT_RETURN M5_V(m5_write12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				   DAT_COMPLETION_FLAGS flags);
static DAT_RETURN M5_V(m5_read12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
				  DAT_COMPLETION_FLAGS flags);

static M5_APART DAT_RETURN
M5_V(m5_send12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     unsigned int flags)
{
	return m5_post_any(ep, M5_OP_SEND, n, iov, cookie, NULL, flags, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_send12_one)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		    unsigned int flags)
{
	(void)n;	/* 1 */
	return m5_send_one(ep, iov, cookie, flags, M5_V(m5_send12_slow), M5_LOCKED);
}

/* Credit is all that was lacking, and may be had. */
static M5_APART DAT_RETURN
M5_V(m5_send12_refill)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		       unsigned int flags)
{
	if (m5_refilled(ep, 2, M5_LOCKED))
		return M5_V(m5_send12)(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
				       (DAT_DTO_COOKIE){ .as_64 = cookie }, flags);
	return M5_V(m5_send12_slow)(ep, n, iov, cookie, flags);
}

static M5_APART DAT_RETURN
M5_V(m5_send12_line)(struct dap_ep *ep, int any M5_SPARE, const DAT_LMR_TRIPLET *iov,
		     uint64_t cookie)
{
	return m5_send_line(ep, iov, cookie, M5_V(m5_send12_one), M5_V(m5_send12_refill),
			    M5_LOCKED);
}

/* Any number of segments, perhaps no list of them. */
static M5_APART DAT_RETURN
M5_V(m5_send12_many)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     unsigned int flags)
{
	if (n == 4)
		return m5_send_few(ep, 4, iov, cookie, flags, M5_V(m5_send12_slow),
				   M5_V(m5_send12_refill), M5_LOCKED);
	if (n == 2)
		return m5_send_few(ep, 2, iov, cookie, flags, M5_V(m5_send12_slow),
				   M5_V(m5_send12_refill), M5_LOCKED);
	if (n == 3)
		return m5_send_few(ep, 3, iov, cookie, flags, M5_V(m5_send12_slow),
				   M5_V(m5_send12_refill), M5_LOCKED);
	return M5_V(m5_send12_slow)(ep, n, iov, cookie, flags);
}

static M5_APART DAT_RETURN
M5_V(m5_write12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		      const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	return m5_post_any(ep, M5_OP_RDMA_WRITE, n, iov, cookie, to, flags, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_write12_one)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	(void)n;	/* 1 */
	return m5_write_one(ep, iov, cookie, to, flags, M5_V(m5_write12_slow), M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_write12_refill)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	if (m5_refilled(ep, 2, M5_LOCKED))
		return M5_V(m5_write12)(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
					(DAT_DTO_COOKIE){ .as_64 = cookie }, to, flags);
	return M5_V(m5_write12_slow)(ep, n, iov, cookie, to, flags);
}

static M5_APART DAT_RETURN
M5_V(m5_write12_line)(struct dap_ep *ep, int any M5_SPARE, const DAT_LMR_TRIPLET *iov,
		      uint64_t cookie, const DAT_RMR_TRIPLET *to)
{
	return m5_write_line(ep, iov, cookie, to, M5_V(m5_write12_one),
			     M5_V(m5_write12_refill), M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_write12_many)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		      const DAT_RMR_TRIPLET *to, unsigned int flags)
{
	if (n == 4)
		return m5_write_few(ep, 4, iov, cookie, to, flags, M5_V(m5_write12_slow),
				    M5_V(m5_write12_refill), M5_LOCKED);
	if (n == 2)
		return m5_write_few(ep, 2, iov, cookie, to, flags, M5_V(m5_write12_slow),
				    M5_V(m5_write12_refill), M5_LOCKED);
	if (n == 3)
		return m5_write_few(ep, 3, iov, cookie, to, flags, M5_V(m5_write12_slow),
				    M5_V(m5_write12_refill), M5_LOCKED);
	return M5_V(m5_write12_slow)(ep, n, iov, cookie, to, flags);
}

static M5_APART DAT_RETURN
M5_V(m5_read12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     const DAT_RMR_TRIPLET *from, unsigned int flags)
{
	return m5_post_any(ep, M5_OP_RDMA_READ, n, iov, cookie, from, flags, M5_LOCKED);
}

static M5_APART DAT_RETURN
M5_V(m5_read12_refill)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		       const DAT_RMR_TRIPLET *from, unsigned int flags)
{
	if (m5_refilled(ep, 2, M5_LOCKED))
		return M5_V(m5_read12)(ep, n, (DAT_LMR_TRIPLET *)(uintptr_t)iov,
				       (DAT_DTO_COOKIE){ .as_64 = cookie }, from, flags);
	return M5_V(m5_read12_slow)(ep, n, iov, cookie, from, flags);
}

static M5_APART DAT_RETURN
M5_V(m5_recv12_slow)(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
		     unsigned int flags)
{
	return m5_recv_any(ep, n, iov, cookie, flags, M5_LOCKED);
}

static M5_APART DAT_RETURN M5_V(m5_send12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	const struct m5_send_ways ways = {
		.many = M5_V(m5_send12_many), .one = M5_V(m5_send12_one),
		.line = M5_V(m5_send12_line), .refill = M5_V(m5_send12_refill),
	};

	return m5_post_send(ep, n, iov, cookie.as_64, flags, ways, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_recv12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	return m5_post_recv(ep, n, iov, cookie.as_64, flags, M5_V(m5_recv12_slow), M5_LOCKED);
}

static M5_APART DAT_RETURN M5_V(m5_read12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *from,
				  DAT_COMPLETION_FLAGS flags)
{
	return m5_post_read(ep, n, iov, cookie.as_64, from, flags, M5_V(m5_read12_slow),
			    M5_V(m5_read12_refill), M5_LOCKED);
}

static M5_APART DAT_RETURN M5_V(m5_write12)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				   DAT_COMPLETION_FLAGS flags)
{
	const struct m5_rdma_ways ways = {
		.many = M5_V(m5_write12_many), .one = M5_V(m5_write12_one),
		.line = M5_V(m5_write12_line), .refill = M5_V(m5_write12_refill),
	};

	return m5_post_write(ep, n, iov, cookie.as_64, to, flags, ways, M5_LOCKED);
}

#ifdef DAP_DAT20

static DAT_RETURN M5_V(m5_send_inval)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				      DAT_RMR_CONTEXT context)
{
	return m5_post_send_inval(ep, n, iov, cookie.as_64, flags, context, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_write_imm)(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				     DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to,
				     DAT_UINT32 imm, DAT_COMPLETION_FLAGS flags)
{
	return m5_post_write_imm(ep, n, iov, cookie.as_64, to, imm, flags, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_atomic)(DAT_EP_HANDLE ep, bool swap, DAT_UINT64 operand,
				  DAT_UINT64 compare, DAT_LMR_TRIPLET *result,
				  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *at,
				  DAT_COMPLETION_FLAGS flags)
{
	return m5_post_atomic(ep, swap, operand, compare, result, cookie.as_64, at, flags,
			      M5_LOCKED);
}

#endif

static M5_APART DAT_RETURN M5_V(m5_bind12_any)(M5_BIND_CALL)
{
#ifdef DAP_DAT20
	const struct dap_rmr *of = rmr;

	if (m5_unlikely(va_type != DAT_VA_TYPE_VA) || m5_unlikely(of->for_ep | of->zero_based))
		return m5_bind_apart(rmr, lmr, triplet, priv, va_type, ep,
				     M5_BIND_ARG(cookie).as_64, M5_BIND_ARG(flags),
				     M5_BIND_ARG(context), M5_LOCKED);
#endif
	return m5_bind_any(rmr, M5_BIND_LMR, triplet, priv, ep, M5_BIND_ARG(cookie).as_64,
			   M5_BIND_ARG(flags), M5_BIND_ARG(context), M5_LOCKED);
}

static M5_APART DAT_RETURN M5_V(m5_bind12_go)(M5_GO_ARGS)
{
	return m5_bind_go(rmr, key, triplet, priv, ep, cookie, M5_LOCKED);
}

static M5_APART DAT_RETURN M5_V(m5_unbind12_go)(M5_GO_ARGS)
{
	return m5_unbind_go(rmr, key, ep, cookie, M5_LOCKED);
}

/* Credit is all that was lacking, and may be had. */
static M5_APART DAT_RETURN M5_V(m5_bind12_refill)(M5_BIND_CALL)
{
	uint32_t key;

	if (!m5_sq_refill(ep, M5_BIND_BLOCKS, M5_LOCKED))
		return M5_V(m5_bind12_any)(M5_BIND_PASS);
	key = m5_bind_tell(rmr, m5_rmr(rmr)->key_be, M5_BIND_ARG(context));
	return M5_V(m5_bind12_go)(M5_GO_PASS(key));
}

static M5_APART DAT_RETURN M5_V(m5_unbind12_refill)(M5_BIND_CALL)
{
	uint32_t key;

	if (!m5_sq_refill(ep, M5_UNBIND_BLOCKS, M5_LOCKED))
		return M5_V(m5_bind12_any)(M5_BIND_PASS);
	key = m5_bind_tell(rmr, m5_rmr(rmr)->key_be, M5_BIND_ARG(context));
	return M5_V(m5_unbind12_go)(M5_GO_PASS(key));
}

/* Whatever is in the way is found out by any, in the order of the man page. */
static M5_APART DAT_RETURN M5_V(m5_bind12)(M5_BIND_CALL)
{
	const struct m5_rmr *r = m5_rmr(rmr);
	uint64_t len;
	uint32_t key;

	/* First what is not needed any more then. */
	if (m5_unlikely(M5_BIND_ODD))
		return M5_V(m5_bind12_any)(M5_BIND_PASS);
	m5_part();
	if (m5_unlikely(!triplet))
		return M5_V(m5_bind12_any)(M5_BIND_PASS);
	m5_part();
	if (m5_unlikely(!M5_BIND_ARG(context)) || !m5_bind_simple(r, ep))
		return M5_V(m5_bind12_any)(M5_BIND_PASS);
	key = r->key_be;
	if (m5_unlikely(key == r->last_key_be))
		return M5_V(m5_bind12_any)(M5_BIND_PASS);
	m5_part();
	len = m5_lmr_len(triplet);
	if (m5_unlikely(len - 1 >= r->span)) {
		if (len)
			return M5_V(m5_bind12_any)(M5_BIND_PASS);
		if (!m5_sq_try(&m5_ep(ep)->sq, M5_UNBIND_BLOCKS, M5_LOCKED))
			return M5_V(m5_unbind12_refill)(M5_BIND_PASS);
		key = m5_bind_key(r, key, M5_LOCKED);
		key = m5_bind_tell(rmr, key, M5_BIND_ARG(context));
		return M5_V(m5_unbind12_go)(M5_GO_PASS(key));
	}
	if (!m5_bind_known(r, M5_BIND_LMR, triplet, priv))
		return M5_V(m5_bind12_any)(M5_BIND_PASS);
	if (!m5_sq_try(&m5_ep(ep)->sq, M5_BIND_BLOCKS, M5_LOCKED))
		return M5_V(m5_bind12_refill)(M5_BIND_PASS);
	key = m5_bind_key(r, key, M5_LOCKED);
	key = m5_bind_tell(rmr, key, M5_BIND_ARG(context));
	return M5_V(m5_bind12_go)(M5_GO_PASS(key));
}

static DAT_RETURN M5_V(m5_dequeue12)(DAT_EVD_HANDLE evd, DAT_EVENT *event)
{
	return m5_dequeue(evd, event, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_dequeue_n12)(DAT_EVD_HANDLE evd, DAT_COUNT max, DAT_EVENT *events,
				       DAT_COUNT *count)
{
	return m5_dequeue_n(evd, max, events, count, M5_LOCKED);
}

static DAT_RETURN M5_V(m5_srq12)(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				 DAT_DTO_COOKIE cookie)
{
	return m5_post_srq(srq, n, iov, cookie.as_64, M5_LOCKED);
}
