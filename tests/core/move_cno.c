/* SPDX-License-Identifier: BSD-2-Clause */
/* An EVD moves to another CNO while a thread that waits for that CNO already polls the EVD's CQ. */
#include "core/evd/cno.h"
#include "tests/core/fixture.h"

static DAT_CNO_HANDLE from, to;
static struct th_aside mover;
static bool polls, left_to_move;		/* atomic */
static _Thread_local bool is_waiter;

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void set(bool *flag)
{
	__atomic_store_n(flag, true, __ATOMIC_RELEASE);
}

static void setup(void)
{
	fake_open_objects(&t, ALL);
	cr_assert_eq(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &from), DAT_SUCCESS);
	cr_assert_eq(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &to), DAT_SUCCESS);
	cr_assert_eq(dat_evd_modify_cno(t.evd, from), DAT_SUCCESS);
}

TestSuite(move_cno, .init = setup, .fini = teardown, .timeout = 60);

/* The waiter's first poll lasts until the mover has returned, or waits. */
static void poll_slowly(struct dap_evd *evd)
{
	(void)evd;
	if (!is_waiter || is_set(&polls))
		return;
	set(&polls);
	(void)TH_WITHIN(20000, is_set(&left_to_move) &&
				       (is_set(&mover.done) || th_goes_on_sleeping(mover.tid)));
}

/* Before the mover's first lock after the change: lets the waiter begin its poll. */
static void complete_after_the_change(void *arg)
{
	struct core_evd *evd = core_evd(t.evd);

	(void)arg;
	if (left_to_move || evd->cno != to || pthread_mutex_trylock(&evd->cq_lock))
		return;
	pthread_mutex_unlock(&evd->cq_lock);
	fake_complete_dto(t.evd, t.ep, 1, false);
	(void)TH_WITHIN(20000, is_set(&polls));
	set(&left_to_move);
}

static void move_evd(void *ret)
{
	th_at_locks(complete_after_the_change, NULL);
	*(DAT_RETURN *)ret = dat_evd_modify_cno(t.evd, to);
	th_at_locks(NULL, NULL);
}

static void *wait_for_cno(void *arg)
{
	struct waiter *w = arg;

	is_waiter = true;
	waiter_done(w, dat_cno_wait(to, LONG, &w->evd));
	return NULL;
}

static uint32_t waiters(void)
{
	return __atomic_load_n(&((struct dap_cno *)to)->waiters, __ATOMIC_RELAXED);
}

Test(move_cno, modify_cno__returns_although_the_new_cno_is_polling_the_evd)
{
	struct waiter w = {.evd = NULL};
	DAT_RETURN ret = DAT_ABORT;

	fake.on_poll = poll_slowly;
	cr_assert_eq(pthread_create(&w.thread, NULL, wait_for_cno, &w), 0);
	cr_assert(TH_WITHIN(20000, waiters() == 1));
	th_aside(&mover, move_evd, &ret, 0);
	cr_assert(TH_WITHIN(20000, is_set(&mover.done)), "dat_evd_modify_cno does not return");
	th_aside_end(&mover);
	cr_assert_eq(ret, DAT_SUCCESS);
	cr_assert(is_set(&polls));
	cr_assert_eq(result(&w), DAT_SUCCESS);
	cr_assert_eq(w.evd, t.evd);
	fake.on_poll = NULL;
}

/* Its trigger from before is still pending each time. */
Test(move_cno, modify_cno__that_returns_to_a_cno_is_reported_once)
{
	DAT_EVD_HANDLE got;

	for (int i = 0; i < 3; i++) {
		fake_post_se(t.evd);
		cr_assert_eq(dat_evd_modify_cno(t.evd, DAT_HANDLE_NULL), DAT_SUCCESS);
		cr_assert_eq(dat_evd_modify_cno(t.evd, from), DAT_SUCCESS);
	}
	fake_post_se(t.evd);
	cr_assert_eq(dat_cno_wait(from, LONG, &got), DAT_SUCCESS);
	cr_assert_eq(got, t.evd);
	assert_code(dat_cno_wait(from, 0, &got), DAT_QUEUE_EMPTY, 0);
	fake_post_se(t.evd);
	cr_assert_eq(dat_cno_wait(from, LONG, &got), DAT_SUCCESS);
	cr_assert_eq(got, t.evd);
}
