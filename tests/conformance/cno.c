/* SPDX-License-Identifier: BSD-2-Clause */
/* Consumer Notification Objects. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "tests/conformance/fixture.h"

static const DAT_OS_WAIT_PROXY_AGENT no_agent = { NULL, NULL };

static DAT_CNO_HANDLE cno_of(struct side *s, DAT_OS_WAIT_PROXY_AGENT agent)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;
	DAT_RETURN ret = tried(dat_cno_create(s->ia, agent, &cno));

	if (is(ret, DAT_INSUFFICIENT_RESOURCES))
		skip("dat_cno_create answers INSUFFICIENT_RESOURCES, which its page allows");
	must_be(DAT_SUCCESS, ret);
	return cno;
}

/* Creates a CNO with one EVD of software events. */
static DAT_CNO_HANDLE with_evd(struct side *s, DAT_EVD_HANDLE *evd)
{
	DAT_CNO_HANDLE cno;

	side_open(s);
	cno = cno_of(s, no_agent);
	must(dat_evd_create(s->ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, evd));
	return cno;
}

static void not_triggered(DAT_CNO_HANDLE cno)
{
	DAT_EVD_HANDLE by = cno;

	must_be(DAT_QUEUE_EMPTY, dat_cno_wait(cno, 20000, &by));
	check(by == DAT_HANDLE_NULL);
}

struct waiter {
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE by;
	DAT_RETURN ret;
	pthread_t thread;
	pid_t tid;
};

static void *waiting(void *arg)
{
	struct waiter *w = arg;

	__atomic_store_n(&w->tid, gettid(), __ATOMIC_RELEASE);
	w->ret = tried(dat_cno_wait(w->cno, DAT_TIMEOUT_INFINITE, &w->by));
	return NULL;
}

static void start(struct waiter *w, DAT_CNO_HANDLE cno)
{
	*w = (struct waiter){ .cno = cno, .by = cno };
	same(pthread_create(&w->thread, NULL, waiting, w), 0);
	is_waiting(&w->tid);
}

static void ends_with(struct waiter *w, uint32_t type)
{
	same(pthread_join(w->thread, NULL), 0);
	same(DAT_GET_TYPE(w->ret), type);
}

STATEMENT(cno_create__nothing_feeds_it, dat_cno_create, DESCRIPTION)
{
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM p;
	struct side s;

	side_open(&s);
	cno = cno_of(&s, no_agent);
	must(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &p));
	check(p.ia_handle == s.ia && p.agent.proxy_agent_func == NULL);
	not_triggered(cno);
	must(dat_cno_free(cno));
	side_close(&s);
}

STATEMENT(cno_create__bad_arguments, dat_cno_create, RETURNS)
{
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER, dat_cno_create(s.ia, no_agent, NULL));
	side_close(&s);
}

/* The pages do not say which agents are invalid. Data without a function is the only candidate. */
STATEMENT(cno_modify_agent__data_without_a_function, dat_cno_modify_agent, RETURNS)
{
	DAT_OS_WAIT_PROXY_AGENT agent = { .instance_data = &agent };
	DAT_CNO_HANDLE cno;
	DAT_CNO_PARAM p;
	struct side s;

	side_open(&s);
	must(dat_cno_create(s.ia, no_agent, &cno));
	if (is(tried(dat_cno_modify_agent(cno, agent)), DAT_SUCCESS))
		skip("this provider accepts an agent without a function, as its page allows");
	must_be(DAT_INVALID_PARAMETER, dat_cno_modify_agent(cno, agent));
	must(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &p));
	check(!p.agent.instance_data && !p.agent.proxy_agent_func);
	must_be(DAT_INVALID_PARAMETER, dat_cno_create(s.ia, agent, &cno));
	side_close(&s);
}

STATEMENT(cno_wait__triggered_by_an_event, dat_cno_wait, DESCRIPTION)
{
	DAT_EVD_HANDLE evd, by;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	post_soft(evd, 1);
	must(dat_cno_wait(cno, SOON, &by));
	check(by == evd);
	same(took_soft(evd), 1);
	not_triggered(cno);
	side_close(&s);
}

