/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting a bind. Compiled for each API level. */
#include "hw_efa/hot/common.inl"

/* A bind is at least one command to the device, so no part of this is fast. */
static EFA_COLD DAT_RETURN efa_bind_any(struct dap_rmr *rmr, const void *handle,
					const DAT_LMR_TRIPLET *t, unsigned int priv, void *ep,
					uint64_t cookie, unsigned int flags, uint32_t *context)
{
	const unsigned int allow = DAP_COMP_SUPPRESS | DAP_COMP_UNSIGNALLED | DAP_COMP_BARRIER;
	struct dap_ep *e = dap_obj_get(ep, DAP_EP, rmr->obj.ia);
	struct dap_lmr *lmr = NULL;
	int err = 0;

	if (!t)
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_TRIPLET));
	if (!context)
		return front_return(DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_CONTEXT));
	if (!e)
		return front_return(DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP));
	if (flags & ~allow || (flags & DAP_COMP_UNSIGNALLED &&
			       !(e->attr.request_completion_flags & DAP_COMP_UNSIGNALLED)))
		err = DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_FLAGS);
	if (!err && front_lmr_len(t))
		err = front_bind_range(rmr, handle, t, priv, &lmr);
	if (!err)
		err = efa_bind(rmr, e, lmr, front_lmr_va(t), front_lmr_len(t), priv, cookie, flags,
			       context);
	return efa_return(err);
}

#ifdef DAP_DAT20

EFA_COLD DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE lmr,
				 const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv,
				 DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	if (va_type != DAT_VA_TYPE_VA)	/* attribute zb_supported */
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	return efa_bind_any(rmr, lmr, triplet, priv, ep, cookie.as_64, flags, context);
}

#else

EFA_COLD DAT_RETURN efa_hot_bind(DAT_RMR_HANDLE rmr, const DAT_LMR_TRIPLET *triplet,
				 DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep, DAT_RMR_COOKIE cookie,
				 DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	return efa_bind_any(rmr, NULL, triplet, priv, ep, cookie.as_64, flags, context);
}

#endif
