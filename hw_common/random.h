/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HW_RANDOM_H
#define HW_RANDOM_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/random.h>

/* Fills len random bytes. Returns 0 or -EIO. Cancellation is disabled: a thread that was cancelled in
 * getrandom(2) would keep the locks of its caller. */
static inline int hw_random(void *to, size_t len)
{
	ssize_t n;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	n = getrandom(to, len, 0);
	pthread_setcancelstate(cancel, NULL);
	return n == (ssize_t)len ? 0 : -EIO;
}

#endif
