/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait(3): which events end a wait, and return values. */
#include "core/evd/evd.h"
#include "tests/core/fixture.h"

static void setup(void)
{
	fake_open_objects(&t, ALL);
}

TestSuite(wait, .init = setup, .fini = teardown, .timeout = 60);

static void *wait_in_thread(void *arg)
{
	struct waiter *w = arg;

	waiter_done(w, dat_evd_wait(w->evd, w->timeout, w->threshold, &w->event, &w->nmore));
	return NULL;
}

static void start(struct waiter *w, DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	*w = (struct waiter){.evd = evd, .timeout = LONG, .threshold = threshold};
	cr_assert_eq(pthread_create(&w->thread, NULL, wait_in_thread, w), 0);
	cr_assert(TH_WITHIN(20000, is_waiting(evd)));
}

Test(wait, wait__zero_timeout_polls_once)
{
	DAT_COUNT nmore = 77;
	DAT_EVENT ev = {.event_number = 0x77};

	assert_code(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_TIMEOUT_EXPIRED, 0);
	cr_assert_eq(nmore, 0);
	cr_assert_eq(ev.event_number, 0x77);
	fake_post_se(t.evd);
	cr_assert_eq(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_SUCCESS);
	cr_assert_eq(nmore, 0);
	cr_assert_eq(ev.event_number, DAT_SOFTWARE_EVENT);
}

Test(wait, wait__times_out_with_what_is_there)
{
	uint64_t start_ms = th_now_ms();
	DAT_COUNT nmore = 77;
	DAT_EVENT ev;

	fake_post_se(t.evd);
	fake_complete_dto(t.evd, t.ep, 1, false);
	assert_ret(dat_evd_wait(t.evd, 30000, 3, &ev, &nmore), DAT_TIMEOUT_EXPIRED);
	cr_assert_geq(th_now_ms() - start_ms, 29);
	cr_assert_eq(nmore, 2);
	cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_SOFTWARE_EVENT);
	cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
}

Test(wait, wait__nmore_counts_both_sides)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	for (uint64_t i = 0; i < 3; i++)
		fake_complete_dto(t.evd, t.ep, i, false);
	fake_post_se(t.evd);
	cr_assert_eq(dat_evd_wait(t.evd, 0, 4, &ev, &nmore), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_SOFTWARE_EVENT);
	cr_assert_eq(nmore, 3);
	for (uint64_t i = 0; i < 3; i++) {
		cr_assert_eq(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_SUCCESS);
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
		cr_assert_eq(nmore, (DAT_COUNT)(2 - i));
	}
}

