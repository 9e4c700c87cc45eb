/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The API level that a front is compiled for. The fronts of this directory serve both. DAP_DAT20
 * is defined for the objects of the 2.0 provider. No object includes the headers of both levels,
 * because they define the same names differently.
 */
#ifndef DAP_FRONT_LEVEL_H
#define DAP_FRONT_LEVEL_H

#ifdef DAP_DAT20

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#include "core/dap.h"

#define DAP_API DAP_API_20
typedef DAT_SEG_LENGTH front_len;
/* The return value for "no completion". Polling consumers compare the whole value with this one
 * (dtest -p). */
#define FRONT_CQ_EMPTY ((DAT_RETURN)DAT_QUEUE_EMPTY)

/* This function is from libdat2, whose header is not installed. It translates libdat2's number of
 * an IA to a handle. */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);

/* The consumer's handle of the IA. */
static inline DAT_IA_HANDLE front_ia_handle(struct dap_ia *ia)
{
	DAT_IA_HANDLE handle;

	return dats_get_ia_handle(ia, &handle) == DAT_SUCCESS ? handle : ia;
}

#else

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#include "core/dap.h"

#define DAP_API DAP_API_12
typedef DAT_VLEN front_len;
#define FRONT_CQ_EMPTY (DAT_CLASS_ERROR | DAT_QUEUE_EMPTY)

static inline DAT_IA_HANDLE front_ia_handle(struct dap_ia *ia)
{
	return ia;
}

#endif

/* Lengths of segments and messages have 32 bits in 2.0. */
static inline front_len front_length(uint64_t length)
{
	return length > (front_len)-1 ? (front_len)-1 : (front_len)length;
}

#endif
