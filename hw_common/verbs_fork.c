/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Fork. libibverbs has global locks for the device list and for registered memory; a child that
 * inherits one of them locked can never open an adapter. So no thread is in such a call while
 * another thread forks.
 */
#include <infiniband/verbs.h>
#include <pthread.h>

#include "hw_common/verbs.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t calls;		/* readers: threads in calls; writers: threads that fork */
/* State of a thread in a call, from before the call. With the TLS model of a library that is loaded late, the
 * first use in a thread would allocate memory, and glibc aborts the process if there is none. */
static _Thread_local __attribute__((tls_model("initial-exec"))) int cancel;

static void calls_init(void)
{
	pthread_rwlockattr_t attr;

	/* New callers do not delay a waiting fork. */
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&calls, &attr);
	pthread_rwlockattr_destroy(&attr);
}

static void before(void)
{
	pthread_rwlock_wrlock(&calls);
}

static void after(void)
{
	pthread_rwlock_unlock(&calls);
}

/*
 * On kernels that do not copy pinned pages at fork (before 5.12), registered memory must not be
 * inherited, or the parent would continue in a copy that the device does not use. On later kernels this
 * call does nothing. It fails if the program has already registered memory through libibverbs; the
 * program is then responsible for its forks.
 */
static void fork_prepare(void)
{
	calls_init();
	(void)ibv_fork_init();
}

static void handle(void)
{
	pthread_atfork(before, after, calls_init);
}

void hw_fork_handle(void)
{
	static pthread_once_t handled = PTHREAD_ONCE_INIT;

	pthread_once(&handled, handle);
}

void hw_enter(void)
{
	pthread_once(&once, fork_prepare);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_rwlock_rdlock(&calls);
}

void hw_leave(void)
{
	pthread_rwlock_unlock(&calls);
	pthread_setcancelstate(cancel, NULL);
}
