/* SPDX-License-Identifier: BSD-2-Clause */
/* Redirection: Memory Regions and Shared Receive Queue. */
#include "core/libdat/redirect.h"

DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle, DAT_MEM_TYPE mem_type,
			DAT_REGION_DESCRIPTION region_description, DAT_VLEN length,
			DAT_PZ_HANDLE pz_handle, DAT_MEM_PRIV_FLAGS mem_privileges,
			DAT_LMR_HANDLE *lmr_handle, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_size,
			DAT_VADDR *registered_address)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->lmr_create_func(ia_handle, mem_type, region_description,
			length, pz_handle, mem_privileges, lmr_handle, lmr_context, rmr_context,
			registered_size, registered_address);
}

DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle, DAT_LMR_PARAM_MASK lmr_param_mask,
			DAT_LMR_PARAM *lmr_param)
{
	if (unlikely(!lmr_handle))
		return null_handle(DAT_INVALID_HANDLE_LMR);
	return table_of(lmr_handle)->lmr_query_func(lmr_handle, lmr_param_mask, lmr_param);
}

DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
			const DAT_LMR_TRIPLET *local_segments, DAT_VLEN num_segments)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->lmr_sync_rdma_read_func(ia_handle, local_segments,
			num_segments);
}

DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
			const DAT_LMR_TRIPLET *local_segments, DAT_VLEN num_segments)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->lmr_sync_rdma_write_func(ia_handle, local_segments,
			num_segments);
}

DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle)
{
	if (unlikely(!lmr_handle))
		return null_handle(DAT_INVALID_HANDLE_LMR);
	return table_of(lmr_handle)->lmr_free_func(lmr_handle);
}

DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle)
{
	if (unlikely(!pz_handle))
		return null_handle(DAT_INVALID_HANDLE_PZ);
	return table_of(pz_handle)->rmr_create_func(pz_handle, rmr_handle);
}

DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle, DAT_RMR_PARAM_MASK rmr_param_mask,
			DAT_RMR_PARAM *rmr_param)
{
	if (unlikely(!rmr_handle))
		return null_handle(DAT_INVALID_HANDLE_RMR);
	return table_of(rmr_handle)->rmr_query_func(rmr_handle, rmr_param_mask, rmr_param);
}

DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle, const DAT_LMR_TRIPLET *lmr_triplet,
			DAT_MEM_PRIV_FLAGS mem_privileges, DAT_EP_HANDLE ep_handle,
			DAT_RMR_COOKIE user_cookie, DAT_COMPLETION_FLAGS completion_flags,
			DAT_RMR_CONTEXT *rmr_context)
{
	if (unlikely(!rmr_handle))
		return null_handle(DAT_INVALID_HANDLE_RMR);
	return table_of(rmr_handle)->rmr_bind_func(rmr_handle, lmr_triplet, mem_privileges,
			ep_handle, user_cookie, completion_flags, rmr_context);
}

DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle)
{
	if (unlikely(!rmr_handle))
		return null_handle(DAT_INVALID_HANDLE_RMR);
	return table_of(rmr_handle)->rmr_free_func(rmr_handle);
}

DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			DAT_SRQ_ATTR *srq_attr, DAT_SRQ_HANDLE *srq_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->srq_create_func(ia_handle, pz_handle, srq_attr, srq_handle);
}

DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle, DAT_SRQ_PARAM_MASK srq_param_mask,
			DAT_SRQ_PARAM *srq_param)
{
	if (unlikely(!srq_handle))
		return null_handle(DAT_INVALID_HANDLE_SRQ);
	return table_of(srq_handle)->srq_query_func(srq_handle, srq_param_mask, srq_param);
}

DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle, DAT_COUNT num_segments,
			DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie)
{
	if (unlikely(!srq_handle))
		return null_handle(DAT_INVALID_HANDLE_SRQ);
	return table_of(srq_handle)->srq_post_recv_func(srq_handle, num_segments, local_iov,
			user_cookie);
}

DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT srq_max_recv_dto)
{
	if (unlikely(!srq_handle))
		return null_handle(DAT_INVALID_HANDLE_SRQ);
	return table_of(srq_handle)->srq_resize_func(srq_handle, srq_max_recv_dto);
}

DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark)
{
	if (unlikely(!srq_handle))
		return null_handle(DAT_INVALID_HANDLE_SRQ);
	return table_of(srq_handle)->srq_set_lw_func(srq_handle, low_watermark);
}

DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle)
{
	if (unlikely(!srq_handle))
		return null_handle(DAT_INVALID_HANDLE_SRQ);
	return table_of(srq_handle)->srq_free_func(srq_handle);
}
