/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dat_redirection.h - calls straight into the provider, and the types of a provider's
 * functions. For providers, and for consumers that save the jump through libdat: the macros
 * test nothing, not even for a null handle.
 *
 * A program that is linked with one provider only may define DAT_HANDLE_TO_PROVIDER itself,
 * before it includes this file, to give the address of that provider's table. It must be
 * the table of the IA: the tables of other handles serve only those handles.
 */
#ifndef _DAT_REDIRECTION_H_
#define _DAT_REDIRECTION_H_

#include <dat/udat.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dat_provider DAT_PROVIDER;

#ifndef DAT_HANDLE_TO_PROVIDER
#define DAT_HANDLE_TO_PROVIDER(handle) (*(DAT_PROVIDER **)(handle))
#endif

#define DAT_CALL_(handle, call) (*DAT_HANDLE_TO_PROVIDER(handle)->call##_func)

#define DAT_IA_QUERY(ia, async_evd, ia_attr_mask, ia_attributes, provider_attr_mask, \
		provider_attributes) \
	DAT_CALL_(ia, ia_query)((ia), (async_evd), (ia_attr_mask), (ia_attributes), \
		(provider_attr_mask), (provider_attributes))
#define DAT_SET_CONSUMER_CONTEXT(handle, context) \
	DAT_CALL_(handle, set_consumer_context)((handle), (context))
#define DAT_GET_CONSUMER_CONTEXT(handle, context) \
	DAT_CALL_(handle, get_consumer_context)((handle), (context))
#define DAT_GET_HANDLE_TYPE(handle, handle_type) \
	DAT_CALL_(handle, get_handle_type)((handle), (handle_type))

#define DAT_CR_QUERY(cr, cr_param_mask, cr_param) \
	DAT_CALL_(cr, cr_query)((cr), (cr_param_mask), (cr_param))
#define DAT_CR_ACCEPT(cr, ep, private_data_size, private_data) \
	DAT_CALL_(cr, cr_accept)((cr), (ep), (private_data_size), (private_data))
#define DAT_CR_REJECT(cr) DAT_CALL_(cr, cr_reject)((cr))
#define DAT_CR_HANDOFF(cr, handoff) DAT_CALL_(cr, cr_handoff)((cr), (handoff))

#define DAT_EVD_RESIZE(evd, evd_min_qlen) DAT_CALL_(evd, evd_resize)((evd), (evd_min_qlen))
#define DAT_EVD_POST_SE(evd, event) DAT_CALL_(evd, evd_post_se)((evd), (event))
#define DAT_EVD_DEQUEUE(evd, event) DAT_CALL_(evd, evd_dequeue)((evd), (event))
#define DAT_EVD_QUERY(evd, evd_param_mask, evd_param) \
	DAT_CALL_(evd, evd_query)((evd), (evd_param_mask), (evd_param))
#define DAT_EVD_FREE(evd) DAT_CALL_(evd, evd_free)((evd))

#define DAT_EP_CREATE(ia, pz, recv_evd, request_evd, connect_evd, ep_attributes, ep) \
	DAT_CALL_(ia, ep_create)((ia), (pz), (recv_evd), (request_evd), (connect_evd), \
		(ep_attributes), (ep))
#define DAT_EP_CREATE_WITH_SRQ(ia, pz, recv_evd, request_evd, connect_evd, srq, ep_attributes, ep) \
	DAT_CALL_(ia, ep_create_with_srq)((ia), (pz), (recv_evd), (request_evd), (connect_evd), \
		(srq), (ep_attributes), (ep))
#define DAT_EP_QUERY(ep, ep_param_mask, ep_param) \
	DAT_CALL_(ep, ep_query)((ep), (ep_param_mask), (ep_param))
#define DAT_EP_MODIFY(ep, ep_param_mask, ep_param) \
	DAT_CALL_(ep, ep_modify)((ep), (ep_param_mask), (ep_param))
