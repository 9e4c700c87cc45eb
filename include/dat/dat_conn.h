/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dat_conn.h - Endpoints, Service Points and Connection Requests. Included by dat.h.
 */
#ifndef _DAT_CONN_H_
#define _DAT_CONN_H_

#include <dat/dat_error.h>
#include <dat/dat_types.h>
#include <dat/dat_param.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Creates an unconnected Endpoint. EVDs may be DAT_HANDLE_NULL: the consumer then gets no
 * completions of that direction. ep_attributes NULL: the provider's defaults, see dat_ep_query();
 * dat_ia_query() has the limits.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED.
 * Threads: any.
 */
extern DAT_RETURN dat_ep_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_evd_handle,
	IN DAT_EVD_HANDLE request_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

/*
 * Like dat_ep_create(), but receives come from the SRQ. The SRQ may have another PZ only if the provider
 * has srq_ep_pz_difference_supported. dat_ep_post_recv() is refused for such an Endpoint.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED.
 * Threads: any.
 */
extern DAT_RETURN dat_ep_create_with_srq(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_EVD_HANDLE recv_evd_handle,
	IN DAT_EVD_HANDLE request_evd_handle,
	IN DAT_EVD_HANDLE connect_evd_handle,
	IN DAT_SRQ_HANDLE srq_handle,
	IN const DAT_EP_ATTR *ep_attributes,
	OUT DAT_EP_HANDLE *ep_handle);

/*
 * Returns parameters, state and attributes. Addresses and port qualifiers are valid only while a
 * connection is pending or established.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_query(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	OUT DAT_EP_PARAM *ep_param);

/*
 * Changes the parameters in the mask, all or none; the manual page lists those that each
 * state allows.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_modify(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_PARAM_MASK ep_param_mask,
	IN const DAT_EP_PARAM *ep_param);

/*
 * Starts connecting an UNCONNECTED Endpoint to a Service Point; the outcome is one event on
 * its connect EVD: ESTABLISHED, PEER_REJECTED, NON_PEER_REJECTED, UNREACHABLE, TIMED_OUT after
 * timeout microseconds, or DISCONNECTED after dat_ep_disconnect(). private_data_size: bytes, up
 * to max_private_data_size of the provider.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_INVALID_ADDRESS, DAT_MODEL_NOT_SUPPORTED.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_IA_ADDRESS_PTR remote_ia_address,
	IN DAT_CONN_QUAL remote_conn_qual,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS qos,
	IN DAT_CONNECT_FLAGS connect_flags);

/*
 * Like dat_ep_connect(), to the Service Point that dup_ep_handle has connected to.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_dup_connect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EP_HANDLE dup_ep_handle,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data,
	IN DAT_QOS qos);

/*
 * Ends the connection. GRACEFUL lets what was posted complete first; ABRUPT flushes it. The
 * connect EVDs of both sides get DISCONNECTED. Has no effect on a DISCONNECTED Endpoint.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_disconnect(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_CLOSE_FLAGS disconnect_flags);

/*
 * Sends the bytes of the segments, in order, as one message into the next receive of the
 * peer. 0 to max_request_iov segments. Needs local read of each LMR. The array may be reused
 * when the call returns.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION,
 * DAT_PRIVILEGES_VIOLATION.
 * Threads: one at a time for the requests of an Endpoint.
 */
