/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_reset(3), dat_ep_free(3): completions of the endpoint that were not dequeued are discarded. */
#include "core/evd/evd.h"
#include "tests/core/fake_hw.h"

#define SOON 1000000		/* us */

static struct fake_objects o;

static void setup(void)
{
	fake_open_objects(&o, DAT_EVD_DEFAULT_FLAG);
}

TestSuite(purge, .init = setup, .timeout = 60);

/* A wait for three events takes two of them from the CQ and sets them aside. */
Test(purge, ep_free__discards_binds_that_a_wait_has_set_aside)
{
	struct dap_event bind = { .number = DAP_EV_RMR_BIND }, other = bind;
	DAT_EP_HANDLE ep = fake_ep(o.ia, o.pz, o.evd);
	DAT_RMR_HANDLE rmr;
	DAT_COUNT more;
	DAT_EVENT ev;

	cr_assert_eq(dat_rmr_create(o.pz, &rmr), DAT_SUCCESS);
	bind.bind.rmr = other.bind.rmr = (struct dap_rmr *)rmr;
	bind.bind.ep = (struct dap_ep *)ep;
	other.bind.ep = (struct dap_ep *)o.ep;
	other.bind.cookie = 7;
	fake_complete(o.evd, &bind);
	fake_complete(o.evd, &other);
	assert_ret(dat_evd_wait(o.evd, 1000, 3, &ev, &more), DAT_TIMEOUT_EXPIRED);
	cr_assert_eq(more, 2);
	cr_assert_eq(dat_ep_free(ep), DAT_SUCCESS);
	cr_assert_eq(dat_evd_dequeue(o.evd, &ev), DAT_SUCCESS);
	cr_assert_eq(ev.event_data.rmr_completion_event_data.user_cookie.as_64, 7);
	assert_ret(dat_evd_dequeue(o.evd, &ev), DAT_QUEUE_EMPTY);
	fake_close(o.ia);
}

/* A CQ stays unarmed while there is no room to set its completions aside. */
Test(purge, ep_free__that_makes_room_lets_completions_trigger_again)
{
	struct core_evd *evd = core_evd(o.evd);
	DAT_EP_HANDLE ep = fake_ep(o.ia, o.pz, o.evd);
	DAT_CNO_HANDLE cno;
	DAT_EVD_HANDLE got;

	assert_ok(dat_cno_create(o.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	assert_ok(dat_evd_modify_cno(o.evd, cno));
	for (uint32_t i = 0; i < evd->soft_size; i++)
		fake_complete_dto(o.evd, ep, i, false);
	assert_ok(dat_cno_wait(cno, SOON, &got));
	cr_assert(evd->unarmed);
	assert_ok(dat_ep_free(ep));
	fake_complete_dto(o.evd, o.ep, 1, false);
	assert_ok(dat_cno_wait(cno, SOON, &got));
	cr_assert_eq(got, o.evd);
	fake_close(o.ia);
}
