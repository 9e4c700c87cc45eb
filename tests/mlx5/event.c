/* SPDX-License-Identifier: BSD-2-Clause */
/* The next completion makes a waiter's file descriptor readable, and nothing else does. */
#include <criterion/criterion.h>
#include <poll.h>

#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;

static void open_rig(void)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
}

static void close_rig(void)
{
	rig_close(&r, NULL);
}

static bool readable(struct dap_evd *evd, int ms)
{
	struct pollfd p = { .fd = m5_hw.cq_fd(evd), .events = POLLIN };

	cr_assert_geq(p.fd, 0);
	return poll(&p, 1, ms) == 1;
}

static void send_one(DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8), b = rig_local(&r.b, 0, 8);

	cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(2), flags), DAT_SUCCESS);
}

static void dequeue_both(void)
{
	DAT_EVENT ev;

	cr_assert(rig_event(&r, r.a.request, &ev));
	cr_assert(rig_event(&r, r.b.recv, &ev));
}

/* Two waiters have descriptors. An unread event of one does not delay the event of the other. */
RIG_TEST(event, cq_arm__of_two_at_a_time_makes_an_event_for_each)
{
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(m5_hw.cq_arm(r.b.recv, false), 0);
		cr_assert_eq(m5_hw.cq_arm(r.a.request, false), 0);
		cr_assert(!readable(r.b.recv, 0) && !readable(r.a.request, 0));
		send_one(0);
		cr_assert(readable(r.b.recv, 5000), "round %d: the receive caused no event", i);
		cr_assert(readable(r.a.request, 5000), "round %d: the send caused no event", i);
		m5_hw.cq_drain_fd(r.b.recv);
		m5_hw.cq_drain_fd(r.a.request);
		cr_assert(!readable(r.b.recv, 0) && !readable(r.a.request, 0));
		dequeue_both();
	}
}

/* Each arm causes one event, however many completions come. Without an arm there is no event. */
RIG_TEST(event, cq_arm__is_for_one_event)
{
	cr_assert_eq(m5_hw.cq_arm(r.b.recv, false), 0);
	for (int i = 0; i < 3; i++)
		send_one(0);
	cr_assert(readable(r.b.recv, 5000));
	m5_hw.cq_drain_fd(r.b.recv);
	for (int i = 0; i < 3; i++)
		dequeue_both();
	send_one(0);
	dequeue_both();
	cr_assert(!readable(r.b.recv, 50));
}

/* A completion between the last poll and the arm causes an event, too. */
RIG_TEST(event, cq_arm__after_the_completion_makes_an_event)
{
	send_one(0);
	cr_assert(TH_WITHIN(20000, !m5_hw.cq_arm(r.b.recv, false) && readable(r.b.recv, 1)));
	m5_hw.cq_drain_fd(r.b.recv);
	dequeue_both();
}

/* After each event that was read, the next arm causes another one, although no completion has been
 * dequeued. */
RIG_TEST(event, cq_arm__with_an_old_completion_makes_an_event_for_the_next)
{
	enum { TIMES = 5 };

	for (int i = 0; i < TIMES; i++) {
		cr_assert_eq(m5_hw.cq_arm(r.b.recv, false), 0);
		send_one(0);
		cr_assert(readable(r.b.recv, 5000), "arm %d caused no event", i);
		m5_hw.cq_drain_fd(r.b.recv);
	}
	for (int i = 0; i < TIMES; i++)
		dequeue_both();
}

/* Arming again before the event was taken causes no second event. */
RIG_TEST(event, cq_arm__twice_makes_one_event)
{
	for (int i = 0; i < 3; i++)
		cr_assert_eq(m5_hw.cq_arm(r.b.recv, false), 0);
	send_one(0);
	cr_assert(readable(r.b.recv, 5000));
	cr_assert_eq(m5_hw.cq_arm(r.b.recv, false), 0);
	m5_hw.cq_drain_fd(r.b.recv);
	dequeue_both();
	cr_assert(!readable(r.b.recv, 50));
}

RIG_TEST(event, cq_arm__for_solicited_ones_makes_no_other_event)
{
	cr_assert_eq(m5_hw.cq_arm(r.b.recv, true), 0);
	send_one(0);
	dequeue_both();
	cr_assert(!readable(r.b.recv, 50));
	send_one(DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	cr_assert(readable(r.b.recv, 5000));
	m5_hw.cq_drain_fd(r.b.recv);
	dequeue_both();
}
