/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdatomic.h>

#include "softnic/preload/preload.h"

/*
 * The addresses are looked up at the first use and not in a constructor, because constructors of
 * other libraries open files earlier. No lock is needed: the loader has its own, and two threads
 * that race find the same addresses.
 */
const struct pre_real *pre_real(void)
{
	static struct pre_real found;
	static atomic_bool filled;

	if (atomic_load_explicit(&filled, memory_order_acquire))
		return &found;
#define PRE_FIND(name) __atomic_store_n(&found.name, (__typeof__(found.name))dlsym(RTLD_NEXT, #name), \
					__ATOMIC_RELAXED);
	PRE_REAL_NAMES(PRE_FIND)
#undef PRE_FIND
	atomic_store_explicit(&filled, true, memory_order_release);
	return &found;
}
