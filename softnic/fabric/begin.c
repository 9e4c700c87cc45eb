/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread of a device. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "softnic/fabric/fabric.h"

enum { TRIES = 100, PAUSE_NS = 10000000 };

/* Signals are the host's. */
static int begin(pthread_t *thread, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

/*
 * EAGAIN is a limit of tasks or memory that the whole machine or a container shares: on a busy one it
 * passes, and a device that is plugged in needs no thread of its host to be there.
 */
int sn_begin_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	const struct timespec pause = { 0, PAUSE_NS };
	int err = begin(thread, run, arg);

	for (int i = 1; i < TRIES && err == -EAGAIN; i++) {
		nanosleep(&pause, NULL);
		err = begin(thread, run, arg);
	}
	return err;
}
