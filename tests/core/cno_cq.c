/* SPDX-License-Identifier: BSD-2-Clause */
/* A CNO and the CQs of its EVDs: when it polls them, and when it arms them again. */
#include "core/evd/evd.h"
#include "tests/core/fixture.h"

static void setup(void)
{
	fake_open_objects(&t, DAT_EVD_DEFAULT_FLAG);
	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &t.cno));
	assert_ok(dat_evd_modify_cno(t.evd, t.cno));
}

TestSuite(cno_cq, .init = setup, .timeout = 60);

/* The descriptor of a CQ stays readable after its completions were dequeued. */
Test(cno_cq, cno_wait__without_time_looks_at_every_cq)
{
	enum { EVDS = 40 };
	DAT_EVD_HANDLE evd[EVDS], got;
	DAT_EVENT ev;

	for (int i = 0; i < EVDS; i++)
		assert_ok(dat_evd_create(t.ia, 8, t.cno, DAT_EVD_DEFAULT_FLAG, &evd[i]));
	for (int i = 0; i < EVDS; i++)
		fake_complete_dto(evd[i], fake_ep(t.ia, t.pz, evd[i]), 1, false);
	for (int i = 0; i < EVDS - 1; i++)
		assert_ok(dat_evd_dequeue(evd[i], &ev));
	assert_ok(dat_cno_wait(t.cno, 0, &got));
	cr_expect_eq(got, evd[EVDS - 1]);
	fake_close(t.ia);
}

/* A CQ stays unarmed while there is no room to set its completions aside. */
Test(cno_cq, evd_resize__that_makes_room_lets_completions_trigger_again)
{
	struct core_evd *evd = core_evd(t.evd);
	DAT_EVD_HANDLE got;

	for (uint32_t i = 0; i < evd->soft_size; i++)
		fake_complete_dto(t.evd, t.ep, i, true);
	assert_ret(dat_cno_wait(t.cno, 0, &got), DAT_QUEUE_EMPTY);
	cr_assert(evd->unarmed);
	assert_ok(dat_evd_resize(t.evd, (DAT_COUNT)(4 * evd->soft_size)));
	fake_complete_dto(t.evd, t.ep, 1, false);
	assert_ok(dat_cno_wait(t.cno, LONG, &got));
	cr_expect_eq(got, t.evd);
	fake_close(t.ia);
}
