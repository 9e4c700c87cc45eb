/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting on Event Dispatchers: thresholds, timeouts, one waiter, and events that wake it. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/conformance/fixture.h"

#define LOOK_US 60000		/* in us: how long a waiter that must not wake is watched */

struct waiter {
	DAT_EVD_HANDLE evd;
	DAT_TIMEOUT timeout;
	DAT_COUNT threshold, more;
	DAT_EVENT ev;
	DAT_RETURN ret;
	pthread_t thread;
	pid_t tid;
	bool done;
};

static void *waiting(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->ret = tried(dat_evd_wait(w->evd, w->timeout, w->threshold, &w->ev, &w->more));
	__atomic_store_n(&w->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_done(const struct waiter *w)
{
	return __atomic_load_n(&w->done, __ATOMIC_ACQUIRE);
}

static void start(struct waiter *w, DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold)
{
	*w = (struct waiter){ .evd = evd, .timeout = timeout, .threshold = threshold };
	same(pthread_create(&w->thread, NULL, waiting, w), 0);
	is_waiting(&w->tid);
	check(!is_done(w));
}

static void ends_with(struct waiter *w, uint32_t type)
{
	same(pthread_join(w->thread, NULL), 0);
	same(DAT_GET_TYPE(w->ret), type);
}

/* ---- Results ---- */

STATEMENT(evd_wait__takes_the_first, dat_evd_wait, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more = -1;
	struct side s;

	side_open(&s);
	post_soft(s.soft_evd, 1);
	post_soft(s.soft_evd, 2);
	must(dat_evd_wait(s.soft_evd, SOON, 1, &ev, &more));
	same((uintptr_t)ev.event_data.software_event_data.pointer, 1);
	check(ev.evd_handle == s.soft_evd);
	same(more, 1);
	side_close(&s);
}

STATEMENT(evd_wait__woken_by_an_arrival, dat_evd_wait, DESCRIPTION)
{
	struct waiter w;
	struct side s;

	side_open(&s);
	start(&w, s.soft_evd, DAT_TIMEOUT_INFINITE, 1);
	post_soft(s.soft_evd, 9);
	ends_with(&w, DAT_SUCCESS);
	same((uintptr_t)w.ev.event_data.software_event_data.pointer, 9);
	side_close(&s);
}

STATEMENT(evd_wait__time_out_takes_none_and_returns_nmore, dat_evd_wait, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more = -1;
	struct side s;

	side_open(&s);
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(s.soft_evd, 1000, 1, &ev, &more));
	same(more, 0);
	post_soft(s.soft_evd, 1);
	post_soft(s.soft_evd, 2);
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(s.soft_evd, 1000, 3, &ev, &more));
	same(more, 2);
	same(took_soft(s.soft_evd), 1);
	same(took_soft(s.soft_evd), 2);
	side_close(&s);
}

STATEMENT(evd_wait__time_out_of_zero_does_not_block, dat_evd_wait, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side s;

	side_open(&s);
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(s.soft_evd, 0, 1, &ev, &more));
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(s.recv_evd, 0, 1, &ev, &more));
	post_soft(s.soft_evd, 1);
	must(dat_evd_wait(s.soft_evd, 0, 1, &ev, &more));
	side_close(&s);
}

STATEMENT(evd_wait__threshold_is_waited_for, dat_evd_wait, DESCRIPTION)
{
	struct waiter w;
	struct side s;

	side_open(&s);
	start(&w, s.soft_evd, SOON, 3);
	post_soft(s.soft_evd, 1);
	post_soft(s.soft_evd, 2);
	th_sleep_ms(30);
	check(!is_done(&w));
	post_soft(s.soft_evd, 3);
	ends_with(&w, DAT_SUCCESS);
	check(w.more >= 2);
	side_close(&s);
}

