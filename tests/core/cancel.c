/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that is cancelled in a call ends when the call has returned: the thread keeps no lock, and the
 * call is complete. */
#include <arpa/inet.h>
#include <dat/dat_registry.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/evd/cno.h"
#include "core/obj.h"
#include "tests/core/fixture.h"

static void setup(void)
{
	fake_open_objects(&t, ALL);
}

/* A lock that is kept makes the next call wait for ever. */
TestSuite(cancel, .init = setup, .fini = teardown, .timeout = 120);

static DAT_HANDLE victim;		/* the object of the call */

/* Runs fn in a thread whose cancellation is pending. */
static void run_cancelled(void *(*fn)(void *))
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, fn, NULL), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

static void *wait_once(void *unused)
{
	DAT_COUNT nmore;
	DAT_EVENT ev;

	pthread_cancel(pthread_self());
	dat_evd_wait(t.evd, 0, 1, &ev, &nmore);
	pthread_testcancel();
	return unused;
}

Test(cancel, evd_wait__with_a_cno)
{
	DAT_EVENT ev;

	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &t.cno));
	assert_ok(dat_evd_modify_cno(t.evd, t.cno));
	run_cancelled(wait_once);
	fake_post_se(t.evd);
	assert_ok(dat_evd_dequeue(t.evd, &ev));
}

static void *set_no_cno(void *unused)
{
	pthread_cancel(pthread_self());
	dat_evd_modify_cno(t.evd, DAT_HANDLE_NULL);
	pthread_testcancel();
	return unused;
}

static void change(void *unused)
{
	set_no_cno(unused);
}

static struct th_aside changer;

/* If this thread is about to poll the EVD's CQ, starts the change in another thread. The change waits
 * until the poll has ended. */
static void change_at_lock(void *unused)
{
	if (!changer.started && !LIST_EMPTY(&((struct dap_cno *)t.cno)->pins))
		th_aside(&changer, change, unused, 20000);
}

Test(cancel, modify_cno__beside_a_waiter)
{
	DAT_EVD_HANDLE got;

	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &t.cno));
	assert_ok(dat_evd_modify_cno(t.evd, t.cno));
	fake_complete_dto(t.evd, t.ep, 1, false);
	th_at_locks(change_at_lock, NULL);
	(void)dat_cno_wait(t.cno, 0, &got);
	th_at_locks(NULL, NULL);
	cr_assert(changer.started);
	th_aside_end(&changer);
	assert_ok(dat_cno_free(t.cno));
}

static void *set_no_agent(void *unused)
{
	pthread_cancel(pthread_self());
	dat_cno_modify_agent(t.cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
	pthread_testcancel();
	return unused;
}

Test(cancel, modify_agent__is_completed)
{
	static struct calls c;
	DAT_CNO_PARAM p;

	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &t.cno));
	assert_ok(dat_cno_modify_agent(t.cno, agent_of(&c)));
	run_cancelled(set_no_agent);
	assert_ok(dat_cno_query(t.cno, DAT_CNO_FIELD_ALL, &p));
	cr_expect_null(p.agent.proxy_agent_func);
	assert_ok(dat_cno_modify_agent(t.cno, agent_of(&c)));
}

static void *free_cno(void *unused)
{
	pthread_cancel(pthread_self());
	dat_cno_free(t.cno);
	pthread_testcancel();
	return unused;
}

Test(cancel, cno_free__is_completed)
{
	assert_ok(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &t.cno));
	run_cancelled(free_cno);
	assert_ret(dat_cno_free(t.cno), DAT_INVALID_HANDLE);
}

static void *free_evd(void *unused)
{
	pthread_cancel(pthread_self());
	dat_evd_free(victim);
	pthread_testcancel();
	return unused;
}

Test(cancel, evd_free__is_completed)
{
	victim = fake_evd(t.ia, 4, DAT_EVD_DTO_FLAG);
	run_cancelled(free_evd);
	assert_ret(dat_evd_free(victim), DAT_INVALID_HANDLE);
}

static DAT_EP_HANDLE ep_without_evds(void)
{
	DAT_EP_HANDLE ep;

	assert_ok(dat_ep_create(t.ia, t.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, t.evd, NULL, &ep));
	return ep;
}

static void *free_ep(void *unused)
{
	pthread_cancel(pthread_self());
	dat_ep_free(victim);
	pthread_testcancel();
	return unused;
}

Test(cancel, ep_free__is_completed)
{
	victim = ep_without_evds();
	run_cancelled(free_ep);
	assert_ret(dat_ep_free(victim), DAT_INVALID_HANDLE);
	cr_expect_eq(fake.live[FAKE_CQ], 1);
}

static void *modify_ep(void *unused)
{
	DAT_EP_PARAM p = {.recv_evd_handle = t.evd};

	pthread_cancel(pthread_self());
	dat_ep_modify(victim, DAT_EP_FIELD_RECV_EVD_HANDLE, &p);
	pthread_testcancel();
	return unused;
}

