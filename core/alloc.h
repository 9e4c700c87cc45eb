/* SPDX-License-Identifier: BSD-2-Clause */
/* Aligned memory. */
#ifndef DAP_ALLOC_H
#define DAP_ALLOC_H

#include <stdlib.h>

/*
 * Returns memory for free(), or NULL. Uses posix_memalign instead of aligned_alloc: a program with a malloc
 * of its own replaces free, but perhaps not aligned_alloc (ptmalloc2 in MVAPICH2).
 */
static inline void *dap_aligned_alloc(size_t align, size_t size)
{
	void *mem;

	return posix_memalign(&mem, align, size) ? NULL : mem;
}

#endif
