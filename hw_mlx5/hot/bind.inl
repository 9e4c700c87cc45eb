/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Binding and unbinding an RMR: one inline UMR WQE each, on any endpoint in the RMR's zone. The
 * RMR is a type 1 window of its PD. The WQE checks neither QP nor free bit, and replaces what the
 * key gave access to in one step. Each bind increments the key's low byte, so the context is known
 * before the device executes it. Included after post.inl; rare cases are in rmr.c.
 */

/* PRM, "UMR": the fields of the mkey that a bind or an unbind sets. The atomic right stays 0: some firmware
 * refuses a mask with its bit (umr_modify_atomic_disabled). */
#define M5_BIND_MASK                                                                               \
	(M5_MASK_LEN | M5_MASK_START | M5_MASK_KEY | M5_MASK_LW | M5_MASK_RR | M5_MASK_RW | M5_MASK_FREE)
#define M5_UNBIND_MASK (M5_MASK_KEY | M5_MASK_FREE)

struct m5_range {			/* what an RMR is bound to */
	struct dap_lmr *lmr;
	uint64_t va, len;
	uint32_t priv;
	bool zero_based;
};

/* The ctrl segment of a UMR that replaces key_be. */
M5_INLINE m5_v2 m5_umr_ctrl(struct m5_sq *sq, uint32_t key_be, unsigned int ds, unsigned int flags,
			    uint32_t pi)
{
	/* Binds are always signaled. */
	uint8_t fm = sq->fm[(flags & ~(unsigned int)DAP_COMP_SUPPRESS) | sq->fence];

	return m5_ctrl(sq, pi, M5_OP_UMR, ds, fm, __builtin_bswap32(key_be));
}

M5_INLINE m5_v2 m5_umr_plain(const struct m5_sq *sq, uint32_t key_be, bool bind, m5_v2 index)
{
	const uint8_t *template = (const uint8_t *)sq->ctrl_umr;
	m5_v2 v;

	_Static_assert(sizeof(sq->ctrl_umr[0]) == 16, "fence is the offset of a template");
	v = *(const m5_v2 *)(const void *)(template + sq->fence) | index;
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

/* The first words of an mkey: free bit, rights and no QP; the variant is added last. */
#define M5_MKEY_HEAD(free_access)                                                                  \
	((free_access) | (uint64_t)__builtin_bswap32(M5_NO_QPN << 8) << 32)

M5_INLINE m5_v2 m5_mkey_head(uint64_t head, uint32_t key)
{
#if M5_SHUFFLE
	return (m5_v2)_mm_insert_epi8(_mm_cvtsi64_si128((long long)head), (int)key, 7);
#else
	return (m5_v2){ head | (uint64_t)key << 56, 0 };
#endif
}

/* The first words of an mkey by DAT's rights, of which only remote read and write count here.
 * Invalid rights are rejected earlier. */
static const uint64_t m5_access[DAP_PRIV_ALL + 1] = {
#define M5_RW(priv) M5_MKEY_HEAD((priv & DAP_PRIV_REMOTE_READ ? M5_SEG_RR << 16 : 0) | \
				 (priv & DAP_PRIV_REMOTE_WRITE ? M5_SEG_RW << 16 : 0))
#define M5_RW4(priv) M5_RW((priv)), M5_RW((priv + 1)), M5_RW((priv + 2)), M5_RW((priv + 3))
	[0x00] = M5_RW4(0x00), [0x10] = M5_RW4(0x10), [0x20] = M5_RW4(0x20), [0x30] = M5_RW4(0x30),
#undef M5_RW4
#undef M5_RW
};

/*
 * Binds are always signaled, because a bind on another queue must wait for their completion. The
 * array of slots has one entry more, so that the second slot of a bind does not wrap.
 */
