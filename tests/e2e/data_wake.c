/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions that wake a sleeping waiter. */
#include <pthread.h>
#include <unistd.h>

#include "tests/e2e/pair.h"

TestSuite(data_wake, .timeout = 60);

struct waiter {
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	DAT_RETURN ret;
	int back;
	pid_t tid;
	pthread_t thread;
};

static void *wait_long(void *arg)
{
	struct waiter *w = arg;
	DAT_COUNT more;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->ret = dat_evd_wait(w->evd, SOON_MS * 1000u, 1, &w->ev, &more);
	__atomic_store_n(&w->back, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void waiter_start(struct waiter *w, DAT_EVD_HANDLE evd)
{
	DAT_EVENT ev;

	*w = (struct waiter){ .evd = evd };
	same(pthread_create(&w->thread, NULL, wait_long, w), 0);
	/*
	 * A waiter has entered the call when other callers are refused. When it sleeps, it has
	 * checked the queue.
	 */
	check(TH_WITHIN(SOON_MS, DAT_GET_TYPE(dat_evd_dequeue(evd, &ev)) == DAT_INVALID_STATE));
	check(th_asleep(&w->tid, SOON_MS));
}

static bool waiter_is_back(const struct waiter *w)
{
	return __atomic_load_n(&w->back, __ATOMIC_ACQUIRE);
}

/* The waiter's CQ was armed for solicited receives, when another endpoint feeds the EVD. */
RIG_TEST(data_wake, ep_create__with_other_flags_reaches_a_waiter)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE solicited;
	DAT_EVD_HANDLE evd, own = b.recv_evd;
	struct waiter w;

	must(dat_evd_create(b.ia, RIG_DTOS, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	must(dat_ep_create(b.ia, b.pz, evd, b.req_evd, b.conn_evd, &attr, &solicited));
	waiter_start(&w, evd);
	must(dat_ep_free(solicited));
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_free(b.ep));
	b.recv_evd = evd;
	b.ep = end_ep(&b, NULL);
	must(dat_ep_reset(a.ep));
	end_join(&a, a.ep, &b, b.ep);
	must(do_recv(&b, 3, 0, 64));
	must(do_send(&a, 4, 0, 64, 0));
	check(TH_WITHIN(SOON_MS, waiter_is_back(&w)));
	pthread_join(w.thread, NULL);
	must(w.ret);
	same(w.ev.event_data.dto_completion_event_data.user_cookie.as_64, 3);
	took(a.req_evd, 4, DAT_DTO_SUCCESS);
	must(dat_evd_free(own));
}

RIG_TEST(data_wake, unsignalled__wakes_no_waiter_but_is_there)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE own = a.ep;
	struct waiter w;

	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	must(dat_evd_create(a.ia, 64, NULL, DAT_EVD_DTO_FLAG, &evd));
	must(dat_ep_create(a.ia, a.pz, a.recv_evd, evd, a.conn_evd, &attr, &a.ep));
	end_join(&a, a.ep, &b, end_ep(&b, NULL));
	waiter_start(&w, evd);
	must(do_write(&a, 1, 0, far(&b, 0, 500), DAT_COMPLETION_UNSIGNALLED_FLAG));
	th_sleep_ms(150);
	check(!waiter_is_back(&w));
	must(do_write(&a, 2, 0, far(&b, 0, 500), 0));
	check(TH_WITHIN(SOON_MS / 2, waiter_is_back(&w)));
	pthread_join(w.thread, NULL);
	must(w.ret);
	same(w.ev.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	took(evd, 2, DAT_DTO_SUCCESS);
	rig_empty(evd);
	a.ep = own;
}

static void fails_and_wakes(struct waiter *w, uint64_t cookie, DAT_DTO_COMPLETION_STATUS status)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &w->ev.event_data.dto_completion_event_data;

	check(TH_WITHIN(SOON_MS, waiter_is_back(w)));
	pthread_join(w->thread, NULL);
	must(w->ret);
	same(w->ev.event_number, DAT_DTO_COMPLETION_EVENT);
	same(dto->user_cookie.as_64, cookie);
	same(dto->status, status);
}

/* No flag hides an error: neither the flag of the post, nor a sender that did not set the solicited
 * bit. */
RIG_TEST(data_wake, failed__wakes_though_unsignalled_or_unsolicited)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_RMR_TRIPLET bad = far(&b, 0, 500);
	DAT_EP_HANDLE ea = a.ep, eb = b.ep;
	DAT_EVD_HANDLE request, recv;
	struct waiter w, v;

	attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	must(dat_evd_create(a.ia, 64, NULL, DAT_EVD_DTO_FLAG, &request));
	must(dat_ep_create(a.ia, a.pz, a.recv_evd, request, a.conn_evd, &attr, &a.ep));
	attr = rig_attr();
	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	must(dat_evd_create(b.ia, 64, NULL, DAT_EVD_DTO_FLAG, &recv));
	must(dat_ep_create(b.ia, b.pz, recv, b.req_evd, b.conn_evd, &attr, &b.ep));
	end_join(&a, a.ep, &b, b.ep);
	must(do_recv(&b, 7, 0, 64));
	waiter_start(&w, request);
	waiter_start(&v, recv);
	bad.rmr_context ^= 0x55;
	must(do_write(&a, 1, 0, bad, DAT_COMPLETION_UNSIGNALLED_FLAG));
	fails_and_wakes(&w, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	fails_and_wakes(&v, 7, FLUSHED);
	waiter_start(&w, request);
	must(do_write(&a, 2, 0, far(&b, 0, 8), DAT_COMPLETION_UNSIGNALLED_FLAG));
	fails_and_wakes(&w, 2, FLUSHED);
	a.ep = ea;
	b.ep = eb;
}

RIG_TEST(data_wake, solicited__the_sender_decides_whether_the_receiver_wakes)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ea = a.ep, eb = b.ep;
	struct waiter w;

	attr.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	must(dat_evd_create(b.ia, 64, NULL, DAT_EVD_DTO_FLAG, &evd));
	must(dat_ep_create(b.ia, b.pz, evd, b.req_evd, b.conn_evd, &attr, &b.ep));
	a.ep = end_ep(&a, NULL);
	end_join(&a, a.ep, &b, b.ep);
	for (uint64_t lap = 0; lap < 3; lap++) {
		must(do_recv(&b, 1, 0, 64));
		must(do_recv(&b, 2, 0, 64));
		waiter_start(&w, evd);
		must(do_send(&a, 1, 0, 64, SUPPRESS));
		th_sleep_ms(100);
		check(!waiter_is_back(&w));
		must(do_send(&a, 2, 0, 64, SUPPRESS | DAT_COMPLETION_SOLICITED_WAIT_FLAG));
		check(TH_WITHIN(SOON_MS / 2, waiter_is_back(&w)));
		pthread_join(w.thread, NULL);
		must(w.ret);
		same(w.ev.event_data.dto_completion_event_data.user_cookie.as_64, 1);
		took(evd, 2, DAT_DTO_SUCCESS);
	}
	a.ep = ea;
	b.ep = eb;
}

