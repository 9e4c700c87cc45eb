/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binding and unbinding an RMR: one inline UMR WQE each, on any endpoint of the RMR's zone. The
 * RMR is a type 1 window of its PD: the WQE checks neither QP nor free bit, and replaces what the
 * key gave access to in one step; the key's low byte is counted up, so the context is known before
 * the device has done anything. Comes after m5_post.inl; what is rare is in m5_rmr.c.
 */

M5_INLINE struct m5_block m5_umr_head(m5_v2 ctrl, uint64_t mask, unsigned int klm_octowords)
{
	uint64_t flags = M5_UMR_INLINE | M5_UMR_TRANSLATION_OFFSET;

	return (struct m5_block){ { ctrl,
		{ flags | (uint64_t)__builtin_bswap16((uint16_t)klm_octowords) << 32,
		  __builtin_bswap64(mask) } } };
}

/* PRM, "UMR": the fields of the mkey that a bind sets, and those of an unbind. */
#define M5_BIND_MASK                                                                               \
	(M5_MASK_LEN | M5_MASK_START | M5_MASK_KEY | M5_MASK_LW | M5_MASK_RR | M5_MASK_RW |        \
	 M5_MASK_ATOMIC | M5_MASK_FREE)
#define M5_UNBIND_MASK (M5_MASK_KEY | M5_MASK_FREE)

M5_INLINE uint32_t m5_next_key(uint32_t key)
{
	return (key & ~0xffu) | (uint8_t)(key + 1);
}

M5_INLINE m5_v2 m5_mkey_head(unsigned int free, unsigned int access, uint32_t key)
{
	return (m5_v2){ free | access << 16 |
				(uint64_t)__builtin_bswap32(M5_NO_QPN << 8 | (key & 0xff)) << 32,
			0 };
}

/* The ctrl segment of a UMR on the key; what comes next on this queue is fenced behind it. */
M5_INLINE m5_v2 m5_umr_ctrl(struct m5_sq *sq, uint32_t key, unsigned int ds, unsigned int flags)
{
	uint8_t fm = sq->fm[(flags & ~(unsigned int)DAP_COMP_SUPPRESS) | sq->fence];

	sq->fence = 16;
	return m5_ctrl(sq, sq->pi, M5_OP_UMR, ds, fm, key);
}

/* Binds are always signalled: whether they have completed decides what may be posted elsewhere. */
M5_INLINE void m5_bind_slot(struct m5_sq *sq, struct dap_rmr *rmr, uint64_t cookie,
			    unsigned int flags, uint32_t blocks)
{
	uint8_t kind = M5_KIND_BIND | (flags & DAP_COMP_SUPPRESS ? M5_KIND_HIDDEN : 0);

	m5_slot_set(sq, sq->pi, cookie, 0, sq->pi + blocks, kind, flags);
	m5_slot_set(sq, sq->pi + 1, (uintptr_t)rmr, m5_rmr(rmr)->gen, 0, 0, 0);
}

M5_INLINE void m5_bind_posted(struct m5_rmr *r, struct dap_ep *ep, uint32_t key, uint32_t pi)
{
	r->key = key;
	r->spent++;
	r->posted++;
	r->last_ep = ep;
	r->last_gen = m5_ep(ep)->gen;
	r->last_index = (uint16_t)pi;
}

/* A KLM holds less than 2 GiB; m5_bind_range has seen to it that four of 1 GiB are enough. */
#define M5_KLM_MAX (1u << 30)

M5_INLINE struct m5_block m5_klm_list(uint32_t lkey, uint64_t va, uint64_t len)
{
	struct m5_block b = { 0 };

	if (m5_likely(len <= M5_KLM_MAX)) {
		b.v[0] = m5_data((uint32_t)len, lkey, va);
		return b;
	}
	for (int i = 0; len; i++) {
		uint32_t n = len < M5_KLM_MAX ? (uint32_t)len : M5_KLM_MAX;

		b.v[i] = m5_data(n, lkey, va);
		va += n;
		len -= n;
	}
	return b;
}

