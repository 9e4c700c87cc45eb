/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * softnic-run drives its device whenever libmlx5 releases a spin lock, which is inside the counted
 * call. This library restores the C library's own function, so that the device's thread does the work,
 * as for our own rows.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

static int (*of_libc)(pthread_spinlock_t *lock);

/* Libraries may release locks before this constructor runs, so pthread_spin_unlock() calls it then. */
__attribute__((constructor)) static void find(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	*(void **)&of_libc = libc ? dlsym(libc, "pthread_spin_unlock") : NULL;
	if (!of_libc)
		abort();
}

__attribute__((visibility("default"))) int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	if (__builtin_expect(!of_libc, 0))
		find();
	return of_libc(lock);
}