Test(wait, wait__invalid_arguments_are_refused)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	assert_code(dat_evd_wait(t.evd, 0, 0, &ev, &nmore), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_evd_wait(t.evd, 0, -1, &ev, &nmore), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG3);
	assert_code(dat_evd_wait(t.evd, 0, 9, &ev, &nmore), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_ret(dat_evd_wait(t.evd, 0, 1, NULL, &nmore), DAT_INVALID_PARAMETER);
	assert_ret(dat_evd_wait(t.evd, 0, 1, &ev, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dat_evd_wait(t.ep, 0, 1, &ev, &nmore), DAT_INVALID_HANDLE);
	assert_ret(dat_evd_wait(NULL, 0, 1, &ev, &nmore), DAT_INVALID_HANDLE);
}

Test(wait, wait__returns_at_a_software_event)
{
	DAT_EVD_HANDLE soft = fake_evd(t.ia, 4, DAT_EVD_SOFTWARE_FLAG);
	struct waiter w;

	start(&w, soft, 1);
	fake_post_se(soft);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	cr_assert_eq(w.event.event_number, DAT_SOFTWARE_EVENT);
}

Test(wait, wait__returns_at_a_completion)
{
	struct waiter w;

	start(&w, t.evd, 1);
	cr_assert(TH_WITHIN(20000, __atomic_load_n(&fake.arms, __ATOMIC_RELAXED) > 0));
	fake_complete_dto(t.evd, t.ep, 5, false);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	cr_assert_eq(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 5);
}

Test(wait, wait__threshold_of_three_returns_at_the_third)
{
	struct waiter w;

	start(&w, t.evd, 3);
	fake_complete_dto(t.evd, t.ep, 1, false);
	fake_post_se(t.evd);
	th_sleep_ms(30);
	cr_assert_not(is_done(&w));
	fake_complete_dto(t.evd, t.ep, 2, false);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	cr_assert_eq(w.nmore, 2);
}

/* In a queue of two the third event would never come. */
Test(wait, resize__below_the_threshold_of_a_waiter_is_refused)
{
	struct waiter w;

	start(&w, t.evd, 3);
	assert_code(dat_evd_resize(t.evd, 2), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	cr_assert_eq(dat_evd_resize(t.evd, 3), DAT_SUCCESS);
	for (uint64_t i = 0; i < 3; i++)
		fake_complete_dto(t.evd, t.ep, i, false);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	cr_assert_eq(w.nmore, 2);
}

static bool armed_since(unsigned int before)
{
	return TH_WITHIN(20000, __atomic_load_n(&fake.arms, __ATOMIC_RELAXED) != before);
}

/* The completion of an unsignaled request is an event but wakes no waiter, even if the CQ was
 * armed. Nor does it if an earlier wait was notified. */
Test(wait, wait__unsignalled_does_not_wake)
{
	struct waiter w;
	DAT_EVENT ev;

	for (int i = 0; i < 2; i++) {
		unsigned int arms = fake.arms;

		start(&w, t.evd, 1);
		cr_assert(armed_since(arms));
		arms = fake.arms;
		fake_complete_dto(t.evd, t.ep, 1, true);
		cr_assert(armed_since(arms));
		cr_assert_not(is_done(&w));
		fake_complete_dto(t.evd, t.ep, 2, false);
		cr_assert_eq(result(&w), DAT_SUCCESS);
		cr_assert_eq(w.event.event_data.dto_completion_event_data.user_cookie.as_64, 1);
		cr_assert_eq(w.nmore, 1);
		cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);
	}
}

static void complete_unsignalled(struct dap_evd *evd)
{
	if (!fake.arms)
		return;
	fake.on_poll = NULL;
	fake_complete_dto(evd, t.ep, 3, true);
}

Test(wait, wait__unsignalled_is_returned_at_the_timeout)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	fake.on_poll = complete_unsignalled;
	cr_assert_eq(dat_evd_wait(t.evd, 50000, 1, &ev, &nmore), DAT_SUCCESS);
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, 3);
	cr_assert_eq(nmore, 0);
}

Test(wait, wait__unsignalled_already_there_is_returned)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	fake_complete_dto(t.evd, t.ep, 1, true);
	cr_assert_eq(dat_evd_wait(t.evd, LONG, 1, &ev, &nmore), DAT_SUCCESS);
}

static void complete_at_arming(struct dap_evd *evd)
{
	/* The first poll after arming the CQ finds the completion, so the descriptor will not become
	 * readable. */
	static bool once;

	if (once || !fake.arms)
		return;
	once = true;
	((struct dap_evd *)t.evd)->obj.ia->hw->cq_drain_fd(evd);
	fake.on_poll = NULL;
	fake_complete_dto(evd, t.ep, 9, false);
	evd->obj.ia->hw->cq_drain_fd(evd);
}

Test(wait, wait__completion_between_poll_and_arm_is_not_missed)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	fake.on_poll = complete_at_arming;
	cr_assert_eq(dat_evd_wait(t.evd, LONG, 1, &ev, &nmore), DAT_SUCCESS);
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, 9);
}

/* The end of a connection is posted after the last poll has begun, so that poll must not deliver
 * it. */
static void break_after_arming(struct dap_evd *evd)
{
	struct dap_event ev = {.number = DAP_EV_BROKEN, .conn.ep = t.ep, .after_cq = true};

	if (!fake.arms)
		return;
	fake.on_poll = NULL;
	cr_assert_eq(dap_evd_post(evd, &ev), 0);
}

Test(wait, wait__end_of_a_connection_between_poll_and_sleep_is_not_missed)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	fake.on_poll = break_after_arming;
	cr_assert_eq(dat_evd_wait(t.evd, LONG, 1, &ev, &nmore), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_BROKEN);
}

