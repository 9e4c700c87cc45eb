/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * A process that forks. libibverbs has locks of its own for the list of devices and for the memory
 * that is registered; a child that inherits one of them locked can never open an adapter. So no
 * thread of ours is in such a call while another one forks.
 */
#include <infiniband/verbs.h>
#include <pthread.h>

#include "hw_common/verbs.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_rwlock_t calls;		/* read: who calls; written: who forks */

static void calls_init(void)
{
	pthread_rwlockattr_t attr;

	/* Who forks is not kept waiting by callers that come later. */
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
 * On kernels that do not copy pinned pages for a child (before 5.12) what is registered must stay
 * out of it, or the parent would go on in a copy that the device does not know. Elsewhere this does
 * nothing. It can no longer be had once the program has registered memory by itself: then that
 * program has decided.
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
	pthread_rwlock_rdlock(&calls);
}

void hw_leave(void)
{
	pthread_rwlock_unlock(&calls);
}