M5_INLINE void m5_bind_slots(const struct m5_sq *sq, const struct m5_rmr *r, struct m5_wqe_pos pos,
			     uint64_t cookie, unsigned int flags, unsigned int kind)
{
	struct m5_slot *slot = m5_slot_in(sq, pos.slot_off);

	_Static_assert((int)DAP_COMP_SUPPRESS == (int)M5_KIND_INTERNAL, "a suppressed bind is hidden");
	slot[0].cookie = cookie;
	slot[0].end = (uint16_t)pos.end;
	slot[0].kind = (uint8_t)(kind | (flags & DAP_COMP_SUPPRESS));
	m5_compiler_barrier();	/* two byte stores, which need no register */
	slot[0].flags = (uint8_t)flags;
	slot[1] = r->note;
}

/* After posting a UMR: sets the RMR's new key, and a fence for later work. */
M5_INLINE void m5_umr_posted(struct m5_sq *sq, struct m5_rmr *r, uint32_t key_be)
{
	__atomic_store_n(&sq->fence, 16, __ATOMIC_RELAXED);
	r->key_be = key_be;
}

/* The target of a bind as the mkey's range and as a KLM; also stored for queries of the RMR. */
struct m5_target {
	m5_v2 range, klm;
};

M5_INLINE struct m5_target m5_bind_target(struct dap_rmr *rmr, uint64_t va, uint32_t len,
					  const uint32_t *lkey)
{
	struct m5_target t;
#if M5_SHUFFLE && !DAP_TSAN
	/* One store: the bits above a 32-bit length are zero until lkey is inserted. */
	__m128i words = _mm_insert_epi32(_mm_cvtsi64_si128((long long)va), (int)len, 2);

	_Static_assert(offsetof(struct dap_rmr, addr) % 16 == 0 &&
		       offsetof(struct dap_rmr, length) == offsetof(struct dap_rmr, addr) + 8,
		       "address and length are one piece");
	m5_compiler_barrier();
	*(m5_v2 *)&rmr->addr = (m5_v2)words;
	m5_compiler_barrier();
	words = _mm_insert_epi32(words, (int)*lkey, 3);
	t.range = (m5_v2)_mm_shuffle_epi8(words, m5_turn_range());
	t.klm = (m5_v2)_mm_shuffle_epi8(words, m5_turn_data());
#else
	rmr->addr = va;
	__atomic_store_n(&rmr->length, len, __ATOMIC_RELEASE);
	t.range = (m5_v2){ __builtin_bswap64(va), __builtin_bswap64(len) };
	t.klm = m5_data(len, *lkey, va);
#endif
	return t;
}

#define M5_BIND_HALVES (M5_BIND_BLOCKS * M5_HALVES)
#define M5_UNBIND_HALVES (M5_UNBIND_BLOCKS * M5_HALVES)

/* key: the key that the bind makes valid. */
M5_INLINE void m5_bind_build(m5_half w[M5_BIND_HALVES], m5_v2 ctrl, uint32_t key, size_t priv,
			     struct m5_target to)
{
	m5_half *h = m5_put_segments(w, ctrl, m5_umr_head(M5_BIND_MASK, M5_KLM_SLOTS));

	h = m5_put_zeros(h);
	h = m5_put_segments(h, m5_mkey_head(m5_access[priv], key), to.range);
	h = m5_put_segment_zeros(m5_put_zeros(h), to.klm);
	m5_put_zeros(h);
}

M5_INLINE void m5_unbind_build(m5_half w[M5_UNBIND_HALVES], m5_v2 ctrl, uint32_t key)
{
	m5_half *h = m5_put_segments(w, ctrl, m5_umr_head(M5_UNBIND_MASK, 0));

	h = m5_put_segment_zeros(m5_put_zeros(h), m5_mkey_head(M5_MKEY_HEAD(M5_SEG_FREE), key));
	m5_put_zeros(h);
}

