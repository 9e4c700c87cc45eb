/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_ep_get_status(3), which any thread may call at any time. If the consumer gave no EVD, the call
 * drops completions: no other thread may do so at the same time, or destroy the CQ.
 */
#include <arpa/inet.h>

#include "tests/core/fixture.h"

static void setup(void)
{
	fake_open_objects(&t, ALL);
	assert_ok(dat_ep_free(t.ep));
	assert_ok(dat_ep_create(t.ia, t.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, t.evd, NULL, &t.ep));
}

TestSuite(status, .init = setup, .fini = teardown, .timeout = 60);

static struct {
	struct th_aside other;
	void (*fn)(void *arg);
	bool waited;
} beside;

static void start_beside(struct dap_evd *evd)
{
	(void)evd;
	fake.on_poll = NULL;
	beside.waited = !th_aside(&beside.other, beside.fn, NULL, 20000);
}

static DAT_EP_STATE status_beside(void (*fn)(void *arg))
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	beside.fn = fn;
	fake.on_poll = start_beside;
	assert_ok(dat_ep_get_status(t.ep, &state, &recv_idle, &request_idle));
	th_aside_end(&beside.other);
	return state;
}

/* Reaps completions as a post does if the queue is full. */
static void reap(void *arg)
{
	(void)arg;
	dap_ep_reap(t.ep, true);
}

Test(status, get_status__beside_a_poster_polls_alone)
{
	status_beside(reap);
	cr_expect(beside.waited, "two threads polled the CQ at the same time");
}

/* Connects to a qualifier on which no process listens, and disconnects. */
static void connect_and_disconnect(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	assert_ok(dat_ep_connect(t.ep, (DAT_IA_ADDRESS_PTR)&at, th_qual(), DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	assert_ok(dat_ep_disconnect(t.ep, DAT_CLOSE_ABRUPT_FLAG));
}

static void reset(void *arg)
{
	(void)arg;
	cr_expect_eq(dat_ep_reset(t.ep), DAT_SUCCESS);
}

Test(status, get_status__beside_a_reset_polls_a_cq_that_exists)
{
	connect_and_disconnect();
	cr_expect_eq(status_beside(reset), DAT_EP_STATE_DISCONNECTED);
	cr_expect(beside.waited, "the CQ was destroyed during the poll");
}
