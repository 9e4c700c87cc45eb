/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binds that 2.0 has beyond 1.2; all on the slow path. Included after bind.inl.
 *
 * An RMR of one endpoint is a type 2 window: the WQE names the only QP that may use the key. It
 * does not check that the key is free: the peer may have invalidated it, and the completion that
 * reports this may be still to come.
 *
 * In a range whose remote addresses start at 0, the key starts at 0 and the KLM at the range's
 * address.
 */

/* Checks flags and range once the endpoint is known to be valid. */
static int m5_bind_check(struct dap_rmr *rmr, const void *lmr, const DAT_LMR_TRIPLET *triplet,
			 unsigned int priv, struct dap_ep *ep, unsigned int flags,
			 struct m5_range *to)
{
	const struct m5_sq *sq = &m5_ep(ep)->sq;

	if (flags & sq->deny_rdma & ~(uint32_t)DAP_COMP_BARRIER)
		return DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_FLAGS);
	*to = (struct m5_range){ 0 };
	return front_lmr_len(triplet) ? m5_bind_range(rmr, lmr, triplet, priv, to) : 0;
}

static void m5_bind_record(struct dap_rmr *rmr, struct dap_ep *ep, const struct m5_range *to)
{
	struct m5_rmr *r = m5_rmr(rmr);

	if (!rmr->for_ep) {	/* else m5_bind_claim() has done it */
		r->last_ep = ep;
		r->last_gen = m5_ep(ep)->gen;
	}
	/* The next bind must take this path, too. */
	r->connection = M5_NO_CONNECTION;
	rmr->priv = to->priv;
	rmr->addr = to->va;
	if (to->lmr)	/* an unbind leaves it to dat_rmr_query() of another thread */
		rmr->lmr = to->lmr;
	rmr->zero_based = to->zero_based;
	rmr->rmr_context = __builtin_bswap32(r->key_be);
	__atomic_store_n(&rmr->length, to->len, __ATOMIC_RELEASE);
}

/* Nothing was posted, so the RMR still has its old context. A poller may have stored the invalidation of
 * that context meanwhile. */
M5_INLINE void m5_bind_undo_ended(struct dap_rmr *rmr, uint64_t ended)
{
	uint64_t none = 0;

	__atomic_compare_exchange_n(&rmr->ended, &none, ended, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static M5_COLD DAT_RETURN m5_bind_ext(struct dap_rmr *rmr, const void *lmr,
				      const DAT_LMR_TRIPLET *triplet, unsigned int priv,
				      unsigned int va_type, struct dap_ep *ep, uint64_t cookie,
				      unsigned int flags, uint32_t *context)
{
	struct dap_ep *last_ep;
	struct m5_range to;
	uint32_t last_gen;
	uint64_t ended;
	int err, unsettled;

	if (!triplet)
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_TRIPLET));
	if (!context)
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_CONTEXT));
	if (va_type > DAT_VA_TYPE_ZB)
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_VA_TYPE));
	if (va_type == DAT_VA_TYPE_ZB && !rmr->obj.ia->caps.zero_based)
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	unsettled = m5_bind_check_ep(rmr, ep);
	err = unsettled > 0 ? unsettled : m5_bind_check(rmr, lmr, triplet, priv, ep, flags, &to);
	if (!err && unsettled)
		err = m5_bind_settle(rmr, ep, to.len ? M5_BIND_BLOCKS : M5_UNBIND_BLOCKS, M5_LOCKED);
	if (!err && flags & DAP_COMP_SUPPRESS)
		err = m5_bind_reserve(ep);
	last_ep = m5_rmr(rmr)->last_ep;
	last_gen = m5_rmr(rmr)->last_gen;
	if (!err)
		err = m5_bind_claim(rmr, ep);
	if (err)
		return front_return(err);
	to.zero_based = va_type == DAT_VA_TYPE_ZB;
	/* If this bind repeats an old context, the invalidation of that context is over. */
	ended = __atomic_exchange_n(&rmr->ended, 0, __ATOMIC_ACQ_REL);
	err = to.len ? m5_bind_multi(ep, rmr, &to, cookie, flags)
		     : m5_unbind_slow(rmr, ep, cookie, flags);
	if (err) {
		m5_bind_undo_ended(rmr, ended);
		m5_bind_unclaim(rmr, last_ep, last_gen);
		return front_return(err);
	}
	m5_bind_record(rmr, ep, &to);
	*context = rmr->rmr_context;
	return DAT_SUCCESS;
}