STATEMENT(evd_wait__threshold_of_completions, dat_evd_wait, DESCRIPTION)
{
	struct side a, b;
	struct waiter w;

	two_open(&a, &b);
	for (uint64_t i = 0; i < 4; i++)
		must(do_recv(&b, i, i * 64, 64));
	start(&w, b.recv_evd, SOON, 4);
	for (uint64_t i = 0; i < 4; i++)
		must(do_send(&a, i, i * 64, 64, DEFAULT));
	ends_with(&w, DAT_SUCCESS);
	same(w.ev.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	check(w.more >= 3);
	two_close(&a, &b);
}

STATEMENT(evd_wait__threshold_out_of_range, dat_evd_wait, DESCRIPTION)
{
	DAT_EVD_PARAM param;
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side s;

	side_open(&s);
	must(dat_evd_query(s.soft_evd, DAT_EVD_FIELD_ALL, &param));
	must_be(DAT_INVALID_PARAMETER, dat_evd_wait(s.soft_evd, SOON, 0, &ev, &more));
	must_be(DAT_INVALID_PARAMETER, dat_evd_wait(s.soft_evd, SOON, -1, &ev, &more));
	must_be(DAT_INVALID_PARAMETER,
		dat_evd_wait(s.soft_evd, SOON, param.evd_qlen + 1, &ev, &more));
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(s.soft_evd, 0, param.evd_qlen, &ev, &more));
	side_close(&s);
}

STATEMENT(evd_wait__nowhere_to_put_results, dat_evd_wait, RETURNS)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER, dat_evd_wait(s.soft_evd, 0, 1, NULL, &more));
	must_be(DAT_INVALID_PARAMETER, dat_evd_wait(s.soft_evd, 0, 1, &ev, NULL));
	side_close(&s);
}

/* ---- One waiter ---- */

STATEMENT(evd_wait__a_waiter_owns_the_evd, dat_evd_wait, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct waiter w;
	struct side s;

	side_open(&s);
	start(&w, s.soft_evd, DAT_TIMEOUT_INFINITE, 1);
	must_be(DAT_INVALID_STATE, dat_evd_wait(s.soft_evd, 0, 1, &ev, &more));
	post_soft(s.soft_evd, 1);
	ends_with(&w, DAT_SUCCESS);
	post_soft(s.soft_evd, 2);
	must(dat_evd_wait(s.soft_evd, 0, 1, &ev, &more));
	side_close(&s);
}

STATEMENT(evd_dequeue__refused_with_a_waiter, dat_evd_dequeue, RETURNS)
{
	static const char *const kinds[] = { "software", "completions" };
	DAT_EVENT ev;
	struct waiter w;
	struct side s;

	side_open(&s);
	for (int i = 0; i < 2; i++) {
		DAT_EVD_HANDLE evd = i ? s.recv_evd : s.soft_evd;

		start(&w, evd, DAT_TIMEOUT_INFINITE, 1);
		if (!is(tried(dat_evd_dequeue(evd, &ev)), DAT_INVALID_STATE))
			conform_fail(__FILE__, __LINE__,
				     "an EVD of %s could be dequeued while a thread waits on it",
				     kinds[i]);
		must(dat_evd_set_unwaitable(evd));
		ends_with(&w, DAT_INVALID_STATE);
	}
	side_close(&s);
}

STATEMENT(evd_set_unwaitable__wakes_the_waiter, dat_evd_set_unwaitable, DESCRIPTION)
{
	struct waiter w;
	struct side s;

	side_open(&s);
	start(&w, s.recv_evd, DAT_TIMEOUT_INFINITE, 1);
	must(dat_evd_set_unwaitable(s.recv_evd));
	ends_with(&w, DAT_INVALID_STATE);
	side_close(&s);
}

STATEMENT(evd_wait__aborted_as_the_evd_is_freed, dat_evd_wait, RETURNS)
{
	struct waiter w;
	struct side s;

	side_open(&s);
	start(&w, s.soft_evd, DAT_TIMEOUT_INFINITE, 1);
	must(dat_evd_free(s.soft_evd));
	ends_with(&w, DAT_ABORT);
	side_close(&s);
}

static void nothing(int sig)
{
	(void)sig;
}

