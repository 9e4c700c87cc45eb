/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binding and unbinding an RMR: one inline UMR WQE each, on any endpoint of the RMR's zone. The
 * RMR is a type 1 window of its PD: the WQE checks neither QP nor free bit, and replaces what the
 * key gave access to in one step; the key's low byte is counted up, so the context is known before
 * the device has done anything. Comes after m5_post.inl; what is rare is in m5_rmr.c.
 */

/* PRM, "UMR": the fields of the mkey that a bind sets, and those of an unbind. */
#define M5_BIND_MASK                                                                               \
	(M5_MASK_LEN | M5_MASK_START | M5_MASK_KEY | M5_MASK_LW | M5_MASK_RR | M5_MASK_RW |        \
	 M5_MASK_ATOMIC | M5_MASK_FREE)
#define M5_UNBIND_MASK (M5_MASK_KEY | M5_MASK_FREE)

struct m5_range {			/* what an RMR is bound to */
	struct dap_lmr *lmr;
	uint64_t va, len;
	uint32_t priv;
	bool zero_based;
};

/* The variant of a key is its low byte: the high one of key_be, where counting up wraps by itself. */
#define M5_VARIANT (1u << 24)

/* The ctrl segment of a UMR; with the key that it replaces, and without flags if there are none. */
M5_INLINE m5_v2 m5_umr_ctrl(struct m5_sq *sq, uint32_t key_be, unsigned int ds, unsigned int flags,
			    uint32_t pi)
{
	/* A bind is always signalled. */
	uint8_t fm = sq->fm[(flags & ~(unsigned int)DAP_COMP_SUPPRESS) | sq->fence];

	return m5_ctrl(sq, pi, M5_OP_UMR, ds, fm, __builtin_bswap32(key_be));
}

M5_INLINE m5_v2 m5_umr_plain(const struct m5_sq *sq, uint32_t key_be, bool bind, uint32_t pi)
{
	const uint8_t *template = (const uint8_t *)sq->ctrl_umr;
	m5_v2 v;

	_Static_assert(sizeof(sq->ctrl_umr[0]) == 16, "fence is where the template lies");
	v = m5_ctrl_of((const uint64_t *)(const void *)(template + sq->fence), pi);
	if (!bind)
		v ^= (m5_v2){ (uint64_t)(12 ^ 8) << 56, 0 };
#if M5_SHUFFLE
	return (m5_v2)_mm_insert_epi32((__m128i)v, (int)key_be, 3);
#else
	return v | (m5_v2){ 0, (uint64_t)key_be << 32 };
#endif
}

M5_INLINE m5_v2 m5_umr_head(uint64_t mask, uint16_t klm_octowords)
{
	uint64_t flags = M5_UMR_INLINE | M5_UMR_TRANSLATION_OFFSET;

	return (m5_v2){ flags | (uint64_t)__builtin_bswap16(klm_octowords) << 32,
			__builtin_bswap64(mask) };
}

/* Free bit, rights, and the new variant beside no QP. */
M5_INLINE m5_v2 m5_mkey_head(uint32_t free_access, uint32_t key_be)
{
	const m5_v2 no_qp = { (uint64_t)__builtin_bswap32(M5_NO_QPN << 8) << 32, 0 };

#if M5_SHUFFLE
	return no_qp | (m5_v2)_mm_insert_epi32(_mm_cvtsi32_si128((int)free_access), (int)key_be, 1);
#else
	return no_qp | (m5_v2){ free_access | (uint64_t)key_be << 32, 0 };
#endif
}

/* DAT's bits for remote read and write as the segment has them: for any rights, since others are
 * refused before. */
static const uint32_t m5_access[DAP_PRIV_ALL + 1] = {
#define M5_RW(priv) ((priv & DAP_PRIV_REMOTE_READ ? M5_SEG_RR << 16 : 0) | \
		     (priv & DAP_PRIV_REMOTE_WRITE ? M5_SEG_RW << 16 : 0))
#define M5_RW4(priv) M5_RW((priv)), M5_RW((priv + 1)), M5_RW((priv + 2)), M5_RW((priv + 3))
	[0x00] = M5_RW4(0x00), [0x10] = M5_RW4(0x10), [0x20] = M5_RW4(0x20), [0x30] = M5_RW4(0x30),
