/* SPDX-License-Identifier: BSD-2-Clause */
/* CNOs: which completions and events trigger one. */
#include "core/evd/cno.h"
#include "tests/core/fixture.h"

#define SHORT 30000

static DAT_CNO_HANDLE make_cno(DAT_OS_WAIT_PROXY_AGENT agent)
{
	DAT_CNO_HANDLE cno = NULL;

	cr_assert_eq(dat_cno_create(t.ia, agent, &cno), DAT_SUCCESS);
	return cno;
}

static DAT_EVD_HANDLE evd_on(DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = NULL;

	cr_assert_eq(dat_evd_create(t.ia, 8, cno, flags, &evd), DAT_SUCCESS);
	return evd;
}

static void setup(void)
{
	t.ia = fake_open("fake0");
	t.pz = fake_pz(t.ia);
	t.cno = make_cno(DAT_OS_WAIT_PROXY_AGENT_NULL);
	t.evd = evd_on(t.cno, ALL);
	t.ep = fake_ep(t.ia, t.pz, t.evd);
}

TestSuite(cno, .init = setup, .fini = teardown, .timeout = 60);

static void expect(DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE got = (DAT_EVD_HANDLE)77;

	cr_assert_eq(dat_cno_wait(t.cno, LONG, &got), DAT_SUCCESS);
	cr_assert_eq(got, evd);
}

static void expect_none(void)
{
	DAT_EVD_HANDLE got = (DAT_EVD_HANDLE)77;

	assert_code(dat_cno_wait(t.cno, SHORT, &got), DAT_QUEUE_EMPTY, 0);
	cr_assert_null(got);
}

static uint64_t dequeue(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	cr_assert_eq(dat_evd_dequeue(evd, &ev), DAT_SUCCESS);
	return ev.event_data.dto_completion_event_data.user_cookie.as_64;
}

static void *wait_in_thread(void *arg)
{
	struct waiter *w = arg;

	waiter_done(w, dat_cno_wait(t.cno, LONG, &w->evd));
	return NULL;
}

static uint32_t waiters(void)
{
	struct dap_cno *cno = t.cno;
	uint32_t n;

	pthread_mutex_lock(&cno->lock);
	n = cno->waiters;
	pthread_mutex_unlock(&cno->lock);
	return n;
}

static void start(struct waiter *w)
{
	uint32_t before = waiters();

	*w = (struct waiter){.evd = (DAT_EVD_HANDLE)77};
	cr_assert_eq(pthread_create(&w->thread, NULL, wait_in_thread, w), 0);
	cr_assert(TH_WITHIN(20000, waiters() > before));
}

Test(cno, wait__two_triggers_of_an_evd_count_once)
{
	fake_post_se(t.evd);
	fake_post_se(t.evd);
	expect(t.evd);
	expect_none();		/* the two events were one trigger */
	fake_post_se(t.evd);
	expect(t.evd);
}

Test(cno, wait__returns_the_evd_of_a_completion)
{
	struct waiter w;

	fake_complete_dto(t.evd, t.ep, 1, false);
	expect(t.evd);
	cr_assert_eq(dequeue(t.evd), 1);
	expect_none();
	start(&w);
	fake_complete_dto(t.evd, t.ep, 2, false);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	cr_assert_eq(w.evd, t.evd);
	cr_assert_eq(dequeue(t.evd), 2);
}

Test(cno, wait__returns_each_evd_once_in_order)
{
	DAT_EVD_HANDLE evd[40];

	for (int i = 0; i < 40; i++)
		evd[i] = evd_on(t.cno, i % 2 ? DAT_EVD_SOFTWARE_FLAG : ALL);
	for (int i = 0; i < 40; i++)
		fake_post_se(evd[i]);
	for (int i = 0; i < 40; i++) {
		expect(evd[i]);
		dequeue(evd[i]);
	}
	expect_none();
	for (int i = 0; i < 40; i += 2)
		fake_complete_dto(evd[i], fake_ep(t.ia, t.pz, evd[i]), 1, false);
	for (int i = 0; i < 40; i += 2) {
		DAT_EVD_HANDLE got;

		cr_assert_eq(dat_cno_wait(t.cno, LONG, &got), DAT_SUCCESS);
		cr_assert_eq(dequeue(got), 1);
	}
	expect_none();
}