/* Stores the blocks one by one, because the ring may end after each of them. */
M5_INLINE void m5_umr_store(const struct m5_sq *sq, const m5_half *w, uint32_t pi, uint32_t n)
{
	M5_UNROLL
	for (uint32_t i = 0; i < n; i++)
		m5_store_blocks(m5_sq_at(sq, pi + i), w + i * M5_HALVES, 1);
}

/* ---- Any bind: with flags, of another LMR than the last, across the ring's end ---- */

M5_INLINE m5_v2 m5_bind_write(struct m5_sq *sq, struct dap_rmr *rmr, const struct m5_range *to,
			      uint64_t cookie, unsigned int flags, uint32_t pi)
{
	struct m5_wqe_pos pos = { m5_slot_off(sq, pi), pi, pi + M5_BIND_BLOCKS };
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t key = r->key_be + r->stride_be;
	m5_v2 ctrl = m5_umr_ctrl(sq, r->key_be, 12, flags, pi);
	m5_half w[M5_BIND_HALVES];
	struct m5_target target;

	rmr->priv = to->priv;
	rmr->lmr = to->lmr;	/* before the length: dat_lmr_free() of another thread reads both */
	target = m5_bind_target(rmr, to->va, (uint32_t)to->len, &to->lmr->lmr_context);
	m5_bind_build(w, ctrl, __builtin_bswap32(key), to->priv, target);
	m5_bind_slots(sq, r, pos, cookie, flags, M5_KIND_BIND);
	r->last_index = (uint16_t)pi;
	m5_umr_posted(sq, r, key);
	m5_umr_store(sq, w, pi, M5_BIND_BLOCKS);
	return ctrl;
}

/* All variants are used: repeats the oldest one. The next bind also finds all of them used. */
M5_INLINE void m5_rmr_reuse_variant(struct m5_rmr *r, uint32_t key_be)
{
	r->last_key_be = key_be;
	r->first_key_be += r->stride_be;
	r->posted_before++;
}

M5_INLINE m5_v2 m5_unbind_write(struct m5_sq *sq, struct dap_rmr *rmr, uint64_t cookie,
				unsigned int flags, unsigned int kind, uint32_t pi)
{
	struct m5_wqe_pos pos = { m5_slot_off(sq, pi), pi, pi + M5_UNBIND_BLOCKS };
	struct m5_rmr *r = m5_rmr(rmr);
	uint32_t key = r->key_be + r->stride_be;
	m5_v2 ctrl = m5_umr_ctrl(sq, r->key_be, 8, flags, pi);
	m5_half w[M5_UNBIND_HALVES];

	m5_unbind_build(w, ctrl, __builtin_bswap32(key));
	m5_bind_slots(sq, r, pos, cookie, flags, kind);
	if (r->key_be == r->last_key_be)
		m5_rmr_reuse_variant(r, key);
	r->last_index = (uint16_t)pi;
	m5_umr_posted(sq, r, key);
	m5_umr_store(sq, w, pi, M5_UNBIND_BLOCKS);
	return ctrl;
}

/* For a range of two to four KLMs (m5_bind_range): overwrites the length and the list that m5_bind_write
 * wrote. */
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

/* For an RMR of one endpoint: only its QP may use the key. Overwrites fields from m5_bind_write. */
M5_INLINE void m5_bind_own(const struct m5_sq *sq, uint32_t qpn, uint32_t key_be, uint32_t pi)
{
	struct m5_umr_ctrl_seg *umr = (void *)(m5_sq_at(sq, pi) + sizeof(struct m5_ctrl_seg));
	struct m5_mkey_seg *mkey = (void *)m5_sq_at(sq, pi + 1);

	umr->mkey_mask = cpu_to_be64(M5_BIND_MASK | M5_MASK_QPN);
	mkey->qpn_key = cpu_to_be32(qpn << 8 | (__builtin_bswap32(key_be) & 0xff));
}

/*
 * A key rotation takes two WQEs for one request. Ring and CQ have room for one such unbind at a
 * time; meanwhile another RMR repeats the variants of 256 binds ago.
 */
