/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues that fill up, and suppressed work without a poll. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "softnic/softnic.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;

static void open_rig(void)
{
	struct rig_config c = { .attr = { .max_request_dtos = 13, .max_recv_dtos = 5 } };

	cr_assert_eq(rig_open(&r, &c), 0);
}

static void close_rig(void)
{
	rig_close(&r, NULL);
}

static DAT_RETURN write_8(uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);

	return r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(cookie), &t, flags);
}

/* Repeats a write until it is accepted. The device has its own thread, so the test does not know
 * when completions come. */
static bool write_soon(uint64_t cookie, DAT_COMPLETION_FLAGS flags)
{
	return TH_WITHIN(20000, write_8(cookie, flags) == DAT_SUCCESS);
}

static bool is_full(DAT_RETURN ret)
{
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES;
}

RIG_TEST(credit, rdma_write__beyond_the_attributes_is_refused_until_a_dequeue)
{
	DAT_EVENT ev;

	for (uint64_t lap = 0; lap < 50; lap++) {
		for (uint64_t i = 0; i < 13; i++)
			cr_assert_eq(write_8(lap * 100 + i, 0), DAT_SUCCESS);
		cr_assert(is_full(write_8(0, 0)));
		for (uint64_t i = 0; i < 13; i++) {
			cr_assert(rig_event(&r, r.a.request, &ev));
			cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64,
				     lap * 100 + i);
			/* Each dequeued event makes room for one post. */
			if (i == 0) {
				cr_assert_eq(write_8(lap * 100 + 50, 0), DAT_SUCCESS);
				cr_assert(is_full(write_8(0, 0)));
			}
		}
		cr_assert(rig_event(&r, r.a.request, &ev));
		cr_assert(rig_empty(&r, r.a.request));
	}
}

RIG_TEST(credit, post_recv__beyond_the_attributes_is_refused_until_a_dequeue)
{
	DAT_LMR_TRIPLET b = rig_local(&r.b, 0, 64), l = rig_local(&r.a, 0, 4);
	DAT_EVENT ev;

	for (uint64_t lap = 0; lap < 20; lap++) {
		for (uint64_t i = 0; i < 5; i++)
			cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(i), 0), DAT_SUCCESS);
		cr_assert(is_full(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(9), 0)));
		for (uint64_t i = 0; i < 5; i++) {
			cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(i), 0), DAT_SUCCESS);
			cr_assert(rig_event(&r, r.b.recv, &ev));
			cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
			cr_assert(rig_event(&r, r.a.request, &ev));
		}
	}
}

/* The consumer never dequeues: neither the send queue nor the CQ may fill up. */
RIG_TEST(credit, rdma_write__suppressed_for_ever_finds_room)
{
	for (uint32_t i = 0; i < 100000; i++) {
		memcpy(r.a.mem, &i, sizeof(i));
		cr_assert(write_soon(i, DAT_COMPLETION_SUPPRESS_FLAG),
			  "post %u found no room in time", i);
	}
	cr_assert(TH_WITHIN(20000, (softnic_pump(m5_ia(r.ia)->ctl->soft),
				   !memcmp(r.b.mem, r.a.mem, 4))));
	cr_assert(rig_empty(&r, r.a.request), "a suppressed success was reported");
}

/* The consumer polls: it gets the visible completions in order, and none of the internal ones. */
RIG_TEST(credit, rdma_write__suppressed_between_signalled_finds_room)
{
	DAT_EVENT ev;

	for (uint32_t i = 0; i < 3000; i++) {
		bool visible = i % 7 == 3;

		cr_assert(write_soon(i, visible ? 0 : DAT_COMPLETION_SUPPRESS_FLAG),
			  "post %u found no room in time", i);
		if (!visible)
			continue;
		cr_assert(rig_event(&r, r.a.request, &ev));
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
	}
	cr_assert(rig_empty(&r, r.a.request));
}

