/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread of a device. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "softnic/fabric/fabric.h"

enum { TRIES = 100, PAUSE_NS = 10000000 };

/*
 * Blocks all signals except SIGBUS, because they are for the host's threads. If SIGBUS were blocked, an
 * access to memory that a host has withdrawn would end the process (softnic/vfio_user/memory.c).
 */
static int create_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/*
 * EAGAIN means that the machine or the container has no more tasks or memory. On a busy machine that
 * passes, and a real device needs no host thread. So this retries for a second.
 */
int sn_begin_thread(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	const struct timespec pause = { 0, PAUSE_NS };
	int err = create_thread(thread, run, arg);

	for (int i = 1; i < TRIES && err == -EAGAIN; i++) {
		nanosleep(&pause, NULL);
		err = create_thread(thread, run, arg);
	}
	if (!err)
		pthread_setname_np(*thread, name);
	return err;
}