#define DAT_EP_CONNECT(ep, remote_ia_address, remote_conn_qual, timeout, private_data_size, \
		private_data, qos, connect_flags) \
	DAT_CALL_(ep, ep_connect)((ep), (remote_ia_address), (remote_conn_qual), (timeout), \
		(private_data_size), (private_data), (qos), (connect_flags))
#define DAT_EP_DUP_CONNECT(ep, dup_ep, timeout, private_data_size, private_data, qos) \
	DAT_CALL_(ep, ep_dup_connect)((ep), (dup_ep), (timeout), (private_data_size), \
		(private_data), (qos))
#define DAT_EP_DISCONNECT(ep, disconnect_flags) \
	DAT_CALL_(ep, ep_disconnect)((ep), (disconnect_flags))
#define DAT_EP_POST_SEND(ep, num_segments, local_iov, user_cookie, completion_flags) \
	DAT_CALL_(ep, ep_post_send)((ep), (num_segments), (local_iov), (user_cookie), \
		(completion_flags))
#define DAT_EP_POST_RECV(ep, num_segments, local_iov, user_cookie, completion_flags) \
	DAT_CALL_(ep, ep_post_recv)((ep), (num_segments), (local_iov), (user_cookie), \
		(completion_flags))
#define DAT_EP_POST_RDMA_READ(ep, num_segments, local_iov, user_cookie, remote_buffer, \
		completion_flags) \
	DAT_CALL_(ep, ep_post_rdma_read)((ep), (num_segments), (local_iov), (user_cookie), \
		(remote_buffer), (completion_flags))
#define DAT_EP_POST_RDMA_WRITE(ep, num_segments, local_iov, user_cookie, remote_buffer, \
		completion_flags) \
	DAT_CALL_(ep, ep_post_rdma_write)((ep), (num_segments), (local_iov), (user_cookie), \
		(remote_buffer), (completion_flags))
#define DAT_EP_GET_STATUS(ep, ep_state, recv_idle, request_idle) \
	DAT_CALL_(ep, ep_get_status)((ep), (ep_state), (recv_idle), (request_idle))
#define DAT_EP_FREE(ep) DAT_CALL_(ep, ep_free)((ep))
#define DAT_EP_RESET(ep) DAT_CALL_(ep, ep_reset)((ep))
#define DAT_EP_RECV_QUERY(ep, nbufs_allocated, bufs_alloc_span) \
	DAT_CALL_(ep, ep_recv_query)((ep), (nbufs_allocated), (bufs_alloc_span))
#define DAT_EP_SET_WATERMARK(ep, soft_high_watermark, hard_high_watermark) \
	DAT_CALL_(ep, ep_set_watermark)((ep), (soft_high_watermark), (hard_high_watermark))

#define DAT_LMR_QUERY(lmr, lmr_param_mask, lmr_param) \
	DAT_CALL_(lmr, lmr_query)((lmr), (lmr_param_mask), (lmr_param))
#define DAT_LMR_FREE(lmr) DAT_CALL_(lmr, lmr_free)((lmr))
#define DAT_LMR_SYNC_RDMA_READ(ia, local_segments, num_segments) \
	DAT_CALL_(ia, lmr_sync_rdma_read)((ia), (local_segments), (num_segments))
#define DAT_LMR_SYNC_RDMA_WRITE(ia, local_segments, num_segments) \
	DAT_CALL_(ia, lmr_sync_rdma_write)((ia), (local_segments), (num_segments))

#define DAT_RMR_CREATE(pz, rmr) DAT_CALL_(pz, rmr_create)((pz), (rmr))
#define DAT_RMR_QUERY(rmr, rmr_param_mask, rmr_param) \
	DAT_CALL_(rmr, rmr_query)((rmr), (rmr_param_mask), (rmr_param))
#define DAT_RMR_BIND(rmr, lmr_triplet, mem_privileges, ep, user_cookie, completion_flags, \
		rmr_context) \
	DAT_CALL_(rmr, rmr_bind)((rmr), (lmr_triplet), (mem_privileges), (ep), (user_cookie), \
		(completion_flags), (rmr_context))
