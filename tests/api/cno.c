/* SPDX-License-Identifier: BSD-2-Clause */
/* CNOs through the public calls: arguments, software events, and completions of a real adapter. */
#include <pthread.h>
#include <string.h>

#include "tests/api/api.h"

#define SHORT 20000		/* a time in us */

static DAT_CNO_HANDLE cno;

static void setup(void)
{
	api_setup();
	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
}

TestSuite(cno, .init = setup, .fini = api_teardown, .timeout = 60);

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)evd;
	__atomic_add_fetch((unsigned int *)data, 1, __ATOMIC_RELEASE);
}

static void expect_none(void)
{
	DAT_EVD_HANDLE got = (DAT_EVD_HANDLE)77;

	assert_code(dat_cno_wait(cno, SHORT, &got), DAT_QUEUE_EMPTY, 0);
	cr_assert_null(got);
}

static void expect(DAT_EVD_HANDLE evd)
{
	DAT_EVD_HANDLE got = NULL;

	assert_ok(dat_cno_wait(cno, API_LONG, &got));
	cr_assert_eq(got, evd);
}

Test(cno, create__invalid_arguments_are_refused)
{
	DAT_OS_WAIT_PROXY_AGENT odd = {.instance_data = &t, .proxy_agent_func = NULL};
	DAT_CNO_HANDLE out = (DAT_CNO_HANDLE)77;

	assert_code(dat_cno_create(t.ia, odd, &out), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, NULL), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG3);
	assert_code(dat_cno_create(t.pz, DAT_OS_WAIT_PROXY_AGENT_NULL, &out), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_IA);
	cr_assert_eq(out, (DAT_CNO_HANDLE)77);
}

