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

/* A KLM holds less than 2 GiB; m5_bind_range has seen to it that four of 1 GiB are enough. */
#define M5_KLM_MAX (1u << 30)

/* A UMR WQE in registers: the pieces that are not zero. The last two are not of an unbind. */
struct m5_umr {
	m5_v2 ctrl, umr, mkey, range, klm;
};

struct m5_range {			/* what an RMR is bound to */
	struct dap_lmr *lmr;
	uint64_t va, len;
	uint32_t priv;
};

M5_INLINE uint32_t m5_next_key(uint32_t key)
{
	return (key & ~0xffu) | (uint8_t)(key + 1);
}

/* What comes next on this queue is fenced behind it; it is always signalled. */
M5_INLINE m5_v2 m5_umr_ctrl(struct m5_sq *sq, uint32_t key, unsigned int ds, unsigned int flags)
{
	uint8_t fm = sq->fm[(flags & ~(unsigned int)DAP_COMP_SUPPRESS) | sq->fence];

	sq->fence = 16;
	return m5_ctrl(sq, sq->pi, M5_OP_UMR, ds, fm, key);
}

M5_INLINE m5_v2 m5_umr_head(uint64_t mask, uint16_t klm_octowords)
{
	uint64_t flags = M5_UMR_INLINE | M5_UMR_TRANSLATION_OFFSET;

	return (m5_v2){ flags | (uint64_t)__builtin_bswap16(klm_octowords) << 32,
			__builtin_bswap64(mask) };
}

M5_INLINE m5_v2 m5_mkey_head(unsigned int free, unsigned int access, uint32_t key)
{
	uint32_t qpn_key = __builtin_bswap32(M5_NO_QPN << 8 | (key & 0xff));

	return (m5_v2){ free | access << 16 | (uint64_t)qpn_key << 32, 0 };
}

/* Three places, since each block wraps for itself; of an unbind two. */
M5_INLINE void m5_umr_store(const struct m5_umr *u, volatile uint8_t *p0, volatile uint8_t *p1,
			    volatile uint8_t *p2)
{
	volatile m5_v2 *b0 = (volatile m5_v2 *)p0, *b1 = (volatile m5_v2 *)p1;
	volatile m5_v2 *b2 = (volatile m5_v2 *)p2;
	const m5_v2 zero = { 0 };

	b0[0] = u->ctrl;
	b0[1] = u->umr;
	b0[2] = zero;
	b0[3] = zero;
	b1[0] = u->mkey;
	b1[1] = u->range;
	b1[2] = zero;
	b1[3] = zero;
	if (!p2)
		return;
	b2[0] = u->klm;
	b2[1] = zero;
	b2[2] = zero;
	b2[3] = zero;
}

M5_INLINE void m5_umr_ring(struct m5_sq *sq, const struct m5_umr *u, uint32_t pi, uint32_t n,
			   bool soft)
{
	volatile uint8_t *reg;

	m5_record(sq, pi + n);
	if (soft) {
		m5_ring_soft(sq, pi, n, u->ctrl);
	} else if (DAP_TSAN || m5_unlikely(n > sq->bf)) {
		m5_ring_silicon(sq, pi, n, u->ctrl, NULL);
	} else {
		reg = m5_reg_next(sq);
		dap_wmb_dbrec_before_mmio();
		m5_umr_store(u, reg, reg + M5_BB, n == M5_BIND_BLOCKS ? reg + 2 * M5_BB : NULL);
		m5_bf_end();
	}
}

/* Binds are always signalled: whether they have completed decides what may be posted elsewhere. */
M5_INLINE void m5_bind_slots(struct m5_sq *sq, struct dap_rmr *rmr, uint64_t cookie,
			     unsigned int flags, uint32_t pi, uint32_t blocks)
{
	uint8_t hidden = flags & DAP_COMP_SUPPRESS;

	_Static_assert((int)DAP_COMP_SUPPRESS == (int)M5_KIND_HIDDEN, "a suppressed bind is hidden");
	m5_slot_set(sq, pi, cookie, 0, pi + blocks, M5_KIND_BIND | hidden, flags);
	m5_slot_set(sq, pi + 1, (uintptr_t)rmr, m5_rmr(rmr)->gen, 0, 0, 0);
}