/* A visible completion that is not dequeued keeps its cookie while others are reaped. */
RIG_TEST(credit, reap__goes_no_further_than_a_visible_completion)
{
	unsigned int posted = 0;
	DAT_EVENT ev;

	for (int i = 0; i < 40; i++)
		cr_assert(write_soon(1, DAT_COMPLETION_SUPPRESS_FLAG));
	cr_assert(write_soon(77, 0));
	while (write_8(2, DAT_COMPLETION_SUPPRESS_FLAG) == DAT_SUCCESS)
		cr_assert_lt(posted++, 13u, "the slot of a visible completion was reused");
	cr_assert(rig_event(&r, r.a.request, &ev));
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, 77);
	cr_assert(write_soon(3, DAT_COMPLETION_SUPPRESS_FLAG));
	cr_assert(rig_empty(&r, r.a.request));
}

/* Connects c, on the EVDs of a's endpoint, with d, on those of b's. */
static void second_pair(struct dap_ep **c, struct dap_ep **d)
{
	struct rig_side s = r.a;

	cr_assert_eq(rig_ep(&r, &s, c), 0);
	cr_assert_eq(rig_ep(&r, &r.b, d), 0);
	cr_assert_eq(rig_connect(*c, *d), 0);
}

/* Two endpoints complete in one CQ: reaping the completions of one keeps those of the other. */
RIG_TEST(credit, reap__leaves_the_completions_of_others)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);
	struct dap_ep *c, *d;
	DAT_EVENT ev;

	second_pair(&c, &d);
	for (uint64_t i = 0; i < 1000; i++) {
		if (i % 100 == 0)
			cr_assert_eq(r.hot->rdma_write(c, 1, &l, rig_cookie(5000 + i), &t, 0),
				     DAT_SUCCESS);
		cr_assert(write_soon(i, DAT_COMPLETION_SUPPRESS_FLAG),
			  "post %lu found no room in time", i);
	}
	for (uint64_t i = 0; i < 1000; i += 100) {
		cr_assert(rig_event(&r, r.a.request, &ev));
		cr_assert_eq(ev.event_data.dto_completion_event_data.ep_handle, c);
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, 5000 + i);
	}
	cr_assert(rig_empty(&r, r.a.request));
	rig_ep_free(c);
	rig_ep_free(d);
}

/* Connects c, whose messages arrive on the EVD of its requests, with d. n messages arrive. */
static void merged_pair(struct dap_ep **c, struct dap_ep **d, uint64_t n)
{
	DAT_LMR_TRIPLET into = rig_local(&r.a, 64, 8), from = rig_local(&r.b, 64, 8);
	const struct m5_cq *cq = m5_cq(r.a.request);
	struct rig_side one = r.a;

	one.recv = one.request;
	cr_assert_eq(rig_ep(&r, &one, c), 0);
	cr_assert_eq(rig_ep(&r, &r.b, d), 0);
	cr_assert_eq(rig_connect(*c, *d), 0);
	for (uint64_t i = 0; i < n; i++) {
		cr_assert_eq(r.hot->post_recv(*c, 1, &into, rig_cookie(100 + i), 0), DAT_SUCCESS);
		cr_assert_eq(r.hot->post_send(*d, 1, &from, rig_cookie(1), DAT_COMPLETION_SUPPRESS_FLAG),
			     DAT_SUCCESS);
	}
	cr_assert(TH_WITHIN(20000, (softnic_pump(m5_ia(r.ia)->ctl->soft), m5_cq_end(cq) - cq->ci == n)));
}

RIG_TEST(credit, reap__leaves_the_receives_of_the_same_endpoint)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);
	struct dap_ep *c, *d;
	DAT_EVENT ev;

	merged_pair(&c, &d, 5);
	for (uint64_t i = 0; i < 1000; i++)
		cr_assert(TH_WITHIN(20000, r.hot->rdma_write(c, 1, &l, rig_cookie(i), &t,
							    DAT_COMPLETION_SUPPRESS_FLAG) == DAT_SUCCESS));
	for (uint64_t i = 0; i < 5; i++) {
		cr_assert(rig_event(&r, r.a.request, &ev));
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, 100 + i);
	}
	cr_assert(rig_empty(&r, r.a.request));
	rig_ep_free(c);
	rig_ep_free(d);
}