/* The completion of an unsignaled request is an event but triggers nothing, even if the CQ was
 * armed. */
Test(cno, wait__unsignalled_does_not_trigger)
{
	struct waiter w;

	fake_complete_dto(t.evd, t.ep, 1, true);
	expect_none();
	start(&w);
	fake_complete_dto(t.evd, t.ep, 2, true);
	th_sleep_ms(20);
	cr_assert_not(is_done(&w));
	fake_complete_dto(t.evd, t.ep, 3, false);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	for (uint64_t i = 1; i <= 3; i++)
		cr_assert_eq(dequeue(t.evd), i);
}

Test(cno, wait__solicited_evd_wakes_for_those_alone)
{
	DAT_EVD_HANDLE evd = evd_on(t.cno, DAT_EVD_DTO_FLAG), got;
	DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4,
			    .recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG};
	DAT_EP_HANDLE ep;

	cr_assert_eq(dat_ep_create(t.ia, t.pz, evd, t.evd, t.evd, &attr, &ep), DAT_SUCCESS);
	fake_complete_dto(evd, ep, 1, true);
	expect_none();
	fake_complete_dto(evd, ep, 2, false);
	cr_assert_eq(dat_cno_wait(t.cno, LONG, &got), DAT_SUCCESS);
	cr_assert_eq(got, evd);
	cr_assert_eq(dequeue(evd), 1);
	cr_assert_eq(dequeue(evd), 2);
}

/* The CQ was armed for solicited completions. */
Test(cno, ep_create__without_the_solicited_flag_arms_for_all)
{
	DAT_EVD_HANDLE evd = evd_on(t.cno, DAT_EVD_DTO_FLAG), got;
	DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4,
			    .recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG};
	DAT_EP_HANDLE ep;

	assert_ok(dat_ep_create(t.ia, t.pz, evd, t.evd, t.evd, &attr, &ep));
	assert_ok(dat_evd_disable(evd));
	assert_ok(dat_evd_enable(evd));
	assert_ok(dat_ep_free(ep));
	attr.recv_completion_flags = 0;
	assert_ok(dat_ep_create(t.ia, t.pz, evd, t.evd, t.evd, &attr, &ep));
	fake.unsolicited = true;
	fake_complete_dto(evd, ep, 1, false);
	assert_ok(dat_cno_wait(t.cno, SHORT, &got));
	cr_assert_eq(got, evd);
	cr_assert_eq(dequeue(evd), 1);
}

Test(cno, wait__disabled_evd_does_not_trigger)
{
	cr_assert_eq(dat_evd_disable(t.evd), DAT_SUCCESS);
	fake_post_se(t.evd);
	fake_complete_dto(t.evd, t.ep, 1, false);
	expect_none();
	cr_assert_eq(dat_evd_enable(t.evd), DAT_SUCCESS);
	expect_none();
	fake_complete_dto(t.evd, t.ep, 2, false);
	expect(t.evd);
	dequeue(t.evd);
	cr_assert_eq(dequeue(t.evd), 1);
	cr_assert_eq(dequeue(t.evd), 2);
	cr_assert_eq(dat_evd_disable(t.evd), DAT_SUCCESS);
	cr_assert_eq(dat_evd_enable(t.evd), DAT_SUCCESS);
	fake_post_se(t.evd);
	expect(t.evd);
}

