/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * udat.h - uDAPL 1.2, the header a consumer includes. What only user space has is here,
 * the rest comes from dat.h.
 */
#ifndef _UDAT_H_
#define _UDAT_H_

#include <dat/udat_config.h>
#include <dat/dat_platform_specific.h>
#include <dat/dat.h>
#include <dat/udat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef DAT_HANDLE DAT_CNO_HANDLE;

/* For dat_ia_openv(): another instance of the IA already has the asynchronous EVD. */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)

/* From dat_ia_openv() and dat_ia_query(): this consumer cannot use that EVD. */
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;		/* events */
	DAT_EVD_STATE evd_state;
	DAT_CNO_HANDLE cno_handle;
	DAT_EVD_FLAGS evd_flags;
};

/* The name of shared memory: bytes agreed by its users, compared whole, not a string. */
#define DAT_LMR_COOKIE_SIZE 40

typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

typedef struct dat_shared_memory {
	DAT_PVOID virtual_address;
	DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/* DAT_MEM_TYPE decides which member is used. */
typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
};

/* Called when a CNO triggers; evd_handle is a hint, or DAT_HANDLE_NULL at the end. */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID instance_data, DAT_EVD_HANDLE evd_handle);

typedef struct dat_os_wait_proxy_agent {
	DAT_PVOID instance_data;
	DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL \
	(DAT_OS_WAIT_PROXY_AGENT{(DAT_PVOID)NULL, (DAT_AGENT_FUNC)NULL})
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL \
	((DAT_OS_WAIT_PROXY_AGENT){(DAT_PVOID)NULL, (DAT_AGENT_FUNC)NULL})
#endif

typedef struct dat_cno_param {
	DAT_IA_HANDLE ia_handle;
	DAT_OS_WAIT_PROXY_AGENT agent;
} DAT_CNO_PARAM;

typedef enum dat_cno_param_mask {
	DAT_CNO_FIELD_IA_HANDLE	= 0x1,
	DAT_CNO_FIELD_AGENT	= 0x2,
	DAT_CNO_FIELD_ALL	= 0x3
} DAT_CNO_PARAM_MASK;

typedef enum dat_pz_support {
	DAT_PZ_UNIQUE,
	DAT_PZ_SAME,
	DAT_PZ_SHAREABLE
} DAT_PZ_SUPPORT;

/*
 * Properties of an open instance of a provider: dat_ia_query(3).
 *
 * evd_stream_merging_supported[i][j] says whether streams i and j may feed one EVD; the
 * streams are numbered as the bits of DAT_EVD_FLAGS: software, CR, DTO, connection, RMR
 * bind, asynchronous. It is not const here, as C++ could not declare the structure then.
 */
struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;	/* bytes, at least 64 */
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_PZ_SUPPORT pz_support;
	DAT_UINT32 optimal_buffer_alignment;	/* bytes */
	DAT_BOOLEAN evd_stream_merging_supported[6][6];
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;	/* 0x001 low, 0x010 soft high, 0x100 hard high */
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;		/* 0x01 available, 0x10 outstanding */
	DAT_COUNT ep_recv_info_supported;	/* 0x01 nbufs_allocated, 0x10 bufs_alloc_span */
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

#define DAT_PROVIDER_FIELD_PROVIDER_NAME			UINT64_C(0x0000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR		UINT64_C(0x0000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR		UINT64_C(0x0000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR			UINT64_C(0x0000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR			UINT64_C(0x0000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED		UINT64_C(0x0000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP			UINT64_C(0x0000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED			UINT64_C(0x0000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED		UINT64_C(0x0000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE			UINT64_C(0x0000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE		UINT64_C(0x0000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH			UINT64_C(0x0000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR				UINT64_C(0x0001000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT				UINT64_C(0x0002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT		UINT64_C(0x0004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED		UINT64_C(0x0008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED			UINT64_C(0x0010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED		UINT64_C(0x0020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED	UINT64_C(0x0040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED			UINT64_C(0x0080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED		UINT64_C(0x0100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ				UINT64_C(0x0200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED		UINT64_C(0x0400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ		UINT64_C(0x0800000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR		UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR		UINT64_C(0x2000000)

#define DAT_PROVIDER_FIELD_ALL					UINT64_C(0x3FFFFFF)
#define DAT_PROVIDER_FIELD_NONE					UINT64_C(0x0)

/*
 * Registers memory for use by the adapter: length bytes, pinned. *rmr_context is for the peer
 * if remote rights were asked for, else 0. *registered_size and *registered_address: what was
 * really registered, rounded outwards. OUT pointers after lmr_handle may be NULL.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_MODEL_NOT_SUPPORTED.
 * Threads: any.
 */
extern DAT_RETURN dat_lmr_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_MEM_TYPE mem_type,
	IN DAT_REGION_DESCRIPTION region_description,
	IN DAT_VLEN length,
	IN DAT_PZ_HANDLE pz_handle,
	IN DAT_MEM_PRIV_FLAGS mem_privileges,
	OUT DAT_LMR_HANDLE *lmr_handle,
	OUT DAT_LMR_CONTEXT *lmr_context,
	OUT DAT_RMR_CONTEXT *rmr_context,
	OUT DAT_VLEN *registered_size,
	OUT DAT_VADDR *registered_address);

