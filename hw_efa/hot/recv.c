/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts a receive, which only the driver uses (rx.c). Compiled for each API level. */
#include "hw_efa/hot/common.inl"

EFA_INLINE int efa_recv_check(const struct efa_rx *rx, int n, const DAT_LMR_TRIPLET *iov,
			      unsigned int flags)
{
	if (flags & rx->deny)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG5);
	if ((unsigned int)n > rx->max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (int i = 0; i < n; i++)
		if (front_lmr_len(&iov[i]) > INT32_MAX)
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	return 0;
}

EFA_INLINE int efa_recv_put(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov, uint64_t cookie,
			    unsigned int flags)
{
	struct efa_rx *rx = &efa_ep(ep)->rx;
	struct efa_recv *r = &rx->recv[rx->posted & rx->recv_mask];
	uint64_t room = 0;

	if (efa_unlikely(rx->posted == efa_ep(ep)->free_at[EFA_RECEIVES]))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	r->nseg = 0;
	for (int i = 0; i < n; i++) {
		uint32_t len = (uint32_t)front_lmr_len(&iov[i]);

		if (!len)
			continue;
		r->seg[r->nseg++] = (struct efa_iov){ front_lmr_va(&iov[i]), len,
						     front_lmr_key(&iov[i]) };
		room += len;
	}
	r->room = room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
	r->cookie = cookie;
	r->state = EFA_R_POSTED;
	r->status = 0;
	r->flags = (uint8_t)flags;
	r->lmr = r->nseg == 1 && !flags && efa_writable(ep, &r->seg[0]) ? rx->lmr : NULL;
	rx->posted++;
	return 0;
}

DAT_RETURN efa_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
		    DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = handle;
	struct efa_ep *e = efa_ep(ep);
	int err = efa_recv_check(&e->rx, n, iov, flags);

	if (efa_unlikely(err))
		return efa_return(err);
	do {
		efa_enter(e->tx.eng);
		err = efa_recv_put(ep, n, iov, cookie.as_64, flags);
		if (efa_unlikely(e->rx.stalled || e->tx.blocked & EFA_B_ERROR))
			efa_rx_resume(ep);
		efa_leave(e->tx.eng);
	} while (efa_unlikely(err) && dap_ep_reap(ep, true));
	return efa_return(err);
}
