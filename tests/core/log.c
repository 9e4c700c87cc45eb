/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls print lines while they have locks. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "core/dap.h"

static bool printed;

static void *print_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	dap_log(DAP_LOG_ERR, "a line of a thread that is cancelled");
	printed = true;
	pthread_testcancel();
	return arg;
}

Test(log, line__of_a_cancelled_thread_returns_to_the_call)
{
	pthread_t thread;
	void *result;

	cr_assert_eq(pthread_create(&thread, NULL, print_cancelled, NULL), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	cr_assert(printed, "the thread ended in the line");
}
