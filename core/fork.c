/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(). What the parent has made is foreign in the child: a thread that is not there any more may
 * have held any of its locks, or have been changing it. So the slabs know their objects of before
 * no more, and the live tables get the checked calls, which ask the slabs before all else: each call
 * on an inherited handle answers INVALID_HANDLE, and takes no lock on the way.
 *
 * The slabs alone are locked over the fork, since the child goes on with them. Handlers run under the
 * locks of others: nobody may wait for anything under a lock that is taken here.
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
