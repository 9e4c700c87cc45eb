/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dapl_evd_dequeue_ts() of dapl_direct.h: the timestamps of completions, events without one, and wrong
 * arguments.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <dat/dapl_direct.h>

#include "tests/api/conn.h"

#define SOON_MS 20000

TestSuite(stamp, .init = sides_open, .fini = sides_close, .timeout = 60);

static DAT_UINT64 host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (DAT_UINT64)ts.tv_sec * 1000000000u + (DAT_UINT64)ts.tv_nsec;
}

static bool has_none(const struct dapl_stamp *s)
{
	return !s->realtime && !s->raw && !s->error && !s->khz;
}

static bool is_efa(void)
{
	return strstr(api_ia_name(), "efa");
}

/* Connects both sides. The first call starts the timestamps of the software adapter in this process. */
static void connect_stamped(void)
{
	struct dapl_stamp stamp;
	DAT_EVENT ev;

	if (is_efa())
		cr_skip_test("the adapter says timestamps = ");
	assert_ret(dapl_evd_dequeue_ts(a.dto_evd, &ev, &stamp), DAT_QUEUE_EMPTY);
	assert_ret(dapl_evd_dequeue_ts(b.dto_evd, &ev, &stamp), DAT_QUEUE_EMPTY);
	side_pair(&a, &b);
}

static void send_one(DAT_UINT64 cookie)
{
	assert_ok(side_recv(&b, b.ep, cookie));
	assert_ok(side_send(&a, a.ep, cookie));
}

static DAT_EVENT take(DAT_EVD_HANDLE evd, struct dapl_stamp *stamp)
{
	DAT_EVENT ev;

	cr_assert(TH_WITHIN(SOON_MS, dapl_evd_dequeue_ts(evd, &ev, stamp) == DAT_SUCCESS),
		  "no event arrived");
	cr_assert_eq(ev.evd_handle, evd);
	return ev;
}

static struct dapl_stamp take_dto(DAT_EVD_HANDLE evd, DAT_UINT64 cookie, DAT_DTO_COMPLETION_STATUS status)
{
	struct dapl_stamp stamp;
	DAT_EVENT ev = take(evd, &stamp);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &ev.event_data.dto_completion_event_data;

	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(dto->user_cookie.as_64, cookie);
	cr_assert_eq(dto->status, status);
	return stamp;
}

/* Checks that the timestamp can be a time between before and after, and is not before the previous one. */
static void between(const struct dapl_stamp *s, DAT_UINT64 before, DAT_UINT64 after, DAT_UINT64 *last)
{
	cr_assert(s->realtime && s->raw, "the completion has no timestamp");
	cr_assert_geq(s->realtime + s->error, before, "the timestamp is %llu ns too early",
		      (unsigned long long)(before - s->realtime - s->error));
	cr_assert_leq(s->realtime - s->error, after, "the timestamp is %llu ns too late",
		      (unsigned long long)(s->realtime - s->error - after));
	cr_assert_geq(s->raw, *last);
	if (!s->khz)
		cr_assert_eq((s->raw >> 32) * 1000000000u + (DAT_UINT32)s->raw, s->realtime);
	*last = s->raw;
}

/* The pauses make the library read the adapter's clock again. */
Test(stamp, dequeue_ts__successive_completions_ascend_between_clock_readings)
{
	DAT_UINT64 before, after, last_a = 0, last_b = 0, worst = 0;
	struct dapl_stamp sent, received;

	connect_stamped();
	for (DAT_UINT64 i = 0; i < 40; i++) {
		before = host_ns();
		send_one(i);
		sent = take_dto(a.dto_evd, i, DAT_DTO_SUCCESS);
		received = take_dto(b.dto_evd, i, DAT_DTO_SUCCESS);
		after = host_ns();
		between(&sent, before, after, &last_a);
		between(&received, before, after, &last_b);
		if (sent.error > worst)
			worst = sent.error;
		th_sleep_ms(3);
	}
	fprintf(stderr, "note: %s: raw at %u kHz, largest error %llu ns\n", api_ia_name(), sent.khz,
		(unsigned long long)worst);
}

/* A wait takes completions out of the adapter's queue: their timestamps are older than its return. */
Test(stamp, dequeue_ts__completions_that_a_wait_left_have_their_own_times)
{
	DAT_UINT64 before, after, last = 0;
	struct dapl_stamp stamp;
	DAT_EVENT ev;
	DAT_COUNT more;

	connect_stamped();
	before = host_ns();
	for (DAT_UINT64 i = 0; i < 3; i++)
		send_one(i);
	assert_ok(dat_evd_wait(b.dto_evd, CONN_SOON, 3, &ev, &more));
	after = host_ns();
	th_sleep_ms(30);
	for (DAT_UINT64 i = 1; i < 3; i++) {
		stamp = take_dto(b.dto_evd, i, DAT_DTO_SUCCESS);
		between(&stamp, before, after, &last);
	}
}

