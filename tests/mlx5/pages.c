/* SPDX-License-Identifier: BSD-2-Clause */
/* A host with pages of 64 KiB, as some arm64 kernels have: calls for parts of a page are refused. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "softnic/populate.h"

enum { PAGE = 65536 };

static bool large;

long sysconf(int name)
{
	long (*real)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");

	return large && name == _SC_PAGESIZE ? PAGE : real(name);
}

int madvise(void *addr, size_t len, int advice)
{
	int (*real)(void *, size_t, int) = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");

	if (large && (uintptr_t)addr % PAGE) {
		errno = EINVAL;
		return -1;
	}
	return real(addr, len, advice);
}

/* Checks parts of two pages. */
Test(pages, populate__of_64_kib_pages_finds_them)
{
	uint8_t *map = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t page = ((uintptr_t)map + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	int found;

	cr_assert_neq(map, MAP_FAILED);
	large = true;
	found = softnic_populate(page + 5000, PAGE, true);
	large = false;
	cr_expect_eq(found, 0, "%d", found);
	cr_assert_eq(munmap((void *)(uintptr_t)(page + PAGE), PAGE), 0);
	large = true;
	found = softnic_populate(page + 5000, PAGE, true);
	large = false;
	cr_expect_eq(found, -EFAULT);
}