#define DAT_RMR_FREE(rmr) DAT_CALL_(rmr, rmr_free)((rmr))

#define DAT_PSP_CREATE(ia, conn_qual, evd, psp_flags, psp) \
	DAT_CALL_(ia, psp_create)((ia), (conn_qual), (evd), (psp_flags), (psp))
#define DAT_PSP_CREATE_ANY(ia, conn_qual, evd, psp_flags, psp) \
	DAT_CALL_(ia, psp_create_any)((ia), (conn_qual), (evd), (psp_flags), (psp))
#define DAT_PSP_QUERY(psp, psp_param_mask, psp_param) \
	DAT_CALL_(psp, psp_query)((psp), (psp_param_mask), (psp_param))
#define DAT_PSP_FREE(psp) DAT_CALL_(psp, psp_free)((psp))

#define DAT_RSP_CREATE(ia, conn_qual, ep, evd, rsp) \
	DAT_CALL_(ia, rsp_create)((ia), (conn_qual), (ep), (evd), (rsp))
#define DAT_RSP_QUERY(rsp, rsp_param_mask, rsp_param) \
	DAT_CALL_(rsp, rsp_query)((rsp), (rsp_param_mask), (rsp_param))
#define DAT_RSP_FREE(rsp) DAT_CALL_(rsp, rsp_free)((rsp))

#define DAT_PZ_CREATE(ia, pz) DAT_CALL_(ia, pz_create)((ia), (pz))
#define DAT_PZ_QUERY(pz, pz_param_mask, pz_param) \
	DAT_CALL_(pz, pz_query)((pz), (pz_param_mask), (pz_param))
#define DAT_PZ_FREE(pz) DAT_CALL_(pz, pz_free)((pz))

#define DAT_SRQ_CREATE(ia, pz, srq_attr, srq) \
	DAT_CALL_(ia, srq_create)((ia), (pz), (srq_attr), (srq))
#define DAT_SRQ_FREE(srq) DAT_CALL_(srq, srq_free)((srq))
#define DAT_SRQ_POST_RECV(srq, num_segments, local_iov, user_cookie) \
	DAT_CALL_(srq, srq_post_recv)((srq), (num_segments), (local_iov), (user_cookie))
#define DAT_SRQ_QUERY(srq, srq_param_mask, srq_param) \
	DAT_CALL_(srq, srq_query)((srq), (srq_param_mask), (srq_param))
#define DAT_SRQ_RESIZE(srq, srq_max_recv_dto) DAT_CALL_(srq, srq_resize)((srq), (srq_max_recv_dto))
#define DAT_SRQ_SET_LW(srq, low_watermark) DAT_CALL_(srq, srq_set_lw)((srq), (low_watermark))

typedef DAT_RETURN (*DAT_IA_OPEN_FUNC)(
	IN const DAT_NAME_PTR ia_name_ptr,
	IN DAT_COUNT async_evd_min_qlen,
	INOUT DAT_EVD_HANDLE *async_evd_handle,
	OUT DAT_IA_HANDLE *ia_handle);

typedef DAT_RETURN (*DAT_IA_OPENV_FUNC)(
	IN const DAT_NAME_PTR ia_name_ptr,
	IN DAT_COUNT async_evd_min_qlen,
	INOUT DAT_EVD_HANDLE *async_evd_handle,
	OUT DAT_IA_HANDLE *ia_handle,
	IN DAT_UINT32 dapl_major,
	IN DAT_UINT32 dapl_minor,
	IN DAT_BOOLEAN thread_safety);

typedef DAT_RETURN (*DAT_IA_QUERY_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_EVD_HANDLE *async_evd_handle,
	IN DAT_IA_ATTR_MASK ia_attr_mask,
	OUT DAT_IA_ATTR *ia_attributes,
	IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
	OUT DAT_PROVIDER_ATTR *provider_attributes);

