/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that is cancelled in a call reports events to waiters, and keeps no lock. */
#include <pthread.h>

#include "tests/api/conn.h"

static struct side third;		/* another endpoint of the IA of a, with EVDs of its own */

static void open_beside_a(void)
{
	third = a;
	assert_ok(dat_evd_create(third.ia, 32, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &third.conn_evd));
	assert_ok(dat_evd_create(third.ia, 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &third.dto_evd));
	third.ep = side_ep(&third);
	side_pair(&third, &a);
}

static void *wait_for_message(void *arg)
{
	cr_assert_eq(side_dto(&a, 2), DAT_DTO_SUCCESS);
	return arg;
}

static unsigned int taken;	/* number of completions that the sender's thread has dequeued */

static void *send_and_poll_while_cancelled(void *arg)
{
	DAT_EVENT ev;

	pthread_cancel(pthread_self());
	side_send(&third, third.ep, 1);
	for (int i = 0; i < 1000; i++)
		taken += dat_evd_dequeue(third.dto_evd, &ev) == DAT_SUCCESS;
	pthread_testcancel();
	return arg;
}

/* The sender's thread drives a software adapter, and so reports the message to the thread that waits. */
Test(conn, cancelled__sender_keeps_no_lock)
{
	open_beside_a();
	for (unsigned int i = 0; i < 3; i++) {
		pthread_t waiter, sender;
		void *result;
		DAT_EVENT ev;

		assert_ok(side_recv(&a, a.ep, 2));
		cr_assert_eq(pthread_create(&waiter, NULL, wait_for_message, NULL), 0);
		cr_assert(TH_WITHIN(CONN_SOON / 1000, DAT_GET_TYPE(dat_evd_dequeue(a.dto_evd, &ev)) ==
				    DAT_INVALID_STATE));
		th_sleep_ms(20);
		cr_assert_eq(pthread_create(&sender, NULL, send_and_poll_while_cancelled, NULL), 0);
		cr_assert_eq(pthread_join(sender, &result), 0);
		cr_assert_eq(result, PTHREAD_CANCELED);
		cr_assert_eq(pthread_join(waiter, NULL), 0);
		if (taken == i) {
			cr_assert_eq(side_dto(&third, 1), DAT_DTO_SUCCESS);
			taken++;
		}
	}
}
