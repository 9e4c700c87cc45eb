/* SPDX-License-Identifier: BSD-2-Clause */
/* Remote Memory Regions: create and free. Backends bind them. */
#include "core/api.h"
#include "core/hw.h"
#include "core/obj.h"

int dap_rmr_create(struct dap_pz *pz, bool for_ep, struct dap_rmr **out)
{
	struct dap_ia *ia = pz->obj.ia;
	struct dap_rmr *rmr = dap_obj_alloc(DAP_RMR, ia);
	int err;

	if (!rmr)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	rmr->pz = pz;
	rmr->for_ep = for_ep;
	err = ia->hw->rmr_create ? ia->hw->rmr_create(rmr) : 0;
	if (err) {
		dap_obj_free(rmr);
		return dap_err_from_errno(err);
	}
	dap_pz_hold(pz);
	dap_obj_set_table(&rmr->obj, DAP_TABLE_RMR_LIVE);
	*out = rmr;
	return 0;
}

void dap_rmr_free(struct dap_rmr *rmr)
{
	int err = rmr->obj.ia->hw->rmr_destroy(rmr);

	if (err)
		dap_access_kept(&rmr->obj, err);
	dap_pz_drop(rmr->pz);
	dap_obj_free(rmr);
}