#undef M5_RW4
#undef M5_RW
};

/*
 * Binds are always signalled: whether they have completed decides what may be posted elsewhere. The
 * slots have one more at their end, so that the second of a bind needs no wrap.
 */
M5_INLINE void m5_bind_slots(struct m5_sq *sq, struct dap_rmr *rmr, uint64_t cookie,
			     unsigned int flags, uint32_t pi, uint32_t blocks)
{
	struct m5_slot *slot = &sq->slots[pi & sq->mask];
	uint32_t kind = M5_KIND_BIND | (flags & DAP_COMP_SUPPRESS);

	_Static_assert((int)DAP_COMP_SUPPRESS == (int)M5_KIND_HIDDEN, "a suppressed bind is hidden");
	slot[0].cookie = cookie;
	slot[0].bytes = 0;
	slot[0].rest = (uint16_t)(pi + blocks) | kind << 16 | flags << 24;
	slot[1].cookie = (uintptr_t)rmr;
	slot[1].bytes = m5_rmr(rmr)->gen;
}

/* A UMR is posted at pi: the key that the RMR has from now on, and what follows is fenced. */
M5_INLINE void m5_umr_posted(struct m5_sq *sq, struct m5_rmr *r, uint32_t key_be, uint32_t pi)
{
	sq->fence = 16;
	r->key_be = key_be;
	r->posted++;
	r->last_index = (uint16_t)pi;
}

M5_INLINE void m5_bind_build(struct m5_block b[M5_BIND_BLOCKS], m5_v2 ctrl, uint32_t key_be,
			     unsigned int priv, uint64_t va, uint64_t len, uint32_t lkey)
{
	const m5_v2 zero = { 0 };

	b[0] = (struct m5_block){ { ctrl, m5_umr_head(M5_BIND_MASK, M5_KLM_SLOTS), zero, zero } };
	b[1] = (struct m5_block){ { m5_mkey_head(m5_access[priv], key_be),
				    m5_range(len, lkey, va), zero, zero } };
	b[2] = (struct m5_block){ { m5_data((uint32_t)len, lkey, va), zero, zero, zero } };
}

M5_INLINE void m5_unbind_build(struct m5_block b[M5_UNBIND_BLOCKS], m5_v2 ctrl, uint32_t key_be)
{
	const m5_v2 zero = { 0 };

	b[0] = (struct m5_block){ { ctrl, m5_umr_head(M5_UNBIND_MASK, 0), zero, zero } };
	b[1] = (struct m5_block){ { m5_mkey_head(M5_SEG_FREE, key_be), zero, zero, zero } };
}

/* Each block wraps for itself. */
M5_INLINE void m5_umr_store(const struct m5_sq *sq, const struct m5_block *b, uint32_t pi, uint32_t n)
{
	M5_UNROLL
	for (uint32_t i = 0; i < n; i++)
		m5_store_blocks(m5_sq_at(sq, pi + i), &b[i], 1);
}

/* ---- Any bind: with flags, of an LMR other than the last, over the ring's end ---- */

M5_INLINE void m5_bind_write(struct m5_sq *sq, struct dap_rmr *rmr, const struct m5_range *to,
			     uint64_t cookie, unsigned int flags, uint32_t pi,
			     struct m5_block b[M5_BIND_BLOCKS])
{
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t key = r->key_be + M5_VARIANT;

	m5_bind_build(b, m5_umr_ctrl(sq, r->key_be, 12, flags, pi), key, to->priv, to->va, to->len,
		      to->lmr->lmr_context);
	m5_bind_slots(sq, rmr, cookie, flags, pi, M5_BIND_BLOCKS);
	m5_umr_posted(sq, r, key, pi);
	m5_umr_store(sq, b, pi, M5_BIND_BLOCKS);
}

