/* SPDX-License-Identifier: BSD-2-Clause */
/* Two threads that change the proxy agent of a CNO, and an agent that changes itself. */
#include <string.h>

#include "core/evd/cno.h"
#include "tests/core/fixture.h"

static void setup(void)
{
	t.ia = fake_open("fake0");
	cr_assert_eq(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &t.cno), DAT_SUCCESS);
	cr_assert_eq(dat_evd_create(t.ia, 8, t.cno, DAT_EVD_SOFTWARE_FLAG, &t.evd), DAT_SUCCESS);
}

TestSuite(agent, .init = setup, .fini = teardown, .timeout = 60);

static struct {
	struct th_aside other;
	struct calls calls;
	unsigned int locks, at;
} change;

static bool agent_is_one(DAT_OS_WAIT_PROXY_AGENT a)
{
	if (!a.proxy_agent_func)
		return !a.instance_data;
	return a.proxy_agent_func == agent && a.instance_data == &change.calls;
}

static void query_and_change(void *arg)
{
	DAT_CNO_PARAM param;

	(void)arg;
	cr_expect_eq(dat_cno_query(t.cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	cr_expect(agent_is_one(param.agent));
	cr_expect_eq(dat_cno_modify_agent(t.cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	cr_expect_eq(dat_cno_modify_agent(t.cno, agent_of(&change.calls)), DAT_SUCCESS);
}

static void change_agent_at_lock(void *arg)
{
	if (change.locks++ == change.at)
		th_aside(&change.other, query_and_change, arg, 20000);
}

/* Changes the agent when the call is about to take this lock. False: the call takes no such
 * lock. */
static bool changes_beside_at(unsigned int lock)
{
	cr_assert_eq(dat_cno_modify_agent(t.cno, agent_of(&change.calls)), DAT_SUCCESS);
	change.at = lock;
	change.locks = 0;
	th_at_locks(change_agent_at_lock, NULL);
	cr_assert_eq(dat_cno_modify_agent(t.cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	th_at_locks(NULL, NULL);
	th_aside_end(&change.other);
	return change.locks > lock;
}

Test(agent, modify_agent__beside_another_one_does_not_hang)
{
	unsigned int lock = 0;

	while (changes_beside_at(lock))
		lock++;
	cr_assert_gt(lock, 1);
}

static bool remover_sleeps(struct calls *c)
{
	return __atomic_load_n(&c->null, __ATOMIC_ACQUIRE);
}

/* Waits until the thread that removes the agent is waiting for this call to return. */
static void change_itself(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	struct calls *c = data;
	DAT_RETURN ret;

	(void)evd;
	__atomic_add_fetch(&c->n, 1, __ATOMIC_RELEASE);
	if (!TH_WITHIN(20000, remover_sleeps(c)))
		return;
	ret = dat_cno_modify_agent(t.cno, agent_of(&change.calls));
	if (ret == DAT_SUCCESS)
		__atomic_add_fetch(&c->n, 1, __ATOMIC_RELEASE);
}

static void remove_agent(void *arg)
{
	(void)arg;
	cr_expect_eq(dat_cno_modify_agent(t.cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
}

Test(agent, modify_agent__by_an_agent_under_removal_leaves_no_agent)
{
	struct calls c = {0};
	DAT_OS_WAIT_PROXY_AGENT own = {.instance_data = &c, .proxy_agent_func = change_itself};
	struct th_aside remover;
	DAT_CNO_PARAM param;

	cr_assert_eq(dat_cno_modify_agent(t.cno, own), DAT_SUCCESS);
	fake_post_se(t.evd);
	cr_assert(TH_WITHIN(20000, count(&c.n) == 1));
	cr_assert_not(th_aside(&remover, remove_agent, NULL, 20000));
	__atomic_store_n(&c.null, 1, __ATOMIC_RELEASE);
	th_aside_end(&remover);
	cr_assert_eq(count(&c.n), 2);
	cr_assert_eq(dat_cno_query(t.cno, DAT_CNO_FIELD_ALL, &param), DAT_SUCCESS);
	cr_assert_null(param.agent.proxy_agent_func);
}

/* ---- An agent that is replaced during a call ---- */

static struct {
	struct th_aside changer;
	/* null: number of calls of old_agent that ended at their time limit */
	struct calls calls;
	bool may_return, changed;
} swap;

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static void old_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	__atomic_add_fetch(&swap.calls.n, 1, __ATOMIC_RELEASE);
	if (!TH_WITHIN(20000, is_set(&swap.may_return)))
		__atomic_add_fetch(&swap.calls.null, 1, __ATOMIC_RELEASE);
}

/* A program may hold a lock while it sets this function, which takes the lock, too. */
static void new_agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	if (!TH_WITHIN(20000, is_set(&swap.changed)))
		__atomic_add_fetch(&swap.calls.null, 1, __ATOMIC_RELEASE);
}

static void set_new_agent(void *arg)
{
	DAT_OS_WAIT_PROXY_AGENT other = {.proxy_agent_func = new_agent};

	(void)arg;
	cr_expect_eq(dat_cno_modify_agent(t.cno, other), DAT_SUCCESS);
	__atomic_store_n(&swap.changed, true, __ATOMIC_RELEASE);
}

/* The trigger for the new function comes while the change waits for the old one. */
static void replace_during_call(void)
{
	DAT_OS_WAIT_PROXY_AGENT own = {.proxy_agent_func = old_agent};
	DAT_EVENT ev;

	memset(&swap, 0, sizeof(swap));
	cr_assert_eq(dat_cno_modify_agent(t.cno, own), DAT_SUCCESS);
	fake_post_se(t.evd);
	cr_assert(TH_WITHIN(20000, count(&swap.calls.n) == 1));
	cr_assert_not(th_aside(&swap.changer, set_new_agent, NULL, 20000));
	fake_post_se(t.evd);
	__atomic_store_n(&swap.may_return, true, __ATOMIC_RELEASE);
	th_aside_end(&swap.changer);
	cr_assert_eq(dat_cno_modify_agent(t.cno, DAT_OS_WAIT_PROXY_AGENT_NULL), DAT_SUCCESS);
	cr_assert_eq(count(&swap.calls.null), 0, "the change waited for a call of the new function");
	while (dat_evd_dequeue(t.evd, &ev) == DAT_SUCCESS)
		;
}

Test(agent, modify_agent__waits_for_the_old_function_only)
{
	for (int i = 0; i < 20; i++)
		replace_during_call();
}

/* ---- An agent that another thread waits for, because it ends the CNO ---- */

static struct {
	DAT_CNO_HANDLE cno;
	DAT_RETURN modified, freed;
	DAT_CNO_PARAM param;
	unsigned int calls;
} last;

static void leave_at_end(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	(void)data;
	(void)evd;
	last.modified = dat_cno_modify_agent(last.cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
	dat_cno_query(last.cno, DAT_CNO_FIELD_ALL, &last.param);
	last.freed = dat_cno_free(last.cno);
	__atomic_add_fetch(&last.calls, 1, __ATOMIC_RELEASE);
}

static void make_last(void)
{
	DAT_OS_WAIT_PROXY_AGENT own = {.proxy_agent_func = leave_at_end};

	memset(&last, 0, sizeof(last));
	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &last.cno));
	assert_ok(dat_cno_modify_agent(last.cno, own));
}

/* The thread that closes the IA waits for the agent, and then frees the CNO. */
Test(agent, ia_close__agent_that_frees_its_cno_is_refused)
{
	make_last();
	fake_close(t.ia);
	cr_expect_eq(count(&last.calls), 1);
	assert_ok(last.modified);
	cr_expect_eq(last.param.agent.proxy_agent_func, leave_at_end);
	assert_code(last.freed, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
	setup();
}

static struct th_aside freer;

static void free_cno(void *arg)
{
	(void)arg;
	cr_expect_eq(dat_cno_free(last.cno), DAT_SUCCESS);
}

static void change_while_freed(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	cr_expect_not(th_aside(&freer, free_cno, NULL, 20000));
	leave_at_end(data, evd);
}

/* The agent is called because the last EVD of its CNO is freed. */
Test(agent, cno_free__waits_for_an_agent_that_changes_itself)
{
	DAT_OS_WAIT_PROXY_AGENT own = {.proxy_agent_func = change_while_freed};
	DAT_EVD_HANDLE evd;

	make_last();
	assert_ok(dat_cno_modify_agent(last.cno, own));
	assert_ok(dat_evd_create(t.ia, 8, last.cno, DAT_EVD_SOFTWARE_FLAG, &evd));
	assert_ok(dat_evd_free(evd));
	cr_assert(TH_WITHIN(20000, count(&last.calls) == 1));
	th_aside_end(&freer);
	assert_ok(last.modified);
	cr_expect_eq(last.param.agent.proxy_agent_func, change_while_freed);
	assert_code(last.freed, DAT_INVALID_STATE, DAT_INVALID_STATE_CNO_IN_USE);
}

/* ---- The agent of dat_cno_create(3), which is called once ---- */

static bool has_strays(DAT_CNO_HANDLE handle)
{
	struct dap_cno *cno = handle;
	bool some;

	pthread_mutex_lock(&cno->lock);
	some = cno->strays;
	pthread_mutex_unlock(&cno->lock);
	return some;
}

/* The EVD then leaves. Only triggers that are not reported yet may keep memory of it. */
Test(agent, cno_create__agent_that_was_called_keeps_no_triggers)
{
	struct calls c = {0};
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE got;

	assert_ok(dat_cno_create(t.ia, agent_of(&c), &cno));
	for (int i = 0; i < 3; i++) {
		assert_ok(dat_evd_modify_cno(t.evd, cno));
		fake_post_se(t.evd);
		assert_ok(dat_cno_wait(cno, LONG, &got));
		cr_assert_eq(got, t.evd);
		cr_assert(TH_WITHIN(20000, count(&c.n) == 1));
		assert_ok(dat_evd_modify_cno(t.evd, DAT_HANDLE_NULL));
	}
	cr_assert_not(has_strays(cno));
}
