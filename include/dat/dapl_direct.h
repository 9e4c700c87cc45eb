/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dapl_direct.h - calls of this provider beyond DAT, for consumers of either level. Consumers
 * of uDAPL 2.0 include <dat2/udat.h> before it. It needs no library: the calls reach the
 * provider through the handle, and return DAT_NOT_IMPLEMENTED if it belongs to another
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

/* The structure behind `extension' of the provider's table. Later versions append to it. */
struct dapl_direct {
	DAT_UINT64 magic;
	DAT_UINT64 size;		/* of this struct, as the provider knows it */
	DAT_RETURN (*evd_dequeue_n)(DAT_EVD_HANDLE, DAT_COUNT, DAT_EVENT *, DAT_COUNT *);
	DAT_RETURN (*cno_fd)(DAT_CNO_HANDLE, int *);
};

/* The extension of the provider of a handle, except IA handles; NULL: none. */
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

/* Whether the provider's version of the extension has the member. */
#define DAPL_DIRECT_HAS(ext, member) ((ext) && (ext)->size > offsetof(struct dapl_direct, member))

/* A descriptor for poll(2) or epoll(7), readable on a trigger of the CNO: see dapl_cno_fd(3). */
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

#ifdef __cplusplus
}
#endif

#endif
