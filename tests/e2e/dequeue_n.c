/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several events in one call, dapl_direct.h: the events of as many dat_evd_dequeue() calls, in the same
 * order.
 */
#include <pthread.h>
#include <stdlib.h>

#include <dat/dapl_direct.h>

#include "tests/e2e/ends.h"

#define MOST 16

static DAT_EVENT got[MOST + 1];

static void setup(void)
{
	/* without strict=1, because one test overflows a queue */
	rig_conf("");
	pair_open(&a, &b);
}

TestSuite(dequeue_n, .timeout = 60);

static void write_some(uint64_t first, uint64_t last, int flags)
{
	for (uint64_t i = first; i <= last; i++)
		must(do_write(&a, i, 0, far(&b, 0, 8), flags));
}

/* Dequeues n events, at most `at_a_time` per call. */
static void take(DAT_EVD_HANDLE evd, DAT_COUNT n, DAT_COUNT at_a_time)
{
	uint64_t until = th_now_ms() + SOON_MS;
	DAT_COUNT have = 0, count;

	while (have < n) {
		DAT_COUNT max = n - have < at_a_time ? n - have : at_a_time;
		DAT_RETURN ret = dapl_evd_dequeue_n(evd, max, &got[have], &count);

		check(th_now_ms() < until);
		if (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
			continue;
		must(ret);
		check(count >= 1 && count <= max);
		have += count;
	}
}

static void is_dto(const DAT_EVENT *ev, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;

	same(ev->event_number, DAT_DTO_COMPLETION_EVENT);
	same(d->user_cookie.as_64, cookie);
	same(d->status, status);
	same(d->ep_handle, a.ep);
	same(ev->evd_handle, a.req_evd);
}

RIG_TEST(dequeue_n, dequeue_n__returns_each_number_in_order)
{
	for (DAT_COUNT n = 1; n <= MOST; n++) {
		write_some(1, (uint64_t)n, 0);
		take(a.req_evd, n, n);
		for (DAT_COUNT i = 0; i < n; i++) {
			is_dto(&got[i], (uint64_t)i + 1, DAT_DTO_SUCCESS);
			same(got[i].event_data.dto_completion_event_data.transfered_length, 8);
		}
		rig_empty(a.req_evd);
	}
}

/*
 * The call returns all available events, and touches no byte behind the returned ones. The ring wraps
 * many times.
 */
RIG_TEST(dequeue_n, dequeue_n__fewer_than_asked_returns_what_is_there)
{
	DAT_COUNT count;

	for (int lap = 0; lap < 200; lap++) {
		int n = 1 + lap % 5;

		write_some(0, (uint64_t)n, 0);
		/* took() dequeues the completion of the first write. dapl_evd_dequeue_n() gets the
		 * others. */
		took(a.req_evd, 0, DAT_DTO_SUCCESS);
		memset(got, 0x5a, sizeof(got));
		for (int have = 0; have < n; have += count) {
			uint64_t until = th_now_ms() + SOON_MS;

			count = 0;
			while (DAT_GET_TYPE(dapl_evd_dequeue_n(a.req_evd, MOST, &got[have], &count)) ==
			       DAT_QUEUE_EMPTY)
				check(th_now_ms() < until);
			check(count >= 1 && have + count <= n);
			check(all_bytes(&got[have + count], sizeof(got[0]), 0x5a));
		}
		for (int i = 0; i < n; i++)
			is_dto(&got[i], (uint64_t)i + 1, DAT_DTO_SUCCESS);
	}
}

RIG_TEST(dequeue_n, dequeue_n__empty_evd_returns_queue_empty)
{
	DAT_COUNT count = 77;

	memset(got, 0x5a, sizeof(got));
	must_fail(dapl_evd_dequeue_n(a.req_evd, MOST, got, &count), DAT_QUEUE_EMPTY);
	must_fail(dapl_evd_dequeue_n(a.conn_evd, MOST, got, &count), DAT_QUEUE_EMPTY);
	same(count, 77);
	check(all_bytes(got, sizeof(got), 0x5a));
}

RIG_TEST(dequeue_n, dequeue_n__invalid_arguments_are_refused)
{
	DAT_EVD_HANDLE evds[] = { a.req_evd, a.conn_evd };
	DAT_COUNT count = 77;

	write_some(1, 1, 0);
	for (int i = 0; i < 2; i++) {
		must_code(dapl_evd_dequeue_n(evds[i], 0, got, &count), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG2);
		must_code(dapl_evd_dequeue_n(evds[i], -1, got, &count), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG2);
		must_code(dapl_evd_dequeue_n(evds[i], 1, NULL, &count), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG3);
		must_code(dapl_evd_dequeue_n(evds[i], 1, got, NULL), DAT_INVALID_PARAMETER,
			  DAT_INVALID_ARG4);
	}
	same(count, 77);
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
}

RIG_TEST(dequeue_n, dequeue_n__invalid_handle_is_refused)
{
	DAT_EVD_HANDLE evd;
	DAT_COUNT count;

	must_code(dapl_evd_dequeue_n(DAT_HANDLE_NULL, 1, got, &count), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE1);
	must_code(dapl_evd_dequeue_n(a.ep, 1, got, &count), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	must(dat_evd_create(a.ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	must(dat_evd_free(evd));
	must_code(dapl_evd_dequeue_n(evd, 1, got, &count), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
}

/* The call gets handles of other providers: without an extension, and with one of their own. */
RIG_TEST(dequeue_n, dequeue_n__provider_without_the_call_returns_not_implemented)
{
	struct dapl_direct other = *dapl_direct_of(a.req_evd);
	const void *table[2] = { NULL, NULL }, *handle[1] = { table };
	DAT_COUNT count = 77;

	must_code(dapl_evd_dequeue_n((DAT_EVD_HANDLE)handle, 1, got, &count), DAT_NOT_IMPLEMENTED, 0);
	other.magic++;
	table[1] = &other;
	must_code(dapl_evd_dequeue_n((DAT_EVD_HANDLE)handle, 1, got, &count), DAT_NOT_IMPLEMENTED, 0);
	same(count, 77);
}

static void *sleeper(void *evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	return (void *)(uintptr_t)DAT_GET_TYPE(dat_evd_wait(evd, SOON_MS * 1000u, 1, &ev, &more));
}

RIG_TEST(dequeue_n, dequeue_n__with_a_waiter_is_refused)
{
	DAT_RETURN ret = DAT_SUCCESS;
	pthread_t thread;
	DAT_COUNT count;
	void *ended;

	check(!pthread_create(&thread, NULL, sleeper, a.recv_evd));
	check(TH_WITHIN(SOON_MS, DAT_GET_TYPE(ret = dapl_evd_dequeue_n(a.recv_evd, 4, got, &count)) ==
				 DAT_INVALID_STATE));
	must_code(ret, DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_WAITER);
	must(do_recv(&a, 1, 0, 64));
	must(do_send(&b, 2, 0, 64, 0));
	pthread_join(thread, &ended);
	same((uintptr_t)ended, DAT_SUCCESS);
	took(b.req_evd, 2, DAT_DTO_SUCCESS);
}

static DAT_EVD_HANDLE mixed_evd(struct end *e)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EVD_HANDLE evd;

	must(dat_evd_create(e->ia, 256, DAT_HANDLE_NULL,
			    DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &evd));
	must(dat_ep_free(e->ep));
	must(dat_ep_create(e->ia, e->pz, e->recv_evd, evd, e->conn_evd, &attr, &e->ep));
	e->req_evd = evd;
	return evd;
}

/* Events that the consumer posted come before completions, each kind in its order, as with single
 * calls. */
RIG_TEST(dequeue_n, dequeue_n__software_events_come_before_completions_and_binds)
{
	DAT_EVENT se = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	char marks[3];

	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	mixed_evd(&a);
	must(dat_ep_reset(b.ep));
	end_join(&a, a.ep, &b, b.ep);
	must(dat_rmr_create(a.pz, &rmr));
	write_some(1, 4, 0);
	must(do_bind(&a, rmr, 5, 0, 64, RIGHTS_RW, &context));
	write_some(6, 6, SUPPRESS);
	write_some(7, 9, 0);
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	for (int i = 0; i < 3; i++) {
		se.event_data.software_event_data.pointer = &marks[i];
		must(dat_evd_post_se(a.req_evd, &se));
	}
	take(a.req_evd, 10, 10);
	for (int i = 0; i < 3; i++) {
		same(got[i].event_number, DAT_SOFTWARE_EVENT);
		check(got[i].event_data.software_event_data.pointer == &marks[i]);
	}
	for (int i = 0; i < 3; i++)
		is_dto(&got[3 + i], 2 + (uint64_t)i, DAT_DTO_SUCCESS);
	same(got[6].event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	same(got[6].event_data.rmr_completion_event_data.user_cookie.as_64, 5);
	for (int i = 0; i < 3; i++)
		is_dto(&got[7 + i], 7 + (uint64_t)i, DAT_DTO_SUCCESS);
	rig_empty(a.req_evd);
}

RIG_TEST(dequeue_n, dequeue_n__returns_errors_in_order_with_completions)
{
	write_some(1, 3, 0);
	must(do_write(&a, 4, 0, through(12345, &b, 0, 8), 0));
	take(a.req_evd, 4, 4);
	for (uint64_t i = 0; i < 3; i++)
		is_dto(&got[i], i + 1, DAT_DTO_SUCCESS);
	is_dto(&got[3], 4, DAT_DTO_ERR_REMOTE_ACCESS);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
}

/* Two endpoints complete in turns on one EVD. Each event names its endpoint. */
RIG_TEST(dequeue_n, dequeue_n__each_completion_names_its_endpoint)
{
	DAT_EP_HANDLE first = a.ep, second = end_ep(&a, NULL);
	DAT_EP_HANDLE peer = end_ep(&b, NULL);
	uint64_t next[2] = { 0, 1 };

	end_join(&a, second, &b, peer);
	for (uint64_t i = 0; i < 8; i++) {
		a.ep = i % 2 ? second : first;
		must(do_write(&a, i, 0, far(&b, 0, 8), 0));
	}
	take(a.req_evd, 8, 3);
	for (int i = 0; i < 8; i++) {
		a.ep = got[i].event_data.dto_completion_event_data.ep_handle;
		is_dto(&got[i], a.ep == second ? next[1] : next[0], DAT_DTO_SUCCESS);
		next[a.ep == second] += 2;
	}
	a.ep = first;
}

/* Earlier events of an overflowed EVD can be dequeued; then the calls report the overflow. */
RIG_TEST(dequeue_n, dequeue_n__overflowed_evd_returns_earlier_events_first)
{
	enum { CROWD = 12 };
	DAT_LMR_TRIPLET t = seg(&a, 0, 64);
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	DAT_EP_HANDLE eps[CROWD];
	DAT_EVD_HANDLE small;
	DAT_COUNT count, more;
	DAT_RETURN ret;
	DAT_EVENT ev;
	int n = 0;

	must(dat_evd_create(a.ia, 1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &small));
	for (int i = 0; i < CROWD; i++) {
		DAT_EP_ATTR attr = rig_attr();

		must(dat_ep_create(a.ia, a.pz, small, a.req_evd, a.conn_evd, &attr, &eps[i]));
		end_join(&a, eps[i], &b, end_ep(&b, NULL));
	}
	for (int i = 0; i < CROWD; i++) {
		for (int k = 0; k < RIG_DTOS; k++)
			must(dat_ep_post_recv(eps[i], 1, &t, c, DAT_COMPLETION_DEFAULT_FLAG));
		must(dat_ep_disconnect(eps[i], DAT_CLOSE_ABRUPT_FLAG));
	}
	must(dat_evd_wait(a.async, SOON_MS * 1000u, 1, &ev, &more));
	same(ev.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	while ((ret = dapl_evd_dequeue_n(small, MOST, got, &count)) == DAT_SUCCESS) {
		for (int i = 0; i < count; i++)
			same(got[i].event_data.dto_completion_event_data.status, FLUSHED);
		n += count;
		check(count <= MOST && n < CROWD * RIG_DTOS);
	}
	must_fail(ret, DAT_QUEUE_EMPTY);
	check(n > 0);
	rig_empty(small);
}

/* A refused dat_evd_dequeue() leaves the completion for the next call. */
RIG_TEST(dequeue_n, dequeue__no_event_takes_nothing)
{
	uint64_t until = th_now_ms() + SOON_MS;
	DAT_RETURN ret;

	write_some(1, 1, 0);
	do {
		check(th_now_ms() < until);
		ret = dat_evd_dequeue(a.req_evd, NULL);
	} while (DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	same(ret, (DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)DAT_INVALID_PARAMETER |
		  (DAT_RETURN)DAT_INVALID_ARG2);
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	rig_empty(a.req_evd);
}

struct taker {
	DAT_RETURN (*dequeue)(DAT_EVD_HANDLE, DAT_EVENT *);
	uint64_t last;
	bool disordered;
};

#define ROUNDS 200
static uint64_t taken;			/* number of events that both threads have dequeued; atomic */
static unsigned char seen[ROUNDS * MOST];	/* atomic */

static DAT_RETURN dequeue_stamped(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	struct dapl_stamp stamp;

	return dapl_evd_dequeue_ts(evd, ev, &stamp);
}

static DAT_RETURN dequeue_plain(DAT_EVD_HANDLE evd, DAT_EVENT *ev)
{
	return dat_evd_dequeue(evd, ev);
}

static void *take_all(void *arg)
{
	uint64_t until = th_now_ms() + SOON_MS, cookie;
	struct taker *t = arg;
	DAT_EVENT ev;

	while (__atomic_load_n(&taken, __ATOMIC_RELAXED) < sizeof(seen) && th_now_ms() < until) {
		if (t->dequeue(a.req_evd, &ev) != DAT_SUCCESS)
			continue;
		cookie = ev.event_data.dto_completion_event_data.user_cookie.as_64;
		t->disordered |= cookie < t->last;
		t->last = cookie;
		__atomic_add_fetch(&seen[cookie], 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&taken, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Each thread gets its events in the order of the queue, and both together get each event once. */
Test(dequeue_n, dequeue_ts__beside_dequeue_returns_each_event_once)
{
	struct taker takers[] = { { .dequeue = dequeue_stamped }, { .dequeue = dequeue_plain } };
	pthread_t threads[2];

	setenv("RIG_THREADSAFE", "1", 1);
	setup();
	rig_skip_if("timestamps", "");
	for (int i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, take_all, &takers[i]));
	for (uint64_t n = 0; n < sizeof(seen); n += MOST) {
		write_some(n, n + MOST - 1, 0);
		check(TH_WITHIN(SOON_MS, __atomic_load_n(&taken, __ATOMIC_RELAXED) == n + MOST));
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		check(!takers[i].disordered);
	}
	check(all_bytes(seen, sizeof(seen), 1));
	rig_empty(a.req_evd);
	teardown();
}
