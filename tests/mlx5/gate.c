/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking over a CQ from a poller: the thread waits for the current poll to end, and keeps the next
 * poller out. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

#include "hw_mlx5/lock.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

#define SHORT 50			/* in ms: enough to detect a thread that does not wait */

static struct rig r;
static struct m5_cq *cq;
static atomic_int step;

static void open_rig(void)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
	cq = m5_cq(r.b.recv);
	step = 0;
}

static void close_rig(void)
{
	rig_close(&r, NULL);
}

static void *take(void *arg)
{
	m5_cq_own(r.b.recv);
	step = 1;
	TH_WITHIN(20000, step == 2);
	m5_cq_release(r.b.recv);
	return arg;
}

static void *poll_once(void *arg)
{
	bool locked = m5_ia(r.ia)->locked;

	m5_cq_enter(cq, locked);
	step = 3;
	m5_cq_leave(cq, locked);
	return arg;
}

RIG_TEST(gate, cq_take__waits_for_the_poller)
{
	bool locked = m5_ia(r.ia)->locked;
	pthread_t t;

	m5_cq_enter(cq, locked);
	cr_assert_eq(pthread_create(&t, NULL, take, NULL), 0);
	cr_expect_not(TH_WITHIN(SHORT, step == 1), "the CQ was taken over during a poll");
	m5_cq_leave(cq, locked);
	cr_expect(TH_WITHIN(20000, step == 1));
	step = 2;
	pthread_join(t, NULL);
}

RIG_TEST(gate, cq_enter__waits_while_the_cq_is_taken)
{
	pthread_t t;

	m5_cq_own(r.b.recv);
	cr_assert_eq(pthread_create(&t, NULL, poll_once, NULL), 0);
	cr_expect_not(TH_WITHIN(SHORT, step == 3),
		      "a CQ was polled that another thread has taken over");
	m5_cq_release(r.b.recv);
	pthread_join(t, NULL);
	cr_expect_eq(step, 3);
	cr_expect_eq(cq->in_poll, 0);
}

/* The second of two threads gets the CQ after the first. */
RIG_TEST(gate, cq_take__second_thread_waits_for_the_first)
{
	pthread_t t;

	m5_cq_own(r.b.recv);
	cr_assert_eq(pthread_create(&t, NULL, take, NULL), 0);
	cr_expect_not(TH_WITHIN(SHORT, step == 1), "two threads have taken over the CQ");
	m5_cq_release(r.b.recv);
	cr_expect(TH_WITHIN(20000, step == 1));
	step = 2;
	pthread_join(t, NULL);
	cr_expect_eq(cq->revoked, 0);
}
