/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dapl_direct.h - calls of this provider beyond DAT, for consumers of either level. Consumers
 * of uDAPL 2.0 include <dat2/udat.h> before it. No library is needed: the calls reach the
 * provider through the handle, and return DAT_NOT_IMPLEMENTED if the handle belongs to another
 * provider.
 */
#ifndef DAPL_DIRECT_H
#define DAPL_DIRECT_H

#include <stddef.h>

#ifndef _UDAT_H_
#include <dat/udat.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define DAPL_DIRECT_MAGIC 0x746365726964706cULL

/* One request of dapl_ep_post_n(3). */
enum { DAPL_WORK_WRITE = 1, DAPL_WORK_READ, DAPL_WORK_SEND, DAPL_WORK_BIND };
struct dapl_work {
	unsigned short op;		/* DAPL_WORK_* */
	unsigned short segments;	/* segments in iov; 0: only the one at address */
	DAT_UINT32 flags;		/* DAT_COMPLETION_FLAGS */
	DAT_LMR_CONTEXT lmr_context;
	DAT_UINT32 length;		/* bytes of all segments together */
	DAT_VADDR address;
	DAT_CONTEXT cookie;
	DAT_VADDR target;		/* write, read: address in the peer's memory */
	DAT_RMR_CONTEXT rmr_context;
	DAT_UINT32 privileges;		/* bind: rights of new_context */
	DAT_RMR_HANDLE rmr_handle;
	DAT_LMR_HANDLE lmr_handle;	/* bind: needed only by uDAPL 2.0 */
	DAT_RMR_CONTEXT *new_context;
	DAT_LMR_TRIPLET *iov;
};

/* When the adapter completed the request or receive of an event: see dapl_evd_dequeue_ts(3). */
struct dapl_stamp {
	DAT_UINT64 realtime;		/* ns since 1970, by CLOCK_REALTIME; 0: unknown */
	DAT_UINT64 raw;			/* timestamp as the adapter wrote it; 0: none */
	DAT_UINT32 error;		/* realtime may be wrong by this many ns */
	DAT_UINT32 khz;			/* clock rate of raw; 0: raw is seconds << 32 | ns */
};

/* The structure behind `extension' of the provider's table. Later versions append to it. */
struct dapl_direct {
	DAT_UINT64 magic;
	DAT_UINT64 size;		/* size of this struct in the provider */
	DAT_RETURN (*evd_dequeue_n)(DAT_EVD_HANDLE, DAT_COUNT, DAT_EVENT *, DAT_COUNT *);
	DAT_RETURN (*cno_fd)(DAT_CNO_HANDLE, int *);
	DAT_RETURN (*ep_post_n)(DAT_EP_HANDLE, DAT_COUNT, const struct dapl_work *, DAT_COUNT *);
	DAT_RETURN (*evd_dequeue_ts)(DAT_EVD_HANDLE, DAT_EVENT *, struct dapl_stamp *);
};

/* Returns the extension of the provider of a handle, or NULL if the provider has none. The handle
 * must not be that of an IA. */
static inline const struct dapl_direct *dapl_direct_of(DAT_HANDLE handle)
{
	/* The handle's first word is the provider's table, whose second word is the extension. */
	const struct dapl_direct *ext =
		(*(const struct dapl_direct *const *const *)handle)[1];

	return ext && ext->magic == DAPL_DIRECT_MAGIC ? ext : (const struct dapl_direct *)0;
}

/* Dequeues up to max events, like repeated dat_evd_dequeue(): see dapl_evd_dequeue_n(3). */
static inline DAT_RETURN dapl_evd_dequeue_n(DAT_EVD_HANDLE evd_handle, DAT_COUNT max,
					    DAT_EVENT *events, DAT_COUNT *count)
{
	const struct dapl_direct *ext;

	if (evd_handle == DAT_HANDLE_NULL)
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_INVALID_HANDLE |
		       (DAT_RETURN)DAT_INVALID_HANDLE1;
	ext = dapl_direct_of(evd_handle);
	if (!ext)
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_NOT_IMPLEMENTED;
	return ext->evd_dequeue_n(evd_handle, max, events, count);
}

/* True if the provider's version of the extension has the member. */
#define DAPL_DIRECT_HAS(ext, member) ((ext) && (ext)->size > offsetof(struct dapl_direct, member))

/* Returns a descriptor for poll(2) or epoll(7), readable on a trigger of the CNO: see
 * dapl_cno_fd(3). */
static inline DAT_RETURN dapl_cno_fd(DAT_CNO_HANDLE cno_handle, int *fd)
{
	const struct dapl_direct *ext;

	if (cno_handle == DAT_HANDLE_NULL)
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_INVALID_HANDLE |
		       (DAT_RETURN)DAT_INVALID_HANDLE_CNO;
	ext = dapl_direct_of(cno_handle);
	if (!DAPL_DIRECT_HAS(ext, cno_fd))
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_NOT_IMPLEMENTED;
	return ext->cno_fd(cno_handle, fd);
}

/* Posts n requests in order, with one doorbell where possible: see dapl_ep_post_n(3). */
static inline DAT_RETURN dapl_ep_post_n(DAT_EP_HANDLE ep_handle, DAT_COUNT n,
					const struct dapl_work *work, DAT_COUNT *posted)
{
	const struct dapl_direct *ext;

	if (ep_handle == DAT_HANDLE_NULL)
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_INVALID_HANDLE |
		       (DAT_RETURN)DAT_INVALID_HANDLE_EP;
	ext = dapl_direct_of(ep_handle);
	if (!DAPL_DIRECT_HAS(ext, ep_post_n))
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_NOT_IMPLEMENTED;
	return ext->ep_post_n(ep_handle, n, work, posted);
}

/* Dequeues an event with the adapter's timestamp of it: see dapl_evd_dequeue_ts(3). */
static inline DAT_RETURN dapl_evd_dequeue_ts(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event,
					     struct dapl_stamp *stamp)
{
	const struct dapl_direct *ext;

	if (evd_handle == DAT_HANDLE_NULL)
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_INVALID_HANDLE |
		       (DAT_RETURN)DAT_INVALID_HANDLE1;
	ext = dapl_direct_of(evd_handle);
	if (!DAPL_DIRECT_HAS(ext, evd_dequeue_ts))
		return (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_NOT_IMPLEMENTED;
	return ext->evd_dequeue_ts(evd_handle, event, stamp);
}

#ifdef __cplusplus
}
#endif

#endif
