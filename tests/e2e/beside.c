/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slow calls on an EVD beside the thread that dequeues or waits: the one thread stops before each
 * lock that it takes, and the other one takes its step there.
 */
#include "tests/e2e/rig.h"

enum { LEN = 8 };

static struct end a, b;

static void setup(void)
{
	pair_open(&a, &b);
}

static void teardown(void)
{
	pair_close(&a, &b);
}

TestSuite(beside, .timeout = 120);

static DAT_CNO_HANDLE make_cno(void)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	must(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	return cno;
}

/* ---- The order of completions ---- */

static struct {
	struct th_aside dequeuer;
	uint64_t next;			/* the cookie that is due */
	bool wrong;
} order;

static void take_one(void *arg)
{
	DAT_EVENT ev;

	(void)arg;
	if (dat_evd_dequeue(b.recv_evd, &ev) != DAT_SUCCESS)
		return;
	if (ev.event_data.dto_completion_event_data.user_cookie.as_64 != order.next++)
		order.wrong = true;
}

/* There is one dequeuer: the step before may still wait for the turn. */
static void dequeue_meanwhile(void *arg)
{
	if (order.dequeuer.started && !__atomic_load_n(&order.dequeuer.done, __ATOMIC_ACQUIRE))
		return;
	th_aside_end(&order.dequeuer);
	th_aside(&order.dequeuer, take_one, arg, SOON_MS);
}

static void messages(void)
{
	order.next = 0;
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		must(do_recv(&b, i, 0, LEN));
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		must(do_send(&a, i, 0, LEN, 0));
	took_range(a.req_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
}

static void all_in_order(void)
{
	th_at_locks(NULL, NULL);
	th_aside_end(&order.dequeuer);
	check(TH_WITHIN(SOON_MS, (take_one(NULL), order.next >= RIG_DTOS)));
	same(order.next, RIG_DTOS);
	check(!order.wrong);
	rig_empty(b.recv_evd);
}

RIG_TEST(beside, evd_resize__keeps_the_order_for_a_dequeuer)
{
	messages();
	th_at_locks(dequeue_meanwhile, NULL);
	must(dat_evd_resize(b.recv_evd, 4 * RIG_DTOS));
	all_in_order();
}

RIG_TEST(beside, evd_modify_cno__keeps_the_order_for_a_dequeuer)
{
	DAT_CNO_HANDLE cno = make_cno();

	messages();
	th_at_locks(dequeue_meanwhile, NULL);
	must(dat_evd_modify_cno(b.recv_evd, cno));
	must(dat_evd_modify_cno(b.recv_evd, DAT_HANDLE_NULL));
	all_in_order();
	must(dat_cno_free(cno));
}
