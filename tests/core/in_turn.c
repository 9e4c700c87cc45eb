/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_evd_dequeue(3) by two threads of a threadsafe instance: neither sees completions in a wrong order. */
#include "tests/core/fixture.h"

static struct {
	struct th_aside other;
	uint64_t taken;			/* cookie of the completion that the other thread has dequeued */
	unsigned int polls, locks;
} two;

static void setup(void)
{
	t.ia = fake_open_safe("fake0");
	t.pz = fake_pz(t.ia);
	t.evd = fake_evd(t.ia, 8, ALL);
	t.ep = fake_ep(t.ia, t.pz, t.evd);
}

TestSuite(in_turn, .init = setup, .fini = teardown, .timeout = 60);

static uint64_t next_cookie(void)
{
	DAT_EVENT ev;

	if (dat_evd_dequeue(t.evd, &ev) != DAT_SUCCESS || ev.event_number != DAT_DTO_COMPLETION_EVENT)
		return 0;
	return ev.event_data.dto_completion_event_data.user_cookie.as_64;
}

/* Takes the next completion on the hot path. Then a software event comes. */
static void take_and_post(void *arg)
{
	(void)arg;
	two.taken = next_cookie();
	fake_post_se(t.evd);
}

/* Lets the other thread run before this thread takes its second lock. The first lock is that of the CQ;
 * the second one follows the poll. */
static void other_takes_next(void *arg)
{
	if (two.locks++ == 1)
		th_aside(&two.other, take_and_post, arg, 20000);
}

/* Completes two requests at the second poll. The first poll is that of the hot path. */
static void complete_two(struct dap_evd *evd)
{
	if (!two.polls++)
		return;
	fake.on_poll = NULL;
	fake_complete_dto(evd, t.ep, 1, false);
	fake_complete_dto(evd, t.ep, 2, false);
	th_at_locks(other_takes_next, NULL);
}

Test(in_turn, dequeue__beside_another_one_keeps_the_order)
{
	DAT_EVENT ev;
	uint64_t mine;

	fake.on_poll = complete_two;
	mine = next_cookie();
	th_at_locks(NULL, NULL);
	th_aside_end(&two.other);
	cr_assert_eq(two.taken, 2);
	cr_expect_eq(mine, 1, "a thread that has taken 2 takes 1 after it");
	assert_ok(dat_evd_dequeue(t.evd, &ev));
	cr_expect_eq(ev.event_number, DAT_SOFTWARE_EVENT);
	assert_ret(dat_evd_dequeue(t.evd, &ev), DAT_QUEUE_EMPTY);
}