/* Where all variants are used, this is one more: the next bind finds them used, too. */
M5_INLINE void m5_unbind_write(struct m5_sq *sq, struct dap_rmr *rmr, uint64_t cookie,
			       unsigned int flags, uint32_t pi, struct m5_block b[M5_UNBIND_BLOCKS])
{
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t key = r->key_be + M5_VARIANT;

	m5_unbind_build(b, m5_umr_ctrl(sq, r->key_be, 8, flags, pi), key);
	m5_bind_slots(sq, rmr, cookie, flags, pi, M5_UNBIND_BLOCKS);
	if (r->key_be == r->last_key_be)
		r->last_key_be = key;
	m5_umr_posted(sq, r, key, pi);
	m5_umr_store(sq, b, pi, M5_UNBIND_BLOCKS);
}

/* More than one KLM, at most four (m5_bind_range): length and list are written over the one that m5_bind_write left. */
M5_INLINE void m5_klm_list(const struct m5_sq *sq, const struct m5_range *to, uint32_t pi)
{
	m5_v2 *klm = (m5_v2 *)m5_sq_at(sq, pi + 2);
	uint64_t va = to->va, len = to->len;

	((m5_v2 *)m5_sq_at(sq, pi + 1))[1] = (m5_v2){ __builtin_bswap64(va), __builtin_bswap64(len) };
	for (; len; klm++) {
		uint32_t n = len < M5_KLM_MAX ? (uint32_t)len : M5_KLM_MAX;

		*klm = m5_data(n, to->lmr->lmr_context, va);
		va += n;
		len -= n;
	}
}

/* An RMR of one endpoint: its QP alone may use the key; over what m5_bind_write has left. */
M5_INLINE void m5_bind_own(const struct m5_sq *sq, uint32_t qpn, uint32_t key_be, uint32_t pi)
{
	struct m5_umr_ctrl_seg *umr = (void *)(m5_sq_at(sq, pi) + sizeof(struct m5_ctrl_seg));
	struct m5_mkey_seg *mkey = (void *)m5_sq_at(sq, pi + 1);

	umr->mkey_mask = cpu_to_be64(M5_BIND_MASK | M5_MASK_QPN);
	mkey->qpn_key = cpu_to_be32(qpn << 8 | (__builtin_bswap32(key_be) & 0xff));
}

/*
 * A bind that is more than one WQE of one KLM. All variants of a key spent: the next one comes from
 * another mkey, and the old context is ended by a WQE before the bind; one doorbell for both.
 */
static M5_COLD int m5_bind_odd(struct dap_ep *ep, struct dap_rmr *rmr, const struct m5_range *to,
			       uint64_t cookie, unsigned int flags, bool soft, bool locked)
{
	bool rotate = m5_rmr(rmr)->key_be == m5_rmr(rmr)->last_key_be;
	uint32_t blocks = M5_BIND_BLOCKS + (rotate ? M5_UNBIND_BLOCKS : 0), start;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_block b[M5_BIND_BLOCKS];

	if (!m5_sq_begin(ep, blocks, locked))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	start = sq->pi;
	if (rotate) {
		m5_unbind_write(sq, rmr, 0, DAP_COMP_SUPPRESS, start, b);
		sq->pi += M5_UNBIND_BLOCKS;
		m5_rmr_switch(rmr);
	}
	m5_bind_write(sq, rmr, to, cookie, flags, sq->pi, b);
	if (to->len > M5_KLM_MAX)
		m5_klm_list(sq, to, sq->pi);
	if (to->zero_based)
		((m5_v2 *)m5_sq_at(sq, sq->pi + 1))[1][0] = 0;
	if (rmr->for_ep)
		m5_bind_own(sq, m5_ep(ep)->qp.qpn, m5_rmr(rmr)->key_be, sq->pi);
	m5_ring(sq, start, blocks, b[0].v[0], NULL, soft);
	m5_sq_end(sq, locked);
	return 0;
}

