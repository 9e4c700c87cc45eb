/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks pages of this process as the kernel does when it pins them. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "softnic/preload/preload.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static bool knows_populate(void)
{
	static uint8_t page[2 * 4096];
	uintptr_t aligned = ((uintptr_t)page + 4095) & ~(uintptr_t)4095;

	return !madvise((void *)aligned, 4096, MADV_POPULATE_READ);
}

/*
 * Pinning detects holes and write protection; so does populating the pages. Kernels before 5.14 lack
 * that madvise(); there an invalid range is detected only at its use.
 */
int pre_populate(uint64_t start, uint64_t len, bool write)
{
	uint64_t base = start & ~UINT64_C(4095);
	size_t span = (size_t)((start + len - base + 4095) & ~UINT64_C(4095));

	if (!madvise((void *)(uintptr_t)base, span, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	return errno == EINVAL && !knows_populate() ? 0 : -EFAULT;
}
