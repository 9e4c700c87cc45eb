/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_rmr_bind of either API level: chooses the path of a bind. bind.inl has the paths. */

enum m5_bind_way { M5_WAY_SLOW, M5_WAY_REFILL, M5_WAY_BIND, M5_WAY_UNBIND };

/* Binds without flags. The fast paths need the same LMR and connection as the last bind. */
M5_INLINE enum m5_bind_way m5_bind_way(struct dap_rmr *rmr, const void *lmr,
				       const DAT_LMR_TRIPLET *triplet, unsigned int priv,
				       struct dap_ep *ep, const uint32_t *context)
{
	const struct m5_rmr *r = m5_rmr(rmr);
	struct m5_sq *sq;
	uint64_t len;

	if (m5_unlikely(!triplet))
		return M5_WAY_SLOW;
	m5_compiler_barrier();
	if (m5_unlikely(!context) || !m5_bind_simple(r, ep) ||
	    m5_unlikely(r->key_be == r->last_key_be))
		return M5_WAY_SLOW;
	m5_compiler_barrier();
	sq = &m5_ep(ep)->sq;
	len = front_lmr_len(triplet);
	if (m5_unlikely(len - 1 >= r->max_klm_len)) {
		if (len)
			return M5_WAY_SLOW;
		return m5_sq_try(sq, M5_UNBIND_BLOCKS) ? M5_WAY_UNBIND : M5_WAY_REFILL;
	}
	m5_compiler_barrier();
	if (!m5_bind_known(r, lmr, triplet, priv))
		return M5_WAY_SLOW;
	m5_compiler_barrier();
	return m5_sq_try(sq, M5_BIND_BLOCKS) ? M5_WAY_BIND : M5_WAY_REFILL;
}

/*
 * The call of an API level does the tests, then calls a function for each path. These have the same
 * arguments in the same positions, so that no call saves a register.
 */
#ifdef DAP_DAT20

static M5_NOINLINE DAT_RETURN m5_bind_slow(struct dap_rmr *rmr, const void *lmr,
					   const DAT_LMR_TRIPLET *triplet, unsigned int priv,
					   DAT_VA_TYPE va_type, struct dap_ep *ep, uint64_t cookie,
					   unsigned int flags, uint32_t *context)
{
	if (m5_unlikely(va_type != DAT_VA_TYPE_VA) || m5_unlikely(rmr->for_ep | rmr->zero_based))
		return m5_bind_ext(rmr, lmr, triplet, priv, va_type, ep, cookie, flags, context);
	return m5_bind_checked(rmr, lmr, triplet, priv, ep, cookie, flags, context);
}

static M5_NOINLINE DAT_RETURN m5_bind_post(struct dap_rmr *rmr, uint64_t cookie,
					   const DAT_LMR_TRIPLET *triplet, unsigned int priv,
					   uint32_t next_be, struct dap_ep *ep)
{
	return m5_bind_fast(rmr, triplet, priv, ep, cookie, next_be);
}

static M5_NOINLINE DAT_RETURN m5_unbind_post(struct dap_rmr *rmr, uint64_t cookie,
					     const DAT_LMR_TRIPLET *triplet M5_UNUSED,
					     unsigned int priv M5_UNUSED, uint32_t next_be,
					     struct dap_ep *ep)
{
	return m5_unbind_fast(rmr, ep, cookie, next_be);
}

static M5_NOINLINE DAT_RETURN m5_bind_refill(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
					     const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
					     DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
					     DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					     DAT_RMR_CONTEXT *context);