/* The WQE of a bind at pi, its slots, and the key that the RMR has from then on. */
M5_INLINE struct m5_umr m5_bind_write(struct m5_sq *sq, struct dap_rmr *rmr,
				      const struct m5_range *to, uint64_t cookie,
				      unsigned int flags, uint32_t pi)
{
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t old = r->key, key = m5_next_key(old);
	/* DAT's bits for remote read and write as the segment has them. */
	unsigned int access = (to->priv & DAP_PRIV_REMOTE_READ) << 3 |
			      (to->priv & DAP_PRIV_REMOTE_WRITE);
	struct m5_umr u = {
		.ctrl = m5_umr_ctrl(sq, old, 12, flags),
		.umr = m5_umr_head(M5_BIND_MASK, M5_KLM_SLOTS),
		.mkey = m5_mkey_head(0, access, key),
		.range = { __builtin_bswap64(to->va), __builtin_bswap64(to->len) },
		.klm = m5_data((uint32_t)to->len, to->lmr->lmr_context, to->va),
	};

	_Static_assert(DAP_PRIV_REMOTE_READ << 3 == M5_SEG_RR &&
		       (int)DAP_PRIV_REMOTE_WRITE == (int)M5_SEG_RW, "rights");
	m5_bind_slots(sq, rmr, cookie, flags, pi, M5_BIND_BLOCKS);
	r->key = key;
	r->spent++;
	r->posted++;
	r->last_index = (uint16_t)pi;
	m5_umr_store(&u, m5_sq_at(sq, pi), m5_sq_at(sq, pi + 1), m5_sq_at(sq, pi + 2));
	return u;
}

M5_INLINE struct m5_umr m5_unbind_write(struct m5_sq *sq, struct dap_rmr *rmr, uint64_t cookie,
					unsigned int flags, uint32_t pi)
{
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t old = r->key, key = m5_next_key(old);
	struct m5_umr u = {
		.ctrl = m5_umr_ctrl(sq, old, 8, flags),
		.umr = m5_umr_head(M5_UNBIND_MASK, 0),
		.mkey = m5_mkey_head(M5_SEG_FREE, 0, key),
	};

	m5_bind_slots(sq, rmr, cookie, flags, pi, M5_UNBIND_BLOCKS);
	r->key = key;
	r->spent++;
	r->posted++;
	r->last_index = (uint16_t)pi;
	m5_umr_store(&u, m5_sq_at(sq, pi), m5_sq_at(sq, pi + 1), NULL);
	return u;
}

/* More than one KLM: the list is written over the one that m5_bind_write left. */
M5_INLINE void m5_klm_list(const struct m5_sq *sq, const struct m5_range *to, uint32_t pi)
{
	m5_v2 *klm = (m5_v2 *)m5_sq_at(sq, pi + 2);
	uint64_t va = to->va, len = to->len;

	for (; len; klm++) {
		uint32_t n = len < M5_KLM_MAX ? (uint32_t)len : M5_KLM_MAX;

		*klm = m5_data(n, to->lmr->lmr_context, va);
		va += n;
		len -= n;
	}
}

/*
 * A bind that is more than one WQE of one KLM. All variants of a key spent: the next one comes from
 * another mkey, and the old context is ended by a WQE before the bind; one doorbell for both.
 */
static M5_COLD int m5_bind_odd(struct dap_ep *ep, struct dap_rmr *rmr, const struct m5_range *to,
			       uint64_t cookie, unsigned int flags, bool soft, bool locked)
{
	bool rotate = m5_rmr(rmr)->spent >= 255;
	uint32_t blocks = M5_BIND_BLOCKS + (rotate ? M5_UNBIND_BLOCKS : 0), start;
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_umr u;
	int err = rotate ? m5_rmr_next(rmr) : 0;

	if (err)
		return err;
	if (!m5_sq_begin(ep, blocks, locked))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	start = sq->pi;
	if (rotate) {
		m5_unbind_write(sq, rmr, 0, DAP_COMP_SUPPRESS, start);
		sq->pi += M5_UNBIND_BLOCKS;
		m5_rmr_switch(rmr);
	}
	u = m5_bind_write(sq, rmr, to, cookie, flags, sq->pi);
	if (to->len > M5_KLM_MAX)
		m5_klm_list(sq, to, sq->pi);
	m5_ring(sq, start, blocks, u.ctrl, NULL, soft);
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
	*to = (struct m5_range){ lmr, va, len, priv };
	return 0;
}