struct m5_range {			/* what an RMR is bound to */
	struct dap_lmr *lmr;		/* NULL: to nothing */
	uint64_t va, len;
	uint32_t priv;
};

/* The WQE and its slot at pi, which is not advanced; returns the ctrl segment for the doorbell. */
M5_INLINE m5_v2 m5_bind_write(struct dap_ep *ep, struct dap_rmr *rmr, const struct m5_range *to,
			      uint64_t cookie, unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t pi = sq->pi, key = m5_next_key(r->key);
	unsigned int access = (to->priv & DAP_PRIV_REMOTE_READ ? M5_SEG_RR : 0) |
			      (to->priv & DAP_PRIV_REMOTE_WRITE ? M5_SEG_RW : 0);
	struct m5_block head = m5_umr_head(m5_umr_ctrl(sq, r->key, 12, flags), M5_BIND_MASK,
					   M5_KLM_SLOTS);
	struct m5_block mkey = { { m5_mkey_head(0, access, key),
		{ __builtin_bswap64(to->va), __builtin_bswap64(to->len) } } };
	struct m5_block klm = m5_klm_list(to->lmr->lmr_context, to->va, to->len);

	m5_store(m5_sq_at(sq, pi), &head);
	m5_store(m5_sq_at(sq, pi + 1), &mkey);
	m5_store(m5_sq_at(sq, pi + 2), &klm);
	m5_bind_slot(sq, rmr, cookie, flags, M5_BIND_BLOCKS);
	m5_bind_posted(r, ep, key, pi);
	return head.v[0];
}

M5_INLINE m5_v2 m5_unbind_write(struct dap_ep *ep, struct dap_rmr *rmr, uint64_t cookie,
				unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t pi = sq->pi, key = m5_next_key(r->key);
	struct m5_block head = m5_umr_head(m5_umr_ctrl(sq, r->key, 8, flags), M5_UNBIND_MASK, 0);
	struct m5_block mkey = { { m5_mkey_head(M5_SEG_FREE, 0, key) } };

	m5_store(m5_sq_at(sq, pi), &head);
	m5_store(m5_sq_at(sq, pi + 1), &mkey);
	m5_bind_slot(sq, rmr, cookie, flags, M5_UNBIND_BLOCKS);
	m5_bind_posted(r, ep, key, pi);
	return head.v[0];
}

/* What the triplet and the rights ask for, against the LMR under them. */
M5_INLINE int m5_bind_range(const struct dap_rmr *rmr, const M5_LMR *triplet, unsigned int priv,
			    struct m5_range *to)
{
	struct dap_lmr *lmr = dap_lmr_find(rmr->obj.ia, m5_lmr_key(triplet));
	uint64_t va = m5_lmr_va(triplet), len = m5_lmr_len(triplet);

	if (m5_unlikely(!lmr || lmr->pz != rmr->pz || len > lmr->length ||
			va - lmr->addr > lmr->length - len ||
			len > (uint64_t)M5_KLM_SLOTS * M5_KLM_MAX))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (m5_unlikely(priv & ~(unsigned int)DAP_PRIV_ALL))
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (m5_unlikely(priv & DAP_PRIV_REMOTE_READ && !(lmr->priv & DAP_PRIV_LOCAL_READ)))
		return DAP_ERR(DAP_PRIVILEGES_VIOLATION, DAP_SUB_PRIV_READ);
	if (m5_unlikely(priv & DAP_PRIV_REMOTE_WRITE && !(lmr->priv & DAP_PRIV_LOCAL_WRITE)))
		return DAP_ERR(DAP_PRIVILEGES_VIOLATION, DAP_SUB_PRIV_WRITE);
	*to = (struct m5_range){ lmr, va, len, priv };
	return 0;
}

/* For queries, and for the LMR, which may not go before what is bound to it. */
M5_INLINE void m5_bound(struct dap_rmr *rmr, const struct m5_range *to)
{
	__atomic_store_n(&rmr->lmr, to->lmr, __ATOMIC_RELEASE);
	rmr->lmr_context = to->lmr ? to->lmr->lmr_context : 0;
	rmr->rmr_context = m5_rmr(rmr)->key;
	rmr->priv = to->priv;
	rmr->addr = to->va;
	rmr->length = to->len;
}