/* What the triplet and the rights ask for, against the LMR under them. */
M5_INLINE int m5_bind_range(const struct dap_rmr *rmr, const void *handle, const M5_LMR *triplet,
			    unsigned int priv, struct m5_range *to)
{
	struct dap_lmr *lmr = dap_lmr_find(rmr->obj.ia, m5_lmr_key(triplet));
	uint64_t va = m5_lmr_va(triplet), len = m5_lmr_len(triplet);
	/* Remote read wants local read, remote write local write: the same bits, one place down. */
	unsigned int lacks;

	if (m5_unlikely(!lmr) || m5_unlikely(lmr->pz != rmr->pz) || m5_unlikely(len > lmr->length) ||
	    m5_unlikely(va - lmr->addr > lmr->length - len) ||
	    m5_unlikely(len > (uint64_t)M5_KLM_SLOTS * M5_KLM_MAX))
		return DAP_ERR(DAP_INVALID_PARAMETER, M5_ARG_TRIPLET);
	if (m5_unlikely(!m5_is_lmr(lmr, handle)))
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_LMR);
	if (m5_unlikely(priv & ~(unsigned int)DAP_PRIV_ALL))
		return DAP_ERR(DAP_INVALID_PARAMETER, M5_ARG_PRIV);
	lacks = (priv & (DAP_PRIV_REMOTE_READ | DAP_PRIV_REMOTE_WRITE)) >> 1 & ~lmr->priv;
	if (m5_unlikely(lacks))
		return DAP_ERR(DAP_PRIVILEGES_VIOLATION, lacks & DAP_PRIV_LOCAL_READ ?
			       DAP_SUB_PRIV_READ : DAP_SUB_PRIV_WRITE);
	*to = (struct m5_range){ lmr, va, len, priv, false };
	return 0;
}

/* The last bind went through the same connection, and nothing else may be in its way. */
M5_INLINE bool m5_bind_simple(const struct m5_rmr *r, const struct dap_ep *ep)
{
	return m5_likely(ep == r->last_ep) &&
	       m5_likely(__atomic_load_n(&ep->connection, __ATOMIC_RELAXED) == r->connection);
}

M5_INLINE int m5_bind_to(struct dap_rmr *rmr, const struct m5_range *to, struct dap_ep *ep,
			 uint64_t cookie, unsigned int flags, bool soft, bool locked)
{
	struct m5_block b[M5_BIND_BLOCKS];
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint32_t pi;
	int err;

	if (m5_unlikely(r->key_be == r->last_key_be) || m5_unlikely(to->len > M5_KLM_MAX)) {
		err = m5_bind_odd(ep, rmr, to, cookie, flags, soft, locked);
		if (err)
			return err;
	} else {
		if (m5_unlikely(!m5_sq_begin(ep, M5_BIND_BLOCKS, locked)))
			return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
		pi = sq->pi;
		m5_bind_write(sq, rmr, to, cookie, flags, pi, b);
		m5_ring(sq, pi, M5_BIND_BLOCKS, b[0].v[0], b, soft);
		m5_sq_end(sq, locked);
	}
	m5_rmr_know(r, to->lmr);
	rmr->priv = to->priv;
	rmr->addr = to->va;
	rmr->lmr = to->lmr;
	__atomic_store_n(&rmr->length, to->len, __ATOMIC_RELEASE);
	return 0;
}

M5_INLINE int m5_unbind_any(struct dap_rmr *rmr, struct dap_ep *ep, uint64_t cookie,
			    unsigned int flags, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_block b[M5_UNBIND_BLOCKS];
	uint32_t pi;

	if (m5_unlikely(!m5_sq_begin(ep, M5_UNBIND_BLOCKS, locked)))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	pi = sq->pi;
	m5_unbind_write(sq, rmr, cookie, flags, pi, b);
	m5_ring(sq, pi, M5_UNBIND_BLOCKS, b[0].v[0], b, soft);
	m5_sq_end(sq, locked);
	__atomic_store_n(&rmr->length, 0, __ATOMIC_RELEASE);
	return 0;
}

