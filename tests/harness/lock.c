/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interleavings that do not depend on time: a thread stops before each mutex that it locks, and a second
 * thread does its step there. The dynamic linker finds the executable's own pthread_mutex_lock first, so
 * the libraries of a test call it too. The thread sanitizer has its own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/harness/harness.h"

static _Thread_local void (*at_locks)(void *arg);
static _Thread_local void *at_locks_arg;

void th_at_locks(void (*fn)(void *arg), void *arg)
{
	at_locks_arg = arg;
	at_locks = fn;
}

#ifndef __SANITIZE_THREAD__
/* These functions must be visible to libraries. */
__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);
	int (*lock)(pthread_mutex_t *) = __atomic_load_n(&real, __ATOMIC_ACQUIRE);
	static _Thread_local bool inside;
	void (*fn)(void *arg) = at_locks;

	if (!lock) {
		lock = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
		__atomic_store_n(&real, lock, __ATOMIC_RELEASE);
	}
	if (fn && !inside) {
		inside = true;
		fn(at_locks_arg);
		inside = false;
	}
	return lock(mutex);
}
#endif

static void *run(void *arg)
{
	struct th_aside *a = arg;

	__atomic_store_n(&a->tid, gettid(), __ATOMIC_RELEASE);
	a->fn(a->arg);
	__atomic_store_n(&a->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_done(const struct th_aside *a)
{
	return __atomic_load_n(&a->done, __ATOMIC_ACQUIRE);
}

static bool waits(const struct th_aside *a)
{
	pid_t tid = __atomic_load_n(&a->tid, __ATOMIC_ACQUIRE);

	return is_done(a) || (tid && th_goes_on_sleeping(tid));
}

bool th_aside(struct th_aside *a, void (*fn)(void *arg), void *arg, unsigned int ms)
{
	*a = (struct th_aside){ .fn = fn, .arg = arg };
	if (pthread_create(&a->thread, NULL, run, a))
		abort();
	a->started = true;
	(void)TH_WITHIN(ms, waits(a));
	return is_done(a);
}

void th_aside_end(struct th_aside *a)
{
	if (a->started)
		pthread_join(a->thread, NULL);
	a->started = false;
}
