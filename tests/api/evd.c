/* SPDX-License-Identifier: BSD-2-Clause */
/* Event Dispatchers through the public calls: flags, sizes, software events, waiting. */
#include <pthread.h>
#include <string.h>

#include "tests/api/api.h"

TestSuite(evd, .init = api_setup, .fini = api_teardown, .timeout = 60);

static const DAT_EVD_FLAGS streams[6] = {
	DAT_EVD_SOFTWARE_FLAG, DAT_EVD_CR_FLAG, DAT_EVD_DTO_FLAG, DAT_EVD_CONNECTION_FLAG,
	DAT_EVD_RMR_BIND_FLAG, DAT_EVD_ASYNC_FLAG};

Test(evd, evd_create__each_announced_pair_of_streams_succeeds)
{
	DAT_EVD_PARAM param;
	DAT_EVD_HANDLE evd;

	for (int i = 0; i < 6; i++) {
		for (int j = 0; j < 6; j++) {
			DAT_EVD_FLAGS flags = streams[i] | streams[j];

			cr_assert_eq(t.provider_attr.evd_stream_merging_supported[i][j], DAT_TRUE);
			evd = api_evd(&t, 10, flags);
			assert_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
			cr_assert_eq(param.evd_flags, flags);
			cr_assert_geq(param.evd_qlen, 10);
			cr_assert_eq(param.ia_handle, t.ia);
			cr_assert_null(param.cno_handle);
			cr_assert_eq(param.evd_state & 0xf,
				     DAT_EVD_STATE_ENABLED | DAT_EVD_STATE_WAITABLE);
			assert_ok(dat_evd_free(evd));
		}
	}
}

