/* SPDX-License-Identifier: BSD-2-Clause */
/* A reserved service point and the thread that delivers its request, beside a consumer that changes or frees
 * what the request uses. */
#include <semaphore.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/loop.h"
#include "core/cm/sock.h"
#include "core/cm/wire.h"
#include "tests/core/fake_hw.h"

static struct fake_objects o;
static int peer = -1;

static void setup(void)
{
	fake_open_objects(&o, DAT_EVD_DEFAULT_FLAG);
}

static void teardown(void)
{
	close(peer);
	fake_close(o.ia);
}

TestSuite(request, .init = setup, .fini = teardown, .timeout = 60);

static bool has_event(DAT_EVD_HANDLE evd)
{
	return __atomic_load_n(&((struct dap_evd *)evd)->slow, __ATOMIC_ACQUIRE) & DAP_SLOW_SOFT;
}

/* The peer has up to 5 RDMA reads outstanding, and serves 8. */
static void ask(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(cm_port_of(th_qual())),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct cm_msg m = { .type = CM_REQ, .id = 7, .conn_qual = th_qual(),
			    .path = { .link_layer = 1, .mtu = 1024, .qpn = 7, .rd_out = 5, .rd_in = 8 } };
	struct cm_wire w;

	cm_wire_put(&m, &w);
	peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert_eq(connect(peer, (struct sockaddr *)&at, sizeof(at)), 0);
	cr_assert_eq(send(peer, &w, sizeof(w), MSG_NOSIGNAL), (ssize_t)sizeof(w));
}

static void ask_at_first_lock(void *unused)
{
	(void)unused;
	if (peer >= 0)
		return;
	ask();
	cr_assert(TH_WITHIN(20000, has_event(o.evd)));
}

/* The request gives its endpoint the numbers of RDMA reads that the peer needs. */
Test(request, ep_modify__meanwhile_keeps_what_the_request_has_set)
{
	DAT_RSP_PARAM reserved;
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;

	assert_ok(dat_rsp_create(o.ia, th_qual(), DAT_HANDLE_NULL, o.evd, &rsp));
	assert_ok(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &reserved));
	ep = reserved.ep_handle;
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	p.ep_attr.max_rdma_read_out = 3;
	th_at_locks(ask_at_first_lock, NULL);
	assert_ok(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, &p));
	th_at_locks(NULL, NULL);
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	cr_expect_eq(p.ep_attr.max_rdma_read_out, 3);
	cr_expect_eq(p.ep_attr.max_rdma_read_in, 5, "the endpoint serves %d reads instead of 5",
		     p.ep_attr.max_rdma_read_in);
}

/* ---- The EVD is freed as soon as the request is dequeued ---- */

static struct {
	struct th_aside holder;		/* keeps the manager's thread from going on after the event */
	sem_t go_on;
	bool installed, armed;
} hold;

static void hold_manager(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&cm_loop.lock);
	sem_wait(&hold.go_on);
	pthread_mutex_unlock(&cm_loop.lock);
}

/* Runs in the manager's thread, within the callback for the request. */
static void hold_at_lock(void *unused)
{
	if (!__atomic_exchange_n(&hold.armed, false, __ATOMIC_ACQ_REL))
		return;
	th_at_locks(NULL, NULL);
	th_aside(&hold.holder, hold_manager, unused, 20000);
}

static void install(void *unused)
{
	th_at_locks(hold_at_lock, unused);
	__atomic_store_n(&hold.installed, true, __ATOMIC_RELEASE);
}

static void arm_hold(void)
{
	static struct dap_timer timer = { .fn = install };

	sem_init(&hold.go_on, 0, 0);
	dap_cm_timer(((struct dap_ia *)o.ia)->cm, &timer, 0);
	cr_assert(TH_WITHIN(20000, __atomic_load_n(&hold.installed, __ATOMIC_ACQUIRE) && th_others_sleep()));
	__atomic_store_n(&hold.armed, true, __ATOMIC_RELEASE);
}

Test(request, evd_free__after_the_request_is_dequeued)
{
	DAT_EVD_HANDLE requests = fake_evd(o.ia, 4, DAT_EVD_CR_FLAG);
	DAT_RSP_HANDLE rsp;
	DAT_EVENT ev;

	assert_ok(dat_rsp_create(o.ia, th_qual(), o.ep, requests, &rsp));
	arm_hold();
	ask();
	cr_expect(TH_WITHIN(20000, dat_evd_dequeue(requests, &ev) == DAT_SUCCESS));
	cr_expect_eq(dat_evd_free(requests), DAT_SUCCESS);
	sem_post(&hold.go_on);
	th_aside_end(&hold.holder);
	cr_expect_eq(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
}

/* ---- The service point is queried as soon as the request is dequeued ---- */

struct query {
	DAT_RSP_HANDLE rsp;
	DAT_RETURN ret;
	DAT_RSP_PARAM param;
};

static void query_rsp(void *arg)
{
	struct query *q = arg;

	q->ret = dat_rsp_query(q->rsp, DAT_RSP_FIELD_ALL, &q->param);
}

/* The man page: once the request has come, EVD and Endpoint are DAT_HANDLE_NULL. */
Test(request, rsp_query__after_the_request_is_dequeued_returns_no_endpoint)
{
	struct th_aside asker;
	struct query q;
	DAT_EVENT ev;

	assert_ok(dat_rsp_create(o.ia, th_qual(), o.ep, o.evd, &q.rsp));
	arm_hold();
	ask();
	cr_expect(TH_WITHIN(20000, dat_evd_dequeue(o.evd, &ev) == DAT_SUCCESS));
	th_aside(&asker, query_rsp, &q, 20000);
	sem_post(&hold.go_on);
	th_aside_end(&hold.holder);
	th_aside_end(&asker);
	assert_ok(q.ret);
	cr_expect_eq(q.param.ep_handle, DAT_HANDLE_NULL);
	cr_expect_eq(q.param.evd_handle, DAT_HANDLE_NULL);
}