/* The last bind went through the same connected endpoint, and nothing is known to be wrong. */
M5_INLINE bool m5_bind_simple(const struct dap_rmr *rmr, struct dap_ep *ep)
{
	const struct m5_rmr *r = m5_rmr((struct dap_rmr *)(uintptr_t)rmr);

	return ep && ep == r->last_ep && m5_ep(ep)->gen == r->last_gen &&
	       !__atomic_load_n(&r->unsure, __ATOMIC_ACQUIRE) &&
	       __atomic_load_n(&ep->obj.table, __ATOMIC_RELAXED) ==
		       rmr->obj.ia->tables[DAP_TABLE_EP_LIVE];
}

/*
 * All variants of the key are spent: the next one comes from another mkey, and the old context is
 * ended by a WQE of its own before the bind; one doorbell for both. 0 or a DAP_ERR.
 */
static M5_COLD int
m5_bind_rotated(struct dap_ep *ep, struct dap_rmr *rmr, const struct m5_range *to, uint64_t cookie,
		unsigned int flags, bool soft, bool locked)
{
	uint32_t blocks = M5_UNBIND_BLOCKS + M5_BIND_BLOCKS, start;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	m5_v2 ctrl;
	int err = m5_rmr_next(rmr);

	if (err)
		return err;
	if (!m5_sq_begin(ep, blocks, locked))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	start = sq->pi;
	m5_unbind_write(ep, rmr, 0, DAP_COMP_SUPPRESS);
	sq->pi += M5_UNBIND_BLOCKS;
	m5_rmr_switch(rmr);
	ctrl = m5_bind_write(ep, rmr, to, cookie, flags);
	m5_ring(sq, start, blocks, ctrl, NULL, soft);
	m5_sq_end(sq, locked);
	return 0;
}

M5_INLINE int m5_bind_post(struct dap_ep *ep, struct dap_rmr *rmr, const struct m5_range *to,
			   uint64_t cookie, unsigned int flags, bool soft, bool locked)
{
	uint32_t blocks = to->lmr ? M5_BIND_BLOCKS : M5_UNBIND_BLOCKS;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	m5_v2 ctrl;

	if (m5_unlikely(m5_rmr(rmr)->spent >= 255 && to->lmr))
		return m5_bind_rotated(ep, rmr, to, cookie, flags, soft, locked);
	if (m5_unlikely(!m5_sq_begin(ep, blocks, locked)))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	if (to->lmr)
		ctrl = m5_bind_write(ep, rmr, to, cookie, flags);
	else
		ctrl = m5_unbind_write(ep, rmr, cookie, flags);
	m5_ring(sq, sq->pi, blocks, ctrl, NULL, soft);
	m5_sq_end(sq, locked);
	return 0;
}

M5_INLINE M5_RET m5_bind(struct dap_rmr *rmr, const M5_LMR *triplet, unsigned int priv,
			 struct dap_ep *ep, uint64_t cookie, unsigned int flags, uint32_t *context,
			 bool soft, bool locked)
{
	struct m5_range to = { 0 };
	int err = 0;

	if (m5_unlikely(!triplet || !context))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER,
				       triplet ? DAP_SUB_ARG7 : DAP_SUB_ARG2));
	if (m5_unlikely(!m5_bind_simple(rmr, ep)))
		err = m5_bind_prepare(rmr, ep);
	if (!err && m5_unlikely(flags & m5_ep(ep)->sq.deny_rdma))
		err = DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG6);
	if (!err && m5_likely(m5_lmr_len(triplet)))
		err = m5_bind_range(rmr, triplet, priv, &to);
	if (!err)
		err = m5_bind_post(ep, rmr, &to, cookie, flags, soft, locked);
	if (m5_unlikely(err))
		return m5_fail(err);
	m5_bound(rmr, &to);
	*context = rmr->rmr_context;
	return DAT_SUCCESS;
}