/*
 * Creates an EVD for the streams in evd_flags, with room for at least evd_min_qlen events, enabled
 * and waitable. cno_handle may be DAT_HANDLE_NULL. Which streams may share it:
 * evd_stream_merging_supported of dat_ia_query().
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Threads: any.
 */
extern DAT_RETURN dat_evd_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_COUNT evd_min_qlen,
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_EVD_FLAGS evd_flags,
	OUT DAT_EVD_HANDLE *evd_handle);

/*
 * From now on events trigger another CNO, or none for DAT_HANDLE_NULL. An event that arrives
 * during the call may trigger either.
 * Errors: DAT_INVALID_HANDLE, DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one EVD.
 */
extern DAT_RETURN dat_evd_modify_cno(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_CNO_HANDLE cno_handle);

/*
 * Lets events trigger the CNO again; has no effect on an enabled EVD.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: any.
 */
extern DAT_RETURN dat_evd_enable(
	IN DAT_EVD_HANDLE evd_handle);

/*
 * Events still queue up, but trigger no CNO. A waiter of dat_evd_wait() is not affected.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: any.
 */
extern DAT_RETURN dat_evd_disable(
	IN DAT_EVD_HANDLE evd_handle);

/*
 * Waits up to timeout microseconds until threshold events (1 to the queue length) are queued,
 * and dequeues the first. *nmore: the number left, also if the time expires. Polls first,
 * then sleeps. The threshold must be 1 if UNSIGNALLED or SOLICITED_WAIT Endpoints feed the
 * EVD. A second waiter is refused.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES, DAT_ABORT, DAT_TIMEOUT_EXPIRED, DAT_INTERRUPTED_CALL.
 * Threads: one at a time for an EVD.
 */
extern DAT_RETURN dat_evd_wait(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_TIMEOUT timeout,
	IN DAT_COUNT threshold,
	OUT DAT_EVENT *event,
	OUT DAT_COUNT *nmore);

/*
 * Makes the EVD unwaitable: a thread in dat_evd_wait(), and each later call of it, gets
 * DAT_INVALID_STATE. Dequeue still works.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: any.
 */
extern DAT_RETURN dat_evd_set_unwaitable(
	IN DAT_EVD_HANDLE evd_handle);

/*
 * Makes the EVD waitable again.
 * Errors: DAT_INVALID_HANDLE.
 * Threads: any.
 */
extern DAT_RETURN dat_evd_clear_unwaitable(
	IN DAT_EVD_HANDLE evd_handle);

/*
 * Creates an object that several EVDs trigger. If agent has a function, the first trigger
 * calls it once.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Threads: any.
 */
extern DAT_RETURN dat_cno_create(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent,
	OUT DAT_CNO_HANDLE *cno_handle);

/*
 * Calls this agent at each trigger from now on; DAT_OS_WAIT_PROXY_AGENT_NULL ends that.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one CNO.
 */
extern DAT_RETURN dat_cno_modify_agent(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_OS_WAIT_PROXY_AGENT agent);

/*
 * Returns IA and agent.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one CNO.
 */
extern DAT_RETURN dat_cno_query(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_CNO_PARAM_MASK cno_param_mask,
	OUT DAT_CNO_PARAM *cno_param);

/*
 * Waits up to timeout microseconds for a trigger. *evd_handle: an EVD that triggered, as a
 * hint; DAT_HANDLE_NULL if the time expires (DAT_QUEUE_EMPTY) or the CNO is destroyed.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_QUEUE_EMPTY, DAT_INTERRUPTED_CALL.
 * Threads: any.
 */
extern DAT_RETURN dat_cno_wait(
	IN DAT_CNO_HANDLE cno_handle,
	IN DAT_TIMEOUT timeout,
	OUT DAT_EVD_HANDLE *evd_handle);

/*
 * Destroys a CNO that no EVD refers to and no thread waits on.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * Threads: one at a time for one CNO.
 */
extern DAT_RETURN dat_cno_free(
	IN DAT_CNO_HANDLE cno_handle);

#ifdef __cplusplus
}
#endif

#endif /* _UDAT_H_ */
