/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dat_mem.h - Protection Zones, Memory Regions and Shared Receive Queues. Included by dat.h.
 */
#ifndef _DAT_MEM_H_
#define _DAT_MEM_H_

#include <dat/dat_error.h>
#include <dat/dat_types.h>
#include <dat/dat_param.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Creates a Protection Zone: only LMRs, RMRs and Endpoints of the same zone work together.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Threads: any.
 */
extern DAT_RETURN dat_pz_create(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_PZ_HANDLE *pz_handle);

/*
 * Returns the IA of the PZ.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: any.
 */
extern DAT_RETURN dat_pz_query(
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_PZ_PARAM_MASK pz_param_mask,
	OUT DAT_PZ_PARAM *pz_param);

/*
 * Destroys a PZ without objects in it.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * Threads: one at a time for one PZ.
 */
extern DAT_RETURN dat_pz_free(
	IN DAT_PZ_HANDLE pz_handle);

/*
 * Returns parameters of the LMR.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one LMR.
 */
extern DAT_RETURN dat_lmr_query(
	IN DAT_LMR_HANDLE lmr_handle,
	IN DAT_LMR_PARAM_MASK lmr_param_mask,
	OUT DAT_LMR_PARAM *lmr_param);

/*
 * Makes local changes visible to a coming RDMA read by the peer. Needed only if the provider
 * attribute lmr_sync_req is set.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one LMR.
 */
extern DAT_RETURN dat_lmr_sync_rdma_read(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

/*
 * Makes what the peer wrote by RDMA visible to local reads. Needed only if the provider
 * attribute lmr_sync_req is set.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one LMR.
 */
extern DAT_RETURN dat_lmr_sync_rdma_write(
	IN DAT_IA_HANDLE ia_handle,
	IN const DAT_LMR_TRIPLET *local_segments,
	IN DAT_VLEN num_segments);

/*
 * Ends the registration; refused while an RMR is bound to it.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * Threads: one at a time for one LMR.
 */
extern DAT_RETURN dat_lmr_free(
	IN DAT_LMR_HANDLE lmr_handle);

/*
 * Creates a memory window in the PZ, which is not bound.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Threads: any.
 */
extern DAT_RETURN dat_rmr_create(
	IN DAT_PZ_HANDLE pz_handle,
	OUT DAT_RMR_HANDLE *rmr_handle);

/*
 * Returns PZ, context, and the range that the RMR is bound to.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one RMR.
 */
extern DAT_RETURN dat_rmr_query(
	IN DAT_RMR_HANDLE rmr_handle,
	IN DAT_RMR_PARAM_MASK rmr_param_mask,
	OUT DAT_RMR_PARAM *rmr_param);

/*
 * Opens a part of an LMR, as a request of ep_handle, to the peers of all Endpoints of the RMR's
 * PZ. Later requests of ep_handle are executed after it. Once it completes, the context of the
 * previous bind gives no access. segment_length 0 unbinds. *rmr_context is valid at once, for a
 * peer after completion or in a later send.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED, DAT_PRIVILEGES_VIOLATION,
 * DAT_PROTECTION_VIOLATION.
 * Threads: one at a time for the requests of the Endpoint, and for the RMR.
 */
extern DAT_RETURN dat_rmr_bind(
	IN DAT_RMR_HANDLE rmr_handle,
	IN const DAT_LMR_TRIPLET *lmr_triplet,
	IN DAT_MEM_PRIV_FLAGS mem_privileges,
	IN DAT_EP_HANDLE ep_handle,
	IN DAT_RMR_COOKIE user_cookie,
	IN DAT_COMPLETION_FLAGS completion_flags,
	OUT DAT_RMR_CONTEXT *rmr_context);

/*
 * Destroys the RMR; remote access through it has ended when the call returns.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: one at a time for one RMR.
 */
extern DAT_RETURN dat_rmr_free(
	IN DAT_RMR_HANDLE rmr_handle);

/*
 * Creates a queue of receives that Endpoints of the IA share.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED.
 * Threads: any.
 */
extern DAT_RETURN dat_srq_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_SRQ_ATTR *srq_attr,
	OUT DAT_SRQ_HANDLE *srq_handle);

/*
 * Returns parameters and counts; DAT_VALUE_UNKNOWN for those not in srq_info_supported.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one SRQ.
 */
extern DAT_RETURN dat_srq_query(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_SRQ_PARAM_MASK srq_param_mask,
	OUT DAT_SRQ_PARAM *srq_param);

/*
 * Posts a buffer for one message that arrives at any of its Endpoints; 0 to max_recv_iov segments.
 * Needs local write.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_PROTECTION_VIOLATION, DAT_PRIVILEGES_VIOLATION.
 * Threads: one at a time for one SRQ.
 */
extern DAT_RETURN dat_srq_post_recv(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT num_segments,
	IN DAT_LMR_TRIPLET *local_iov,
	IN DAT_DTO_COOKIE user_cookie);

/*
 * Makes room for srq_max_recv_dto buffers; refused below the number outstanding or the low
 * watermark.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one SRQ.
 */
extern DAT_RETURN dat_srq_resize(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT srq_max_recv_dto);

/*
 * Requests one asynchronous event when fewer than low_watermark buffers are left; each call arms it
 * once.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_MODEL_NOT_SUPPORTED.
 * Threads: one at a time for one SRQ.
 */
extern DAT_RETURN dat_srq_set_lw(
	IN DAT_SRQ_HANDLE srq_handle,
	IN DAT_COUNT low_watermark);

/*
 * Destroys an SRQ that no Endpoint uses. Its buffers may be reused.
 * Errors: DAT_INVALID_HANDLE, DAT_SRQ_IN_USE.
 * Threads: one at a time for one SRQ.
 */
extern DAT_RETURN dat_srq_free(
	IN DAT_SRQ_HANDLE srq_handle);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_MEM_H_ */
