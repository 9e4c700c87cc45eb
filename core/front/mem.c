/* SPDX-License-Identifier: BSD-2-Clause */
/* Fronts of Protection Zones, Local and Remote Memory Regions. */
#include "core/api.h"
#include "core/front/slots.h"
#include "core/mem/lmr.h"
#include "core/mem/shared.h"

_Static_assert(DAP_PRIV_ALL == (int)DAT_MEM_PRIV_ALL_FLAG &&
	       DAP_PRIV_REMOTE_WRITE == (int)DAT_MEM_PRIV_REMOTE_WRITE_FLAG, "rights are DAT's");
_Static_assert(DAP_COOKIE_SIZE == DAT_LMR_COOKIE_SIZE, "a cookie is DAT's");
_Static_assert(DAP_MEM_LMR == (int)DAT_MEM_TYPE_LMR &&
	       DAP_MEM_SHARED_VIRTUAL == (int)DAT_MEM_TYPE_SHARED_VIRTUAL, "types are DAT's");

DAT_RETURN front_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_pz *pz;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!out)
		return front_bad_arg(2);
	err = dap_pz_create(ia, &pz);
	if (!err)
		*out = pz;
	return front_return(err);
}

DAT_RETURN front_pz_query(DAT_PZ_HANDLE handle, DAT_PZ_PARAM_MASK mask, DAT_PZ_PARAM *param)
{
	const struct dap_pz *pz = dap_obj_get(handle, DAP_PZ, NULL);

	if (!pz)
		return front_bad_handle(DAP_SUB_HANDLE_PZ);
	if (mask & ~(uint32_t)DAT_PZ_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	param->ia_handle = front_ia_handle(pz->obj.ia);
	return DAT_SUCCESS;
}

DAT_RETURN front_pz_free(DAT_PZ_HANDLE handle)
{
	struct dap_pz *pz = dap_obj_get(handle, DAP_PZ, NULL);

	if (!pz)
		return front_bad_handle(DAP_SUB_HANDLE_PZ);
	return front_return(dap_pz_free(pz));
}

/* For some types region is an LMR handle, which must be valid. */
static int read_region(const struct dap_ia *ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
		       struct dap_lmr_args *args)
{
	switch (type) {
	case DAT_MEM_TYPE_VIRTUAL:
		args->region = region.for_va;
		break;
	case DAT_MEM_TYPE_LMR:
		args->region = dap_obj_get(region.for_lmr_handle, DAP_LMR, ia);
		if (!args->region)
			return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_LMR);
		break;
	case DAT_MEM_TYPE_SHARED_VIRTUAL:
		args->region = region.for_shared_memory.virtual_address;
		args->cookie = region.for_shared_memory.shared_memory_id;
		if (!args->cookie)
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
		break;
	default:
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	}
	args->mem_type = (enum dap_mem_type)type;
	return 0;
}

static void report(const struct dap_lmr *lmr, DAT_LMR_CONTEXT *lmr_context,
		   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *reg_size, DAT_VADDR *reg_addr)
{
	if (lmr_context)
		*lmr_context = lmr->lmr_context;
	if (rmr_context)
		*rmr_context = lmr->rmr_context;
	if (reg_size)
		*reg_size = lmr->reg_size;
	if (reg_addr)
		*reg_addr = lmr->reg_addr;
}

#ifdef DAP_DAT20
#define ALL_RIGHTS (DAP_PRIV_ALL | DAP_PRIV_REMOTE_ATOMIC)	/* atomic: dat_ib_extensions.h */
#define NTH_OUT 8
#else
#define ALL_RIGHTS DAP_PRIV_ALL
#define NTH_OUT 7
#endif

static DAT_RETURN create_lmr(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			     DAT_REGION_DESCRIPTION region, DAT_VLEN length, DAT_PZ_HANDLE pz,
			     DAT_MEM_PRIV_FLAGS priv, bool zero_based, DAT_LMR_HANDLE *out,
			     struct dap_lmr **lmr)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_lmr_args args = {.length = length, .priv = priv, .zero_based = zero_based};
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	/* dapltest -T F expects this error from 2.0; the 1.2 pages do not have it. */
	if (DAP_API == DAP_API_20 && mem_type == DAT_MEM_TYPE_VIRTUAL && !length)
		return front_return(DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE));
	err = read_region(ia, mem_type, region, &args);
	if (err)
		return front_return(err);
	args.pz = dap_obj_get(pz, DAP_PZ, ia);
	if (!args.pz)
		return front_bad_handle(DAP_SUB_HANDLE_PZ);
	if (priv & ~(uint32_t)ALL_RIGHTS)
		return front_bad_arg(6);
	if (!out)
		return front_bad_arg(NTH_OUT);
	if (zero_based && !ia->caps.zero_based)	/* attribute zb_supported */
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	err = dap_lmr_create(ia, &args, lmr);
	if (err)
		return front_return(err);
	*out = *lmr;
	return DAT_SUCCESS;
}

#ifdef DAP_DAT20

DAT_RETURN front_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region,
			    DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			    DAT_VA_TYPE va_type, DAT_LMR_HANDLE *out, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *reg_size, DAT_VADDR *reg_addr)
{
	struct dap_lmr *lmr;
	DAT_RETURN ret;

	if (va_type != DAT_VA_TYPE_VA && va_type != DAT_VA_TYPE_ZB)
		return front_bad_arg(7);
	ret = create_lmr(ia, mem_type, region, length, pz, priv, va_type == DAT_VA_TYPE_ZB, out, &lmr);
	if (ret == DAT_SUCCESS)
		report(lmr, lmr_context, rmr_context, reg_size, reg_addr);
	return ret;
}