STATEMENT(evd_wait__interrupted_by_a_signal, dat_evd_wait, RETURNS)
{
	struct sigaction act = { .sa_handler = nothing };
	struct waiter w;
	struct side s;

	side_open(&s);
	same(sigaction(SIGUSR1, &act, NULL), 0);
	start(&w, s.soft_evd, DAT_TIMEOUT_INFINITE, 1);
	same(pthread_kill(w.thread, SIGUSR1), 0);
	ends_with(&w, DAT_INTERRUPTED_CALL);
	same(w.more, 0);
	side_close(&s);
}

/* ---- Completions that end a wait ---- */

/* Opens a pair: b posts receives, which have the first flags; a posts requests, which have the
 * second flags. */
static void two_with_flags(struct side *a, struct side *b, int request, int recv)
{
	DAT_EP_ATTR attr = side_attr();

	attr.request_completion_flags = (DAT_COMPLETION_FLAGS)request;
	attr.recv_completion_flags = (DAT_COMPLETION_FLAGS)recv;
	two_open_with(a, b, &attr);
}

STATEMENT(evd_wait__threshold_with_unsignalled_streams, dat_evd_wait, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side a, b;

	two_with_flags(&a, &b, UNSIGNALLED, DEFAULT);
	must_be(DAT_INVALID_STATE, dat_evd_wait(a.req_evd, 0, 2, &ev, &more));
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(a.req_evd, 0, 1, &ev, &more));
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(a.recv_evd, 0, 2, &ev, &more));
	two_close(&a, &b);
}

STATEMENT(evd_wait__threshold_with_solicited_streams, dat_evd_wait, DESCRIPTION)
{
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side a, b;

	two_with_flags(&a, &b, DEFAULT, SOLICITED);
	must_be(DAT_INVALID_STATE, dat_evd_wait(b.recv_evd, 0, 2, &ev, &more));
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(b.recv_evd, 0, 1, &ev, &more));
	two_close(&a, &b);
}

STATEMENT(evd_wait__not_woken_by_unsignalled, dat_ep_post_send, DESCRIPTION)
{
	struct side a, b;
	struct waiter w;

	two_with_flags(&a, &b, UNSIGNALLED, DEFAULT);
	for (uint64_t i = 0; i < 3; i++)
		must(do_recv(&b, i, i * 64, 64));
	start(&w, a.req_evd, SOON, 1);
	must(do_send(&a, 1, 0, 64, UNSIGNALLED));
	must(do_send(&a, 2, 0, 64, UNSIGNALLED));
	took_dto(b.recv_evd, 0, DAT_DTO_SUCCESS);
	took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
	th_sleep_ms(LOOK_US / 1000);
	check(!is_done(&w));
	must(do_send(&a, 3, 0, 64, DEFAULT));
	ends_with(&w, DAT_SUCCESS);
	same(w.ev.event_data.dto_completion_event_data.user_cookie.as_64, 1);
	took_dto(a.req_evd, 2, DAT_DTO_SUCCESS);
	took_dto(a.req_evd, 3, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

STATEMENT(evd_wait__woken_by_solicited_only, dat_ep_post_recv, DESCRIPTION)
{
	struct side a, b;
	struct waiter w;

	two_with_flags(&a, &b, DEFAULT, SOLICITED);
	for (uint64_t i = 0; i < 3; i++)
		must(do_recv(&b, i, i * 64, 64));
	start(&w, b.recv_evd, SOON, 1);
	must(do_send(&a, 1, 0, 64, DEFAULT));
	must(do_send(&a, 2, 0, 64, DEFAULT));
	took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
	took_dto(a.req_evd, 2, DAT_DTO_SUCCESS);
	th_sleep_ms(LOOK_US / 1000);
	check(!is_done(&w));
	must(do_send(&a, 3, 0, 64, SOLICITED));
	ends_with(&w, DAT_SUCCESS);
	same(w.ev.event_data.dto_completion_event_data.user_cookie.as_64, 0);
	took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
	took_dto(b.recv_evd, 2, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}
