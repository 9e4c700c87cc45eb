/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every redirected call is made of: null test, first word of the handle, jump. They must
 * compile to just that: tests/sh/abi.sh looks.
 */
#ifndef LIBDAT_REDIRECT_H
#define LIBDAT_REDIRECT_H

#include "core/libdat/libdat.h"

/*
 * A provider may give a handle another table at any time, from another thread: acquire, so that
 * the functions of the new table find what was written before it was put there.
 */
static inline const DAT_PROVIDER *table_of(DAT_HANDLE handle)
{
	return __atomic_load_n((const DAT_PROVIDER *const *)handle, __ATOMIC_ACQUIRE);
}

static inline DAT_RETURN null_handle(DAT_RETURN_SUBTYPE which)
{
	return dat_err(DAT_INVALID_HANDLE, which);
}

#endif
