/* SPDX-License-Identifier: BSD-2-Clause */
/* bind_doorbell=shared: suppressed binds that leave the doorbell to what follows them. */
#include <criterion/criterion.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "hw_mlx5/m5_params.h"
#include "softnic/softnic.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

#define RW (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)
#define QUIETLY DAT_COMPLETION_SUPPRESS_FLAG

static struct rig r;
static struct dap_rmr *rmr;
static struct dap_ep *c, *d;		/* a second connection of the same zone: c beside b */

static void connected(struct dap_ep *one, struct dap_ep *other)
{
	static uint64_t number;

	one->connection = ++number;
	other->connection = ++number;
}

static void open_with(const char *params, uint32_t dtos)
{
	struct rig_config config = { .params = params, .attr = { .max_request_dtos = dtos } };

	cr_assert_eq(rig_open(&r, &config), 0);
	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &c), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &d), 0);
	cr_assert_eq(rig_connect(c, d), 0);
	connected(r.a.ep, r.b.ep);
	connected(c, d);
}

static void open_rig(void)
{
	open_with("bind_doorbell=shared", 0);
}

static void close_rig(void)
{
	if (c)
		rig_ep_free(c);
	rig_ep_free(d);
	if (rmr)
		rig_rmr_free(rmr);
	rig_close(&r, "remote.access");
}

/* The device has heard of all that is posted. */
static bool told(struct dap_ep *ep)
{
	const struct m5_sq *sq = &m5_ep(ep)->sq;

	return be32toh(sq->dbrec[1]) == (sq->pi & 0xffff);
}

static uint64_t rung(void)
{
	struct softnic_counters n;

	softnic_counters(m5_ia(r.ia)->ctl->soft, &n);
	return n.doorbells + n.blueflames;
}

/* There is no room while the queue is full, or the last bind under way on another one. */
static DAT_RMR_CONTEXT bind_on(struct dap_ep *ep, size_t len, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET t = rig_local(&r.b, 1024, len);
	DAT_RMR_CONTEXT context = 0;

	cr_assert(TH_WITHIN(5000, r.hot->rmr_bind(rmr, &t, len ? RW : 0, ep, rig_cookie(9), flags,
						  &context) == DAT_SUCCESS));
	return context;
}

/* Something is left on b's endpoint. */
static DAT_RMR_CONTEXT leave(void)
{
	DAT_RMR_CONTEXT context = bind_on(r.b.ep, 512, QUIETLY);

	cr_assert(!told(r.b.ep));
	return context;
}

static void receive_on(struct dap_ep *ep)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 4096, 64);

	cr_assert_eq(r.hot->post_recv(ep, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
}

static void send_from(struct dap_ep *ep, size_t len)
{
	DAT_LMR_TRIPLET l = rig_local(&r.b, 0, len);

	cr_assert_eq(r.hot->post_send(ep, 1, &l, rig_cookie(2), 0), DAT_SUCCESS);
}

static void event_of(struct dap_evd *evd, uint64_t cookie)
{
	DAT_EVENT ev;

	cr_assert(rig_event(&r, evd, &ev));
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, cookie);
}

static DAT_DTO_COMPLETION_STATUS write_from(struct dap_ep *ep, DAT_RMR_CONTEXT context)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 1024, 8);
	DAT_EVENT ev;

	t.rmr_context = context;
	cr_assert_eq(r.hot->rdma_write(ep, 1, &l, rig_cookie(3), &t, 0), DAT_SUCCESS);
	cr_assert(rig_event(&r, r.a.request, &ev));
	return ev.event_data.dto_completion_event_data.status;
}

/* ---- What shares ---- */

/* The peer is told of a window by the message that opens it. */
RIG_TEST(left, post_send__brings_the_bind_before_it)
{
	for (size_t len = 1; len <= 64; len++) {
		DAT_RMR_CONTEXT context;

		receive_on(r.a.ep);
		context = leave();
		send_from(r.b.ep, len);
		cr_assert(told(r.b.ep), "%zu bytes", len);
		event_of(r.a.recv, 1);
		cr_assert_eq(write_from(r.a.ep, context), DAT_DTO_SUCCESS);
		event_of(r.b.request, 2);
		cr_assert(rig_empty(&r, r.b.request), "a suppressed bind is reported");
	}
}

/* Three binds and an unbind are one window less in the end, by one doorbell. */
RIG_TEST(left, post_send__brings_all_binds_before_it)
{
	DAT_RMR_CONTEXT open;

	receive_on(r.a.ep);
	receive_on(r.a.ep);
	leave();
	bind_on(r.b.ep, 0, QUIETLY);
	leave();
	open = leave();
	send_from(r.b.ep, 8);
	event_of(r.a.recv, 1);
	cr_assert_eq(write_from(r.a.ep, open), DAT_DTO_SUCCESS);
	bind_on(r.b.ep, 0, QUIETLY);
	cr_assert(!told(r.b.ep));
	send_from(r.b.ep, 8);
	event_of(r.a.recv, 1);
	cr_assert_eq(write_from(r.a.ep, open), DAT_DTO_ERR_REMOTE_ACCESS);
}

