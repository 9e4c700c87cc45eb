/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabrics of this process. The registry has two uses. A forked child closes their descriptors, since
 * an open socket would hide the parent's death from the peers. And a device that connects to or leaves
 * another one of the same process notifies it, so that a single thread driving both sees each step
 * within a fixed number of polls.
 */
#include <pthread.h>
#include <unistd.h>

#include "softnic/fabric/link.h"

/* Recursive: a fabric frees and unmaps memory under the lock, and a hook of the program may drive another
 * fabric then. */
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int atfork_error;
static LIST_HEAD(, sn_fab) fabrics = LIST_HEAD_INITIALIZER(fabrics);

void sn_registry_lock(void)
{
	pthread_mutex_lock(&lock);
}

void sn_registry_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void close_all(const struct sn_fab *fabric)
{
	uint32_t i;

	close_if_open(fabric->epfd);
	close_if_open(fabric->listener);
	close_if_open(fabric->spare);
	if (fabric->udp)
		sn_udp_close_sockets(fabric->udp);
	for (i = 0; i < SN_FAB_HALF_OPEN; i++)
		close_if_open(fabric->half_open[i]);
	for (i = 0; i < fabric->slots; i++)
		if (fabric->links[i])
			close_if_open(fabric->links[i]->sock);
}

static void in_child(void)
{
	struct sn_fab *f;

	LIST_FOREACH(f, &fabrics, entry) {
		f->forked = true;
		close_all(f);
	}
	LIST_INIT(&fabrics);
	/* The owner of the lock was a thread of the parent. */
	lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

static void install_handlers(void)
{
	atfork_error = pthread_atfork(sn_registry_lock, sn_registry_unlock, in_child);
}

int sn_registry_add(struct sn_fab *fabric)
{
	pthread_once(&once, install_handlers);
	if (atfork_error)
		return -atfork_error;
	sn_registry_lock();
	LIST_INSERT_HEAD(&fabrics, fabric, entry);
	sn_registry_unlock();
	return 0;
}

void sn_registry_remove(struct sn_fab *fabric)
{
	sn_registry_lock();
	LIST_REMOVE(fabric, entry);
	close_all(fabric);
	sn_registry_unlock();
}

void sn_registry_notify(const struct sn_addr *gid)
{
	struct sn_fab *f;

	sn_registry_lock();
	LIST_FOREACH(f, &fabrics, entry)
		if (sn_addr_equal(&f->config.gid, gid))
			atomic_store_explicit(&f->attention, 1, memory_order_release);
	sn_registry_unlock();
}