extern DAT_RETURN dat_ep_post_send(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * Posts a buffer for one message of the peer, in any state of the Endpoint; 0 to max_recv_iov
 * segments. Needs local write. SUPPRESS and BARRIER_FENCE are invalid for receives.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION.
 * Threads: one at a time for the receives of an Endpoint, beside one that posts requests.
 */
extern DAT_RETURN dat_ep_post_recv(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * Reads remote_buffer into the segments: 0 to max_rdma_read_iov of them, together at least as
 * long. Needs local write here and remote read there.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION,
 * DAT_PRIVILEGES_VIOLATION.
 * Threads: one at a time for the requests of an Endpoint.
 */
extern DAT_RETURN dat_ep_post_rdma_read(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_buffer,
	IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * Writes the segments, 0 to max_rdma_write_iov, into remote_buffer, which is at least as
 * long. Needs local read here and remote write there. The peer gets no event.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_LENGTH_ERROR, DAT_PROTECTION_VIOLATION,
 * DAT_PRIVILEGES_VIOLATION.
 * Threads: one at a time for the requests of an Endpoint.
 */
extern DAT_RETURN dat_ep_post_rdma_write(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie,
	IN const DAT_RMR_TRIPLET *remote_buffer,
	IN DAT_COMPLETION_FLAGS completion_flags);

/*
 * Returns the state, and for each direction whether all posted work has completed; a snapshot.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: any.
 */
extern DAT_RETURN dat_ep_get_status(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_EP_STATE *ep_state,
	OUT DAT_BOOLEAN *recv_idle,
	OUT DAT_BOOLEAN *request_idle);

/*
 * Returns a snapshot of receives in use; DAT_VALUE_UNKNOWN if unknown: see ep_recv_info_supported.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_recv_query(
	IN DAT_EP_HANDLE ep_handle,
	OUT DAT_COUNT *nbufs_allocated,
	OUT DAT_COUNT *bufs_alloc_span);

/*
 * Sets how many receives an Endpoint may hold, with or without an SRQ: above soft an asynchronous
 * event is raised, above hard the connection breaks. DAT_WATERMARK_INFINITE: no limit.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_set_watermark(
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT soft_high_watermark,
	IN DAT_COUNT hard_high_watermark);

/*
 * A DISCONNECTED Endpoint becomes UNCONNECTED; completions not yet dequeued may be lost. Has
 * no effect on an UNCONNECTED one.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE, DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_reset(
	IN DAT_EP_HANDLE ep_handle);

/*
 * Destroys the Endpoint, in any state but RESERVED, PASSIVE and TENTATIVE_CONNECTION_PENDING;
 * ends its connection abruptly. Completions not yet dequeued are lost.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * Threads: one at a time for one Endpoint.
 */
extern DAT_RETURN dat_ep_free(
	IN DAT_EP_HANDLE ep_handle);

/*
 * Listens on conn_qual. Each request is a CONNECTION_REQUEST event on the EVD, whose free
 * places are the backlog. With DAT_PSP_PROVIDER_FLAG each request brings an Endpoint. The
 * consumer gives it PZ and EVDs by dat_ep_modify() before it accepts the request.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_CONN_QUAL_IN_USE, DAT_MODEL_NOT_SUPPORTED.
 * Threads: any.
 */
extern DAT_RETURN dat_psp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

/*
 * Like dat_psp_create(), on a qualifier that the provider chooses and returns.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_CONN_QUAL_UNAVAILABLE, DAT_MODEL_NOT_SUPPORTED.
 * Threads: any.
 */
extern DAT_RETURN dat_psp_create_any(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_CONN_QUAL *conn_qual,
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_PSP_FLAGS psp_flags,
	OUT DAT_PSP_HANDLE *psp_handle);

/*
 * Returns parameters of the Service Point.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: any.
 */
extern DAT_RETURN dat_psp_query(
	IN DAT_PSP_HANDLE psp_handle,
	IN DAT_PSP_PARAM_MASK psp_param_mask,
	OUT DAT_PSP_PARAM *psp_param);

/*
 * Stops listening. Connection Requests already delivered stay valid.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: one at a time for one Service Point.
 */
extern DAT_RETURN dat_psp_free(
	IN DAT_PSP_HANDLE psp_handle);

/*
 * Listens for one request, which ep_handle (UNCONNECTED, from here on RESERVED) or, for
 * DAT_HANDLE_NULL, an Endpoint of the provider will accept. It takes no second request; free
 * it with dat_rsp_free().
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_CONN_QUAL_IN_USE.
 * Threads: any.
 */
extern DAT_RETURN dat_rsp_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CONN_QUAL conn_qual,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_RSP_HANDLE *rsp_handle);

/*
 * Returns parameters of the Service Point.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: any.
 */
extern DAT_RETURN dat_rsp_query(
	IN DAT_RSP_HANDLE rsp_handle,
	IN DAT_RSP_PARAM_MASK rsp_param_mask,
	OUT DAT_RSP_PARAM *rsp_param);

/*
 * Stops listening. If no request has come, a reserved Endpoint of the consumer is UNCONNECTED again,
 * and an Endpoint of the provider is destroyed.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: one at a time for one Service Point.
 */
extern DAT_RETURN dat_rsp_free(
	IN DAT_RSP_HANDLE rsp_handle);

/*
 * Returns the peer's address and private data. The pointers are valid until the CR is accepted,
 * rejected or handed off.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: any.
 */
extern DAT_RETURN dat_cr_query(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CR_PARAM_MASK cr_param_mask,
	OUT DAT_CR_PARAM *cr_param);

/*
 * Accepts the request with ep_handle, or with the Endpoint that the CR came with
 * (DAT_HANDLE_NULL). Ends the CR. The outcome is an event on the connect EVD: ESTABLISHED,
 * ACCEPT_COMPLETION_ERROR, or DISCONNECTED after dat_ep_disconnect(). private_data_size: bytes.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE.
 * Threads: one at a time for one CR.
 */
extern DAT_RETURN dat_cr_accept(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_COUNT private_data_size,
	IN const DAT_PVOID private_data);

/*
 * Rejects the request: the peer gets PEER_REJECTED. Ends the CR; a reserved Endpoint of the
 * consumer is UNCONNECTED again; an Endpoint of the provider is destroyed.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: one at a time for one CR.
 */
extern DAT_RETURN dat_cr_reject(
	IN DAT_CR_HANDLE cr_handle);

/*
 * Passes the request to the Service Point of another qualifier, of this process or of another one
 * of the same user on this host. Ends the CR.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one CR.
 */
extern DAT_RETURN dat_cr_handoff(
	IN DAT_CR_HANDLE cr_handle,
	IN DAT_CONN_QUAL handoff);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_CONN_H_ */
