/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What 2.0 posts beyond 1.2: sends that end a context of the peer's, and what the InfiniBand extension
 * has, writes with immediate data and atomics. Comes after post_any.inl. The completions of the
 * extension are events of another kind, so that their slots send the poller to the rare path.
 */

M5_INLINE M5_RET m5_post_send_inval(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
				    unsigned int flags, uint32_t context, bool locked)
{
	const struct m5_work w = { .op = M5_OP_SEND_INVAL, .imm = context };

	return m5_post_work(ep, w, n, iov, cookie, NULL, flags, locked);
}

M5_INLINE M5_RET m5_post_write_imm(struct dap_ep *ep, int n, const M5_LMR *iov, uint64_t cookie,
				   const M5_RMR *to, uint32_t imm, unsigned int flags,
				   bool locked)
{
	const struct m5_work w = { .op = M5_OP_RDMA_WRITE_IMM, .imm = imm, .kind = M5_KIND_EXT };

	return m5_post_work(ep, w, n, iov, cookie, to, flags, locked);
}

/* IBTA 9.4.5: eight bytes, aligned at the peer; what was there before comes back. */
M5_INLINE int m5_atomic_check(const struct m5_sq *sq, const M5_LMR *result, const M5_RMR *at,
			      unsigned int flags)
{
	if (!result || m5_lmr_len(result) < 8)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (!at || m5_rmr_len(at) < 8 || m5_rmr_va(at) & 7)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if (flags & sq->deny_rdma & ~(uint32_t)DAP_COMP_BARRIER)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG6);
	return 0;
}

/* Fetch and add, or compare and swap: with operand, if the value there is compare. */
M5_INLINE M5_RET m5_post_atomic(struct dap_ep *ep, bool swap, uint64_t operand, uint64_t compare,
				const M5_LMR *result, uint64_t cookie, const M5_RMR *remote,
				unsigned int flags, bool locked)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	int err = m5_atomic_check(sq, result, remote, flags);
	struct m5_slot *slot;
	struct m5_spot at;
	uint8_t fm;
	m5_v2 ctrl, values;

	if (err)
		return m5_fail(err);
	if (!m5_sq_begin(ep, 1, locked))
		return m5_fail(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	at = m5_spot(sq, 1);
	slot = m5_slot_set(sq, at.pi, cookie, 8, at.end, 0, flags);
	fm = m5_signal(sq, flags, slot);
	slot->kind |= M5_KIND_EXT;
	ctrl = m5_ctrl(sq, at.pi, swap ? M5_OP_ATOMIC_CS : M5_OP_ATOMIC_FA, 4, fm, 0);
	values = (m5_v2){ __builtin_bswap64(operand), __builtin_bswap64(swap ? compare : 0) };
	return m5_post_block(sq, at, M5_OP_ATOMIC_CS, ctrl, m5_raddr_of(M5_OP_ATOMIC_CS, remote),
			     values, m5_data(8, m5_lmr_key(result), m5_lmr_va(result)), locked);
}
