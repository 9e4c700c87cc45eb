/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of an EVD's events, which come from software and from the device; and full EVDs. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/evd/evd.h"
#include "tests/core/fake_hw.h"
#include "tests/harness/capture.h"

#define ALL (DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG)

static struct {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd, async;
	DAT_EP_HANDLE a, b;
} t;

static void setup(void)
{
	t.ia = fake_open("fake0");
	t.pz = fake_pz(t.ia);
	t.evd = fake_evd(t.ia, 8, ALL);
	t.a = fake_ep(t.ia, t.pz, t.evd);
	t.b = fake_ep(t.ia, t.pz, t.evd);
	cr_assert_eq(dat_ia_query(t.ia, &t.async, 0, NULL, 0, NULL), DAT_SUCCESS);
}

static void teardown(void)
{
	fake_close(t.ia);
}

TestSuite(queue, .init = setup, .fini = teardown, .timeout = 60);

static void post_conn(uint32_t number, DAT_EP_HANDLE ep)
{
	struct dap_event ev = {.number = number, .conn.ep = ep,
			       .after_cq = number == DAP_EV_DISCONNECTED ||
					   number == DAP_EV_BROKEN};

	cr_assert_eq(dap_evd_post(t.evd, &ev), 0);
}

static int post_se(uintptr_t n)
{
	DAT_EVENT ev = {.event_number = DAT_SOFTWARE_EVENT};

	ev.event_data.software_event_data.pointer = (void *)n;
	return (int)DAT_GET_TYPE(dat_evd_post_se(t.evd, &ev));
}

static DAT_EVENT next(void)
{
	DAT_EVENT ev;

	cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);
	cr_assert_eq(ev.evd_handle, t.evd);
	return ev;
}

static void expect_conn(uint32_t number, DAT_EP_HANDLE ep)
{
	DAT_EVENT ev = next();

	cr_assert_eq(ev.event_number, number, "the queue has the wrong event 0x%x",
		     ev.event_number);
	cr_assert_eq(ev.event_data.connect_event_data.ep_handle, ep);
}

static void expect_dto(DAT_EP_HANDLE ep, uint64_t cookie)
{
	DAT_EVENT ev = next();

	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT,
		     "event 0x%x came instead of a DTO completion", ev.event_number);
	cr_assert_eq(ev.event_data.dto_completion_event_data.ep_handle, ep);
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
}

static void expect_empty(void)
{
	DAT_EVENT ev;

	assert_code(dat_evd_dequeue(t.evd, &ev), DAT_QUEUE_EMPTY, 0);
}

Test(queue, dequeue__empty_leaves_event_alone)
{
	DAT_EVENT ev = {.event_number = 0x77};

	assert_code(dat_evd_dequeue(t.evd, &ev), DAT_QUEUE_EMPTY, 0);
	cr_assert_eq(ev.event_number, 0x77);
	assert_ret(dat_evd_dequeue(t.evd, NULL), DAT_INVALID_PARAMETER);
}

Test(queue, dequeue__returns_software_events_in_order)
{
	for (uintptr_t round = 0; round < 5; round++) {
		for (uintptr_t i = 0; i < 7; i++)
			cr_assert_eq(post_se(round * 10 + i), DAT_SUCCESS);
		for (uintptr_t i = 0; i < 7; i++) {
			DAT_EVENT ev = next();

			cr_assert_eq(ev.event_number, DAT_SOFTWARE_EVENT);
			cr_assert_eq(ev.event_data.software_event_data.pointer,
				     (void *)(round * 10 + i));
		}
	}
	expect_empty();
}

Test(queue, dequeue__returns_established_before_completions)
{
	fake_complete_dto(t.evd, t.a, 1, false);
	post_conn(DAP_EV_ESTABLISHED, t.a);
	expect_conn(DAP_EV_ESTABLISHED, t.a);
	expect_dto(t.a, 1);
	expect_empty();
}

Test(queue, dequeue__end_comes_after_the_completions)
{
	post_conn(DAP_EV_DISCONNECTED, t.a);
	fake_complete_dto(t.evd, t.a, 1, false);
	fake_complete_dto(t.evd, t.a, 2, false);
	expect_dto(t.a, 1);
	expect_dto(t.a, 2);
	expect_conn(DAP_EV_DISCONNECTED, t.a);
	expect_empty();
}

