/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork(). The device stays with the parent. The child gets a copy, whose lock is free and which has no
 * half-done work. The copy executes commands, so a host in the child can destroy its objects. It has no
 * wire, thread or doorbells: those belong to the parent.
 */
#include "softnic/mlx5/dev.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int atfork_error;
static LIST_HEAD(, softnic) nics = LIST_HEAD_INITIALIZER(nics);

static void before(void)
{
	struct softnic *nic;

	pthread_mutex_lock(&lock);
	LIST_FOREACH(nic, &nics, link)
		sn_enter(nic);
}

static void in_parent(void)
{
	struct softnic *nic;

	LIST_FOREACH(nic, &nics, link)
		sn_leave(nic);
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	struct softnic *nic;

	LIST_FOREACH(nic, &nics, link) {
		nic->forked = true;
		sn_thread_forget(nic);
		sn_bar_forget(nic);
		atomic_store(&nic->lock, 0);
	}
	pthread_mutex_unlock(&lock);
}

static void install(void)
{
	atfork_error = pthread_atfork(before, in_parent, in_child);
}

/*
 * Call this after the fabric was opened: the fabric's fork handler must be registered first, because the
 * device's lock is taken before the fabric's.
 */
int sn_fork_add(struct softnic *nic)
{
	pthread_once(&once, install);
	if (atfork_error)
		return -atfork_error;
	pthread_mutex_lock(&lock);
	LIST_INSERT_HEAD(&nics, nic, link);
	pthread_mutex_unlock(&lock);
	return 0;
}

void sn_fork_remove(struct softnic *nic)
{
	pthread_mutex_lock(&lock);
	LIST_REMOVE(nic, link);
	pthread_mutex_unlock(&lock);
}
