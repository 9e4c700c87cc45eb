/* SPDX-License-Identifier: BSD-2-Clause */
/* Redirection: Endpoint. */
#include "core/libdat/redirect.h"

DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			DAT_EVD_HANDLE connect_evd_handle, const DAT_EP_ATTR *ep_attributes,
			DAT_EP_HANDLE *ep_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->ep_create_func(ia_handle, pz_handle, recv_evd_handle,
			request_evd_handle, connect_evd_handle, ep_attributes, ep_handle);
}

DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz_handle,
			DAT_EVD_HANDLE recv_evd_handle, DAT_EVD_HANDLE request_evd_handle,
			DAT_EVD_HANDLE connect_evd_handle, DAT_SRQ_HANDLE srq_handle,
			const DAT_EP_ATTR *ep_attributes, DAT_EP_HANDLE *ep_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->ep_create_with_srq_func(ia_handle, pz_handle,
			recv_evd_handle, request_evd_handle, connect_evd_handle, srq_handle,
			ep_attributes, ep_handle);
}

DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			DAT_EP_PARAM *ep_param)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_query_func(ep_handle, ep_param_mask, ep_param);
}

DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle, DAT_EP_PARAM_MASK ep_param_mask,
			const DAT_EP_PARAM *ep_param)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_modify_func(ep_handle, ep_param_mask, ep_param);
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle, DAT_IA_ADDRESS_PTR remote_ia_address,
			DAT_CONN_QUAL remote_conn_qual, DAT_TIMEOUT timeout,
			DAT_COUNT private_data_size, const DAT_PVOID private_data, DAT_QOS qos,
			DAT_CONNECT_FLAGS connect_flags)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_connect_func(ep_handle, remote_ia_address,
			remote_conn_qual, timeout, private_data_size, private_data, qos,
			connect_flags);
}

DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle, DAT_EP_HANDLE dup_ep_handle,
			DAT_TIMEOUT timeout, DAT_COUNT private_data_size,
			const DAT_PVOID private_data, DAT_QOS qos)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_dup_connect_func(ep_handle, dup_ep_handle, timeout,
			private_data_size, private_data, qos);
}

DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS disconnect_flags)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_disconnect_func(ep_handle, disconnect_flags);
}

DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_post_send_func(ep_handle, num_segments, local_iov,
			user_cookie, completion_flags);
}

DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_post_recv_func(ep_handle, num_segments, local_iov,
			user_cookie, completion_flags);
}

DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			const DAT_RMR_TRIPLET *remote_buffer,
			DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_post_rdma_read_func(ep_handle, num_segments, local_iov,
			user_cookie, remote_buffer, completion_flags);
}

DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle, DAT_COUNT num_segments,
			DAT_LMR_TRIPLET *local_iov, DAT_DTO_COOKIE user_cookie,
			const DAT_RMR_TRIPLET *remote_buffer,
			DAT_COMPLETION_FLAGS completion_flags)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_post_rdma_write_func(ep_handle, num_segments, local_iov,
			user_cookie, remote_buffer, completion_flags);
}

DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle, DAT_EP_STATE *ep_state,
			DAT_BOOLEAN *recv_idle, DAT_BOOLEAN *request_idle)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_get_status_func(ep_handle, ep_state, recv_idle,
			request_idle);
}

DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle, DAT_COUNT *nbufs_allocated,
			DAT_COUNT *bufs_alloc_span)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_recv_query_func(ep_handle, nbufs_allocated,
			bufs_alloc_span);
}

DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle, DAT_COUNT soft_high_watermark,
			DAT_COUNT hard_high_watermark)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_set_watermark_func(ep_handle, soft_high_watermark,
			hard_high_watermark);
}

DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_reset_func(ep_handle);
}

DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle)
{
	if (unlikely(!ep_handle))
		return null_handle(DAT_INVALID_HANDLE_EP);
	return table_of(ep_handle)->ep_free_func(ep_handle);
}