Test(wait, wait__second_waiter_and_dequeue_are_refused)
{
	struct waiter w;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	start(&w, t.evd, 1);
	assert_code(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_INVALID_STATE,
		    DAT_INVALID_STATE_EVD_WAITER);
	assert_code(dat_evd_dequeue(t.evd, &ev), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	fake_post_se(t.evd);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	assert_ret(dat_evd_dequeue(t.evd, &ev), DAT_QUEUE_EMPTY);
}

Test(wait, set_unwaitable__refuses_and_wakes)
{
	struct waiter w;
	DAT_COUNT nmore;
	DAT_EVD_PARAM param;
	DAT_EVENT ev;

	start(&w, t.evd, 1);
	cr_assert_eq(dat_evd_set_unwaitable(t.evd), DAT_SUCCESS);
	assert_code(result(&w), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_UNWAITABLE);
	assert_ret(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_INVALID_STATE);
	cr_assert_eq(dat_evd_query(t.evd, DAT_EVD_FIELD_EVD_STATE, &param), DAT_SUCCESS);
	cr_assert(param.evd_state & DAT_EVD_STATE_UNWAITABLE);
	fake_post_se(t.evd);
	cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);	/* a dequeue may poll the CQ */
	cr_assert_eq(dat_evd_clear_unwaitable(t.evd), DAT_SUCCESS);
	fake_post_se(t.evd);
	cr_assert_eq(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_SUCCESS);
}

static void be_unwaitable_for_a_moment(struct dap_evd *evd)
{
	fake.on_poll = NULL;
	cr_assert_eq(dat_evd_set_unwaitable(evd), DAT_SUCCESS);
	cr_assert_eq(dat_evd_clear_unwaitable(evd), DAT_SUCCESS);
}

/* The waiter looks at the EVD only after it is waitable again. */
Test(wait, set_unwaitable__ends_a_wait_even_if_cleared_at_once)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	fake.on_poll = be_unwaitable_for_a_moment;
	assert_code(dat_evd_wait(t.evd, 100000, 1, &ev, &nmore), DAT_INVALID_STATE,
		    DAT_INVALID_STATE_EVD_UNWAITABLE);
	assert_ret(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_TIMEOUT_EXPIRED);
}

Test(wait, evd_free__aborts_waiter)
{
	DAT_EVD_HANDLE evd = fake_evd(t.ia, 4, DAT_EVD_DTO_FLAG);
	struct waiter w;

	start(&w, evd, 1);
	cr_assert_eq(dat_evd_free(evd), DAT_SUCCESS);
	assert_ret(result(&w), DAT_ABORT);
	assert_ret(dat_evd_free(evd), DAT_INVALID_HANDLE);
}