/* No thread has polled the CQ since the completion. */
Test(cno, disable__completion_from_before_triggers)
{
	DAT_EVD_HANDLE got;

	fake_complete_dto(t.evd, t.ep, 1, false);
	cr_assert_eq(dat_evd_disable(t.evd), DAT_SUCCESS);
	cr_assert_eq(dat_evd_enable(t.evd), DAT_SUCCESS);
	assert_ok(dat_cno_wait(t.cno, SHORT, &got));
	cr_assert_eq(got, t.evd);
	cr_assert_eq(dequeue(t.evd), 1);
	expect_none();
}

/* The wait takes one of two completions that were there before it. */
Test(cno, wait__sees_a_completion_from_before_a_wait_on_the_evd)
{
	DAT_EVD_HANDLE got;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	fake_complete_dto(t.evd, t.ep, 1, false);
	fake_complete_dto(t.evd, t.ep, 2, false);
	assert_ok(dat_evd_wait(t.evd, 0, 1, &ev, &nmore));
	cr_assert_eq(nmore, 1);
	assert_ok(dat_cno_wait(t.cno, SHORT, &got));
	cr_assert_eq(got, t.evd);
	cr_assert_eq(dequeue(t.evd), 2);
	expect_none();
}

static void *wait_on_evd(void *arg)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	*(DAT_RETURN *)arg = dat_evd_wait(t.evd, LONG, 2, &ev, &nmore);
	return NULL;
}

/* dat_evd_wait(3): a waiter on the EVD itself gets the event first. */
Test(cno, wait__waiter_on_the_evd_comes_first)
{
	DAT_RETURN ret = 77;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, wait_on_evd, &ret), 0);
	cr_assert(TH_WITHIN(20000, is_waiting(t.evd)));
	fake_complete_dto(t.evd, t.ep, 1, false);
	expect_none();
	fake_post_se(t.evd);
	pthread_join(thread, NULL);
	cr_assert_eq(ret, DAT_SUCCESS);
	expect_none();
	fake_complete_dto(t.evd, t.ep, 2, false);	/* the EVD is armed again after the wait */
	expect(t.evd);
}

Test(cno, wait__more_completions_than_can_be_set_aside_keep_their_order)
{
	for (uint64_t i = 0; i < 20; i++)
		fake_complete_dto(t.evd, t.ep, i, false);
	expect(t.evd);
	for (uint64_t i = 0; i < 20; i++)
		cr_assert_eq(dequeue(t.evd), i);
	fake_complete_dto(t.evd, t.ep, 20, false);
	expect(t.evd);
}

Test(cno, wait__as_many_as_trigger_are_woken)
{
	DAT_EVD_HANDLE soft = evd_on(t.cno, DAT_EVD_SOFTWARE_FLAG);
	struct waiter w[3];
	int done = 0;

	for (int i = 0; i < 3; i++)
		start(&w[i]);
	fake_post_se(soft);
	cr_assert(TH_WITHIN(20000, waiters() == 2));
	fake_complete_dto(t.evd, t.ep, 1, false);
	cr_assert(TH_WITHIN(20000, waiters() == 1));
	fake_post_se(soft);
	for (int i = 0; i < 3; i++)
		done += result(&w[i]) == DAT_SUCCESS;
	cr_assert_eq(done, 3);
}

Test(cno, wait__interrupted_by_signal_returns_interrupted_call)
{
	struct sigaction act = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
	struct waiter w;

	sigaction(SIGUSR1, &act, NULL);
	start(&w);
	cr_assert(TH_WITHIN(20000, (pthread_kill(w.thread, SIGUSR1), is_done(&w))));
	assert_ret(result(&w), DAT_INTERRUPTED_CALL);
	cr_assert_eq(w.evd, (DAT_EVD_HANDLE)77);
}

