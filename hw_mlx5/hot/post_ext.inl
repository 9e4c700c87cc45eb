/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posts that 2.0 has beyond 1.2: sends that invalidate a context of the peer, and, from the
 * InfiniBand extension, writes with immediate data and atomics. Completions of the extension are
 * other events, so their slots lead the poller to the slow path.
 */

static DAT_RETURN m5_send_inval(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
				DAT_RMR_CONTEXT context)
{
	const struct m5_work w = { .op = M5_OP_SEND_INVAL, .imm = context };

	return m5_post_work(ep, w, n, iov, cookie.as_64, NULL, flags);
}

static DAT_RETURN m5_write_imm(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *to, DAT_UINT32 imm,
			       DAT_COMPLETION_FLAGS flags)
{
	const struct m5_work w = { .op = M5_OP_RDMA_WRITE_IMM, .imm = imm, .kind = M5_KIND_EXT };

	return m5_post_work(ep, w, n, iov, cookie.as_64, to, flags);
}

/* IBTA 9.4.5: eight bytes, aligned at the peer; the old value is returned. */
M5_INLINE int m5_atomic_check(const struct m5_sq *sq, const DAT_LMR_TRIPLET *result,
			      const DAT_RMR_TRIPLET *at, unsigned int flags)
{
	if (!result || front_lmr_len(result) < 8)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	if (!at || front_rmr_len(at) < 8 || front_rmr_va(at) & 7)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if (flags & sq->deny_rdma & ~(uint32_t)DAP_COMP_BARRIER)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG6);
	return 0;
}

/* Fetch and add, or compare and swap: stores operand if the value is compare. */
static DAT_RETURN m5_atomic(DAT_EP_HANDLE ep, bool swap, DAT_UINT64 operand, DAT_UINT64 compare,
			    DAT_LMR_TRIPLET *result, DAT_DTO_COOKIE cookie,
			    const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	int err = m5_atomic_check(sq, result, remote, flags);
	struct m5_slot *slot;
	struct m5_wqe_pos pos;
	uint8_t fm;
	m5_v2 ctrl, values;

	if (err)
		return front_return(err);
	if (!m5_sq_begin(ep, 1))
		return front_return(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP));
	m5_probe_post(sq, M5_OP_ATOMIC_FA, 8, cookie.as_64);	/* a constant: see core/probe.h */
	pos = m5_wqe_pos(sq, 1);
	slot = m5_slot_set(sq, pos.pi, cookie.as_64, 8, pos.end, flags);
	fm = m5_signal(sq, flags, slot);
	slot->kind |= M5_KIND_EXT;
	ctrl = m5_ctrl(sq, pos.pi, swap ? M5_OP_ATOMIC_CS : M5_OP_ATOMIC_FA, 4, fm, 0);
	values = (m5_v2){ __builtin_bswap64(operand), __builtin_bswap64(swap ? compare : 0) };
	return m5_post_block(sq, pos, M5_OP_ATOMIC_CS, ctrl, m5_raddr_of(M5_OP_ATOMIC_CS, remote),
			     values, m5_data(8, front_lmr_key(result), front_lmr_va(result)));
}
