/* SPDX-License-Identifier: BSD-2-Clause */
/* A host with pages of 64 KiB, as some arm64 kernels have: calls for parts of a page are refused. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hw_common/soft.h"

enum { PAGE = 65536 };

static bool large, populates;

static bool refuses(const void *addr)
{
	if (!large || (uintptr_t)addr % PAGE == 0)
		return false;
	errno = EINVAL;
	return true;
}

long sysconf(int name)
{
	long (*real)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");

	return large && name == _SC_PAGESIZE ? PAGE : real(name);
}

int madvise(void *addr, size_t len, int advice)
{
	int (*real)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");

	if (large && !populates) {
		errno = EINVAL;
		return -1;
	}
	return refuses(addr) ? -1 : real(addr, len, advice);
}

int mincore(void *addr, size_t len, unsigned char *vec)
{
	int (*real)(void *, size_t, unsigned char *) =
		(int (*)(void *, size_t, unsigned char *))dlsym(RTLD_NEXT, "mincore");
	unsigned char small[2 * PAGE / 4096];	/* this kernel has pages of 4 KiB */

	if (refuses(addr))
		return -1;
	if (!large)
		return real(addr, len, vec);
	cr_assert(len <= 2 * PAGE);
	memset(vec, 1, len / PAGE);
	return real(addr, len, small);
}

/* Registers parts of two pages, also on a kernel that lacks MADV_POPULATE_READ (before 5.14). */
Test(pages, soft_pages__of_64_kib_are_found)
{
	uint8_t *map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t page = ((uintptr_t)map + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	int found[2];

	cr_assert_neq(map, MAP_FAILED);
	for (int i = 0; i < 2; i++) {
		large = true;
		populates = i;
		found[i] = hw_soft_pages(page + 5000, PAGE, true);
		large = false;
	}
	cr_expect_eq(found[0], 0, "without MADV_POPULATE_WRITE: %d", found[0]);
	cr_expect_eq(found[1], 0, "with MADV_POPULATE_WRITE: %d", found[1]);
	cr_assert_eq(munmap((void *)(uintptr_t)(page + PAGE), PAGE), 0);
	large = true;
	found[1] = hw_soft_pages(page + 5000, PAGE, true);
	large = false;
	cr_expect_eq(found[1], -EFAULT);
}
