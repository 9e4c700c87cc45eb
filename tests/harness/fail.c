/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lets the n-th allocation fail. The dynamic linker finds the executable's own malloc first, so this
 * also affects the libraries of a test. It needs no preload, which the address sanitizer would refuse.
 * With the thread sanitizer, which replaces malloc, it has no effect.
 */
#include <errno.h>
#include <linux/mman.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/harness/harness.h"

static atomic_uint armed;		/* a value of enum th_fail */
static atomic_ulong seen, victim;
static _Thread_local bool starter;	/* true in the thread that called th_fail_start */
static atomic_bool huge_told, huge_some;
static atomic_uint huge_mapped;

void th_huge_pages(bool some)
{
	atomic_store(&huge_some, some);
	atomic_store(&huge_told, true);
}

unsigned int th_huge_mapped(void)
{
	return atomic_load(&huge_mapped);
}

void th_fail_start(unsigned int kinds, unsigned long n)
{
	starter = true;
	atomic_store(&seen, 0);
	atomic_store(&victim, n);
	atomic_store(&armed, kinds);
}

unsigned long th_fail_count(void)
{
	return atomic_load(&seen);
}

unsigned long th_fail_stop(void)
{
	atomic_store(&armed, 0);
	starter = false;
	return th_fail_count();
}

#ifndef __SANITIZE_THREAD__

/* The address sanitizer allocates when a thread starts, and aborts if that fails. */
static bool spared(void)
{
	return (TH_ASAN || atomic_load(&armed) & TH_FAIL_MINE) && !starter;
}

static bool fails(unsigned int kind)
{
	unsigned long n, first;

	if (!(atomic_load_explicit(&armed, memory_order_relaxed) & kind) || spared())
		return false;
	n = atomic_fetch_add(&seen, 1) + 1;
	first = atomic_load(&victim);
	if (n != first && !(first && n > first && atomic_load(&armed) & TH_FAIL_ON))
		return false;
	errno = ENOMEM;
	return true;
}

#if TH_ASAN
#define REAL(name) __interceptor_##name
#else
#define REAL(name) __libc_##name
#endif

/* these functions must be visible, because libraries use them too */
#define SEEN __attribute__((visibility("default")))

void *REAL(malloc)(size_t size);
void *REAL(calloc)(size_t n, size_t size);
void *REAL(realloc)(void *old, size_t size);
void *REAL(memalign)(size_t align, size_t size);

SEEN void *malloc(size_t size)
{
	return fails(TH_FAIL_HEAP) ? NULL : REAL(malloc)(size);
}

SEEN void *calloc(size_t n, size_t size)
{
	return fails(TH_FAIL_HEAP) ? NULL : REAL(calloc)(n, size);
}

SEEN void *realloc(void *old, size_t size)
{
	return fails(TH_FAIL_HEAP) ? NULL : REAL(realloc)(old, size);
}

SEEN void *aligned_alloc(size_t align, size_t size)
{
	return fails(TH_FAIL_HEAP) ? NULL : REAL(memalign)(align, size);
}

SEEN int posix_memalign(void **out, size_t align, size_t size)
{
	void *p = fails(TH_FAIL_HEAP) ? NULL : REAL(memalign)(align, size);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}

/* Replaces strdup, because the sanitizer's strdup would not call the malloc above. */
SEEN char *strdup(const char *s)
{
	size_t len = strlen(s) + 1;
	char *copy = malloc(len);

	return copy ? memcpy(copy, s, len) : NULL;
}

/* Maps ordinary pages, aligned like a huge one. */
static void *huge_map(size_t len, int prot, int flags)
{
	const uintptr_t huge = 2u << 20;
	uintptr_t at = (uintptr_t)syscall(SYS_mmap, NULL, len + huge, prot, flags, -1, 0), start;

	if ((void *)at == MAP_FAILED)
		return MAP_FAILED;
	start = (at + huge - 1) & ~(huge - 1);
	munmap((void *)at, start - at);
	munmap((void *)(start + len), at + huge - start);
	atomic_fetch_add(&huge_mapped, 1);
	return (void *)start;
}

SEEN void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (fails(TH_FAIL_MMAP))
		return MAP_FAILED;
	if (flags & MAP_HUGETLB && (atomic_load(&huge_told) || getenv("DAPL_TEST_HUGE"))) {
		if (atomic_load(&huge_some) || !atomic_load(&huge_told))
			return huge_map(len, prot, flags & ~(MAP_HUGETLB | (int)(63u << MAP_HUGE_SHIFT)));
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
}

#endif