Test(evd, evd_create__invalid_arguments_are_refused)
{
	DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)77;
	DAT_COUNT most = t.ia_attr.max_evd_qlen;

	assert_code(dat_evd_create(t.ia, 0, NULL, DAT_EVD_DTO_FLAG, &evd), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
	assert_ret(dat_evd_create(t.ia, -1, NULL, DAT_EVD_DTO_FLAG, &evd), DAT_INVALID_PARAMETER);
	assert_ret(dat_evd_create(t.ia, most + 1, NULL, DAT_EVD_DTO_FLAG, &evd),
		   DAT_INVALID_PARAMETER);
	assert_code(dat_evd_create(t.ia, 8, NULL, 0, &evd), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	assert_ret(dat_evd_create(t.ia, 8, NULL, 0x200, &evd), DAT_INVALID_PARAMETER);
	assert_ret(dat_evd_create(t.ia, 8, NULL, 0x02, &evd), DAT_INVALID_PARAMETER);
	assert_ret(dat_evd_create(t.ia, 8, NULL, DAT_EVD_DTO_FLAG, NULL), DAT_INVALID_PARAMETER);
	cr_assert_eq(evd, (DAT_EVD_HANDLE)77);
}

Test(evd, evd_create__smallest_and_largest_length_succeed)
{
	assert_ok(dat_evd_free(api_evd(&t, 1, DAT_EVD_DEFAULT_FLAG)));
	assert_ok(dat_evd_free(api_evd(&t, 2014, DAT_EVD_DTO_FLAG)));
	assert_ok(dat_evd_free(api_evd(&t, t.ia_attr.max_evd_qlen, DAT_EVD_CONNECTION_FLAG)));
}

Test(evd, evd_query__invalid_arguments_are_refused)
{
	DAT_EVD_PARAM param;

	assert_code(dat_evd_query(t.evd, 0x20, &param), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_evd_query(t.evd, 1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

Test(evd, evd_free__used_by_an_endpoint_is_refused)
{
	assert_code(dat_evd_free(t.evd), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	assert_ret(dat_evd_free(t.conn_evd), DAT_INVALID_STATE);
	assert_ok(dat_ep_free(t.ep));
	assert_ok(dat_evd_free(t.evd));
	assert_ok(dat_evd_free(t.conn_evd));
	t.evd = api_evd(&t, 8, DAT_EVD_DTO_FLAG);
}

Test(evd, evd_enable__is_shown)
{
	DAT_EVD_PARAM param;

	for (int i = 0; i < 2; i++) {
		assert_ok(dat_evd_disable(t.evd));
		assert_ok(dat_evd_query(t.evd, DAT_EVD_FIELD_EVD_STATE, &param));
		cr_assert(param.evd_state & DAT_EVD_STATE_DISABLED);
	}
	for (int i = 0; i < 2; i++) {
		assert_ok(dat_evd_enable(t.evd));
		assert_ok(dat_evd_query(t.evd, DAT_EVD_FIELD_EVD_STATE, &param));
		cr_assert(param.evd_state & DAT_EVD_STATE_ENABLED);
	}
}

Test(evd, evd_resize__upwards_gives_at_least_the_requested_length)
{
	DAT_EVD_PARAM param;
	DAT_RETURN ret;

	for (DAT_COUNT qlen = 32; qlen <= 2048; qlen *= 4) {
		ret = dat_evd_resize(t.evd, qlen);
		/* The manual page allows a refusal for lack of resources. A refusal changes nothing. */
		if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES)
			continue;
		assert_ok(ret);
		assert_ok(dat_evd_query(t.evd, DAT_EVD_FIELD_EVD_QLEN, &param));
		cr_assert_geq(param.evd_qlen, qlen);
	}
	assert_ok(dat_evd_resize(t.conn_evd, 100));
	assert_ret(dat_evd_resize(t.conn_evd, 0), DAT_INVALID_PARAMETER);
}

/* Connects to an address without a peer, and gives up: the event is DISCONNECTED, and all posted
 * work is flushed. */
static DAT_EP_HANDLE flushing_ep(DAT_EVD_HANDLE evd)
{
	DAT_EP_ATTR attr = {.max_recv_dtos = 64, .max_request_dtos = 1};
	DAT_EP_HANDLE ep;

	assert_ok(dat_ep_create(t.ia, t.pz, evd, DAT_HANDLE_NULL, t.conn_evd, &attr, &ep));
	assert_ok(dat_ep_connect(ep, t.ia_attr.ia_address_ptr, 45672, DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	assert_ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	return ep;
}

static void flush(DAT_EP_HANDLE ep, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++) {
		DAT_DTO_COOKIE c = {.as_64 = i};

		assert_ok(dat_ep_post_recv(ep, 0, NULL, c, DAT_COMPLETION_DEFAULT_FLAG));
	}
}

static void take(DAT_EVD_HANDLE evd, uint64_t from, uint64_t to)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	for (uint64_t i = from; i < to; i++) {
		assert_ok(dat_evd_wait(evd, API_LONG, 1, &ev, &nmore));
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
	}
}

/* The EVD grows to twice its size and shrinks again, at each step with completions on both sides of
 * the ring's end. */
Test(evd, evd_resize__loses_no_completion)
{
	static const DAT_COUNT qlens[] = {32, 16, 20, 64, 40, 16, 32};
	DAT_EVD_HANDLE evd = api_evd(&t, 16, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_EP_HANDLE ep = flushing_ep(evd);
	uint64_t posted = 0, taken = 0;

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < sizeof(qlens) / sizeof(qlens[0]); i++) {
			flush(ep, posted, posted + 10);
			posted += 10;
			assert_ok(dat_evd_resize(evd, qlens[i]));
			flush(ep, posted, posted + 5);
			posted += 5;
			take(evd, taken, posted - 3);
			taken = posted - 3;
		}
		take(evd, taken, posted);
		taken = posted;
	}
}

static DAT_COUNT waiting_there(DAT_EVD_HANDLE evd, DAT_COUNT threshold)
{
	DAT_COUNT nmore = 0;
	DAT_EVENT ev;

	assert_ok(dat_evd_wait(evd, API_LONG, threshold, &ev, &nmore));
	return nmore + 1;
}

Test(evd, evd_resize__below_the_number_of_events_is_refused)
{
	DAT_EVD_HANDLE evd = api_evd(&t, 16, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG);
	DAT_EP_HANDLE ep = flushing_ep(evd);
	DAT_EVD_PARAM param;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	flush(ep, 0, 6);
	cr_assert_eq(waiting_there(evd, 6), 6);	/* the event with cookie 0 */
	assert_code(dat_evd_resize(evd, 4), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_OPEN);
	assert_ok(dat_evd_query(evd, DAT_EVD_FIELD_EVD_QLEN, &param));
	cr_assert_eq(param.evd_qlen, 16);
	assert_ok(dat_evd_resize(evd, 5));
	assert_ret(dat_evd_wait(evd, 0, 6, &ev, &nmore), DAT_INVALID_PARAMETER);
	take(evd, 1, 6);
	for (int i = 0; i < 5; i++) {
		ev.event_number = DAT_SOFTWARE_EVENT;
		assert_ok(dat_evd_post_se(evd, &ev));
	}
	assert_ret(dat_evd_post_se(evd, &ev), DAT_QUEUE_FULL);
	assert_ok(dat_evd_resize(evd, 8));
	assert_ok(dat_evd_post_se(evd, &ev));
	cr_assert_eq(waiting_there(evd, 6), 6);
}

/* Each endpoint has room of its own in the CQ for completions that the consumer does not see. */
Test(evd, evd_create__serves_a_thousand_endpoints)
{
	DAT_EVD_HANDLE evd = api_evd(&t, 1024, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG);
	static DAT_EP_HANDLE ep[1000];
	int n = t.ia_attr.max_eps > 1000 ? 1000 : t.ia_attr.max_eps / 2;

	for (int i = 0; i < n; i++)
		assert_ok(dat_ep_create(t.ia, t.pz, evd, evd, t.conn_evd, NULL, &ep[i]));
	for (int i = 0; i < n; i++)
		assert_ok(dat_ep_free(ep[i]));
	assert_ok(dat_evd_free(evd));
}

static void post_se(DAT_EVD_HANDLE evd, void *p)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	ev.event_data.software_event_data.pointer = p;
	assert_ok(dat_evd_post_se(evd, &ev));
}

Test(evd, post_se__event_is_dequeued_whole)
{
	DAT_EVENT ev;

	post_se(t.conn_evd, &t);
	memset(&ev, 0xa5, sizeof(ev));
	assert_ok(dat_evd_dequeue(t.conn_evd, &ev));
	cr_assert_eq(ev.event_number, DAT_SOFTWARE_EVENT);
	cr_assert_eq(ev.evd_handle, t.conn_evd);
	cr_assert_eq(ev.event_data.software_event_data.pointer, &t);
	assert_ret(dat_evd_dequeue(t.conn_evd, &ev), DAT_QUEUE_EMPTY);
}

static void *post_later(void *arg)
{
	th_sleep_ms(20);
	post_se(t.conn_evd, arg);
	return NULL;
}

Test(evd, wait__event_posted_by_another_thread_is_returned)
{
	DAT_COUNT nmore = 77;
	pthread_t thread;
	DAT_EVENT ev;

	cr_assert_eq(pthread_create(&thread, NULL, post_later, &ev), 0);
	assert_ok(dat_evd_wait(t.conn_evd, API_LONG, 1, &ev, &nmore));
	pthread_join(thread, NULL);
	cr_assert_eq(ev.event_data.software_event_data.pointer, &ev);
	cr_assert_eq(nmore, 0);
}

static void *post_while_cancelled(void *evd)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	th_sleep_ms(20);
	pthread_cancel(pthread_self());
	dat_evd_post_se(evd, &ev);
	pthread_testcancel();
	return NULL;
}

/* The call ends before the thread does, so that no lock stays taken. */
Test(evd, post_se__by_a_cancelled_thread_wakes_the_waiter)
{
	pthread_t thread;
	DAT_COUNT nmore;
	DAT_EVENT ev;

	cr_assert_eq(pthread_create(&thread, NULL, post_while_cancelled, t.conn_evd), 0);
	assert_ok(dat_evd_wait(t.conn_evd, API_LONG, 1, &ev, &nmore));
	pthread_join(thread, NULL);
}

Test(evd, post_se__by_a_cancelled_thread_triggers_the_cno)
{
	DAT_EVD_HANDLE evd = api_evd(&t, 8, DAT_EVD_SOFTWARE_FLAG), told;
	pthread_t thread;

	assert_ok(dat_evd_modify_cno(evd, t.cno));
	cr_assert_eq(pthread_create(&thread, NULL, post_while_cancelled, evd), 0);
	assert_ok(dat_cno_wait(t.cno, API_LONG, &told));
	cr_assert_eq(told, evd);
	pthread_join(thread, NULL);
	assert_ok(dat_evd_free(evd));
}

Test(evd, wait__without_events_times_out)
{
	uint64_t start = th_now_ms();
	DAT_COUNT nmore = 77;
	DAT_EVENT ev;

	assert_code(dat_evd_wait(t.evd, 20000, 1, &ev, &nmore), DAT_TIMEOUT_EXPIRED, 0);
	cr_assert_eq(nmore, 0);
	assert_code(dat_evd_wait(t.conn_evd, 20000, 1, &ev, &nmore), DAT_TIMEOUT_EXPIRED, 0);
	cr_assert_geq(th_now_ms() - start, 39);
}

/* The completion flags of the endpoints that feed the EVD decide what wakes a waiter. */
Test(evd, query__returns_the_notifying_flags)
{
	static const struct {
		int flags;
		DAT_EVD_STATE state;
	} rows[] = {
		{ DAT_COMPLETION_DEFAULT_FLAG, DAT_EVD_STATE_CONFIG_THRESHOLD },
		{ DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_EVD_STATE_CONFIG_SOLICITED },
		{ DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_EVD_STATE_CONFIG_NOTIFY },
	};
	DAT_EVD_PARAM p;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4,
				    .recv_completion_flags = (DAT_COMPLETION_FLAGS)rows[i].flags};
		DAT_EVD_HANDLE evd = api_evd(&t, 8, DAT_EVD_DTO_FLAG);
		DAT_EP_HANDLE ep;

		assert_ok(dat_ep_create(t.ia, t.pz, evd, NULL, t.conn_evd, &attr, &ep));
		assert_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &p));
		cr_expect_eq(p.evd_state & 0x30, rows[i].state,
			     "EVD flags 0x%x: wrong evd_state 0x%x", (unsigned int)rows[i].flags,
			     p.evd_state);
		assert_ok(dat_ep_free(ep));
		assert_ok(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &p));
		cr_expect_eq(p.evd_state & 0x30, DAT_EVD_STATE_CONFIG_THRESHOLD);
		assert_ok(dat_evd_free(evd));
	}
}

static void *poll_while_cancelled(void *evd)
{
	DAT_EVENT ev;

	pthread_cancel(pthread_self());
	for (int i = 0; i < 1000; i++)
		dat_evd_dequeue(evd, &ev);
	pthread_testcancel();
	return NULL;
}

/* A thread is often cancelled while it polls. The IA can still be used, and closed. */
Test(evd, dequeue__by_a_cancelled_thread_keeps_no_lock)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, poll_while_cancelled, t.evd), 0);
	pthread_join(thread, NULL);
	assert_ok(dat_evd_free(api_evd(&t, 8, DAT_EVD_DTO_FLAG)));
}