/* PRM, "UMR": what uses the key is fenced. */
RIG_TEST(left, post_send__is_fenced_behind_the_bind)
{
	const struct m5_sq *sq = &m5_ep(r.b.ep)->sq;
	const struct m5_ctrl_seg *ctrl;
	uint32_t pi;

	receive_on(r.a.ep);
	leave();
	pi = sq->pi;
	send_from(r.b.ep, 8);
	ctrl = (const void *)(sq->ring + (size_t)(pi & sq->mask) * M5_BB);
	cr_assert_eq(ctrl->fm_ce_se & 0xe0, m5_ia(r.ia)->dev.umr_fence);
	event_of(r.a.recv, 1);
}

static void doorbells(const char *params, unsigned int expected)
{
	uint64_t before;

	open_with(params, 0);
	/* The first of an endpoint goes another way. */
	for (int i = 0; i < 3; i++) {
		receive_on(r.a.ep);
		before = rung();
		bind_on(r.b.ep, 512, QUIETLY);
		send_from(r.b.ep, 8);
		cr_expect_eq(rung() - before, expected, "%s: %u", params, (unsigned int)(rung() - before));
		event_of(r.a.recv, 1);
	}
	close_rig();
}

/* In a silicon variant the device looks at the page now and then, and cannot count. */
static void doorbells_each_way(enum rig_variant variant)
{
	rig_variant = variant;
	doorbells("bind_doorbell=shared", 1);
	doorbells("bind_doorbell=shared bf_eps=0", 1);
	doorbells("bind_doorbell=own", 2);
	doorbells("", 2);
}

Test(left, rmr_bind__and_send_by_one_doorbell, .timeout = 120)
{
	doorbells_each_way(RIG_MODEL);
}

Test(left, rmr_bind__and_send_by_one_doorbell_threadsafe, .timeout = 120)
{
	doorbells_each_way(RIG_LOCKED);
}

/* BlueFlame is for a single WQE: not for the send that brings a bind, and for the next one again. */
Test(left, post_send__by_blueflame_after_the_next, .timeout = 120)
{
	struct softnic_counters one, two, three;
	struct softnic *nic;

	rig_variant = RIG_MODEL;
	open_rig();
	nic = m5_ia(r.ia)->ctl->soft;
	receive_on(r.a.ep);
	receive_on(r.a.ep);
	leave();
	softnic_counters(nic, &one);
	send_from(r.b.ep, 8);
	softnic_counters(nic, &two);
	cr_assert_eq(two.doorbells - one.doorbells, 1);
	cr_assert_eq(two.blueflames, one.blueflames);
	send_from(r.b.ep, 8);
	softnic_counters(nic, &three);
	cr_assert_eq(three.doorbells, two.doorbells);
	cr_assert_eq(three.blueflames - two.blueflames, 1);
	close_rig();
}

/* The ring has any number of blocks left at its end for either, and the keys run out. */
RIG_TEST(left, rmr_bind__over_the_end_of_the_ring)
{
	uint32_t size = m5_ep(r.b.ep)->sq.mask + 1, start = m5_ep(r.b.ep)->sq.pi;

	for (int i = 0; m5_ep(r.b.ep)->sq.pi - start < 12 * size; i++) {
		DAT_RMR_CONTEXT context;

		receive_on(r.a.ep);
		context = leave();
		send_from(r.b.ep, i % 3 ? 8 : 64);
		cr_assert(told(r.b.ep));
		event_of(r.a.recv, 1);
		event_of(r.b.request, 2);
		cr_assert_eq(write_from(r.a.ep, context), DAT_DTO_SUCCESS, "number %d", i);
	}
}

/* ---- Who else rings ---- */