Test(cno, other_calls__invalid_arguments_are_refused)
{
	DAT_OS_WAIT_PROXY_AGENT odd = {.instance_data = &t, .proxy_agent_func = NULL};
	DAT_CNO_PARAM param;

	assert_code(dat_cno_modify_agent(cno, odd), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_cno_query(cno, 4, &param), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_cno_query(cno, 1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_cno_wait(cno, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

Test(cno, query__returns_its_ia_and_agent)
{
	DAT_HANDLE_TYPE type;
	DAT_CNO_PARAM param;
	DAT_EVD_PARAM evd;

	assert_ok(dat_get_handle_type(cno, &type));
	cr_assert_eq(type, DAT_HANDLE_TYPE_CNO);
	assert_ok(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &param));
	cr_assert_eq(param.ia_handle, t.ia);
	cr_assert_null(param.agent.proxy_agent_func);
	cr_assert_null(param.agent.instance_data);
	assert_ok(dat_evd_modify_cno(t.conn_evd, cno));
	assert_ok(dat_evd_query(t.conn_evd, DAT_EVD_FIELD_ALL, &evd));
	cr_assert_eq(evd.cno_handle, cno);
}

static void post_se(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	assert_ok(dat_evd_post_se(evd, &ev));
}

static void *post_later(void *arg)
{
	th_sleep_ms(20);
	post_se(arg);
	return NULL;
}

Test(cno, wait__software_event_of_another_thread_returns_its_evd)
{
	pthread_t thread;

	assert_ok(dat_evd_modify_cno(t.conn_evd, cno));
	assert_ok(dat_evd_modify_cno(t.async, cno));
	expect_none();
	cr_assert_eq(pthread_create(&thread, NULL, post_later, t.conn_evd), 0);
	expect(t.conn_evd);
	pthread_join(thread, NULL);
	expect_none();
}

/* Completes a flushed receive: the adapter writes its CQE at once. */
static void complete_one(DAT_EP_HANDLE ep, uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = t.lmr_context, .virtual_address = (uintptr_t)t.mem,
			       .segment_length = 64};
	DAT_DTO_COOKIE c = {.as_64 = cookie};

	assert_ok(dat_ep_post_recv(ep, 1, &seg, c, DAT_COMPLETION_DEFAULT_FLAG));
}

static uint64_t take_one(DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	assert_ok(dat_evd_dequeue(evd, &ev));
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	return ev.event_data.dto_completion_event_data.user_cookie.as_64;
}

/* Connects to an address without a peer, and gives up: the event is DISCONNECTED, and all posted
 * work is flushed. */
static void disconnect(DAT_EP_HANDLE ep)
{
	DAT_EP_STATE state;

	assert_ok(dat_ep_connect(ep, t.ia_attr.ia_address_ptr, 45671, DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	assert_ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	assert_ok(dat_ep_get_status(ep, &state, NULL, NULL));
	cr_assert_eq(state, DAT_EP_STATE_DISCONNECTED);
}

Test(cno, wait__completion_on_one_of_many_evds_returns_that_evd)
{
	DAT_EVD_HANDLE evd[8], got;
	DAT_EP_HANDLE ep[8];

	for (int i = 0; i < 8; i++) {
		assert_ok(dat_evd_create(t.ia, 16, cno, DAT_EVD_DTO_FLAG, &evd[i]));
		assert_ok(dat_ep_create(t.ia, t.pz, evd[i], DAT_HANDLE_NULL, t.conn_evd, NULL,
					&ep[i]));
		disconnect(ep[i]);
	}
	expect_none();
	for (uint64_t round = 0; round < 20; round++) {
		uint64_t i = round * 3 % 8;

		complete_one(ep[i], round);
		expect(evd[i]);
		cr_assert_eq(take_one(evd[i]), round);
	}
	expect_none();
	for (uint64_t i = 0; i < 8; i++)
		complete_one(ep[i], i);
	for (int i = 0; i < 8; i++) {
		assert_ok(dat_cno_wait(cno, API_LONG, &got));
		take_one(got);
	}
	expect_none();
}

Test(cno, wait__after_a_wait_on_the_evd_returns_that_evd)
{
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	DAT_COUNT nmore;
	DAT_RETURN ret;
	DAT_EVENT ev;

	assert_ok(dat_evd_create(t.ia, 16, cno, DAT_EVD_DTO_FLAG, &evd));
	assert_ok(dat_ep_create(t.ia, t.pz, evd, DAT_HANDLE_NULL, t.conn_evd, NULL, &ep));
	disconnect(ep);
	for (uint64_t i = 0; i < 10; i++) {
		assert_ret(dat_evd_wait(evd, 1000, 1, &ev, &nmore), DAT_TIMEOUT_EXPIRED);
		complete_one(ep, i);
		assert_ok(dat_evd_wait(evd, API_LONG, 1, &ev, &nmore));
		complete_one(ep, i);
		expect(evd);
		/* The first completion may have triggered the CNO before the wait took its event. */
		ret = dat_evd_dequeue(evd, &ev);
		if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY) {
			expect(evd);
			ret = dat_evd_dequeue(evd, &ev);
		}
		assert_ok(ret);
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
	}
}

Test(cno, agent__is_called_for_each_completion)
{
	unsigned int calls = 0;
	DAT_OS_WAIT_PROXY_AGENT a = {.instance_data = &calls, .proxy_agent_func = agent};
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;

	assert_ok(dat_cno_modify_agent(cno, a));
	assert_ok(dat_evd_create(t.ia, 16, cno, DAT_EVD_DTO_FLAG, &evd));
	assert_ok(dat_ep_create(t.ia, t.pz, evd, DAT_HANDLE_NULL, t.conn_evd, NULL, &ep));
	disconnect(ep);
	for (unsigned int i = 1; i <= 10; i++) {
		complete_one(ep, i);
		cr_assert(TH_WITHIN(20000, __atomic_load_n(&calls, __ATOMIC_ACQUIRE) == i));
		cr_assert_eq(take_one(evd), i);
	}
	assert_ok(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	complete_one(ep, 11);
	expect(evd);
	cr_assert_eq(__atomic_load_n(&calls, __ATOMIC_ACQUIRE), 10);
}

/* A freed CNO leaves no descriptor, thread or handle behind. */
Test(cno, free__leaves_no_descriptor_or_thread)
{
	unsigned int calls = 0;
	DAT_OS_WAIT_PROXY_AGENT a = {.instance_data = &calls, .proxy_agent_func = agent};
	struct th_usage before, after;
	DAT_CNO_HANDLE other;
	DAT_EVD_HANDLE evd;

	for (int round = 0; round < 3; round++) {
		if (round == 1)
			th_usage(&before);
		for (int i = 0; i < 20; i++) {
			assert_ok(dat_cno_create(t.ia, a, &other));
			assert_ok(dat_evd_create(t.ia, 16, other, DAT_EVD_DTO_FLAG, &evd));
			assert_code(dat_cno_free(other), DAT_INVALID_STATE,
				    DAT_INVALID_STATE_CNO_IN_USE);
			assert_ok(dat_evd_modify_cno(evd, cno));
			assert_ok(dat_cno_free(other));
			assert_ok(dat_evd_free(evd));
		}
	}
	th_usage(&after);
	cr_assert_eq(before.fds, after.fds);
	cr_assert_eq(before.threads, after.threads);
	assert_ok(dat_cno_free(cno));
	assert_ret(dat_cno_free(cno), DAT_INVALID_HANDLE);
}