/* The receives have the same indices as the requests. */
RIG_TEST(credit, drain__is_not_ended_by_receives)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);
	struct softnic *nic = m5_ia(r.ia)->ctl->soft;
	struct dap_ep *c, *d;

	merged_pair(&c, &d, 5);
	cr_assert_eq(softnic_fault(nic, "drop:op=write,times=1000"), 0);
	cr_assert_eq(r.hot->rdma_write(c, 1, &l, rig_cookie(1), &t, 0), DAT_SUCCESS);
	m5_hw.qp_drain_begin(c);
	for (int i = 0; i < 100; i++)
		cr_assert_not(m5_hw.qp_drain_done(c), "the drain ended before the write");
	cr_assert_eq(softnic_fault(nic, ""), 0);
	cr_assert(TH_WITHIN(20000, m5_hw.qp_drain_done(c)));
	rig_ep_free(c);
	rig_ep_free(d);
}

RIG_TEST(credit, drain__ends_when_all_before_it_has)
{
	for (int i = 0; i < 13; i++)
		cr_assert_eq(write_8(1, DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	m5_hw.qp_drain_begin(r.a.ep);
	cr_assert(TH_WITHIN(20000, m5_hw.qp_drain_done(r.a.ep)));
	cr_assert(rig_empty(&r, r.a.request),
		  "the drain's own completion was reported to the consumer");
	cr_assert(m5_hw.qp_drain_done(r.a.ep),
		  "the drain has not ended, although the poll has dropped its completion");
}

/* A destroyed object leaves nothing in the CQ; other entries stay, in order. */
RIG_TEST(credit, qp_destroy__removes_its_completions)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);
	struct dap_ep *c, *d;
	DAT_EVENT ev;

	second_pair(&c, &d);
	for (uint64_t i = 0; i < 10; i++) {
		cr_assert_eq(r.hot->rdma_write(c, 1, &l, rig_cookie(900), &t, 0), DAT_SUCCESS);
		cr_assert_eq(write_8(i, 0), DAT_SUCCESS);
	}
	rig_ep_free(c);
	for (uint64_t i = 0; i < 10; i++) {
		cr_assert(rig_event(&r, r.a.request, &ev));
		cr_assert_eq(ev.event_data.dto_completion_event_data.ep_handle, r.a.ep);
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
	}
	cr_assert(rig_empty(&r, r.a.request));
	cr_assert_eq(fake.log_count, 0, "a stale completion was polled: %s", fake.log);
	rig_ep_free(d);
}

RIG_TEST(credit, qp_create__refused_when_hidden_completions_have_no_room)
{
	static struct dap_ep *ep[1000];
	unsigned int n = 0;
	int err = 0;

	m5_ia(r.ia)->dev.cq_resize = false;
	while (n < 1000 && !(err = rig_ep(&r, &r.a, &ep[n])))
		n++;
	cr_assert_eq(err, -ENOSPC);
	while (n)
		rig_ep_free(ep[--n]);
	cr_assert_eq(rig_ep(&r, &r.a, &ep[0]), 0,
		     "no endpoint can be created although the others were freed");
	rig_ep_free(ep[0]);
}

RIG_TEST(credit, cq_resize__beyond_the_ring_returns_enospc)
{
	m5_ia(r.ia)->dev.cq_resize = false;
	cr_assert_eq(m5_hw.cq_resize(r.a.request, 100), 0);
	cr_assert_eq(m5_hw.cq_resize(r.a.request, 10), 0);
	cr_assert_eq(m5_hw.cq_resize(r.a.request, 1000), -ENOSPC);
	/* All slots of the CQ can have completions, except the one for the CQE that ends the
	 * ring. */
	cr_assert_eq(m5_cq(r.a.request)->room, m5_cq(r.a.request)->mask - 10);
}