struct counter {
	uint64_t seen, n;
	DAT_EVD_HANDLE evd;
};

static void *count_all(void *arg)
{
	struct counter *c = arg;
	DAT_COUNT more;
	DAT_EVENT ev;

	while (c->seen < c->n && !dat_evd_wait(c->evd, SOON_MS * 1000u, 1, &ev, &more) &&
	       ev.event_data.dto_completion_event_data.user_cookie.as_64 == c->seen)
		__atomic_store_n(&c->seen, c->seen + 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Completions come before, during and after the arming. The waiter misses none. */
RIG_TEST(data_wake, completions__at_any_moment_of_falling_asleep_are_not_missed)
{
	struct counter c = { .n = 1000, .evd = b.recv_evd };
	static volatile unsigned int sink;
	pthread_t thread;

	same(pthread_create(&thread, NULL, count_all, &c), 0);
	for (uint64_t i = 0; i < c.n; i++) {
		must(do_recv(&b, i, 0, 64));
		for (uint64_t k = 0; k < i * 7919 % 60000; k++)
			sink = sink + 1;
		must(do_send(&a, i, 0, 64, SUPPRESS));
		check(TH_WITHIN(SOON_MS, __atomic_load_n(&c.seen, __ATOMIC_ACQUIRE) == i + 1));
	}
	pthread_join(thread, NULL);
}

/* One thread waits for ten completions, which come one by one. */
RIG_TEST(data_wake, threshold__of_ten_wakes_at_the_tenth_completion)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	for (uint64_t i = 0; i < 10; i++)
		must(do_recv(&b, i, 0, 64));
	for (uint64_t i = 0; i < 9; i++)
		must(do_send(&a, i, 0, 64, SUPPRESS));
	must_fail(dat_evd_wait(b.recv_evd, 50000, 10, &ev, &more), DAT_TIMEOUT_EXPIRED);
	check(more <= 9);
	must(do_send(&a, 9, 0, 64, SUPPRESS));
	must(dat_evd_wait(b.recv_evd, SOON_MS * 1000u, 10, &ev, &more));
	same(ev.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	same(more, 9);
	took_range(b.recv_evd, 1, 9, DAT_DTO_SUCCESS);
}