/* A thread that is cancelled in a wait leaves the CNO unchanged. */
Test(cno, wait__cancelled_thread_is_no_waiter)
{
	struct waiter w;
	void *result;

	start(&w);
	cr_assert_eq(pthread_cancel(w.thread), 0);
	cr_assert_eq(pthread_join(w.thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	cr_assert_eq(waiters(), 0);
	fake_post_se(t.evd);
	expect(t.evd);
}

Test(cno, modify_cno__earlier_events_stay_with_the_old_cno)
{
	DAT_CNO_HANDLE second = make_cno(DAT_OS_WAIT_PROXY_AGENT_NULL), first = t.cno;

	fake_complete_dto(t.evd, t.ep, 1, false);
	cr_assert_eq(dat_evd_modify_cno(t.evd, second), DAT_SUCCESS);
	expect(t.evd);
	expect_none();
	fake_complete_dto(t.evd, t.ep, 2, false);
	fake_post_se(t.evd);
	expect_none();
	t.cno = second;
	expect(t.evd);
	t.cno = first;
	cr_assert_eq(dat_cno_free(first), DAT_SUCCESS);
	assert_code(dat_cno_free(second), DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	cr_assert_eq(dat_evd_modify_cno(t.evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	cr_assert_eq(dat_cno_free(second), DAT_SUCCESS);
	fake_complete_dto(t.evd, t.ep, 3, false);
	dequeue(t.evd);		/* takes the software event */
	for (uint64_t i = 1; i <= 3; i++)
		cr_assert_eq(dequeue(t.evd), i);
}

Test(cno, modify_cno__each_evd_that_leaves_keeps_its_trigger)
{
	DAT_EVD_HANDLE soft = evd_on(t.cno, DAT_EVD_SOFTWARE_FLAG);

	fake_post_se(soft);
	fake_complete_dto(t.evd, t.ep, 1, false);
	assert_ok(dat_evd_modify_cno(soft, DAT_HANDLE_NULL));
	assert_ok(dat_evd_modify_cno(t.evd, DAT_HANDLE_NULL));
	expect(soft);
	expect(t.evd);
	expect_none();
}

Test(cno, modify_cno__events_from_before_trigger_nothing)
{
	DAT_EVD_HANDLE evd = evd_on(DAT_HANDLE_NULL, ALL);
	DAT_EP_HANDLE ep = fake_ep(t.ia, t.pz, evd);

	fake_complete_dto(evd, ep, 1, false);
	fake_post_se(evd);
	assert_ok(dat_evd_modify_cno(evd, t.cno));
	expect_none();
	fake_complete_dto(evd, ep, 2, false);
	expect(evd);
	dequeue(evd);		/* takes the software event */
	cr_assert_eq(dequeue(evd), 1);
	cr_assert_eq(dequeue(evd), 2);
}

Test(cno, cno_free__with_an_evd_or_waiter_is_refused)
{
	DAT_EVD_HANDLE soft = evd_on(DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG);
	struct waiter w;

	assert_ret(dat_cno_free(t.cno), DAT_INVALID_STATE);
	cr_assert_eq(dat_evd_modify_cno(t.evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	start(&w);
	assert_ret(dat_cno_free(t.cno), DAT_INVALID_STATE);
	/* the example of the page */
	cr_assert_eq(dat_evd_modify_cno(soft, t.cno), DAT_SUCCESS);
	fake_post_se(soft);
	cr_assert_eq(result(&w), DAT_SUCCESS);
	cr_assert_eq(dat_evd_free(soft), DAT_SUCCESS);
	cr_assert_eq(dat_cno_free(t.cno), DAT_SUCCESS);
	assert_ret(dat_cno_free(t.cno), DAT_INVALID_HANDLE);
	assert_ret(dat_cno_wait(t.cno, 0, &w.evd), DAT_INVALID_HANDLE);
}

Test(cno, evd_free__last_one_ends_the_waits)
{
	DAT_EVD_HANDLE soft = evd_on(t.cno, DAT_EVD_SOFTWARE_FLAG);
	struct waiter w[2];

	cr_assert_eq(dat_evd_modify_cno(t.evd, DAT_HANDLE_NULL), DAT_SUCCESS);
	start(&w[0]);
	start(&w[1]);
	cr_assert_eq(dat_evd_free(soft), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(result(&w[i]), DAT_SUCCESS);
		cr_assert_null(w[i].evd);
	}
	expect_none();
}

Test(cno, evd_free__forgets_its_triggers)
{
	DAT_EVD_HANDLE soft = evd_on(t.cno, DAT_EVD_SOFTWARE_FLAG);

	fake_post_se(soft);
	fake_post_se(t.evd);
	cr_assert_eq(dat_evd_free(soft), DAT_SUCCESS);
	expect(t.evd);
	expect_none();
}

Test(cno, evd_free__is_not_reported_by_an_earlier_cno)
{
	DAT_CNO_HANDLE second = make_cno(DAT_OS_WAIT_PROXY_AGENT_NULL);
	DAT_EVD_HANDLE soft = evd_on(t.cno, DAT_EVD_SOFTWARE_FLAG);

	fake_post_se(soft);
	assert_ok(dat_evd_modify_cno(soft, second));
	assert_ok(dat_evd_free(soft));
	expect_none();
}

Test(cno, ia_close__ends_the_waits)
{
	struct waiter w[2];

	start(&w[0]);
	start(&w[1]);
	assert_ret(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	fake_close(t.ia);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(result(&w[i]), DAT_SUCCESS);
		cr_assert_null(w[i].evd);
	}
	t.ia = fake_open("fake0");
}

Test(cno, agent__at_create_is_called_once)
{
	struct calls c = {0};
	DAT_CNO_HANDLE cno = make_cno(agent_of(&c));
	DAT_EVD_HANDLE soft = evd_on(cno, DAT_EVD_SOFTWARE_FLAG), got;
	DAT_CNO_PARAM param;

	cr_assert_eq(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_eq(param.ia_handle, t.ia);
	cr_assert_eq(param.agent.proxy_agent_func, agent);
	cr_assert_eq(param.agent.instance_data, &c);
	fake_post_se(soft);
	cr_assert(TH_WITHIN(20000, count(&c.n) == 1));
	cr_assert_eq(c.last, soft);
	cr_assert_eq(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_null(param.agent.proxy_agent_func);
	fake_post_se(soft);
	/* the waiter gets the trigger as well */
	cr_assert_eq(dat_cno_wait(cno, LONG, &got), DAT_SUCCESS);
	th_sleep_ms(20);
	cr_assert_eq(count(&c.n), 1);
	cr_assert_eq(dat_evd_free(soft), DAT_SUCCESS);
	cr_assert_eq(dat_cno_free(cno), DAT_SUCCESS);
	cr_assert_eq(count(&c.null), 0);
}

Test(cno, modify_agent__is_called_each_time)
{
	struct calls c = {0}, other = {0};

	cr_assert_eq(dat_cno_modify_agent(t.cno, agent_of(&c)), DAT_SUCCESS);
	for (unsigned int i = 1; i <= 6; i++) {
		if (i % 2)
			fake_complete_dto(t.evd, t.ep, i, false);
		else
			fake_post_se(t.evd);
		cr_assert(TH_WITHIN(20000, count(&c.n) == i));
		cr_assert_eq(c.last, t.evd);
	}
	fake_complete_dto(t.evd, t.ep, 1, true);
	th_sleep_ms(20);
	cr_assert_eq(count(&c.n), 6);
	cr_assert_eq(dat_cno_modify_agent(t.cno, agent_of(&other)), DAT_SUCCESS);
	fake_post_se(t.evd);
	cr_assert(TH_WITHIN(20000, count(&other.n) == 1));
	cr_assert_eq(dat_cno_modify_agent(t.cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	fake_post_se(t.evd);
	expect(t.evd);
	cr_assert_eq(count(&c.n) + count(&other.n), 7);
}

Test(cno, agent__after_the_last_evd_is_freed_is_called_with_null)
{
	struct calls c = {0};
	DAT_CNO_HANDLE cno = make_cno(DAT_OS_WAIT_PROXY_AGENT_NULL);
	DAT_EVD_HANDLE soft = evd_on(cno, DAT_EVD_SOFTWARE_FLAG);

	cr_assert_eq(dat_cno_modify_agent(cno, agent_of(&c)), DAT_SUCCESS);
	cr_assert_eq(dat_evd_free(soft), DAT_SUCCESS);
	cr_assert(TH_WITHIN(20000, count(&c.null) == 1));
	fake_close(t.ia);
	cr_assert_eq(count(&c.null), 2);
	cr_assert_eq(count(&c.n), 0);
	t.ia = fake_open("fake0");
}

static void free_it(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct calls *c = data;

	if (dat_evd_free(evd) == DAT_SUCCESS && dat_cno_free(c->free) == DAT_SUCCESS)
		__atomic_add_fetch(&c->n, 1, __ATOMIC_RELEASE);
}

Test(cno, agent__frees_its_cno)
{
	struct calls c = {0};
	DAT_OS_WAIT_PROXY_AGENT own = {.instance_data = &c, .proxy_agent_func = free_it};
	DAT_EVD_HANDLE soft;

	for (unsigned int i = 1; i <= 3; i++) {
		c.free = make_cno(DAT_OS_WAIT_PROXY_AGENT_NULL);
		soft = evd_on(c.free, DAT_EVD_SOFTWARE_FLAG);
		cr_assert_eq(dat_cno_modify_agent(c.free, own), DAT_SUCCESS);
		fake_post_se(soft);
		cr_assert(TH_WITHIN(20000, count(&c.n) == i));
		assert_ret(dat_cno_free(c.free), DAT_INVALID_HANDLE);
	}
}

Test(cno, create__without_descriptors_is_refused)
{
	DAT_CNO_HANDLE cno = (DAT_CNO_HANDLE)77;

	for (unsigned int left = 0; left < 3; left++) {
		cr_assert_eq(th_fds_limit(left), 0);
		assert_ret(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno),
			   DAT_INSUFFICIENT_RESOURCES);
		th_fds_restore();
		cr_assert_eq(cno, (DAT_CNO_HANDLE)77);
	}
}

struct busy {
	pthread_t thread;
	unsigned int seen[200];
	unsigned int taken;
	bool stop;
};

static void *take_all(void *arg)
{
	struct busy *b = arg;
	DAT_EVENT ev;

	while (!__atomic_load_n(&b->stop, __ATOMIC_ACQUIRE)) {
		if (dat_evd_dequeue(t.evd, &ev) != DAT_SUCCESS) {
			th_yield();
			continue;
		}
		b->seen[ev.event_data.dto_completion_event_data.user_cookie.as_64]++;
		__atomic_add_fetch(&b->taken, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* With a nonthreadsafe IA, another thread dequeues while the agent polls the CQ. */
Test(cno, agent__beside_a_dequeuer_loses_no_event)
{
	struct calls c = {0};
	struct busy b = {0};

	cr_assert_eq(dat_cno_modify_agent(t.cno, agent_of(&c)), DAT_SUCCESS);
	cr_assert_eq(pthread_create(&b.thread, NULL, take_all, &b), 0);
	for (uint64_t i = 0; i < 200; i++) {
		fake_complete_dto(t.evd, t.ep, i, i % 3 == 0);
		if (i % 8 == 7)
			cr_assert(TH_WITHIN(20000, count(&b.taken) == i + 1));
	}
	cr_assert(TH_WITHIN(20000, count(&b.taken) == 200));
	__atomic_store_n(&b.stop, true, __ATOMIC_RELEASE);
	pthread_join(b.thread, NULL);
	for (int i = 0; i < 200; i++)
		cr_assert_eq(b.seen[i], 1);
	cr_assert_eq(dat_cno_modify_agent(t.cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
}
