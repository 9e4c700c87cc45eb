/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread of the host is cancelled while it drives the device, which is no cancellation point. */
#include <criterion/criterion.h>
#include <pthread.h>

#include "tests/softnic_efa/rig.h"

enum { LEN = 100 };

static struct side a, b;

static void *send_cancelled(void *arg)
{
	struct wqe w;

	pthread_cancel(pthread_self());
	w_send(&a, &w, 1, 0, LEN);
	post(&a, &w);
	pthread_testcancel();
	return arg;
}

static void try_pause(const char *fault)
{
	pthread_t thread;
	void *result;

	pair_open(&a, &b, &(struct setup){ 0 });
	rx_post(&b, 7, 0, LEN);
	cr_assert_eq(softnic_efa_fault(a.nic, fault), 0);
	cr_assert_eq(pthread_create(&thread, NULL, send_cancelled, NULL), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	cr_assert_eq(cqe_wait(&a, &b).status, 0);
	pair_close(&a, &b);
}

Test(cancel, pause_of_each_send__of_a_cancelled_thread_ends_with_the_post, .timeout = 30)
{
	try_pause("slow_sgl");
}

Test(cancel, pause_of_a_small_send__of_a_cancelled_thread_ends_with_the_post, .timeout = 30)
{
	try_pause("slow_small");
}
