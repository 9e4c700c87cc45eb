/* SPDX-License-Identifier: BSD-2-Clause */
#include "softnic/populate.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

/* Some kernels of arm64 have pages of 64 KiB. */
int softnic_populate(uint64_t start, uint64_t len, bool write)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = start & ~(page - 1);
	size_t span = ((start + len + page - 1) & ~(page - 1)) - first;
	static char mapped;
	void *mapped_page = (void *)((uintptr_t)&mapped & ~(uintptr_t)(page - 1));

	if (!madvise((void *)(uintptr_t)first, span, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	/* EINVAL may also mean that the kernel does not know the advice. */
	return errno == EINVAL && madvise(mapped_page, page, MADV_POPULATE_READ) ? 0 : -EFAULT;
}