Test(queue, dequeue__established_passes_the_end_of_another_endpoint)
{
	post_conn(DAP_EV_BROKEN, t.a);
	post_conn(DAP_EV_ESTABLISHED, t.b);
	fake_complete_dto(t.evd, t.a, 1, false);
	fake_complete_dto(t.evd, t.b, 2, false);
	fake_complete_dto(t.evd, t.b, 3, false);
	expect_dto(t.a, 1);
	expect_conn(DAP_EV_ESTABLISHED, t.b);
	expect_dto(t.b, 2);
	expect_dto(t.b, 3);
	expect_conn(DAP_EV_BROKEN, t.a);
	expect_empty();
}

/* dat_ep_reset(3) does not remove the end from the EVD. */
Test(queue, dequeue__established_comes_after_the_end_of_an_earlier_connection)
{
	post_conn(DAP_EV_DISCONNECTED, t.a);
	post_conn(DAP_EV_ESTABLISHED, t.a);
	fake_complete_dto(t.evd, t.a, 1, false);
	expect_conn(DAP_EV_DISCONNECTED, t.a);
	expect_conn(DAP_EV_ESTABLISHED, t.a);
	expect_dto(t.a, 1);
	expect_empty();
}

Test(queue, wait__established_passes_the_end_of_another_endpoint)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	post_conn(DAP_EV_BROKEN, t.a);
	post_conn(DAP_EV_ESTABLISHED, t.b);
	fake_complete_dto(t.evd, t.b, 2, false);
	cr_assert_eq(dat_evd_wait(t.evd, 0, 1, &ev, &nmore), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_assert_eq(nmore, 2);
	expect_dto(t.b, 2);
	expect_conn(DAP_EV_BROKEN, t.a);
}

static int polls_left;

static void post_end_within_poll(struct dap_evd *evd)
{
	(void)evd;
	if (--polls_left)
		return;
	post_conn(DAP_EV_DISCONNECTED, t.a);
}

/* The CQ was empty before the end was posted. Completions that arrive between the two come before
 * the end. */
Test(queue, dequeue__end_posted_while_polling_comes_after_later_completions)
{
	polls_left = 2;
	fake.on_poll = post_end_within_poll;
	/* the event was posted during the poll, and no later poll has found the CQ empty */
	expect_empty();
	fake_complete_dto(t.evd, t.a, 1, false);
	expect_dto(t.a, 1);
	expect_conn(DAP_EV_DISCONNECTED, t.a);
	fake.on_poll = NULL;
}

/* Each completion that the consumer takes is followed by one of another endpoint. */
static DAT_EVENT_NUMBER next_of_busy(bool waits)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	cr_assert_eq(waits ? dat_evd_wait(t.evd, 0, 1, &ev, &nmore) : dat_evd_dequeue(t.evd, &ev),
		     DAT_SUCCESS);
	if (ev.event_number == DAT_DTO_COMPLETION_EVENT)
		fake_complete_dto(t.evd, t.b, 9, false);
	return ev.event_number;
}