/* Calls dapl_evd_dequeue_ts() and dat_evd_dequeue() in turns: the order of the events is the same. */
Test(stamp, dequeue_ts__in_turn_with_dequeue_keeps_the_order)
{
	DAT_UINT64 last = 0, begin = host_ns();
	struct dapl_stamp stamp;
	DAT_EVENT ev;

	connect_stamped();
	for (DAT_UINT64 i = 0; i < 16; i++)
		send_one(i);
	for (DAT_UINT64 i = 0; i < 16; i += 2) {
		stamp = take_dto(b.dto_evd, i, DAT_DTO_SUCCESS);
		between(&stamp, begin, host_ns(), &last);
		cr_assert(TH_WITHIN(SOON_MS, dat_evd_dequeue(b.dto_evd, &ev) == DAT_SUCCESS));
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i + 1);
	}
	assert_ret(dapl_evd_dequeue_ts(b.dto_evd, &ev, &stamp), DAT_QUEUE_EMPTY);
}

/* An error is reported in place of the timestamp. */
Test(stamp, dequeue_ts__flushed_receives_and_connection_events_have_none)
{
	struct dapl_stamp stamp;
	DAT_EVENT ev;

	connect_stamped();
	assert_ok(side_recv(&a, a.ep, 7));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	stamp = take_dto(a.dto_evd, 7, DAT_DTO_ERR_FLUSHED);
	cr_assert(has_none(&stamp));
	memset(&stamp, 0x5a, sizeof(stamp));
	ev = take(a.conn_evd, &stamp);
	cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert(has_none(&stamp));
}

Test(stamp, dequeue_ts__software_event_has_none)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };
	struct dapl_stamp stamp;
	DAT_EVD_HANDLE evd;

	connect_stamped();
	assert_ok(dat_evd_create(a.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	assert_ok(dat_evd_post_se(evd, &ev));
	memset(&stamp, 0x5a, sizeof(stamp));
	cr_assert_eq(take(evd, &stamp).event_number, DAT_SOFTWARE_EVENT);
	cr_assert(has_none(&stamp));
}

/* An EFA refuses the call, and the event stays on the queue. */
Test(stamp, dequeue_ts__is_refused_by_an_efa_and_takes_no_event)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };
	struct dapl_stamp stamp;
	DAT_EVD_HANDLE evd;

	assert_ok(dat_evd_create(a.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	assert_ok(dat_evd_post_se(evd, &ev));
	memset(&stamp, 0x5a, sizeof(stamp));
	if (!is_efa()) {
		assert_ok(dapl_evd_dequeue_ts(evd, &ev, &stamp));
		assert_ret(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
		return;
	}
	assert_code(dapl_evd_dequeue_ts(evd, &ev, &stamp), DAT_MODEL_NOT_SUPPORTED, 0);
	cr_assert_eq(stamp.error, 0x5a5a5a5a);
	assert_ok(dat_evd_dequeue(evd, &ev));
}

Test(stamp, dequeue_ts__invalid_arguments_are_refused)
{
	const DAT_HANDLE others[] = { DAT_HANDLE_NULL, a.ep, a.pz };
	struct dapl_stamp stamp;
	DAT_EVENT ev;

	memset(&stamp, 0x5a, sizeof(stamp));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_code(dapl_evd_dequeue_ts(others[i], &ev, &stamp), DAT_INVALID_HANDLE,
			    DAT_INVALID_HANDLE1);
	assert_code(dapl_evd_dequeue_ts(a.dto_evd, NULL, &stamp), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dapl_evd_dequeue_ts(a.dto_evd, &ev, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_ok(dat_evd_free(a.cr_evd));
	assert_code(dapl_evd_dequeue_ts(a.cr_evd, &ev, &stamp), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	cr_assert_eq(stamp.error, 0x5a5a5a5a);
}

static void *sleeper(void *evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	return (void *)(uintptr_t)DAT_GET_TYPE(dat_evd_wait(evd, SOON_MS * 1000u, 1, &ev, &more));
}

Test(stamp, dequeue_ts__with_a_waiter_is_refused)
{
	struct dapl_stamp stamp;
	DAT_RETURN ret = 0;
	pthread_t thread;
	DAT_EVENT ev;
	void *ended;

	connect_stamped();
	cr_assert_eq(pthread_create(&thread, NULL, sleeper, b.dto_evd), 0);
	cr_assert(TH_WITHIN(SOON_MS, DAT_GET_TYPE(ret = dapl_evd_dequeue_ts(b.dto_evd, &ev, &stamp)) ==
				     DAT_INVALID_STATE));
	assert_code(ret, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	send_one(1);
	pthread_join(thread, &ended);
	cr_assert_eq((uintptr_t)ended, DAT_SUCCESS);
}

/* The call gets handles of another provider, and of a release of this one without the call. */
Test(stamp, dequeue_ts__provider_without_the_call_returns_not_implemented)
{
	struct dapl_direct old = *dapl_direct_of(a.dto_evd);
	const void *table[2] = { NULL, NULL }, *handle[1] = { table };
	struct dapl_stamp stamp;
	DAT_EVENT ev;

	assert_code(dapl_evd_dequeue_ts((DAT_EVD_HANDLE)handle, &ev, &stamp), DAT_NOT_IMPLEMENTED, 0);
	old.size = offsetof(struct dapl_direct, evd_dequeue_ts);
	table[1] = &old;
	assert_code(dapl_evd_dequeue_ts((DAT_EVD_HANDLE)handle, &ev, &stamp), DAT_NOT_IMPLEMENTED, 0);
}
