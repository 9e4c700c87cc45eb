/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks the range of a bind, for all backends. */
#include "core/front/triplet.h"

int front_bind_range(const struct dap_rmr *rmr, const void *handle, const DAT_LMR_TRIPLET *triplet,
		     unsigned int priv, struct dap_lmr **found)
{
	struct dap_lmr *lmr = dap_lmr_find(rmr->obj.ia, front_lmr_key(triplet));
	uint64_t va = front_lmr_va(triplet), len = front_lmr_len(triplet);
	unsigned int lacks;

	if (!lmr || lmr->pz != rmr->pz || len > lmr->length || va - lmr->addr > lmr->length - len)
		return DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_TRIPLET);
	if (!front_is_lmr(lmr, handle))
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_LMR);
	if (priv & ~(unsigned int)DAP_PRIV_ALL)
		return DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_PRIV);
	lacks = front_local_rights(priv) & ~lmr->priv;
	if (lacks)
		return DAP_ERR(DAP_PRIVILEGES_VIOLATION, lacks & DAP_PRIV_LOCAL_READ ?
			       DAP_SUB_PRIV_READ : DAP_SUB_PRIV_WRITE);
	*found = lmr;
	return 0;
}