RIG_TEST(left, rmr_bind__not_suppressed_rings)
{
	DAT_RMR_CONTEXT context;
	DAT_EVENT ev;

	leave();
	context = bind_on(r.b.ep, 512, 0);
	cr_assert(told(r.b.ep));
	cr_assert(rig_event(&r, r.b.request, &ev));
	cr_assert_eq(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	cr_assert_eq(write_from(r.a.ep, context), DAT_DTO_SUCCESS);
}

/* Until then the window is shut. */
RIG_TEST(left, ep_get_status__rings)
{
	DAT_RMR_CONTEXT context = leave();
	bool recv_idle, request_idle = false;

	cr_assert_eq(write_from(d, context), DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert(!told(r.b.ep));
	m5_hw.qp_idle(r.b.ep, &recv_idle, &request_idle);
	cr_assert(told(r.b.ep));
	cr_assert(TH_WITHIN(5000, (m5_hw.qp_idle(r.b.ep, &recv_idle, &request_idle), request_idle)));
	cr_assert_eq(write_from(r.a.ep, context), DAT_DTO_SUCCESS);
}

RIG_TEST(left, ep_disconnect__graceful_rings)
{
	leave();
	cr_assert_eq(m5_hw.qp_drain_begin(r.b.ep), 0);
	cr_assert(told(r.b.ep));
	cr_assert(TH_WITHIN(5000, m5_hw.qp_drain_done(r.b.ep)));
}

RIG_TEST(left, ep_disconnect__abrupt_rings)
{
	leave();
	m5_hw.qp_tell(r.b.ep);
	cr_assert(told(r.b.ep));
}

/* Where there is a lock the end of the connection is told, too: the bind is done or flushed. */
RIG_TEST(left, break__rings_where_there_are_locks)
{
	leave();
	cr_assert_eq(m5_hw.qp_error(r.b.ep), 0);
	cr_assert_eq(told(r.b.ep), rig_variant == RIG_LOCKED);
}

RIG_TEST(left, rmr_free__rings)
{
	leave();
	rig_rmr_free(rmr);
	rmr = NULL;
	cr_assert(told(r.b.ep));
	cr_assert(!m5_ep(r.b.ep)->errored);
}

RIG_TEST(left, lmr_free__rings)
{
	struct dap_lmr lmr = { .obj = { .ia = r.ia }, .pz = r.pz, .mem = (uintptr_t)r.b.mem,
			       .addr = (uintptr_t)r.b.mem, .length = 64, .priv = DAP_PRIV_ALL };

	cr_assert_eq(m5_hw.lmr_create(&lmr), 0);
	leave();
	cr_assert_eq(m5_hw.lmr_destroy(&lmr), 0);
	cr_assert(told(r.b.ep));
}

/* What the first endpoint has left must be done before the second has the window. */
RIG_TEST(left, rmr_bind__on_another_endpoint_rings)
{
	DAT_RMR_CONTEXT context;

	leave();
	context = bind_on(c, 512, QUIETLY);
	cr_assert(told(r.b.ep) && !told(c));
	receive_on(d);
	send_from(c, 8);
	event_of(r.a.recv, 1);
	cr_assert_eq(write_from(r.a.ep, context), DAT_DTO_SUCCESS);
}

/* The endpoint goes with its window: the next bind makes a key of its own. */
RIG_TEST(left, ep_free__of_one_with_a_bind_left)
{
	DAT_RMR_CONTEXT context;

	bind_on(c, 512, QUIETLY);
	cr_assert(!told(c));
	rig_ep_free(c);
	c = NULL;
	receive_on(r.a.ep);
	context = leave();
	send_from(r.b.ep, 8);
	event_of(r.a.recv, 1);
	cr_assert_eq(write_from(r.a.ep, context), DAT_DTO_SUCCESS);
}

/* Nothing but such binds: the queue is rung for when it has no room, and goes on. */
RIG_TEST(left, rmr_bind__when_the_queue_is_full)
{
	DAT_LMR_TRIPLET l = rig_local(&r.b, 0, 8);
	DAT_RMR_CONTEXT context;

	for (int i = 0; i < 600; i++)
		context = bind_on(r.b.ep, 512, QUIETLY);
	receive_on(r.a.ep);
	cr_assert(TH_WITHIN(5000, r.hot->post_send(r.b.ep, 1, &l, rig_cookie(2), 0) == DAT_SUCCESS));
	event_of(r.a.recv, 1);
	cr_assert_eq(write_from(r.a.ep, context), DAT_DTO_SUCCESS);
}

/* Nothing may follow: the bind is flushed at once. */
RIG_TEST(left, rmr_bind__without_a_connection_rings)
{
	r.b.ep->connection = 0;
	bind_on(r.b.ep, 512, QUIETLY);
	cr_assert(told(r.b.ep));
}

/* ---- The parameter ---- */

Test(left, m5_params_parse__bind_doorbell)
{
	struct m5_params p;
	char why[128] = "";

	cr_assert_eq(m5_params_parse("", &p, why, sizeof(why)), 0);
	cr_assert(!p.shared);
	cr_assert_eq(m5_params_parse("bind_doorbell=own", &p, why, sizeof(why)), 0);
	cr_assert(!p.shared);
	cr_assert_eq(m5_params_parse("bind_doorbell=shared", &p, why, sizeof(why)), 0);
	cr_assert(p.shared);
	cr_assert_eq(m5_params_parse("bind_doorbell=1", &p, why, sizeof(why)), -EINVAL);
	cr_assert_str_eq(why, "ia_params: \"1\" is no value of bind_doorbell");
}