Test(cancel, ep_modify__is_completed)
{
	DAT_EP_PARAM p;

	victim = ep_without_evds();
	run_cancelled(modify_ep);
	assert_ok(dat_ep_query(victim, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.recv_evd_handle, t.evd);
}

static void *reset_ep(void *unused)
{
	pthread_cancel(pthread_self());
	dat_ep_reset(victim);
	pthread_testcancel();
	return unused;
}

Test(cancel, ep_reset__is_completed)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_EP_PARAM p;

	victim = ep_without_evds();
	assert_ok(dat_ep_connect(victim, (DAT_IA_ADDRESS_PTR)&at, th_qual(), DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	assert_ok(dat_ep_disconnect(victim, DAT_CLOSE_ABRUPT_FLAG));
	run_cancelled(reset_ep);
	assert_ok(dat_ep_query(victim, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.ep_state, DAT_EP_STATE_UNCONNECTED);
}

/* Gives the endpoint a PZ, and so a QP with two CQs of its own. */
static void complete_provided(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM p = {.pz_handle = t.pz};

	assert_ok(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &p));
	cr_assert_eq(fake.live[FAKE_CQ], 3);
}

/* A request with its endpoint; a second service point, to which it can be handed off. */
static void request_provided(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	DAT_PSP_HANDLE psp[2];
	DAT_CR_PARAM p;
	DAT_EVENT ev;

	for (unsigned int i = 0; i < 2; i++)
		assert_ok(dat_psp_create(t.ia, th_qual() + i, t.evd,
					 i ? DAT_PSP_CONSUMER_FLAG : DAT_PSP_PROVIDER_FLAG, &psp[i]));
	assert_ok(dat_ep_connect(t.ep, (DAT_IA_ADDRESS_PTR)&at, th_qual(), DAT_TIMEOUT_INFINITE, 0, NULL,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	cr_assert(TH_WITHIN(20000, dat_evd_dequeue(t.evd, &ev) == DAT_SUCCESS));
	cr_assert_eq(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	victim = ev.event_data.cr_arrival_event_data.cr_handle;
	assert_ok(dat_cr_query(victim, DAT_CR_FIELD_ALL, &p));
	complete_provided(p.local_ep_handle);
}

static void *reject_request(void *unused)
{
	pthread_cancel(pthread_self());
	dat_cr_reject(victim);
	pthread_testcancel();
	return unused;
}

static void *hand_off_request(void *unused)
{
	pthread_cancel(pthread_self());
	dat_cr_handoff(victim, th_qual() + 1);
	pthread_testcancel();
	return unused;
}

Test(cancel, cr_reject__is_completed)
{
	request_provided();
	run_cancelled(reject_request);
	assert_ret(dat_cr_reject(victim), DAT_INVALID_HANDLE);
	cr_expect_eq(fake.live[FAKE_CQ], 1);
}

Test(cancel, cr_handoff__is_completed)
{
	request_provided();
	run_cancelled(hand_off_request);
	assert_ret(dat_cr_reject(victim), DAT_INVALID_HANDLE);
	cr_expect_eq(fake.live[FAKE_CQ], 1);
}

static void *share_memory(void *mem)
{
	char cookie[40] = "";
	DAT_REGION_DESCRIPTION region = {.for_shared_memory = {mem, &cookie}};
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	pid_t pid = getpid();
	DAT_LMR_HANDLE lmr;

	memcpy(cookie, &pid, sizeof(pid));
	pthread_cancel(pthread_self());
	if (dat_lmr_create(t.ia, DAT_MEM_TYPE_SHARED_VIRTUAL, region, 4096, t.pz, DAT_MEM_PRIV_ALL_FLAG,
			   &lmr, &lmr_context, &rmr_context, NULL, NULL) == DAT_SUCCESS)
		dat_lmr_free(lmr);
	pthread_testcancel();
	return mem;
}

Test(cancel, lmr_create__and_free_are_completed)
{
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, share_memory, mem), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(fake.live[FAKE_LMR], 0);
	cr_expect_eq(dap_obj_count(DAP_LMR, t.ia), 0);
}

/* Connects without a free descriptor, so the call fails and logs the reason. */
static void *connect_in_vain(void *unused)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	pthread_cancel(pthread_self());
	dat_ep_connect(t.ep, (DAT_IA_ADDRESS_PTR)&at, th_qual(), DAT_TIMEOUT_INFINITE, 0, NULL,
		       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	pthread_testcancel();
	return unused;
}

Test(cancel, ep_connect__that_logs)
{
	DAT_EP_PARAM p;

	run_cancelled(wait_once);	/* makes the C library load what a cancellation needs */
	(void)th_qual();		/* th_qual() opens descriptors at its first call */
	cr_assert_eq(th_fds_limit(0), 0);
	run_cancelled(connect_in_vain);
	th_fds_restore();
	assert_ok(dat_ep_query(t.ep, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.ep_state, DAT_EP_STATE_UNCONNECTED);
}

/* Calls the function in the provider's table directly, as another registry than libdat's does. */
static void *open_ia(void *table)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	char name[] = "fake0";

	pthread_cancel(pthread_self());
	((DAT_PROVIDER *)table)->ia_open_func(name, 4, &async, &victim);
	pthread_testcancel();
	return NULL;
}

static void *close_ia(void *table)
{
	pthread_cancel(pthread_self());
	((DAT_PROVIDER *)table)->ia_close_func(victim, DAT_CLOSE_ABRUPT_FLAG);
	pthread_testcancel();
	return NULL;
}

static void run_with_table(void *(*fn)(void *))
{
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, fn, *(void **)t.ia), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

Test(cancel, ia_open__and_close_are_completed)
{
	run_with_table(open_ia);
	cr_assert_not_null(victim);
	cr_expect_eq(fake.live[FAKE_IA], 2);
	run_with_table(close_ia);
	cr_expect_eq(fake.live[FAKE_IA], 1);
	cr_expect_eq(dap_obj_type(victim), DAP_NONE);
}