STATEMENT(cno_wait__wakes_each_waiter, dat_cno_wait, DESCRIPTION)
{
	DAT_EVD_HANDLE evd;
	struct waiter w;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	start(&w, cno);
	post_soft(evd, 1);
	ends_with(&w, DAT_SUCCESS);
	check(w.by == evd);
	side_close(&s);
}

STATEMENT(cno_wait__time_is_up, dat_cno_wait, DESCRIPTION)
{
	DAT_EVD_HANDLE evd;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	not_triggered(cno);
	must_be(DAT_QUEUE_EMPTY, dat_cno_wait(cno, 0, &evd));
	must_be(DAT_INVALID_PARAMETER, dat_cno_wait(cno, 0, NULL));
	side_close(&s);
}

STATEMENT(cno_wait__woken_by_completions, dat_cno_wait, DESCRIPTION)
{
	DAT_EVD_HANDLE by;
	DAT_CNO_HANDLE cno;
	struct side a, b;

	two_open(&a, &b);
	cno = cno_of(&b, no_agent);
	must(dat_evd_modify_cno(b.recv_evd, cno));
	for (uint64_t i = 0; i < 10; i++) {
		must(do_recv(&b, i, 0, 64));
		must(do_send(&a, i, 0, 64, DEFAULT));
		must(dat_cno_wait(cno, SOON, &by));
		check(by == b.recv_evd);
		took_dto(b.recv_evd, i, DAT_DTO_SUCCESS);
		took_dto(a.req_evd, i, DAT_DTO_SUCCESS);
	}
	two_close(&a, &b);
}

STATEMENT(cno_wait__a_disabled_evd_is_silent, dat_cno_wait, DESCRIPTION)
{
	DAT_EVD_HANDLE evd, by;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	must(dat_evd_disable(evd));
	post_soft(evd, 1);
	not_triggered(cno);
	must(dat_evd_enable(evd));
	post_soft(evd, 2);
	must(dat_cno_wait(cno, SOON, &by));
	side_close(&s);
}

static void nothing(int sig)
{
	(void)sig;
}

STATEMENT(cno_wait__interrupted_by_a_signal, dat_cno_wait, RETURNS)
{
	struct sigaction act = { .sa_handler = nothing };
	DAT_EVD_HANDLE evd;
	struct waiter w;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	same(sigaction(SIGUSR1, &act, NULL), 0);
	start(&w, cno);
	same(pthread_kill(w.thread, SIGUSR1), 0);
	ends_with(&w, DAT_INTERRUPTED_CALL);
	side_close(&s);
}

STATEMENT(cno_wait__all_its_evds_are_freed, dat_cno_wait, DESCRIPTION)
{
	DAT_EVD_HANDLE evd;
	struct waiter w;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	start(&w, cno);
	must(dat_evd_free(evd));
	same(pthread_join(w.thread, NULL), 0);
	check(w.by == DAT_HANDLE_NULL);
	must(dat_cno_free(cno));
	side_close(&s);
}

STATEMENT(cno_wait__ia_is_closed, dat_ia_close, DESCRIPTION)
{
	DAT_EVD_HANDLE evd;
	struct waiter w;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	start(&w, cno);
	side_close(&s);
	same(pthread_join(w.thread, NULL), 0);
	check(w.by == DAT_HANDLE_NULL);
}