static M5_NOINLINE DAT_RETURN m5_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				      const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
				      DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				      DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	if (m5_unlikely(va_type != DAT_VA_TYPE_VA))
		return m5_bind_slow(rmr, lmr, triplet, priv, va_type, ep, cookie.as_64, flags,
				    context);
	m5_compiler_barrier();
	if (m5_unlikely(flags))
		return m5_bind_slow(rmr, lmr, triplet, priv, va_type, ep, cookie.as_64, flags,
				    context);
	m5_compiler_barrier();
	switch (m5_bind_way(rmr, lmr, triplet, priv, ep, context)) {
	case M5_WAY_BIND:
		return m5_bind_post(rmr, cookie.as_64, triplet, priv, m5_bind_set_context(rmr, context),
				    ep);
	case M5_WAY_UNBIND:
		return m5_unbind_post(rmr, cookie.as_64, triplet, priv, m5_bind_set_context(rmr, context),
				      ep);
	case M5_WAY_REFILL:
		return m5_bind_refill(rmr, lmr, triplet, priv, va_type, ep, cookie, 0, context);
	default:
		return m5_bind_slow(rmr, lmr, triplet, priv, va_type, ep, cookie.as_64, 0, context);
	}
}

static M5_NOINLINE DAT_RETURN m5_bind_refill(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
					     const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
					     DAT_VA_TYPE va_type, DAT_EP_HANDLE ep,
					     DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					     DAT_RMR_CONTEXT *context)
{
	if (m5_refilled(ep, M5_BIND_BLOCKS))
		return m5_bind(rmr, lmr, triplet, priv, va_type, ep, cookie, flags, context);
	return m5_bind_slow(rmr, lmr, triplet, priv, va_type, ep, cookie.as_64, flags, context);
}

#else

static M5_NOINLINE DAT_RETURN m5_bind_slow(struct dap_rmr *rmr, const DAT_LMR_TRIPLET *triplet,
					   unsigned int priv, struct dap_ep *ep, uint64_t cookie,
					   unsigned int flags, uint32_t *context)
{
	return m5_bind_checked(rmr, NULL, triplet, priv, ep, cookie, flags, context);
}

static M5_NOINLINE DAT_RETURN m5_bind_post(struct dap_rmr *rmr, const DAT_LMR_TRIPLET *triplet,
					   unsigned int priv, struct dap_ep *ep, uint64_t cookie,
					   uint32_t next_be)
{
	return m5_bind_fast(rmr, triplet, priv, ep, cookie, next_be);
}

static M5_NOINLINE DAT_RETURN m5_unbind_post(struct dap_rmr *rmr,
					     const DAT_LMR_TRIPLET *triplet M5_UNUSED,
					     unsigned int priv M5_UNUSED, struct dap_ep *ep,
					     uint64_t cookie, uint32_t next_be)
{
	return m5_unbind_fast(rmr, ep, cookie, next_be);
}

static M5_NOINLINE DAT_RETURN m5_bind_refill(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
					     DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep,
					     DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					     DAT_RMR_CONTEXT *context);

static M5_NOINLINE DAT_RETURN m5_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				      DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				      DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	if (m5_unlikely(flags))
		return m5_bind_slow(rmr, triplet, priv, ep, cookie.as_64, flags, context);
	switch (m5_bind_way(rmr, NULL, triplet, priv, ep, context)) {
	case M5_WAY_BIND:
		return m5_bind_post(rmr, triplet, priv, ep, cookie.as_64,
				    m5_bind_set_context(rmr, context));
	case M5_WAY_UNBIND:
		return m5_unbind_post(rmr, triplet, priv, ep, cookie.as_64,
				      m5_bind_set_context(rmr, context));
	case M5_WAY_REFILL:
		return m5_bind_refill(rmr, triplet, priv, ep, cookie, 0, context);
	default:
		return m5_bind_slow(rmr, triplet, priv, ep, cookie.as_64, 0, context);
	}
}

static M5_NOINLINE DAT_RETURN m5_bind_refill(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
					     DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep,
					     DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
					     DAT_RMR_CONTEXT *context)
{
	if (m5_refilled(ep, M5_BIND_BLOCKS))
		return m5_bind(rmr, triplet, priv, ep, cookie, flags, context);
	return m5_bind_slow(rmr, triplet, priv, ep, cookie.as_64, flags, context);
}

#endif
