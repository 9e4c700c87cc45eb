/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting a receive: into memory of software's own. Compiled for each API level. */
#include "hw_efa/calls.h"
#include "hw_efa/hot/common.inl"
#include "hw_efa/rq.h"

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

static EFA_COLD DAT_RETURN efa_recv_any(struct dap_ep *ep, int n, const DAT_LMR_TRIPLET *iov,
					uint64_t cookie, unsigned int flags)
{
	struct efa_engine *eng = efa_ia(ep->obj.ia)->eng;
	int err = efa_recv_check(&efa_ep(ep)->rx, n, iov, flags);
	struct efa_iov seg[EFA_MAX_IOV];
	uint64_t room = 0;
	unsigned int used = 0;

	if (err)
		return efa_return(err);
	for (int i = 0; i < n; i++) {
		if (!front_lmr_len(&iov[i]))
			continue;
		seg[used++] =
			(struct efa_iov){ front_lmr_va(&iov[i]), (uint32_t)front_lmr_len(&iov[i]),
					 front_lmr_key(&iov[i]) };
		room += front_lmr_len(&iov[i]);
	}
	if (room > UINT32_MAX)
		room = UINT32_MAX;
	do {
		efa_enter(eng);
		err = efa_recv_post(ep, used, seg, cookie, flags, (uint32_t)room);
		efa_leave(eng);
	} while (err && dap_ep_reap(ep, true));
	return efa_return(err);
}

/* Into memory of software's own: no doorbell. */
DAT_RETURN efa_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
		    DAT_COMPLETION_FLAGS flags)
{
	struct efa_ep *e = efa_ep((struct dap_ep *)ep);
	struct efa_rx *rx = &e->rx;
	const struct dap_lmr *lmr;
	struct efa_recv *r;

	if (efa_unlikely(n != 1) || efa_unlikely(!iov) || efa_unlikely(flags & rx->deny) ||
	    efa_unlikely(front_lmr_len(iov) - 8 >= INT32_MAX - 7) || !efa_come(e->tx.eng))
		return efa_recv_any(ep, n, iov, cookie.as_64, flags);
	lmr = rx->lmr;
	if (efa_unlikely(rx->posted == rx->free_at) || efa_unlikely(rx->stalled) ||
	    efa_unlikely(e->tx.blocked & EFA_B_ERROR) ||
	    efa_unlikely(lmr->lmr_context != front_lmr_key(iov)) ||
	    efa_unlikely(!efa_inside(lmr, front_lmr_va(iov), front_lmr_len(iov)))) {
		efa_go(e->tx.eng);
		return efa_recv_any(ep, n, iov, cookie.as_64, flags);
	}
	EFA_ANEW();
	r = &rx->recv[rx->posted & rx->recv_mask];
	r->cookie = cookie.as_64;
	r->room = (uint32_t)front_lmr_len(iov);
	r->info = EFA_R_PLAIN | flags << 8;
	r->lmr = lmr;
	r->seg[0] = (struct efa_iov){ front_lmr_va(iov), (uint32_t)front_lmr_len(iov),
				     front_lmr_key(iov) };
	rx->posted++;
	efa_go(e->tx.eng);
	return DAT_SUCCESS;
}