M5_INLINE bool m5_may_rotate(struct dap_ep *ep)
{
	const struct m5_ep *e = m5_ep(ep);
	uint16_t used = (uint16_t)(e->sq.pi - __atomic_load_n(&e->done.sq_ci, __ATOMIC_ACQUIRE));

	return !m5_rotating(e, used) && m5_sq_fits(ep, M5_UNBIND_BLOCKS + M5_BIND_BLOCKS);
}

/* All variants of a key are used: invalidates the old context and continues with the next mkey. */
M5_INLINE void m5_bind_rotate(struct m5_ep *e, struct dap_rmr *rmr)
{
	m5_unbind_write(&e->sq, rmr, 0, 0, M5_KIND_BIND | M5_KIND_NOP, e->sq.pi);
	e->sq.pi += M5_UNBIND_BLOCKS;
	e->rotated = e->sq.pi;
	m5_rmr_next_mkey(rmr);
}

/* Gets credit and a variant for a bind. The caller owns the queue. */
M5_INLINE bool m5_bind_multi_begin(struct dap_ep *ep, struct dap_rmr *rmr)
{
	struct m5_rmr *r = m5_rmr(rmr);
	bool used_up = r->key_be == r->last_key_be;

	if (used_up && m5_may_rotate(ep)) {
		m5_bind_rotate(m5_ep(ep), rmr);
		return true;
	}
	if (!m5_sq_fits(ep, M5_BIND_BLOCKS))
		return false;
	if (used_up)
		m5_rmr_reuse_variant(r, r->key_be + r->stride_be);
	return true;
}

/* Posts a bind that needs a second WQE or several KLMs, with one doorbell. */
static M5_COLD int m5_bind_multi(struct dap_ep *ep, struct dap_rmr *rmr, const struct m5_range *to,
				 uint64_t cookie, unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint32_t start;
	m5_v2 ctrl;

	if (M5_LOCKED)
		m5_spin_lock(&sq->lock);
	start = sq->pi;
	if (!m5_bind_multi_begin(ep, rmr)) {
		m5_sq_end(sq);
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	}
	ctrl = m5_bind_write(sq, rmr, to, cookie, flags, sq->pi);
	if (to->len > M5_KLM_MAX)
		m5_klm_list(sq, to, sq->pi);
	if (to->zero_based)
		((m5_v2 *)m5_sq_at(sq, sq->pi + 1))[1][0] = 0;
	if (rmr->for_ep)
		m5_bind_own(sq, m5_ep(ep)->qp.qpn, m5_rmr(rmr)->key_be, sq->pi);
	DAP_PROBE4(bind, rmr, ep, cookie, 1);
	m5_ring(sq, start, sq->pi + M5_BIND_BLOCKS - start, ctrl);
	m5_sq_end(sq);
	return 0;
}

/* Checks triplet and rights of a bind against the LMR. */
M5_INLINE int m5_bind_range(const struct dap_rmr *rmr, const void *lmr,
			    const DAT_LMR_TRIPLET *triplet, unsigned int priv, struct m5_range *to)
{
	*to = (struct m5_range){ .va = front_lmr_va(triplet), .len = front_lmr_len(triplet),
				 .priv = priv };
	if (m5_unlikely(to->len > (uint64_t)M5_KLM_SLOTS * M5_KLM_MAX))
		return DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_TRIPLET);
	return front_bind_range(rmr, lmr, triplet, priv, &to->lmr);
}

/* The last bind used the same connection, so no further checks are needed. */
M5_INLINE bool m5_bind_simple(const struct m5_rmr *r, const struct dap_ep *ep)
{
	return m5_likely(ep == r->last_ep) &&
	       m5_likely(__atomic_load_n(&ep->connection, __ATOMIC_RELAXED) == r->connection);
}

