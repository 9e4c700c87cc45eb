/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Slow calls on an EVD while another thread dequeues or waits. One thread stops before each lock
 * that it takes, and the other thread runs its step at that point.
 */
#include "tests/e2e/ends.h"

enum { LEN = 8 };

/* A wait that does not poll takes the same locks in each run. */
static void setup(void)
{
	rig_conf("strict=1;spin_us=0");
	pair_open(&a, &b);
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
	uint64_t next;			/* cookie of the next post */
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

/* Dequeues in the other thread. Only one thread may dequeue at a time, and its previous step may still
 * wait for the run token. */
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

/* ---- One event channel ---- */

static struct {
	struct th_aside joiner;
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	unsigned int locks, at;
} join;

static void join_cno(void *arg)
{
	(void)arg;
	must(dat_evd_modify_cno(join.evd, join.cno));
}

static void join_at_lock(void *arg)
{
	if (join.locks++ == join.at)
		th_aside(&join.joiner, join_cno, arg, SOON_MS);
}

/* A wait, and another thread that sets a CNO when the wait is about to take this lock. Both need the CQ's
 * descriptor, which does not exist yet. False: the wait takes no such lock. */
static bool joined_at(unsigned int lock)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	join.at = lock;
	join.locks = 0;
	must(dat_evd_create(b.ia, RIG_DTOS, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &join.evd));
	th_at_locks(join_at_lock, NULL);
	must_fail(dat_evd_wait(join.evd, 50000, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
	th_at_locks(NULL, NULL);
	th_aside_end(&join.joiner);
	must(dat_evd_modify_cno(join.evd, DAT_HANDLE_NULL));
	must(dat_evd_free(join.evd));
	return join.locks > lock;
}

RIG_TEST(beside, evd_modify_cno__beside_the_first_wait_makes_one_channel)
{
	struct th_usage before, after;
	unsigned int lock = 0;

	join.cno = make_cno();
	th_usage(&before);
	while (joined_at(lock))
		lock++;
	th_usage(&after);
	same(after.fds, before.fds);
	check(lock > 3);
	must(dat_cno_free(join.cno));
}