STATEMENT(cno_free__in_use_by_an_evd, dat_cno_free, DESCRIPTION)
{
	DAT_EVD_HANDLE evd;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	must_be(DAT_INVALID_STATE, dat_cno_free(cno));
	must(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
	must(dat_cno_free(cno));
	must_be(DAT_INVALID_HANDLE, dat_cno_free(cno));
	side_close(&s);
}

STATEMENT(cno_free__with_a_waiter, dat_cno_free, DESCRIPTION)
{
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE evd;
	struct waiter w;
	struct side s;

	side_open(&s);
	cno = cno_of(&s, no_agent);
	start(&w, cno);
	must_be(DAT_INVALID_STATE, dat_cno_free(cno));
	must(dat_evd_create(s.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	post_soft(evd, 1);
	ends_with(&w, DAT_SUCCESS);
	side_close(&s);
}

/* ---- Choice of the CNO ---- */

STATEMENT(evd_modify_cno__moves_the_trigger, dat_evd_modify_cno, DESCRIPTION)
{
	DAT_EVD_HANDLE evd, by;
	DAT_EVD_PARAM p;
	struct side s;
	DAT_CNO_HANDLE first = with_evd(&s, &evd), second = cno_of(&s, no_agent);

	must(dat_evd_modify_cno(evd, second));
	must(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &p));
	check(p.cno_handle == second);
	post_soft(evd, 1);
	must(dat_cno_wait(second, SOON, &by));
	not_triggered(first);
	must(dat_cno_free(first));
	side_close(&s);
}

STATEMENT(evd_modify_cno__none, dat_evd_modify_cno, DESCRIPTION)
{
	DAT_EVD_PARAM p;
	struct side s;

	side_open(&s);
	must(dat_evd_modify_cno(s.soft_evd, DAT_HANDLE_NULL));
	must(dat_evd_query(s.soft_evd, DAT_EVD_FIELD_ALL, &p));
	check(p.cno_handle == DAT_HANDLE_NULL);
	side_close(&s);
}

STATEMENT(evd_wait__preempts_the_cno, dat_evd_wait, DESCRIPTION)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side s;
	struct waiter w;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	start(&w, cno);
	must_be(DAT_TIMEOUT_EXPIRED, dat_evd_wait(evd, 1000, 1, &ev, &more));
	post_soft(evd, 1);
	ends_with(&w, DAT_SUCCESS);
	side_close(&s);
}

/* ---- The proxy agent ---- */

static DAT_EVD_HANDLE called_with;
static int calls;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	called_with = evd;
	__atomic_add_fetch((int *)data, 1, __ATOMIC_ACQ_REL);
}

STATEMENT(cno_modify_agent__called_at_each_trigger, dat_cno_modify_agent, DESCRIPTION)
{
	DAT_OS_WAIT_PROXY_AGENT a = { &calls, agent };
	DAT_EVD_HANDLE evd;
	DAT_CNO_PARAM p;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	must(dat_cno_modify_agent(cno, a));
	must(dat_cno_query(cno, DAT_CNO_FIELD_ALL, &p));
	check(p.agent.proxy_agent_func == agent && p.agent.instance_data == &calls);
	for (int i = 1; i <= 3; i++) {
		post_soft(evd, 1);
		check(TH_WITHIN(SOON_MS, __atomic_load_n(&calls, __ATOMIC_ACQUIRE) == i));
		same(took_soft(evd), 1);
	}
	must(dat_cno_modify_agent(cno, no_agent));
	post_soft(evd, 1);
	th_sleep_ms(30);
	same(calls, 3);
	side_close(&s);
}

STATEMENT(cno_create__agent_is_called_once, dat_cno_create, DESCRIPTION)
{
	DAT_OS_WAIT_PROXY_AGENT a = { &calls, agent };
	DAT_EVD_HANDLE evd;
	DAT_CNO_HANDLE cno;
	struct side s;

	side_open(&s);
	cno = cno_of(&s, a);
	must(dat_evd_create(s.ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	post_soft(evd, 1);
	check(TH_WITHIN(SOON_MS, __atomic_load_n(&calls, __ATOMIC_ACQUIRE) == 1));
	check(called_with == evd);
	same(took_soft(evd), 1);
	post_soft(evd, 2);
	th_sleep_ms(30);
	same(calls, 1);
	side_close(&s);
}

STATEMENT(cno_query__mask_out_of_range, dat_cno_query, RETURNS)
{
	DAT_EVD_HANDLE evd;
	DAT_CNO_PARAM p;
	struct side s;
	DAT_CNO_HANDLE cno = with_evd(&s, &evd);

	must_be(DAT_INVALID_PARAMETER,
		dat_cno_query(cno, (DAT_CNO_PARAM_MASK)(DAT_CNO_FIELD_ALL + 1), &p));
	must_be(DAT_INVALID_PARAMETER, dat_cno_query(cno, DAT_CNO_FIELD_ALL, NULL));
	side_close(&s);
}
