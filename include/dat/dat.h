/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dat.h - the calls that DAT 1.2 has for user and kernel consumers alike.
 *
 * Here are the IA, EVDs and the registry; dat_conn.h has Endpoints and connections, dat_mem.h
 * memory. Each call has a manual page of its name in section 3 with the details. All return
 * DAT_SUCCESS or one of the named types with a subtype (dat_error.h), and write their OUT
 * parameters on success only, unless noted. A freed handle is DAT_INVALID_HANDLE.
 *
 * "Threads" is what every DAT 1.2 provider allows; the manual pages say what this provider allows
 * beyond that. Calls for different objects never interfere.
 */
#ifndef _DAT_H_
#define _DAT_H_

#include <dat/udat_config.h>
#include <dat/dat_error.h>
#include <dat/dat_types.h>
#include <dat/dat_param.h>
#include <dat/dat_event.h>
#include <dat/dat_conn.h>
#include <dat/dat_mem.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Opens an instance of the IA named by a line of dat.conf(5): the one with this API version
 * and thread safety, or else with a larger minor version. *async_evd_handle is DAT_HANDLE_NULL
 * for an EVD of at least async_evd_min_qlen events (returned here), an asynchronous EVD of the
 * same IA to share, or DAT_EVD_ASYNC_EXISTS. dat_ia_open() fills in what the headers were
 * compiled for.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INSUFFICIENT_RESOURCES,
 * DAT_INTERNAL_ERROR, DAT_MODEL_NOT_SUPPORTED, DAT_PROVIDER_NOT_FOUND.
 * Threads: any.
 */
extern DAT_RETURN dat_ia_openv(
	IN const DAT_NAME_PTR ia_name_ptr,
	IN DAT_COUNT async_evd_min_qlen,
	INOUT DAT_EVD_HANDLE *async_evd_handle,
	OUT DAT_IA_HANDLE *ia_handle,
	IN DAT_UINT32 dapl_major,
	IN DAT_UINT32 dapl_minor,
	IN DAT_BOOLEAN thread_safety);

#define dat_ia_open(name, qlen, async_evd, ia) \
	dat_ia_openv((name), (qlen), (async_evd), (ia), \
		     DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

/*
 * Returns attributes of the adapter and of this instance, and its asynchronous EVD.
 * async_evd_handle may be NULL, and so may attributes whose mask is 0. Members not asked for may be
 * filled too.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: any.
 */
extern DAT_RETURN dat_ia_query(
	IN DAT_IA_HANDLE ia_handle,
	OUT DAT_EVD_HANDLE *async_evd_handle,
	IN DAT_IA_ATTR_MASK ia_attr_mask,
	OUT DAT_IA_ATTR *ia_attributes,
	IN DAT_PROVIDER_ATTR_MASK provider_attr_mask,
	OUT DAT_PROVIDER_ATTR *provider_attributes);

/*
 * Closes the instance. DAT_CLOSE_GRACEFUL_FLAG refuses while the consumer has objects left;
 * DAT_CLOSE_ABRUPT_FLAG destroys them, wakes every waiter with DAT_ABORT, and lets its handles
 * answer DAT_INVALID_HANDLE. An asynchronous EVD that was passed to the open stays.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one IA.
 */
extern DAT_RETURN dat_ia_close(
	IN DAT_IA_HANDLE ia_handle,
	IN DAT_CLOSE_FLAGS ia_flags);

/*
 * Stores 8 bytes of the consumer with an object of any type; a later call replaces them.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one object.
 */
extern DAT_RETURN dat_set_consumer_context(
	IN DAT_HANDLE dat_handle,
	IN DAT_CONTEXT context);

/*
 * Returns the bytes that were set last; 0 if none were set.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one object.
 */
extern DAT_RETURN dat_get_consumer_context(
	IN DAT_HANDLE dat_handle,
	OUT DAT_CONTEXT *context);

/*
 * Returns the type of a handle's object.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one object.
 */
extern DAT_RETURN dat_get_handle_type(
	IN DAT_HANDLE dat_handle,
	OUT DAT_HANDLE_TYPE *handle_type);

/*
 * Returns state, flags, CNO and true queue length.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER.
 * Threads: one at a time for one EVD.
 */
extern DAT_RETURN dat_evd_query(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_EVD_PARAM_MASK evd_param_mask,
	OUT DAT_EVD_PARAM *evd_param);

/*
 * Makes room for at least evd_min_qlen events. No event is lost: a length below the number of
 * queued events is refused.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE,
 * DAT_INSUFFICIENT_RESOURCES.
 * Threads: one at a time for one EVD.
 */
extern DAT_RETURN dat_evd_resize(
	IN DAT_EVD_HANDLE evd_handle,
	IN DAT_COUNT evd_min_qlen);

/*
 * Appends a software event with the pointer in event_data; other members are ignored. A full queue
 * refuses it and raises no overflow.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_QUEUE_FULL.
 * Threads: one at a time for one EVD.
 */
extern DAT_RETURN dat_evd_post_se(
	IN DAT_EVD_HANDLE evd_handle,
	IN const DAT_EVENT *event);

/*
 * Takes the oldest event without waiting. Refused while a thread is in dat_evd_wait().
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_PARAMETER, DAT_INVALID_STATE, DAT_QUEUE_EMPTY.
 * Threads: one at a time for an EVD, or any if the instance is threadsafe.
 */
extern DAT_RETURN dat_evd_dequeue(
	IN DAT_EVD_HANDLE evd_handle,
	OUT DAT_EVENT *event);

/*
 * Destroys an EVD. Free or move the Endpoints and Service Points that feed it first. Queued
 * events are lost: peers of queued Connection Requests get NON_PEER_REJECTED.
 * Errors: DAT_INVALID_HANDLE, DAT_INVALID_STATE.
 * Threads: one at a time for one EVD.
 */
extern DAT_RETURN dat_evd_free(
	IN DAT_EVD_HANDLE evd_handle);

/*
 * Copies the entries of dat.conf(5) to the structures in the list, in the order of the file,
 * each combination once. *entries_returned is their number even if the call fails because the
 * list is NULL or max_to_return too small; no entry is written then. DAT_INTERNAL_ERROR:
 * there is neither a dat.conf nor a built-in entry, or the file cannot be used.
 * Errors: DAT_INVALID_PARAMETER, DAT_INTERNAL_ERROR.
 * Threads: any.
 */
extern DAT_RETURN dat_registry_list_providers(
	IN DAT_COUNT max_to_return,
	OUT DAT_COUNT *entries_returned,
	OUT DAT_PROVIDER_INFO *(dat_provider_list[]));

/*
 * Returns the names of type and subtype, which are constant strings. Class bits may be missing.
 * Writes nothing for a value that is no DAT_RETURN.
 * Errors: DAT_INVALID_PARAMETER.
 * Threads: any.
 */
extern DAT_RETURN dat_strerror(
	IN DAT_RETURN value,
	OUT const char **major_message,
	OUT const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_H_ */