M5_INLINE void m5_bound_to(struct dap_rmr *rmr, struct dap_lmr *lmr)
{
	if (m5_unlikely(rmr->lmr != lmr))
		m5_bound_other(rmr, lmr);
}

/* The last bind went through the same connected endpoint, and nothing is known to be wrong. */
M5_INLINE bool m5_bind_simple(const struct dap_rmr *rmr, const struct m5_rmr *r, struct dap_ep *ep)
{
	return m5_likely(ep) && m5_likely(ep == r->last_ep) &&
	       m5_likely(m5_ep(ep)->gen == r->last_gen) &&
	       m5_likely(!__atomic_load_n(&r->unsure, __ATOMIC_ACQUIRE)) &&
	       m5_likely(__atomic_load_n(&ep->obj.table, __ATOMIC_RELAXED) ==
			 rmr->obj.ia->tables[DAP_TABLE_EP_LIVE]);
}

M5_INLINE int m5_bind_to(struct dap_rmr *rmr, const struct m5_range *to, struct dap_ep *ep,
			 uint64_t cookie, unsigned int flags, bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_umr u;
	uint32_t pi;
	int err;

	if (m5_unlikely(m5_rmr(rmr)->spent >= 255) || m5_unlikely(to->len > M5_KLM_MAX)) {
		err = m5_bind_odd(ep, rmr, to, cookie, flags, soft, locked);
		if (err)
			return err;
	} else {
		if (m5_unlikely(!m5_sq_begin(ep, M5_BIND_BLOCKS, locked)))
			return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
		pi = sq->pi;
		u = m5_bind_write(sq, rmr, to, cookie, flags, pi);
		m5_umr_ring(sq, &u, pi, M5_BIND_BLOCKS, soft);
		m5_sq_end(sq, locked);
	}
	m5_bound_to(rmr, to->lmr);
	rmr->lmr_context = to->lmr->lmr_context;
	rmr->priv = to->priv;
	rmr->addr = to->va;
	rmr->length = to->len;
	return 0;
}

M5_INLINE int m5_unbind(struct dap_rmr *rmr, struct dap_ep *ep, uint64_t cookie, unsigned int flags,
			bool soft, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_umr u;
	uint32_t pi;

	if (m5_unlikely(!m5_sq_begin(ep, M5_UNBIND_BLOCKS, locked)))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	pi = sq->pi;
	u = m5_unbind_write(sq, rmr, cookie, flags, pi);
	m5_umr_ring(sq, &u, pi, M5_UNBIND_BLOCKS, soft);
	m5_sq_end(sq, locked);
	m5_bound_to(rmr, NULL);
	rmr->lmr_context = 0;
	rmr->priv = 0;
	rmr->addr = 0;
	rmr->length = 0;
	return 0;
}

/* lmr: its handle, where the API level asks for it. */
M5_INLINE M5_RET m5_bind(struct dap_rmr *rmr, const void *lmr, const M5_LMR *triplet,
			 unsigned int priv, struct dap_ep *ep, uint64_t cookie, unsigned int flags,
			 uint32_t *context, bool soft, bool locked)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_range to;
	int err = 0;

	if (m5_unlikely(!triplet))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, M5_ARG_TRIPLET));
	if (m5_unlikely(!context))
		return m5_fail(DAP_ERR(DAP_INVALID_PARAMETER, M5_ARG_CONTEXT));
	if (m5_unlikely(!m5_bind_simple(rmr, r, ep)))
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
		err = m5_unbind(rmr, ep, cookie, flags, soft, locked);
	}
	if (m5_unlikely(err))
		return m5_fail(err);
	r->last_ep = ep;
	r->last_gen = m5_ep(ep)->gen;
	*context = rmr->rmr_context = r->key;
	return DAT_SUCCESS;
}