M5_INLINE int m5_bind_to(struct dap_rmr *rmr, const struct m5_range *to, struct dap_ep *ep,
			 uint64_t cookie, unsigned int flags)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint32_t pi;
	m5_v2 ctrl;
	int err;

	if (m5_unlikely(r->key_be == r->last_key_be) || m5_unlikely(to->len > M5_KLM_MAX)) {
		err = m5_bind_multi(ep, rmr, to, cookie, flags);
		if (err)
			return err;
	} else {
		if (m5_unlikely(!m5_sq_begin(ep, M5_BIND_BLOCKS)))
			return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
		pi = sq->pi;
		ctrl = m5_bind_write(sq, rmr, to, cookie, flags, pi);
		DAP_PROBE4(bind, rmr, ep, cookie, 1);
		m5_ring(sq, pi, M5_BIND_BLOCKS, ctrl);
		m5_sq_end(sq);
	}
	m5_rmr_cache_lmr(r, to->lmr);
	__atomic_store_n(&rmr->length, to->len, __ATOMIC_RELEASE);
	return 0;
}

M5_INLINE int m5_unbind_slow(struct dap_rmr *rmr, struct dap_ep *ep, uint64_t cookie,
			     unsigned int flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	uint32_t pi;
	m5_v2 ctrl;

	if (m5_unlikely(!m5_sq_begin(ep, M5_UNBIND_BLOCKS)))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	pi = sq->pi;
	ctrl = m5_unbind_write(sq, rmr, cookie, flags, M5_KIND_BIND, pi);
	DAP_PROBE4(bind, rmr, ep, cookie, 0);
	m5_ring(sq, pi, M5_UNBIND_BLOCKS, ctrl);
	m5_sq_end(sq);
	__atomic_store_n(&rmr->length, 0, __ATOMIC_RELEASE);
	return 0;
}

/* Checks the arguments, then binds. lmr: handle of the LMR at level 2.0; NULL at 1.2, where the call
 * does not have one. */
M5_INLINE DAT_RETURN m5_bind_checked(struct dap_rmr *rmr, const void *lmr,
				     const DAT_LMR_TRIPLET *triplet, unsigned int priv,
				     struct dap_ep *ep, uint64_t cookie, unsigned int flags,
				     uint32_t *context)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_range to;
	int err = 0, unsettled = 0;

	if (m5_unlikely(!triplet))
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_TRIPLET));
	if (m5_unlikely(!context))
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_CONTEXT));
	if (m5_unlikely(!ep) || m5_unlikely(!m5_bind_simple(r, ep)))
		unsettled = m5_bind_check_ep(rmr, ep);
	if (m5_unlikely(unsettled > 0))
		return front_return(unsettled);
	if (m5_unlikely(flags & m5_ep(ep)->sq.deny_rdma & ~(uint32_t)DAP_COMP_BARRIER))
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_FLAGS));
	if (m5_unlikely(flags & DAP_COMP_SUPPRESS))
		err = m5_bind_reserve(ep);
	if (m5_unlikely(err))
		return front_return(err);
	if (m5_likely(front_lmr_len(triplet))) {
		err = m5_bind_range(rmr, lmr, triplet, priv, &to);
		if (m5_unlikely(err | unsettled)) {
			err = err ? err : m5_bind_settle(rmr, ep, M5_BIND_BLOCKS, M5_LOCKED);
			if (err)
				return front_return(err);
		}
		err = m5_bind_to(rmr, &to, ep, cookie, flags);
	} else {
		if (m5_unlikely(unsettled))
			err = m5_bind_settle(rmr, ep, M5_UNBIND_BLOCKS, M5_LOCKED);
		if (!err)
			err = m5_unbind_slow(rmr, ep, cookie, flags);
	}
	if (m5_unlikely(err))
		return front_return(err);
	r->last_ep = ep;
	r->last_gen = m5_ep(ep)->gen;
	m5_rmr_bind_conn(r, ep);
	*context = rmr->rmr_context = __builtin_bswap32(r->key_be);
	return DAT_SUCCESS;
}

