/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each allocation of a connection fails once, and descriptors run out at each point: a call or an event
 * reports it, and the next attempt succeeds.
 */
#include <string.h>

#include "tests/api/conn.h"

/*
 * QUICK is the time for an attempt that must fail, PATIENT for one that must succeed on a loaded
 * machine.
 */
enum { QUICK_MS = 250, PATIENT_MS = 10000 };

/* The result of an attempt. The functions that fill it must not assert, because asserting
 * allocates. */
struct outcome {
	DAT_RETURN listen, connect, accept;
	DAT_EVENT_NUMBER active, passive;
};

/* Polls for the event, because a wait would need a descriptor. 0: no event. */
static DAT_EVENT_NUMBER next_event(DAT_EVD_HANDLE evd, unsigned int ms, DAT_EVENT *ev)
{
	return TH_WITHIN(ms, dat_evd_dequeue(evd, ev) == DAT_SUCCESS) ? ev->event_number : 0;
}

/* ms: time limit for a request to arrive. The connection may take a little longer. */
static void attempt(struct outcome *o, unsigned int ms)
{
	DAT_EVENT ev;

	memset(o, 0, sizeof(*o));
	o->listen = dat_psp_create(b.ia, conn_qual(), b.cr_evd, DAT_PSP_CONSUMER_FLAG, &b.psp);
	if (o->listen != DAT_SUCCESS)
		return;
	o->connect = side_try_connect(&a, a.ep, (ms + 50) * 1000);
	if (o->connect != DAT_SUCCESS)
		return;
	if (next_event(b.cr_evd, ms, &ev)) {
		o->accept = dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, b.ep, 0,
					  NULL);
		if (o->accept == DAT_SUCCESS)
			o->passive = next_event(b.conn_evd, 10000, &ev);
	}
	o->active = next_event(a.conn_evd, 10000, &ev);
}

static bool is_shortage(DAT_RETURN ret)
{
	return ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;
}

/* Returns true if everything succeeded. Asserts that each failure was reported. */
static bool judge(const struct outcome *o, unsigned long n)
{
	cr_assert(is_shortage(o->listen) && is_shortage(o->connect) && is_shortage(o->accept),
		  "allocation %lu failed; listen, connect and accept returned 0x%08x 0x%08x 0x%08x",
		  n, o->listen, o->connect, o->accept);
	if (o->listen != DAT_SUCCESS || o->connect != DAT_SUCCESS)
		return false;
	cr_assert(o->active == DAT_CONNECTION_EVENT_ESTABLISHED ||
			  o->active == DAT_CONNECTION_EVENT_NON_PEER_REJECTED ||
			  o->active == DAT_CONNECTION_EVENT_TIMED_OUT,
		  "allocation %lu failed; the active side got the wrong event 0x%x", n, o->active);
	return o->active == DAT_CONNECTION_EVENT_ESTABLISHED &&
	       o->passive == DAT_CONNECTION_EVENT_ESTABLISHED;
}

static void open_both(void)
{
	side_open(&a);
	side_open(&b);
}

/* An attempt with new endpoints succeeds, whatever state the old ones are in. A request of the old ones
 * may still arrive. */
static void works_again(void)
{
	DAT_EVENT_NUMBER number;
	DAT_EVENT ev;

	if (!b.psp)
		side_listen(&b);
	a.ep = side_ep(&a);
	side_connect(&a);
	do {
		b.ep = side_ep(&b);
		assert_ok(dat_cr_accept(side_request(&b), b.ep, 0, NULL));
		number = next_event(b.conn_evd, 10000, &ev);
	} while (number == DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	cr_assert_eq(number, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_close(&a);
	side_close(&b);
}

Test(conn_fail, connect__each_failed_allocation_lets_the_next_attempt_work, .timeout = 100)
{
	unsigned long n = 1, all;
	unsigned int ms = QUICK_MS;
	struct outcome o;
	bool well = false;

	while (!well) {
		open_both();
		th_fail_start(TH_FAIL_HEAP, n);
		attempt(&o, ms);
		all = th_fail_stop();
		well = judge(&o, n) && n > all;
		works_again();
		cr_assert(well || n <= all || ms == QUICK_MS,
			  "the connection failed although none of the %lu allocations did", all);
		/* On a loaded machine the timeout may expire before the n-th allocation. Then the attempt
		 * is repeated with a longer timeout. */
		ms = n > all ? PATIENT_MS : QUICK_MS;
		n += n <= all;
		cr_assert_lt(n, 200);
	}
	cr_assert_gt(n, 3);
}

/* FEW: a connection needs fewer descriptors than this, so with FEW or more it can fail only for lack of
 * time. */
Test(conn_fail, connect__without_descriptors_lets_the_next_attempt_work, .timeout = 100)
{
	enum { FEW = 14 };
	struct outcome o;
	bool well = false;

	for (unsigned int room = 0; !well; room++) {
		open_both();
		cr_assert_eq(th_fds_limit(room), 0);
		attempt(&o, room < FEW ? QUICK_MS : PATIENT_MS);
		th_fds_restore();
		well = judge(&o, room);
		if (!well && o.connect == DAT_SUCCESS && o.listen == DAT_SUCCESS)
			cr_assert_neq(o.active, DAT_CONNECTION_EVENT_ESTABLISHED);
		works_again();
		cr_assert_lt(room, 20);
	}
}
