/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the sources of libdat. */
#ifndef LIBDAT_H
#define LIBDAT_H

#include <dat/udat.h>
#include <dat/dat_registry.h>

#define unlikely(x) __builtin_expect(!!(x), 0)

static inline DAT_RETURN dat_err(DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE sub)
{
	return DAT_CLASS_ERROR | (DAT_UINT32)type | (DAT_UINT32)sub;
}

#endif