/* ---- Without flags, with the same LMR and connection as the last bind ---- */

/* Stores the next key as the context (byte-swapped) for the consumer and for queries; returns
 * it. */
M5_INLINE uint32_t m5_bind_set_context(struct dap_rmr *rmr, uint32_t *context)
{
	const struct m5_rmr *r = m5_rmr(rmr);
	uint32_t next_be = r->key_be + r->stride_be;

	*context = rmr->rmr_context = __builtin_bswap32(next_be);
	return next_be;
}

/* The caller has checked the arguments, owns the queue, has credit, and has set the context. */
M5_INLINE DAT_RETURN m5_unbind_fast(struct dap_rmr *rmr, struct dap_ep *ep, uint64_t cookie,
				    uint32_t next_be)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_sq *sq = &m5_ep(ep)->sq;
	struct m5_wqe_pos pos = m5_wqe_pos(sq, M5_UNBIND_BLOCKS);
	m5_half w[M5_UNBIND_HALVES];
	m5_v2 ctrl;

	r->last_index = (uint16_t)pos.pi;
	m5_bind_slots(sq, r, pos, cookie, 0, M5_KIND_BIND);
	DAP_PROBE4(bind, rmr, ep, cookie, 0);
	__atomic_store_n(&rmr->length, 0, __ATOMIC_RELEASE);
	ctrl = m5_umr_plain(sq, r->key_be, false, m5_ctrl_index(pos.pi));
	m5_unbind_build(w, ctrl, rmr->rmr_context);
	m5_umr_posted(sq, r, next_be);
	return m5_post_at(sq, pos, ctrl, w, M5_UNBIND_BLOCKS);
}

M5_INLINE DAT_RETURN m5_bind_fast(struct dap_rmr *rmr, const DAT_LMR_TRIPLET *triplet,
				  unsigned int priv, struct dap_ep *ep, uint64_t cookie,
				  uint32_t next_be)
{
	struct m5_rmr *r = m5_rmr(rmr);
	struct m5_sq *sq = &m5_ep(ep)->sq;
	m5_half w[M5_BIND_HALVES];
	struct m5_target to;
	struct m5_wqe_pos pos;
	m5_v2 ctrl;

	to = m5_bind_target(rmr, front_lmr_va(triplet), (uint32_t)front_lmr_len(triplet), &r->lkey);
	rmr->priv = priv;
	m5_compiler_barrier();
	pos = m5_wqe_pos(sq, M5_BIND_BLOCKS);
	r->last_index = (uint16_t)pos.pi;
	m5_bind_slots(sq, r, pos, cookie, 0, M5_KIND_BIND);
	DAP_PROBE4(bind, rmr, ep, cookie, 1);
	ctrl = m5_umr_plain(sq, r->key_be, true, m5_ctrl_index(pos.pi));
	m5_bind_build(w, ctrl, rmr->rmr_context, priv, to);
	m5_umr_posted(sq, r, next_be);
	return m5_post_at(sq, pos, ctrl, w, M5_BIND_BLOCKS);
}

/* The comparison starts from the room behind the range, which needs one register less. */
M5_INLINE bool m5_bind_within(const struct m5_rmr *r, const DAT_LMR_TRIPLET *triplet)
{
	uint64_t room = r->length - front_lmr_len(triplet);

	m5_compiler_barrier();
	return m5_likely(front_lmr_va(triplet) - r->addr <= room);
}

/* The bind is within the LMR of the last bind. */
M5_INLINE bool m5_bind_known(const struct m5_rmr *r, const void *lmr,
			     const DAT_LMR_TRIPLET *triplet, unsigned int priv)
{
	return m5_likely(front_lmr_key(triplet) == r->lkey) && m5_bind_within(r, triplet) &&
	       m5_likely(!(priv & r->deny)) && m5_likely(front_is_lmr(r->lmr, lmr));
}
