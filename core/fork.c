/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(). In the child the parent's objects are foreign: a thread that no longer exists may have
 * held their locks or been changing them. So the slabs no longer accept them, and the live tables
 * get the checked calls, which ask the slabs first. Every call on an inherited handle returns
 * INVALID_HANDLE without taking a lock.
 *
 * Only the slabs are locked over the fork, because the child goes on using them. Fork handlers run
 * under other locks, so a thread that holds a lock taken here must not wait for anything.
 */
#include <pthread.h>

#include "core/dap.h"
#include "core/fork.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int error;
static void (*fronts[DAP_APIS])(void);

static void before(void)
{
	dap_obj_fork(DAP_FORK_BEFORE);
}

static void in_parent(void)
{
	dap_obj_fork(DAP_FORK_PARENT);
}

static void in_child(void)
{
	dap_lmr_in_child();
	dap_obj_fork(DAP_FORK_CHILD);
	dap_ia_in_child();
	dap_sp_in_child();
	for (unsigned int i = 0; i < DAP_APIS; i++) {
		void (*front)(void) = __atomic_load_n(&fronts[i], __ATOMIC_ACQUIRE);

		if (front)
			front();
	}
}

static void install(void)
{
	error = pthread_atfork(before, in_parent, in_child);
}

int dap_fork_init(enum dap_api api, void (*front)(void))
{
	__atomic_store_n(&fronts[api], front, __ATOMIC_RELEASE);
	pthread_once(&once, install);
	return -error;
}