/* lmr: its handle, where the API level asks for it. */
M5_INLINE M5_RET m5_bind_any(struct dap_rmr *rmr, const void *lmr, const M5_LMR *triplet,
			     unsigned int priv, struct dap_ep *ep, uint64_t cookie,
			     unsigned int flags, uint32_t *context, bool soft, bool locked)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_range to;
	int err = 0;

	if (m5_unlikely(!triplet))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, M5_ARG_TRIPLET));
	if (m5_unlikely(!context))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, M5_ARG_CONTEXT));
	if (m5_unlikely(!ep) || m5_unlikely(!m5_bind_simple(r, ep)))
		err = m5_bind_prepare(rmr, ep);
	if (m5_unlikely(err))
		return m5_fail(err);
	if (m5_unlikely(flags & m5_ep(ep)->sq.deny_rdma & ~(uint32_t)DAP_COMP_BARRIER))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, M5_ARG_FLAGS));
	if (m5_likely(m5_lmr_len(triplet))) {
		err = m5_bind_range(rmr, lmr, triplet, priv, &to);
		if (m5_unlikely(err))
			return m5_fail(err);
		err = m5_bind_to(rmr, &to, ep, cookie, flags, soft, locked);
	} else {
		err = m5_unbind_any(rmr, ep, cookie, flags, soft, locked);
	}
	if (m5_unlikely(err))
		return m5_fail(err);
	r->last_ep = ep;
	r->last_gen = m5_ep(ep)->gen;
	m5_rmr_through(r, ep);
	*context = rmr->rmr_context = __builtin_bswap32(r->key_be);
	return DAT_SUCCESS;
}

/* ---- Without flags, where the last bind was of the same LMR through the same connection ---- */

/*
 * Each of these is two functions, so that neither has to save a register: one makes all tests, the
 * other writes the WQE and goes by the same arguments.
 */
M5_INLINE M5_RET m5_unbind_go(struct dap_rmr *rmr, struct dap_ep *ep, uint64_t cookie, bool soft,
			      bool locked)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint32_t pi = sq->pi, old = r->key_be, key = old + M5_VARIANT;
	struct m5_block b[M5_UNBIND_BLOCKS];

	__atomic_store_n(&rmr->length, 0, __ATOMIC_RELEASE);
	m5_bind_slots(sq, rmr, cookie, 0, pi, M5_UNBIND_BLOCKS);
	m5_unbind_build(b, m5_umr_plain(sq, old, false, pi), key);
	m5_umr_posted(sq, r, key, pi);
	return m5_post_blocks(sq, b, pi, M5_UNBIND_BLOCKS, soft, locked);
}

M5_INLINE M5_RET m5_bind_go(struct dap_rmr *rmr, const M5_LMR *triplet, unsigned int priv,
			    struct dap_ep *ep, uint64_t cookie, bool soft, bool locked)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint32_t pi = sq->pi, old, key;
	struct m5_block b[M5_BIND_BLOCKS];
	m5_v2 ctrl;

	m5_bind_slots(sq, rmr, cookie, 0, pi, M5_BIND_BLOCKS);
	rmr->priv = priv;
	rmr->addr = m5_lmr_va(triplet);
	m5_part();
	__atomic_store_n(&rmr->length, m5_lmr_len(triplet), __ATOMIC_RELEASE);
	m5_part();
	old = r->key_be;
	key = old + M5_VARIANT;
	ctrl = m5_umr_plain(sq, old, true, pi);
	m5_bind_build(b, ctrl, key, priv, m5_lmr_va(triplet), m5_lmr_len(triplet), r->lkey);
	m5_umr_posted(sq, r, key, pi);
	m5_part();
	return m5_post_blocks(sq, b, pi, M5_BIND_BLOCKS, soft, locked);
}

/* The context that will be. */
M5_INLINE void m5_bind_tell(struct dap_rmr *rmr, uint32_t *context)
{
	*context = rmr->rmr_context = __builtin_bswap32(m5_rmr(rmr)->key_be + M5_VARIANT);
}

/* Without flags, through the connection of the last bind, and within the LMR of it. */
M5_INLINE bool m5_bind_known(const struct m5_rmr *r, const void *lmr, const M5_LMR *triplet,
			     unsigned int priv, unsigned int flags)
{
	/* Its length is asked again, since that takes no register. */
	m5_part();
	return m5_likely(m5_lmr_key(triplet) == r->lkey) &&
	       m5_likely(m5_lmr_va(triplet) - r->addr <= r->length - m5_lmr_len(triplet)) &&
	       m5_likely(!((priv & r->deny) | flags)) && m5_likely(m5_is_lmr(r->lmr, lmr));
}
