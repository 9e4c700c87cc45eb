/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A redirected call tests the handle for NULL, loads its first word and jumps. tests/sh/abi.sh
 * checks that it compiles to just that.
 */
#ifndef LIBDAT_REDIRECT_H
#define LIBDAT_REDIRECT_H

#include "core/libdat/libdat.h"

/*
 * A provider may change a handle's table at any time, from another thread. Acquire: the functions
 * of the new table see what was written before it.
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
