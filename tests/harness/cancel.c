/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/harness/harness.h"

static void *act_cancelled(void *arg)
{
	void (*const *act)(void) = arg;

	pthread_cancel(pthread_self());
	(*act)();
	pthread_testcancel();
	return NULL;
}

bool th_cancelled(void (*act)(void))
{
	pthread_t thread;
	void *result;

	return !pthread_create(&thread, NULL, act_cancelled, &act) && !pthread_join(thread, &result) &&
	       result == PTHREAD_CANCELED;
}