/* The end comes after the completions that were there, although the CQ is never empty. */
static void expect_end_of_busy(bool waits)
{
	fake_complete_dto(t.evd, t.b, 1, false);
	fake_complete_dto(t.evd, t.b, 2, false);
	fake_complete_dto(t.evd, t.a, 3, false);
	post_conn(DAP_EV_DISCONNECTED, t.a);
	cr_assert_eq(post_se(4), DAT_SUCCESS);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(next_of_busy(waits), DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(next_of_busy(waits), DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert_eq(next_of_busy(waits), DAT_SOFTWARE_EVENT);
	cr_assert_eq(next_of_busy(waits), DAT_DTO_COMPLETION_EVENT);
}

Test(queue, dequeue__end_is_not_delayed_by_later_completions)
{
	expect_end_of_busy(false);
}

Test(queue, wait__end_is_not_delayed_by_later_completions)
{
	expect_end_of_busy(true);
}

/* More software events than half of a 32-bit counter have passed, and no connection has ended yet. */
Test(queue, dequeue__end_after_many_events_comes_after_the_completions)
{
	struct core_evd *evd = core_evd(t.evd);

	pthread_mutex_lock(&evd->lock);
	evd->soft_head = evd->soft_tail = INT32_MAX;
	pthread_mutex_unlock(&evd->lock);
	for (uintptr_t i = 0; i < 2; i++) {
		cr_assert_eq(post_se(i), DAT_SUCCESS);
		cr_assert_eq(next().event_number, DAT_SOFTWARE_EVENT);
	}
	fake_complete_dto(t.evd, t.a, 1, false);
	post_conn(DAP_EV_DISCONNECTED, t.a);
	expect_dto(t.a, 1);
	expect_conn(DAP_EV_DISCONNECTED, t.a);
	expect_empty();
}

Test(queue, post_se__full_queue_refuses_and_loses_nothing)
{
	for (uintptr_t i = 0; i < 8; i++)
		cr_assert_eq(post_se(i), DAT_SUCCESS);
	cr_assert_eq(post_se(8), DAT_QUEUE_FULL);
	for (uintptr_t i = 0; i < 8; i++)
		cr_assert_eq(next().event_data.software_event_data.pointer, (void *)i);
	expect_empty();
	/* dat_evd_post_se(3): a refused post is no overflow of the EVD. */
	assert_ret(dat_evd_dequeue(t.async, &(DAT_EVENT){0}), DAT_QUEUE_EMPTY);
}

Test(queue, post_se__invalid_arguments_are_refused)
{
	DAT_EVENT ev = {.event_number = DAT_DTO_COMPLETION_EVENT};
	DAT_EVD_HANDLE plain = fake_evd(t.ia, 4, DAT_EVD_DTO_FLAG);

	assert_code(dat_evd_post_se(t.evd, &ev), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_evd_post_se(t.evd, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	ev.event_number = DAT_SOFTWARE_EVENT;
	assert_ret(dat_evd_post_se(plain, &ev), DAT_INVALID_HANDLE);
	assert_ret(dat_evd_post_se(t.a, &ev), DAT_INVALID_HANDLE);
}

static void overflow_once(void)
{
	struct dap_event ev = {.number = DAP_EV_ESTABLISHED, .conn.ep = t.a};
	DAT_EVENT got;

	for (int i = 0; i < 8; i++)
		cr_assert_eq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_neq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_neq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_eq(dat_evd_dequeue(t.async, &got), DAT_SUCCESS);
	cr_assert_eq(got.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	cr_assert_eq(got.event_data.asynch_error_event_data.dat_handle, t.evd);
	assert_ret(dat_evd_dequeue(t.async, &got), DAT_QUEUE_EMPTY);
	for (int i = 0; i < 8; i++)
		expect_conn(DAP_EV_ESTABLISHED, t.a);
	expect_empty();
}

/* The overflow is reported once. After there was room, the next overflow is reported, too. */
Test(queue, overflow__of_connection_events_is_reported_once)
{
	overflow_once();
	overflow_once();
}

/* A longer queue has room again, although the consumer has dequeued nothing. */
Test(queue, overflow__after_resize_is_reported_again)
{
	struct dap_event ev = {.number = DAP_EV_ESTABLISHED, .conn.ep = t.a};
	DAT_EVENT got;

	for (int i = 0; i < 8; i++)
		cr_assert_eq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_neq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_eq(dat_evd_dequeue(t.async, &got), DAT_SUCCESS);
	cr_assert_eq(dat_evd_resize(t.evd, 9), DAT_SUCCESS);
	cr_assert_eq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_neq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_eq(dat_evd_dequeue(t.async, &got), DAT_SUCCESS, "the second loss is not reported");
	cr_assert_eq(got.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	cr_assert_eq(got.event_data.asynch_error_event_data.dat_handle, t.evd);
}

/* A connection request that finds the EVD full causes no asynchronous event; its peer gets
 * NON_PEER_REJECTED. */
Test(queue, overflow__of_connection_requests_is_silent)
{
	struct dap_event ev = {.number = DAP_EV_CR};

	for (int i = 0; i < 8; i++)
		cr_assert_eq(dap_evd_post(t.evd, &ev), 0);
	cr_assert_neq(dap_evd_post(t.evd, &ev), 0);
	assert_ret(dat_evd_dequeue(t.async, &(DAT_EVENT){0}), DAT_QUEUE_EMPTY);
}

/* Posts n asynchronous events; returns the number of lines that say that one was lost. */
static unsigned int lines_of_lost_events(int n)
{
	unsigned int lines = 0;

	capture_begin(STDERR_FILENO);
	while (n--)
		dap_async_post(t.ia, DAP_EV_ASYNC_INTERNAL, t.ia, 0);
	for (const char *at = capture_end(); (at = strstr(at, "event PROVIDER_INTERNAL_ERROR is lost")); at++)
		lines++;
	return lines;
}

/* No overflow event can be queued, so only the log reports it; again after there was room. */
Test(queue, overflow__of_asynchronous_events_is_logged_once)
{
	DAT_EVENT got;

	cr_assert_eq(lines_of_lost_events(4), 0);	/* the length of the EVD */
	cr_assert_eq(lines_of_lost_events(3), 1);
	cr_assert_eq(lines_of_lost_events(1), 0);
	cr_assert_eq(dat_evd_dequeue(t.async, &got), DAT_SUCCESS);
	cr_assert_eq(lines_of_lost_events(1), 0);
	cr_assert_eq(lines_of_lost_events(1), 1);
}

Test(queue, overflow__of_the_cq_is_reported_once)
{
	DAT_COUNT nmore;
	DAT_EVENT got;

	fake_complete_dto(t.evd, t.a, 1, false);
	dap_evd_overflow(t.evd);
	dap_evd_overflow(t.evd);
	cr_assert_eq(dat_evd_dequeue(t.async, &got), DAT_SUCCESS);
	cr_assert_eq(got.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	assert_ret(dat_evd_dequeue(t.async, &got), DAT_QUEUE_EMPTY);
	expect_dto(t.a, 1);	/* the completion that was delivered before is not lost */
	assert_ret(dat_evd_wait(t.evd, DAT_TIMEOUT_INFINITE, 1, &got, &nmore), DAT_INVALID_STATE);
}

Test(queue, ep_free__removes_its_completions)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	fake_complete_dto(t.evd, t.a, 1, true);
	fake_complete_dto(t.evd, t.b, 2, true);
	fake_complete_dto(t.evd, t.a, 3, true);
	fake_complete_dto(t.evd, t.b, 4, true);
	assert_ret(dat_evd_wait(t.evd, 0, 5, &ev, &nmore), DAT_TIMEOUT_EXPIRED);
	cr_assert_eq(nmore, 4);
	cr_assert_eq(dat_ep_free(t.a), DAT_SUCCESS);
	expect_dto(t.b, 2);
	expect_dto(t.b, 4);
	expect_empty();
}

/* Of the completions before the end, those of the freed endpoint are gone. */
Test(queue, ep_free__does_not_delay_the_end_of_another)
{
	fake_complete_dto(t.evd, t.a, 1, false);
	fake_complete_dto(t.evd, t.a, 2, false);
	fake_complete_dto(t.evd, t.b, 3, false);
	post_conn(DAP_EV_DISCONNECTED, t.b);
	expect_dto(t.a, 1);
	cr_assert_eq(dat_ep_free(t.a), DAT_SUCCESS);
	cr_assert_eq(next_of_busy(false), DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(next_of_busy(false), DAT_CONNECTION_EVENT_DISCONNECTED);
	expect_dto(t.b, 9);
}

Test(queue, resize__keeps_events_in_order)
{
	DAT_EVD_PARAM param;

	for (uintptr_t i = 0; i < 3; i++)
		cr_assert_eq(post_se(i), DAT_SUCCESS);
	fake_complete_dto(t.evd, t.a, 1, false);
	fake_complete_dto(t.evd, t.b, 2, false);
	cr_assert_eq(dat_evd_resize(t.evd, 100), DAT_SUCCESS);
	cr_assert_eq(dat_evd_query(t.evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_eq(param.evd_qlen, 100);
	for (uintptr_t i = 0; i < 3; i++)
		cr_assert_eq(next().event_data.software_event_data.pointer, (void *)i);
	cr_assert_eq(dat_evd_resize(t.evd, 2), DAT_SUCCESS);
	expect_dto(t.a, 1);
	expect_dto(t.b, 2);
	for (uintptr_t i = 0; i < 2; i++)
		cr_assert_eq(post_se(i), DAT_SUCCESS);
	cr_assert_eq(post_se(2), DAT_QUEUE_FULL);
}

Test(queue, resize__refused_changes_nothing)
{
	DAT_EVD_PARAM param;

	for (uintptr_t i = 0; i < 2; i++)
		cr_assert_eq(post_se(i), DAT_SUCCESS);
	fake_complete_dto(t.evd, t.a, 1, false);
	assert_ret(dat_evd_resize(t.evd, 2), DAT_INVALID_STATE);
	assert_code(dat_evd_resize(t.evd, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_evd_resize(t.evd, -1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_evd_resize(t.evd, 201), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	fake.fail_at = fake.calls + 1;
	fake.fail_with = -ENOMEM;
	assert_ret(dat_evd_resize(t.evd, 50), DAT_INSUFFICIENT_RESOURCES);
	cr_assert_eq(dat_evd_query(t.evd, DAT_EVD_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_eq(param.evd_qlen, 8);
	cr_assert_eq(next().event_number, DAT_SOFTWARE_EVENT);
	cr_assert_eq(next().event_number, DAT_SOFTWARE_EVENT);
	expect_dto(t.a, 1);
}