typedef DAT_RETURN (*DAT_IA_CLOSE_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CLOSE_FLAGS ia_flags);

typedef DAT_RETURN (*DAT_SET_CONSUMER_CONTEXT_FUNC)(
	IN DAT_HANDLE dat_handle,
	IN DAT_CONTEXT context);

typedef DAT_RETURN (*DAT_GET_CONSUMER_CONTEXT_FUNC)(
	IN DAT_HANDLE dat_handle,
	OUT DAT_CONTEXT *context);

typedef DAT_RETURN (*DAT_GET_HANDLE_TYPE_FUNC)(
	IN DAT_HANDLE dat_handle,
	OUT DAT_HANDLE_TYPE *handle_type);

typedef DAT_RETURN (*DAT_CR_QUERY_FUNC)(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CR_PARAM_MASK cr_param_mask,
	OUT DAT_CR_PARAM *cr_param);

typedef DAT_RETURN (*DAT_CR_ACCEPT_FUNC)(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(
	IN DAT_CR_HANDLE cr_handle);

typedef DAT_RETURN (*DAT_CR_HANDOFF_FUNC)(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CONN_QUAL handoff);

typedef DAT_RETURN (*DAT_EVD_RESIZE_FUNC)(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_COUNT evd_min_qlen);

typedef DAT_RETURN (*DAT_EVD_POST_SE_FUNC)(
	IN DAT_EVD_HANDLE evd_handle,
	IN const DAT_EVENT *event);

typedef DAT_RETURN (*DAT_EVD_DEQUEUE_FUNC)(
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_EVENT *event);

typedef DAT_RETURN (*DAT_EVD_QUERY_FUNC)(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_EVD_PARAM_MASK evd_param_mask,
	OUT DAT_EVD_PARAM *evd_param);

typedef DAT_RETURN (*DAT_EVD_FREE_FUNC)(
	IN DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EP_CREATE_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_evd_handle,
	IN DAT_EVD_HANDLE request_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

typedef DAT_RETURN (*DAT_EP_CREATE_WITH_SRQ_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_evd_handle,
	IN DAT_EVD_HANDLE request_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN DAT_SRQ_HANDLE srq_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

typedef DAT_RETURN (*DAT_EP_QUERY_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	OUT DAT_EP_PARAM *ep_param);

typedef DAT_RETURN (*DAT_EP_MODIFY_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	IN const DAT_EP_PARAM *ep_param);

typedef DAT_RETURN (*DAT_EP_CONNECT_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_IA_ADDRESS_PTR remote_ia_address,
	IN DAT_CONN_QUAL remote_conn_qual,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS qos,
	IN DAT_CONNECT_FLAGS connect_flags);

typedef DAT_RETURN (*DAT_EP_DUP_CONNECT_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_HANDLE dup_ep_handle,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS qos);

typedef DAT_RETURN (*DAT_EP_DISCONNECT_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_CLOSE_FLAGS disconnect_flags);

typedef DAT_RETURN (*DAT_EP_POST_SEND_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_POST_RECV_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_buffer,
	IN DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_POST_RDMA_WRITE_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_buffer,
	IN DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_GET_STATUS_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_EP_STATE *ep_state,
	OUT DAT_BOOLEAN *recv_idle,
	OUT DAT_BOOLEAN *request_idle);

typedef DAT_RETURN (*DAT_EP_FREE_FUNC)(
	IN DAT_EP_HANDLE ep_handle);

typedef DAT_RETURN (*DAT_EP_RESET_FUNC)(
	IN DAT_EP_HANDLE ep_handle);

typedef DAT_RETURN (*DAT_EP_RECV_QUERY_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_COUNT *nbufs_allocated,
	OUT DAT_COUNT *bufs_alloc_span);

typedef DAT_RETURN (*DAT_EP_SET_WATERMARK_FUNC)(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT soft_high_watermark,
	IN DAT_COUNT hard_high_watermark);

typedef DAT_RETURN (*DAT_LMR_QUERY_FUNC)(
	IN DAT_LMR_HANDLE lmr_handle,
	IN DAT_LMR_PARAM_MASK lmr_param_mask,
	OUT DAT_LMR_PARAM *lmr_param);

typedef DAT_RETURN (*DAT_LMR_FREE_FUNC)(
	IN DAT_LMR_HANDLE lmr_handle);

typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_READ_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_WRITE_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

typedef DAT_RETURN (*DAT_RMR_CREATE_FUNC)(
	IN DAT_PZ_HANDLE pz_handle,
	OUT DAT_RMR_HANDLE *rmr_handle);

typedef DAT_RETURN (*DAT_RMR_QUERY_FUNC)(
	IN DAT_RMR_HANDLE rmr_handle,
	IN DAT_RMR_PARAM_MASK rmr_param_mask,
	OUT DAT_RMR_PARAM *rmr_param);

typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(
	IN DAT_RMR_HANDLE rmr_handle,
	IN const DAT_LMR_TRIPLET *lmr_triplet,
	IN DAT_MEM_PRIV_FLAGS mem_privileges,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_RMR_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags,
	OUT DAT_RMR_CONTEXT *rmr_context);

typedef DAT_RETURN (*DAT_RMR_FREE_FUNC)(
	IN DAT_RMR_HANDLE rmr_handle);

typedef DAT_RETURN (*DAT_PSP_CREATE_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

typedef DAT_RETURN (*DAT_PSP_CREATE_ANY_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_CONN_QUAL *conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

typedef DAT_RETURN (*DAT_PSP_QUERY_FUNC)(
	IN DAT_PSP_HANDLE psp_handle,
	IN DAT_PSP_PARAM_MASK psp_param_mask,
	OUT DAT_PSP_PARAM *psp_param);

typedef DAT_RETURN (*DAT_PSP_FREE_FUNC)(
	IN DAT_PSP_HANDLE psp_handle);

typedef DAT_RETURN (*DAT_RSP_CREATE_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_RSP_HANDLE *rsp_handle);

typedef DAT_RETURN (*DAT_RSP_QUERY_FUNC)(
	IN DAT_RSP_HANDLE rsp_handle,
	IN DAT_RSP_PARAM_MASK rsp_param_mask,
	OUT DAT_RSP_PARAM *rsp_param);

typedef DAT_RETURN (*DAT_RSP_FREE_FUNC)(
	IN DAT_RSP_HANDLE rsp_handle);

typedef DAT_RETURN (*DAT_PZ_CREATE_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_PZ_HANDLE *pz_handle);

typedef DAT_RETURN (*DAT_PZ_QUERY_FUNC)(
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_PZ_PARAM_MASK pz_param_mask,
	OUT DAT_PZ_PARAM *pz_param);

typedef DAT_RETURN (*DAT_PZ_FREE_FUNC)(
	IN DAT_PZ_HANDLE pz_handle);

typedef DAT_RETURN (*DAT_SRQ_CREATE_FUNC)(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_SRQ_ATTR *srq_attr,
	OUT DAT_SRQ_HANDLE *srq_handle);

typedef DAT_RETURN (*DAT_SRQ_FREE_FUNC)(
	IN DAT_SRQ_HANDLE srq_handle);

typedef DAT_RETURN (*DAT_SRQ_POST_RECV_FUNC)(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie);

typedef DAT_RETURN (*DAT_SRQ_QUERY_FUNC)(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_SRQ_PARAM_MASK srq_param_mask,
	OUT DAT_SRQ_PARAM *srq_param);

typedef DAT_RETURN (*DAT_SRQ_RESIZE_FUNC)(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT srq_max_recv_dto);

typedef DAT_RETURN (*DAT_SRQ_SET_LW_FUNC)(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT low_watermark);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REDIRECTION_H_ */
