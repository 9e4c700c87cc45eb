/* SPDX-License-Identifier: BSD-2-Clause */
/* CQs grow beyond their first ring while completions come and are polled. */
#include <criterion/criterion.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

enum { QLEN = 64, DTOS = 16, GROWN = 1 << 14 };

static struct rig r;

static void open_rig(void)
{
	struct rig_config c = { .attr = { .max_request_dtos = DTOS, .max_recv_dtos = DTOS },
				.qlen = QLEN };

	cr_assert_eq(rig_open(&r, &c), 0);
}

static void close_rig(void)
{
	rig_close(&r, NULL);
}

static void send_one(uint64_t n)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8), b = rig_local(&r.b, 0, 8);

	cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(n), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(n), 0), DAT_SUCCESS);
}

static void expect(struct dap_evd *evd, uint64_t n)
{
	DAT_EVENT ev;

	cr_assert(TH_WITHIN(20000, r.hot->evd_dequeue(evd, &ev) == DAT_SUCCESS),
		  "completion %lu is lost", n);
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, n);
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

static bool grow(unsigned int entries)
{
	return !m5_hw.cq_resize(r.b.recv, entries) && !m5_hw.cq_resize(r.a.request, entries);
}

RIG_TEST(grow, cq_resize__between_completions_keeps_their_order)
{
	unsigned int log = m5_cq(r.b.recv)->log;
	uint64_t n = 0;

	for (unsigned int entries = QLEN; entries <= GROWN; entries *= 2) {
		for (uint64_t i = 0; i < DTOS; i++) {
			send_one(n + i);
			if (i == n / DTOS % DTOS)
				cr_assert(grow(entries), "the EVD cannot grow to %u entries",
					  entries);
		}
		for (uint64_t i = 0; i < DTOS; i++, n++) {
			expect(r.b.recv, n);
			expect(r.a.request, n);
		}
	}
	cr_assert_geq(m5_cq(r.b.recv)->log, log + 4);
	cr_assert_geq(m5_cq(r.a.request)->log, log + 4);
}

static atomic_bool done;

static void *grower(void *arg)
{
	for (unsigned int entries = QLEN; entries <= GROWN && !arg; entries += entries / 4) {
		if (!grow(entries))
			arg = &done;
		th_yield();
	}
	done = true;
	return arg;
}

/* The CQ grows, as it does when an endpoint is created. The thread that polls it notices
 * nothing. */
RIG_TEST(grow, cq_resize__beside_a_poller_loses_no_completion)
{
	unsigned int log = m5_cq(r.b.recv)->log;
	pthread_t t;
	void *failed;

	done = false;
	cr_assert_eq(pthread_create(&t, NULL, grower, NULL), 0);
	for (uint64_t n = 0; !done || n < 100; n++) {
		send_one(n);
		expect(r.b.recv, n);
		expect(r.a.request, n);
	}
	pthread_join(t, &failed);
	cr_assert_null(failed);
	cr_assert_geq(m5_cq(r.b.recv)->log, log + 4);
	cr_assert(rig_empty(&r, r.b.recv) && rig_empty(&r, r.a.request));
}

static bool readable(struct dap_evd *evd)
{
	struct pollfd p = { .fd = m5_hw.cq_fd(evd), .events = POLLIN };

	return poll(&p, 1, 1) == 1;
}

/* A later completion wakes a waiter with an armed CQ, and the waiter finds it. */
RIG_TEST(grow, cq_resize__of_an_armed_queue_leaves_it_armed)
{
	cr_assert_eq(m5_hw.cq_arm(r.b.recv, false), 0);
	cr_assert(grow(GROWN));
	send_one(7);
	cr_assert(TH_WITHIN(20000, readable(r.b.recv)));
	m5_hw.cq_drain_fd(r.b.recv);
	expect(r.b.recv, 7);
	expect(r.a.request, 7);
}
