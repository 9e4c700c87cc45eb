/* SPDX-License-Identifier: BSD-2-Clause */
/* Without a waiter, the library's thread does not poll a CQ each millisecond. */
#include "core/evd/evd.h"
#include "tests/efa_dat/rig.h"

TestSuite(efa_wait, .timeout = 120);

/* Opens the pair. The CQ of b has no doorbell, as with rdma-core 59, so the library's thread polls it each
 * millisecond for a waiter. */
static void setup(void)
{
	pair_open("", "");
	efa_ia((struct dap_ia *)b.ia)->eng->res.ring.doorbell = NULL;
}

static bool library_polls(void)
{
	struct efa_engine *eng = efa_ia((struct dap_ia *)b.ia)->eng;
	bool polls;

	efa_enter(eng);
	polls = efa_tick_polls(eng);
	efa_leave(eng);
	return polls;
}

Test(efa_wait, evd_wait__that_timed_out_leaves_no_polls_each_millisecond, .init = setup, .fini = pair_close)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	cr_assert_eq(DAT_GET_TYPE(dat_evd_wait(b.recv, 2000, 1, &ev, &more)), DAT_TIMEOUT_EXPIRED);
	cr_assert_not(library_polls());
}

Test(efa_wait, evd_modify_cno__to_none_leaves_no_polls_each_millisecond, .init = setup, .fini = pair_close)
{
	DAT_CNO_HANDLE cno;

	ok(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	ok(dat_evd_modify_cno(b.recv, cno));
	cr_assert(library_polls());
	ok(dat_evd_modify_cno(b.recv, DAT_HANDLE_NULL));
	cr_assert_not(library_polls());
}

Test(efa_wait, evd_disable__leaves_no_polls_each_millisecond, .init = setup, .fini = pair_close)
{
	DAT_CNO_HANDLE cno;

	ok(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	ok(dat_evd_modify_cno(b.recv, cno));
	ok(dat_evd_disable(b.recv));
	cr_assert_not(library_polls());
	ok(dat_evd_enable(b.recv));
	cr_assert(library_polls());
}

static void wait_for_message(void *arg)
{
	DAT_RETURN *result = arg;
	DAT_COUNT more;
	DAT_EVENT ev;

	*result = dat_evd_wait(b.recv, SOON_MS * 1000, 1, &ev, &more);
}

static bool waiter_sleeps(void)
{
	struct core_evd *evd = core_evd(b.recv);
	bool asleep;

	pthread_mutex_lock(&evd->lock);
	asleep = evd->asleep;
	pthread_mutex_unlock(&evd->lock);
	return asleep;
}

Test(efa_wait, evd_modify_cno__to_none_leaves_a_waiter_its_wakeup, .init = setup, .fini = pair_close)
{
	struct th_aside waiter;
	DAT_RETURN result = DAT_ABORT;
	DAT_CNO_HANDLE cno;

	ok(dat_cno_create(b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	ok(dat_evd_modify_cno(b.recv, cno));
	ok(do_recv(&b, 1, 0, 64));
	cr_assert_not(th_aside(&waiter, wait_for_message, &result, SOON_MS));
	cr_assert(TH_WITHIN(SOON_MS, waiter_sleeps()));
	ok(dat_evd_modify_cno(b.recv, DAT_HANDLE_NULL));
	cr_assert(library_polls());
	ok(do_send(&a, 2, 0, 64));
	th_aside_end(&waiter);
	ok(result);
}