Test(wait, ia_close__aborts_waiters)
{
	DAT_IA_HANDLE ia = fake_open("fake1");
	DAT_EVD_HANDLE dto = fake_evd(ia, 4, DAT_EVD_DTO_FLAG), async;
	struct waiter w, x;

	cr_assert_eq(dat_ia_query(ia, &async, 0, NULL, 0, NULL), DAT_SUCCESS);
	start(&w, dto, 1);
	start(&x, async, 1);
	assert_ret(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	cr_assert_eq(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	assert_ret(result(&w), DAT_ABORT);
	assert_ret(result(&x), DAT_ABORT);
}

Test(wait, wait__interrupted_by_signal_returns_interrupted_call)
{
	struct sigaction act = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
	struct waiter w;

	sigaction(SIGUSR1, &act, NULL);
	fake_post_se(t.evd);
	start(&w, t.evd, 2);
	cr_assert(TH_WITHIN(20000, (pthread_kill(w.thread, SIGUSR1), is_done(&w))));
	assert_ret(result(&w), DAT_INTERRUPTED_CALL);
	cr_assert_eq(w.nmore, 1);
}

Test(wait, wait__threshold_of_two_is_refused_with_unsignalled_posts)
{
	DAT_EVD_HANDLE evd = fake_evd(t.ia, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4,
			    .recv_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG,
			    .request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG};
	DAT_EP_HANDLE ep;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	cr_assert_eq(dat_ep_create(t.ia, t.pz, evd, evd, t.evd, &attr, &ep), DAT_SUCCESS);
	assert_ret(dat_evd_wait(evd, 0, 2, &ev, &nmore), DAT_INVALID_STATE);
	assert_ret(dat_evd_wait(evd, 0, 1, &ev, &nmore), DAT_TIMEOUT_EXPIRED);
	cr_assert_eq(dat_ep_free(ep), DAT_SUCCESS);
	assert_ret(dat_evd_wait(evd, 0, 2, &ev, &nmore), DAT_TIMEOUT_EXPIRED);
}

/* The flags of a freed endpoint no longer count. */
Test(wait, wait__threshold_of_two_returns_after_the_unsignalled_endpoint_is_freed)
{
	DAT_EVD_HANDLE evd = fake_evd(t.ia, 8, DAT_EVD_DTO_FLAG);
	DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4};
	DAT_EP_HANDLE stays, leaves;
	DAT_EVD_PARAM param;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	cr_assert_eq(dat_ep_create(t.ia, t.pz, evd, evd, t.evd, &attr, &stays), DAT_SUCCESS);
	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	cr_assert_eq(dat_ep_create(t.ia, t.pz, evd, evd, t.evd, &attr, &leaves), DAT_SUCCESS);
	assert_ret(dat_evd_wait(evd, 0, 2, &ev, &nmore), DAT_INVALID_STATE);
	cr_assert_eq(dat_ep_free(leaves), DAT_SUCCESS);
	cr_assert_eq(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_eq(param.evd_state & DAT_EVD_STATE_CONFIG_THRESHOLD, DAT_EVD_STATE_CONFIG_THRESHOLD);
	fake_complete_dto(evd, stays, 1, false);
	fake_complete_dto(evd, stays, 2, false);
	assert_ret(dat_evd_wait(evd, 0, 2, &ev, &nmore), DAT_SUCCESS);
	cr_assert_eq(nmore, 1);
	cr_assert_eq(dat_ep_free(stays), DAT_SUCCESS);
}

Test(wait, wait__without_descriptors_is_refused)
{
	DAT_COUNT nmore = 77;
	DAT_EVENT ev;

	cr_assert_eq(th_fds_limit(0), 0);
	assert_ret(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_INSUFFICIENT_RESOURCES);
	th_fds_restore();
	cr_assert_eq(nmore, 77);
	assert_ret(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_TIMEOUT_EXPIRED);
}

struct taker {
	pthread_t thread;
	DAT_EVD_HANDLE evd;
	unsigned int seen[64];
};

static unsigned int taken;

static void *take_all(void *arg)
{
	struct taker *taker = arg;
	DAT_EVENT ev;

	for (int i = 0; i < 100000 && __atomic_load_n(&taken, __ATOMIC_RELAXED) < 64; i++) {
		if (dat_evd_dequeue(taker->evd, &ev) != DAT_SUCCESS) {
			th_yield();
			continue;
		}
		taker->seen[ev.event_data.dto_completion_event_data.user_cookie.as_64]++;
		__atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

Test(wait, dequeue__threadsafe_instance_gives_each_event_once)
{
	DAT_IA_HANDLE ia = fake_open_safe("fake1");
	DAT_PZ_HANDLE pz = fake_pz(ia);
	DAT_EVD_HANDLE evd = fake_evd(ia, 100, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_HANDLE ep = fake_ep(ia, pz, evd);
	struct taker takers[3] = {{0}};

	for (int i = 0; i < 3; i++) {
		takers[i].evd = evd;
		cr_assert_eq(pthread_create(&takers[i].thread, NULL, take_all, &takers[i]), 0);
	}
	for (uint64_t i = 0; i < 64; i++)
		fake_complete_dto(evd, ep, i, false);
	for (int i = 0; i < 3; i++)
		pthread_join(takers[i].thread, NULL);
	for (int c = 0; c < 64; c++)
		cr_assert_eq(takers[0].seen[c] + takers[1].seen[c] + takers[2].seen[c], 1);
	cr_assert_eq(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

/* ---- Notification flags that change under a waiter ---- */

static struct {
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct th_aside changer;
	/* locks that the waiter has taken; the change is made before the lock with number `at` */
	unsigned int locks, at;
	bool claimed, changed, changing;
} flip;

static DAT_EP_HANDLE ep_with(DAT_COMPLETION_FLAGS recv_flags)
{
	DAT_EP_ATTR attr = { .max_recv_dtos = 4, .max_request_dtos = 4,
			     .recv_completion_flags = recv_flags };
	DAT_EP_HANDLE ep = NULL;

	cr_assert_eq(dat_ep_create(t.ia, t.pz, flip.evd, NULL, NULL, &attr, &ep), DAT_SUCCESS);
	return ep;
}

static void change_flags(void *arg)
{
	(void)arg;
	cr_assert_eq(dat_ep_free(flip.ep), DAT_SUCCESS);
	flip.ep = ep_with(DAT_COMPLETION_DEFAULT_FLAG);
	__atomic_store_n(&flip.changed, true, __ATOMIC_RELEASE);
}

/* Only one of two threads makes the change: a waiter that seems to sleep may still reach its
 * lock. */
static bool claim_change(void)
{
	return !__atomic_exchange_n(&flip.claimed, true, __ATOMIC_ACQ_REL);
}

static void change_at_lock(void *arg)
{
	if (flip.locks++ != flip.at || !claim_change())
		return;
	__atomic_store_n(&flip.changing, true, __ATOMIC_RELEASE);
	th_aside(&flip.changer, change_flags, arg, 20000);
	__atomic_store_n(&flip.changing, false, __ATOMIC_RELEASE);
}

static void wait_stepwise(void *arg)
{
	th_at_locks(change_at_lock, NULL);
	wait_in_thread(arg);
	th_at_locks(NULL, NULL);
}

static bool is_changed(void)
{
	return __atomic_load_n(&flip.changed, __ATOMIC_ACQUIRE);
}

static bool sleeps(const struct th_aside *waiter)
{
	return !__atomic_load_n(&flip.changing, __ATOMIC_ACQUIRE) &&
	       th_goes_on_sleeping(__atomic_load_n(&waiter->tid, __ATOMIC_ACQUIRE));
}

/* Returns false if the waiter slept before it reached the chosen lock; then the change was made
 * during its sleep. */
static bool wakes_after_change_at(unsigned int lock)
{
	struct waiter w = { .evd = flip.evd, .timeout = LONG, .threshold = 1 };
	struct th_aside waiter;
	bool came;

	flip.ep = ep_with(DAT_COMPLETION_SOLICITED_WAIT_FLAG);
	flip.at = lock;
	flip.locks = 0;
	flip.claimed = flip.changed = false;
	flip.changer.started = false;
	th_aside(&waiter, wait_stepwise, &w, 20000);
	cr_assert(TH_WITHIN(20000, is_changed() || sleeps(&waiter)));
	came = !claim_change();
	if (!came)
		change_flags(NULL);
	cr_assert(TH_WITHIN(20000, is_changed()));
	th_aside_end(&flip.changer);
	fake_complete_dto(flip.evd, flip.ep, 1, false);
	cr_assert(TH_WITHIN(20000, is_done(&w)),
		  "the waiter sleeps although the flags changed at lock %u", lock);
	th_aside_end(&waiter);
	cr_assert_eq(w.ret, DAT_SUCCESS);
	cr_assert_eq(dat_ep_free(flip.ep), DAT_SUCCESS);
	return came;
}

/* A thread that gets no CPU for long seems to sleep, so several tries show whether the waiter reaches that
 * lock. */
static bool reaches(unsigned int lock)
{
	for (int tries = 0; tries < 8; tries++)
		if (wakes_after_change_at(lock))
			return true;
	return false;
}

/* When the stream requests all completions, unsolicited sends wake the waiter. */
Test(wait, ep_create__with_other_flags_reaches_a_waiter)
{
	unsigned int lock = 0;

	flip.evd = fake_evd(t.ia, 8, DAT_EVD_DTO_FLAG);
	fake.unsolicited = true;
	while (reaches(lock))
		lock++;
	cr_assert_gt(lock, 3);
}
