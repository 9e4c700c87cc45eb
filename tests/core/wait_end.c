/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_wait(3) on an EVD with a CNO: an event that comes while the wait ends. */
#include "core/evd/cno.h"
#include "tests/core/fixture.h"

static void setup(void)
{
	fake_open_objects(&t, ALL);
	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &t.cno));
	assert_ok(dat_evd_modify_cno(t.evd, t.cno));
}

TestSuite(wait_end, .init = setup, .fini = teardown, .timeout = 60);

static struct {
	unsigned int locks, at;
} late;

static void post_at_lock(void *evd)
{
	if (late.locks++ == late.at)
		fake_post_se(evd);
}

static bool is_triggered(void)
{
	DAT_EVD_HANDLE got;

	return dat_cno_wait(t.cno, 0, &got) == DAT_SUCCESS && got == t.evd;
}

static unsigned int dequeue_all(void)
{
	unsigned int n = 0;
	DAT_EVENT ev;

	while (dat_evd_dequeue(t.evd, &ev) == DAT_SUCCESS)
		n++;
	return n;
}

/* An event is posted before the wait takes this lock. False: the wait takes fewer locks. */
static bool is_told_at_lock(unsigned int lock)
{
	DAT_COUNT nmore = 0;
	DAT_RETURN ret;
	DAT_EVENT ev;
	bool triggered;

	late.locks = 0;
	late.at = lock;
	th_at_locks(post_at_lock, t.evd);
	ret = dat_evd_wait(t.evd, 0, 1, &ev, &nmore);
	th_at_locks(NULL, NULL);
	cr_expect(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED);
	triggered = is_triggered();
	if (dequeue_all())
		cr_expect(nmore || triggered, "no thread learns of the event that came at lock %u", lock);
	return late.locks > lock;
}

Test(wait_end, timeout__leaves_no_event_untold)
{
	unsigned int lock = 0;

	while (is_told_at_lock(lock))
		lock++;
	cr_assert_gt(lock, 4);
}

Test(wait_end, event__leaves_no_other_untold)
{
	unsigned int lock = 0;
	bool more = true;

	for (; more; lock++) {
		fake_post_se(t.evd);
		cr_assert(is_triggered());
		more = is_told_at_lock(lock);
	}
	cr_assert_gt(lock, 4);
}

static void *wait_for_two(void *evd)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	dat_evd_wait(evd, LONG, 2, &ev, &nmore);
	return NULL;
}

/* One of the two events that the thread waits for has come. */
Test(wait_end, cancelled__leaves_its_event_to_the_cno)
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, wait_for_two, t.evd), 0);
	cr_assert(TH_WITHIN(20000, is_waiting(t.evd)));
	fake_post_se(t.evd);
	cr_assert_eq(pthread_cancel(thread), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect(is_triggered());
}

static bool has_waiter(struct dap_cno *cno)
{
	bool has;

	pthread_mutex_lock(&cno->lock);
	has = cno->waiters;
	pthread_mutex_unlock(&cno->lock);
	return has;
}

static void *wait_on_the_cno(void *arg)
{
	struct waiter *w = arg;

	waiter_done(w, dat_cno_wait(t.cno, 20000000, &w->evd));
	return NULL;
}

Test(wait_end, evd_free__of_one_of_two_leaves_the_wait_on_their_cno)
{
	struct waiter w = { 0 };
	DAT_EVD_HANDLE other;

	assert_ok(dat_evd_create(t.ia, 8, t.cno, DAT_EVD_SOFTWARE_FLAG, &other));
	cr_assert_eq(pthread_create(&w.thread, NULL, wait_on_the_cno, &w), 0);
	cr_assert(TH_WITHIN(20000, has_waiter(t.cno)));
	assert_ok(dat_evd_free(other));
	fake_post_se(t.evd);
	assert_ok(result(&w));
	cr_assert_eq(w.evd, t.evd);
}