#else

DAT_RETURN front_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE mem_type, DAT_REGION_DESCRIPTION region,
			    DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS priv,
			    DAT_LMR_HANDLE *out, DAT_LMR_CONTEXT *lmr_context,
			    DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *reg_size, DAT_VADDR *reg_addr)
{
	struct dap_lmr *lmr;
	DAT_RETURN ret = create_lmr(ia, mem_type, region, length, pz, priv, false, out, &lmr);

	if (ret == DAT_SUCCESS)
		report(lmr, lmr_context, rmr_context, reg_size, reg_addr);
	return ret;
}

#endif

DAT_RETURN front_lmr_query(DAT_LMR_HANDLE handle, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param)
{
	struct dap_lmr *lmr = dap_obj_get(handle, DAP_LMR, NULL);
	struct core_lmr *own = core_lmr(lmr);

	if (!lmr)
		return front_bad_handle(DAP_SUB_HANDLE_LMR);
	if (mask & ~(uint32_t)DAT_LMR_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	*param = (DAT_LMR_PARAM){
		.ia_handle = front_ia_handle(lmr->obj.ia), .mem_type = (DAT_MEM_TYPE)own->mem_type,
		.region_desc.for_va = own->region, .length = lmr->length, .pz_handle = lmr->pz,
		.mem_priv = lmr->priv, .lmr_context = lmr->lmr_context,
		.rmr_context = lmr->rmr_context, .registered_size = lmr->reg_size,
		.registered_address = lmr->reg_addr};
#ifdef DAP_DAT20
	param->va_type = lmr->zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA;
#endif
	if (own->mem_type == DAP_MEM_SHARED_VIRTUAL)
		param->region_desc.for_shared_memory.shared_memory_id = &own->cookie;
	return DAT_SUCCESS;
}

DAT_RETURN front_lmr_free(DAT_LMR_HANDLE handle)
{
	struct dap_lmr *lmr = dap_obj_get(handle, DAP_LMR, NULL);

	if (!lmr)
		return front_bad_handle(DAP_SUB_HANDLE_LMR);
	return front_return(dap_lmr_free(lmr));
}

/* Memory is coherent with the adapter, so only the arguments are checked. */
static DAT_RETURN sync_segments(DAT_IA_HANDLE ia_handle, const DAT_LMR_TRIPLET *iov, DAT_VLEN n)
{
	const struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (n && !iov)
		return front_bad_arg(2);
	for (DAT_VLEN i = 0; i < n; i++) {
		if (iov[i].segment_length &&
		    dap_lmr_check(ia, NULL, iov[i].lmr_context, iov[i].virtual_address,
				  iov[i].segment_length, 0))
			return front_bad_arg(2);
	}
	return DAT_SUCCESS;
}

DAT_RETURN front_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *iov, DAT_VLEN n)
{
	return sync_segments(ia, iov, n);
}

DAT_RETURN front_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *iov, DAT_VLEN n)
{
	return sync_segments(ia, iov, n);
}

static DAT_RETURN make_rmr(DAT_PZ_HANDLE handle, bool for_ep, DAT_RMR_HANDLE *out)
{
	struct dap_pz *pz = dap_obj_get(handle, DAP_PZ, NULL);
	struct dap_rmr *rmr;
	int err;

	if (!pz)
		return front_bad_handle(DAP_SUB_HANDLE_PZ);
	if (!out)
		return front_bad_arg(2);
	if (for_ep && !pz->obj.ia->caps.rmr_for_ep)	/* attribute rmr_scope_supported */
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	err = dap_rmr_create(pz, for_ep, &rmr);
	if (!err)
		*out = rmr;
	return front_return(err);
}

DAT_RETURN front_rmr_create(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return make_rmr(pz, false, rmr);
}

#ifdef DAP_DAT20
DAT_RETURN front_rmr_create_for_ep(DAT_PZ_HANDLE pz, DAT_RMR_HANDLE *rmr)
{
	return make_rmr(pz, true, rmr);
}
#endif

DAT_RETURN front_rmr_query(DAT_RMR_HANDLE handle, DAT_RMR_PARAM_MASK mask, DAT_RMR_PARAM *param)
{
	const struct dap_rmr *rmr = dap_obj_get(handle, DAP_RMR, NULL);

	if (!rmr)
		return front_bad_handle(DAP_SUB_HANDLE_RMR);
	if (mask & ~(uint32_t)DAT_RMR_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	*param = (DAT_RMR_PARAM){.ia_handle = front_ia_handle(rmr->obj.ia), .pz_handle = rmr->pz};
#ifdef DAP_DAT20
	param->rmr_scope = rmr->for_ep ? DAT_RMR_SCOPE_EP : DAT_RMR_SCOPE_PZ;
#endif
	if (!dap_rmr_is_bound(rmr))
		return DAT_SUCCESS;
	param->lmr_triplet = (DAT_LMR_TRIPLET){.lmr_context = rmr->lmr->lmr_context,
					       .virtual_address = rmr->addr,
					       .segment_length = front_length(rmr->length)};
	param->mem_priv = rmr->priv;
	param->rmr_context = rmr->rmr_context;
#ifdef DAP_DAT20
	param->va_type = rmr->zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA;
#endif
	return DAT_SUCCESS;
}

DAT_RETURN front_rmr_free(DAT_RMR_HANDLE handle)
{
	struct dap_rmr *rmr = dap_obj_get(handle, DAP_RMR, NULL);

	if (!rmr)
		return front_bad_handle(DAP_SUB_HANDLE_RMR);
	dap_rmr_free(rmr);
	return DAT_SUCCESS;
}
