/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection Zones. */
#include "core/api.h"
#include "core/hw.h"
#include "core/obj.h"

int dap_pz_create(struct dap_ia *ia, struct dap_pz **out)
{
	struct dap_pz *pz = dap_obj_alloc(DAP_PZ, ia);
	int err;

	if (!pz)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY);
	err = ia->hw->pz_create(pz);
	if (err) {
		dap_obj_free(pz);
		return dap_err_from_errno(err);
	}
	*out = pz;
	return 0;
}

int dap_pz_free(struct dap_pz *pz)
{
	if (__atomic_load_n(&pz->refs, __ATOMIC_ACQUIRE))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_PZ_IN_USE);
	pz->obj.ia->hw->pz_destroy(pz);
	dap_obj_free(pz);
	return 0;
}

void dap_pz_hold(struct dap_pz *pz)
{
	__atomic_add_fetch(&pz->refs, 1, __ATOMIC_RELAXED);
}

void dap_pz_drop(struct dap_pz *pz)
{
	uint32_t before = __atomic_fetch_sub(&pz->refs, 1, __ATOMIC_RELEASE);

	dap_invariant(&pz->obj, before > 0);
}
