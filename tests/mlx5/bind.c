/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows: which access a context gives, and when it ends. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "hw_common/soft.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

#define RW (DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

static struct rig r;
static struct dap_rmr *rmr;
static struct dap_ep *c, *d;		/* a second connection in the same zone: c is on b's side */

static void open_rig(void)
{
	struct rig_config config = { 0 };

	cr_assert_eq(rig_open(&r, &config), 0);
	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &c), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &d), 0);
	cr_assert_eq(rig_connect(c, d), 0);
}

static void close_rig(void)
{
	rig_ep_free(c);
	rig_ep_free(d);
	rig_rmr_free(rmr);
	rig_close(&r, "remote.access");
}

static DAT_RETURN bind_on(struct dap_ep *ep, size_t off, size_t len, DAT_MEM_PRIV_FLAGS priv,
			  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET t = rig_local(&r.b, off, len);

	return r.hot->rmr_bind(rmr, &t, priv, ep, rig_cookie(len + 1), flags, context);
}

static void expect_bind(uint64_t cookie)
{
	DAT_EVENT ev;
	DAT_RMR_BIND_COMPLETION_EVENT_DATA *b = &ev.event_data.rmr_completion_event_data;

	cr_assert(rig_event(&r, r.b.request, &ev));
	cr_assert_eq(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	cr_assert_eq(b->rmr_handle, rmr);
	cr_assert_eq(b->user_cookie.as_64, cookie);
	cr_assert_eq(b->status, DAT_RMR_BIND_SUCCESS);
}

static DAT_DTO_COMPLETION_STATUS write_through(DAT_RMR_CONTEXT context, size_t off, size_t len)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, len);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, off, len);
	DAT_EVENT ev;

	t.rmr_context = context;
	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(3), &t, 0), DAT_SUCCESS);
	cr_assert(rig_event(&r, r.a.request, &ev));
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	return ev.event_data.dto_completion_event_data.status;
}

/* Connects a new pair for the next attempt, because a refused access ends its connection. */
static void again(void)
{
	DAT_EVENT ev;

	rig_ep_free(r.a.ep);
	rig_ep_free(r.b.ep);
	while (r.hot->evd_dequeue(r.b.request, &ev) == DAT_SUCCESS)
		;
	cr_assert_eq(rig_ep(&r, &r.a, &r.a.ep), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &r.b.ep), 0);
	cr_assert_eq(rig_connect(r.a.ep, r.b.ep), 0);
}

RIG_TEST(bind, rmr_bind__gives_access_to_the_range)
{
	DAT_RMR_CONTEXT ctx;

	cr_assert_eq(bind_on(r.b.ep, 100, 50, RW, 0, &ctx), DAT_SUCCESS);
	cr_assert_eq(rmr->rmr_context, ctx);
	cr_assert_eq(rmr->lmr, r.b.lmr);
	expect_bind(51);
	memcpy(r.a.mem, "through the window", 18);
	cr_assert_eq(write_through(ctx, 100, 18), DAT_DTO_SUCCESS);
	cr_assert_arr_eq(r.b.mem + 100, "through the window", 18);
	cr_assert_eq(write_through(ctx, 132, 18), DAT_DTO_SUCCESS);
	cr_assert_eq(write_through(ctx, 133, 18), DAT_DTO_ERR_REMOTE_ACCESS);
	again();
	cr_assert_eq(write_through(ctx, 99, 2), DAT_DTO_ERR_REMOTE_ACCESS);
}

RIG_TEST(bind, rmr_bind__gives_no_more_rights_than_requested)
{
	DAT_RMR_CONTEXT ctx;

	cr_assert_eq(bind_on(r.b.ep, 0, 64, DAT_MEM_PRIV_REMOTE_READ_FLAG, 0, &ctx), DAT_SUCCESS);
	expect_bind(65);
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS);
	again();
	cr_assert_eq(bind_on(r.b.ep, 0, 64, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, 0, &ctx), DAT_SUCCESS);
	expect_bind(65);
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_SUCCESS);
}

RIG_TEST(bind, rebind__ends_the_old_context)
{
	DAT_RMR_CONTEXT first, second;

	cr_assert_eq(bind_on(r.b.ep, 0, 64, RW, 0, &first), DAT_SUCCESS);
	cr_assert_eq(bind_on(r.b.ep, 1000, 64, RW, 0, &second), DAT_SUCCESS);
	expect_bind(65);
	expect_bind(65);
	cr_assert_neq(first, second);
	cr_assert_eq(write_through(second, 1000, 8), DAT_DTO_SUCCESS);
	cr_assert_eq(write_through(first, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS);
	again();
	cr_assert_eq(write_through(second, 1000, 8), DAT_DTO_SUCCESS);
}

RIG_TEST(bind, unbind__ends_the_context)
{
	DAT_RMR_CONTEXT ctx, none;

	cr_assert_eq(bind_on(r.b.ep, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	cr_assert_eq(bind_on(r.b.ep, 0, 0, 0, 0, &none), DAT_SUCCESS);
	expect_bind(65);
	expect_bind(1);
	cr_assert_eq(rmr->length, 0);
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS);
	again();
	cr_assert_eq(write_through(none, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS);
	again();
	cr_assert_eq(bind_on(r.b.ep, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	expect_bind(65);
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_SUCCESS);
}

RIG_TEST(bind, rmr_destroy__ends_the_context)
{
	struct dap_rmr *other;
	DAT_RMR_CONTEXT ctx;
	DAT_LMR_TRIPLET t = rig_local(&r.b, 0, 64);
	DAT_EVENT ev;

	cr_assert_eq(rig_rmr(&r, &other), 0);
	cr_assert_eq(r.hot->rmr_bind(other, &t, RW, r.b.ep, rig_cookie(1), 0, &ctx), DAT_SUCCESS);
	cr_assert(rig_event(&r, r.b.request, &ev));
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_SUCCESS);
	rig_rmr_free(other);
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS);
}

/*
 * There are more contexts than one key has variants. Each works, none repeats within 1020, and the
 * previous one is invalid.
 */
RIG_TEST(bind, rebind__past_all_variants_of_a_key_returns_new_contexts)
{
	static DAT_RMR_CONTEXT seen[1020];
	DAT_RMR_CONTEXT before = 0;

	for (unsigned int i = 0; i < 1100; i++) {
		DAT_RMR_CONTEXT ctx;

		cr_assert_eq(bind_on(r.b.ep, i, 64, RW, 0, &ctx), DAT_SUCCESS, "bind %u failed", i);
		expect_bind(65);
		for (unsigned int k = 0; k < i && k < 1020; k++)
			cr_assert(i >= 1020 || seen[k] != ctx,
				  "bind %u returned the context of bind %u", i, k);
		if (i < 1020)
			seen[i] = ctx;
		cr_assert_eq(write_through(ctx, i, 8), DAT_DTO_SUCCESS,
			     "the write through the context of bind %u failed", i);
		if (i % 255 == 0 && before) {
			cr_assert_eq(write_through(before, i, 8), DAT_DTO_ERR_REMOTE_ACCESS);
			again();
		}
		before = ctx;
	}
}

/* The step between two contexts of an RMR differs from that of other RMRs. */
RIG_TEST(bind, rebind__next_context_does_not_follow_from_the_last)
{
	/* each RMR may agree by chance with a probability of 1/128, but not all of them */
	enum { N = 24 };
	DAT_LMR_TRIPLET t = rig_local(&r.b, 0, 64);
	DAT_RMR_CONTEXT ctx[2];
	struct dap_rmr *other;
	unsigned int equal = 0;
	uint8_t step, first = 0;
	DAT_EVENT ev;

	for (int i = 0; i < N; i++) {
		cr_assert_eq(rig_rmr(&r, &other), 0);
		for (int k = 0; k < 2; k++) {
			cr_assert_eq(r.hot->rmr_bind(other, &t, RW, r.b.ep, rig_cookie(1), 0,
						     &ctx[k]), DAT_SUCCESS);
			cr_assert(rig_event(&r, r.b.request, &ev));
		}
		step = (uint8_t)(ctx[1] - ctx[0]);
		first = i ? first : step;
		equal += step == first;
		cr_assert(step & 1, "an even step, %u, between contexts does not reach all of them",
			  step);
		rig_rmr_free(other);
	}
	cr_assert_lt(equal, N, "every RMR has the same step between its contexts, %u", first);
}

/* Posts as many binds as the endpoint allows, each on its own RMR, also when their keys change. */
RIG_TEST(bind, rmr_bind__max_request_dtos_that_change_keys_together_succeed)
{
	enum { N = 16, ROUNDS = 600 };
	DAT_LMR_TRIPLET t = rig_local(&r.b, 0, 64);
	struct dap_rmr *many[N];
	DAT_RMR_CONTEXT before = 0, ctx = 0;
	DAT_EVENT ev;

	for (int i = 0; i < N; i++)
		cr_assert_eq(rig_rmr(&r, &many[i]), 0);
	for (int round = 0; round < ROUNDS; round++) {
		before = ctx;
		for (uint64_t i = 0; i < N; i++)
			cr_assert_eq(r.hot->rmr_bind(many[i], &t, RW, r.b.ep, rig_cookie(i), 0, &ctx),
				     DAT_SUCCESS, "round %d: bind %lu failed", round, i);
		cr_assert_neq(r.hot->rmr_bind(many[0], &t, RW, r.b.ep, rig_cookie(N), 0, &ctx),
			      DAT_SUCCESS, "round %d: a bind beyond max_request_dtos succeeded",
			      round);
		for (uint64_t i = 0; i < N; i++) {
			cr_assert(rig_event(&r, r.b.request, &ev),
				  "round %d: a bind has no completion", round);
			cr_assert_eq(ev.event_data.rmr_completion_event_data.user_cookie.as_64, i);
		}
	}
	cr_assert(rig_empty(&r, r.b.request));
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_SUCCESS);
	cr_assert_eq(write_through(before, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS,
		     "the RMR's earlier context is still valid");
	again();
	for (int i = 0; i < N; i++)
		rig_rmr_free(many[i]);
}

static void end_c(void)
{
	cr_assert_eq(m5_hw.qp_error(c), 0);
	c->state = DAP_EP_DISCONNECTED;
	c->obj.table = r.ia->tables[DAP_TABLE_CHECKED];
}

/* The WQE that invalidates the old key has no completion for the consumer. */
RIG_TEST(bind, rmr_bind__flushed_with_a_change_of_keys_gives_one_event_each)
{
	/* more binds than a key has variants, so one of them changes keys */
	enum { BINDS = 300 };
	DAT_RMR_CONTEXT ctx;
	DAT_EVENT ev;

	fake.quiet = true;
	end_c();
	for (uint64_t i = 0; i < BINDS; i++) {
		DAT_LMR_TRIPLET t = rig_local(&r.b, 0, 64);

		cr_assert_eq(r.hot->rmr_bind(rmr, &t, RW, c, rig_cookie(i + 1), 0, &ctx),
			     DAT_SUCCESS);
		cr_assert(rig_event(&r, r.b.request, &ev));
		cr_assert_eq(ev.event_data.rmr_completion_event_data.user_cookie.as_64, i + 1);
		cr_assert_eq(ev.event_data.rmr_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	}
	cr_assert(rig_empty(&r, r.b.request));
}

/* The endpoint may have one request more. A bind takes three blocks of its queue, a write takes one. */
RIG_TEST(bind, rmr_bind__that_gets_no_new_key_leaves_room_for_one_request)
{
	enum { DTOS = 16 };
	DAT_LMR_TRIPLET l = rig_local(&r.b, 0, 8);
	DAT_RMR_TRIPLET to = rig_remote(&r.a, 0, 8);
	DAT_RMR_CONTEXT ctx;
	DAT_EVENT ev;

	fake.quiet = true;
	end_c();
	cr_assert_eq(bind_on(c, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	cr_assert(rig_event(&r, r.b.request, &ev));
	for (int i = 0; i < DTOS - 1; i++)
		cr_assert_eq(r.hot->rdma_write(r.b.ep, 1, &l, rig_cookie(1), &to, 0), DAT_SUCCESS);
	hw_soft_fail(1);
	cr_expect_neq(bind_on(r.b.ep, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	hw_soft_fail(0);
	cr_expect_eq(r.hot->rdma_write(r.b.ep, 1, &l, rig_cookie(1), &to, 0), DAT_SUCCESS);
	cr_expect_neq(r.hot->rdma_write(r.b.ep, 1, &l, rig_cookie(1), &to, 0), DAT_SUCCESS);
	for (int i = 0; i < DTOS; i++)
		cr_assert(rig_event(&r, r.b.request, &ev));
	cr_assert_eq(bind_on(r.b.ep, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	expect_bind(65);
}

RIG_TEST(bind, rebind__through_another_endpoint_ends_the_old_context)
{
	DAT_RMR_CONTEXT ctx[3];

	cr_assert_eq(bind_on(r.b.ep, 0, 64, RW, 0, &ctx[0]), DAT_SUCCESS);
	/* The completion of the first bind is not dequeued, so the second bind must find it in the CQ. */
	cr_assert(TH_WITHIN(20000, bind_on(c, 1000, 64, RW, 0, &ctx[1]) == DAT_SUCCESS));
	cr_assert(TH_WITHIN(20000, bind_on(r.b.ep, 2000, 64, RW, 0, &ctx[2]) == DAT_SUCCESS));
	for (int i = 0; i < 3; i++)
		expect_bind(65);
	cr_assert_eq(write_through(ctx[2], 2000, 8), DAT_DTO_SUCCESS);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(write_through(ctx[i], (size_t)i * 1000, 8), DAT_DTO_ERR_REMOTE_ACCESS);
		again();
	}
}

RIG_TEST(bind, rmr_bind__suppressed_for_ever_finds_room)
{
	bool recv, request = false;
	DAT_RMR_CONTEXT ctx;

	for (int i = 0; i < 20000; i++)
		cr_assert(TH_WITHIN(20000, bind_on(i & 1 ? r.b.ep : c, 0, 64, RW,
						   DAT_COMPLETION_SUPPRESS_FLAG, &ctx) == DAT_SUCCESS),
			  "bind %d found no room in 20 seconds", i);
	cr_assert(rig_empty(&r, r.b.request), "a suppressed success was reported");
	/* The last bind has no event, and the peer's write may overtake it. */
	cr_assert(TH_WITHIN(20000, (m5_hw.qp_idle(r.b.ep, &recv, &request), request)));
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_SUCCESS);
}

RIG_TEST(bind, qp_idle__sees_the_end_of_a_suppressed_bind_without_a_poll)
{
	bool recv, request = false;
	DAT_RMR_CONTEXT ctx;

	cr_assert_eq(bind_on(r.b.ep, 0, 64, RW, DAT_COMPLETION_SUPPRESS_FLAG, &ctx), DAT_SUCCESS);
	cr_assert(TH_WITHIN(20000, (m5_hw.qp_idle(r.b.ep, &recv, &request), request)));
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_SUCCESS);
	cr_assert_eq(bind_on(r.b.ep, 64, 64, RW, 0, &ctx), DAT_SUCCESS);
	expect_bind(65);
}

/* A flushed bind did not happen: the next one starts from a known key. */
RIG_TEST(bind, rmr_bind__after_one_that_was_flushed_ends_both_older_contexts)
{
	DAT_RMR_CONTEXT ctx, flushed, next;
	DAT_EVENT ev;

	fake.quiet = true;
	cr_assert_eq(bind_on(c, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	expect_bind(65);
	end_c();
	cr_assert_eq(bind_on(c, 500, 64, RW, 0, &flushed), DAT_SUCCESS);
	cr_assert(rig_event(&r, r.b.request, &ev));
	cr_assert_eq(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.rmr_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	cr_assert_eq(bind_on(r.b.ep, 1000, 64, RW, 0, &next), DAT_SUCCESS);
	expect_bind(65);
	cr_assert_eq(write_through(next, 1000, 8), DAT_DTO_SUCCESS);
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS,
		     "the old context is still valid");
	again();
	cr_assert_eq(write_through(flushed, 500, 8), DAT_DTO_ERR_REMOTE_ACCESS);
}

/* Frees the endpoint of the last bind before the bind's completion was seen. */
RIG_TEST(bind, rmr_bind__after_its_endpoint_was_freed_ends_the_old_context)
{
	DAT_RMR_CONTEXT ctx, next;

	cr_assert_eq(bind_on(c, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	rig_ep_free(c);
	cr_assert_eq(rig_ep(&r, &r.b, &c), 0);
	cr_assert_eq(bind_on(r.b.ep, 1000, 64, RW, 0, &next), DAT_SUCCESS);
	expect_bind(65);
	cr_assert_eq(write_through(next, 1000, 8), DAT_DTO_SUCCESS);
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS,
		     "the RMR's earlier context is still valid");
}

/* The completion of a bind from before the window got another key says nothing about binds of that key. */
RIG_TEST(bind, dequeue__of_a_bind_before_a_new_key_counts_no_bind_of_that_key)
{
	DAT_RMR_CONTEXT ctx;
	DAT_EVENT ev;

	fake.quiet = true;
	rig_rmr_free(rmr);
	cr_assert_eq(rig_rmr(&r, &rmr), 0);
	cr_assert_eq(bind_on(c, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	cr_assert(TH_WITHIN(20000, (m5_drive_model(m5_ia(r.ia)),
				    m5_sq_seen(c, m5_rmr(rmr)->last_index) == M5_SEEN_OK)));
	end_c();
	cr_assert_eq(bind_on(c, 500, 64, RW, 0, &ctx), DAT_SUCCESS);
	/* On a loaded machine the device may take longer than a bind waits for the one before it. */
	cr_assert(TH_WITHIN(20000, bind_on(r.b.ep, 1000, 64, RW, 0, &ctx) == DAT_SUCCESS));
	expect_bind(65);
	cr_assert(rig_event(&r, r.b.request, &ev));
	expect_bind(65);
	cr_assert_eq((uint32_t)m5_rmr(rmr)->done, m5_rmr_posted(m5_rmr(rmr)));
}

static const struct m5_ctl_ops *real;
static struct m5_obj *kept;

static int refuses(struct m5_obj *obj)
{
	if (kept)
		return real->obj_destroy(obj);
	kept = obj;
	return -EIO;
}

/* The key of a bind that was flushed is unknown, so it is destroyed by command. */
RIG_TEST(bind, rmr_bind__whose_old_key_the_device_keeps_is_reported)
{
	struct m5_ctl_ops ops = *m5_ia(r.ia)->ctl->ops;
	DAT_RMR_CONTEXT next;
	DAT_EVENT ev;

	real = m5_ia(r.ia)->ctl->ops;
	fake.quiet = true;
	end_c();
	cr_assert_eq(bind_on(c, 0, 64, RW, 0, &next), DAT_SUCCESS);
	cr_assert(rig_event(&r, r.b.request, &ev));
	ops.obj_destroy = refuses;
	m5_ia(r.ia)->ctl->ops = &ops;
	cr_assert_eq(bind_on(r.b.ep, 1000, 64, RW, 0, &next), DAT_SUCCESS);
	m5_ia(r.ia)->ctl->ops = real;
	cr_assert_eq(real->obj_destroy(kept), 0);
	cr_assert_not_null(strstr(fake.log, "did not end the access to an RMR"), "%s", fake.log);
}

/* A bind was flushed, and its endpoint freed. Another endpoint has the same memory now. */
RIG_TEST(bind, rmr_bind__after_an_unseen_flush_changes_the_key)
{
	DAT_RMR_CONTEXT ctx, flushed, next;

	cr_assert_eq(bind_on(c, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	expect_bind(65);
	end_c();
	cr_assert_eq(bind_on(c, 500, 64, RW, 0, &flushed), DAT_SUCCESS);
	rig_ep_free(c);
	rig_ep_free(d);
	cr_assert_eq(rig_ep(&r, &r.b, &c), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &d), 0);
	cr_assert_eq(rig_connect(c, d), 0);
	cr_assert_eq(m5_rmr(rmr)->last_ep, c,
		     "the new endpoint must reuse the freed one's memory for this test");
	cr_assert_eq(bind_on(c, 1000, 64, RW, 0, &next), DAT_SUCCESS);
	expect_bind(65);
	cr_assert_eq(write_through(next, 1000, 8), DAT_DTO_SUCCESS);
	cr_assert_neq(next >> 8, ctx >> 8, "the bind used a key in an unknown state");
	cr_assert_eq(write_through(ctx, 0, 8), DAT_DTO_ERR_REMOTE_ACCESS,
		     "the old context is still valid");
}

/* Of two sends behind a bind of this length, only the first one has a small fence. */
static void expect_fence_behind(DAT_VLEN len)
{
	enum { SMALL_FENCE = 1 };
	const struct m5_sq *sq = &m5_ep(r.b.ep)->sq;
	DAT_LMR_TRIPLET l = rig_local(&r.b, 0, 8), b = rig_local(&r.a, 0, 64);
	DAT_RMR_CONTEXT ctx;
	const struct m5_ctrl_seg *ctrl;

	r.hot->post_recv(r.a.ep, 1, &b, rig_cookie(1), 0);
	r.hot->post_recv(r.a.ep, 1, &b, rig_cookie(1), 0);
	cr_assert_eq(bind_on(r.b.ep, 0, len, RW, 0, &ctx), DAT_SUCCESS);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(r.hot->post_send(r.b.ep, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
		ctrl = (const struct m5_ctrl_seg *)(sq->ring + ((sq->pi - 1) & sq->mask) * 64);
		cr_assert_eq(ctrl->fm_ce_se >> 5, i ? 0 : SMALL_FENCE);
	}
}

/* Requests behind a bind on its endpoint start after the bind: a send may carry the context. Each device
 * needs a fence for that, also one that needs none before a bind. */
RIG_TEST(bind, post_send__after_a_bind_is_fenced)
{
	expect_fence_behind(64);
}

/* A send may say that the window is closed. */
RIG_TEST(bind, post_send__after_an_unbind_is_fenced)
{
	DAT_RMR_CONTEXT ctx;

	cr_assert_eq(bind_on(r.b.ep, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	expect_fence_behind(0);
}

RIG_TEST(bind, rmr_bind__invalid_arguments_are_refused)
{
	DAT_LMR_TRIPLET ok = rig_local(&r.b, 0, 64), t;
	DAT_RMR_CONTEXT ctx = 99;
	struct dap_pz *zone = r.b.lmr->pz;

#define REFUSED(type, call)                                                                        \
	cr_assert_eq(DAT_GET_TYPE(call), type, "wrong type of the error that %s returned", #call); \
	cr_assert_eq(ctx, 99)
	REFUSED(DAT_INVALID_PARAMETER,
		r.hot->rmr_bind(rmr, NULL, RW, r.b.ep, rig_cookie(1), 0, &ctx));
	REFUSED(DAT_INVALID_PARAMETER,
		r.hot->rmr_bind(rmr, &ok, RW, r.b.ep, rig_cookie(1), 0, NULL));
	REFUSED(DAT_INVALID_HANDLE, r.hot->rmr_bind(rmr, &ok, RW, NULL, rig_cookie(1), 0, &ctx));
	REFUSED(DAT_INVALID_HANDLE, r.hot->rmr_bind(rmr, &ok, RW, r.b.lmr, rig_cookie(1), 0, &ctx));
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, 0, 64, 0x44, 0, &ctx));
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, 0, 64, RW, DAT_COMPLETION_SOLICITED_WAIT_FLAG, &ctx));
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, 0, 64, RW, DAT_COMPLETION_UNSIGNALLED_FLAG, &ctx));
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, RIG_BYTES - 63, 64, RW, 0, &ctx));
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, 1, RIG_BYTES, RW, 0, &ctx));
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, (size_t)-8, 64, RW, 0, &ctx));
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, 8, (size_t)-16, RW, 0, &ctx));
	t = ok;
	t.lmr_context ^= 0x100;
	REFUSED(DAT_INVALID_PARAMETER, r.hot->rmr_bind(rmr, &t, RW, r.b.ep, rig_cookie(1), 0, &ctx));
	r.b.lmr->pz = NULL;
	REFUSED(DAT_INVALID_PARAMETER, bind_on(r.b.ep, 0, 64, RW, 0, &ctx));
	r.b.lmr->pz = zone;
	r.b.lmr->priv = DAP_PRIV_LOCAL_READ;
	REFUSED(DAT_PRIVILEGES_VIOLATION, bind_on(r.b.ep, 0, 64, RW, 0, &ctx));
	r.b.lmr->priv = DAP_PRIV_LOCAL_WRITE;
	REFUSED(DAT_PRIVILEGES_VIOLATION, bind_on(r.b.ep, 0, 64, RW, 0, &ctx));
	r.b.lmr->priv = DAP_PRIV_ALL;
	r.b.ep->state = DAP_EP_UNCONNECTED;
	r.b.ep->obj.table = r.ia->tables[DAP_TABLE_CHECKED];
	REFUSED(DAT_INVALID_STATE, bind_on(r.b.ep, 0, 64, RW, 0, &ctx));
	cr_assert(rig_empty(&r, r.b.request));
	cr_assert_eq(rmr->length, 0);
}

/* ---- Binds beside other threads ---- */

static struct {
	struct th_aside freer;
	struct rig_side side;		/* a side with a request EVD of its own */
	struct dap_ep *ep, *peer;
	unsigned int locks, at;
} gone;

static void free_ep_and_evd(void *arg)
{
	(void)arg;
	rig_ep_free(gone.ep);
	rig_evd_free(gone.side.request);
}

static void free_at_lock(void *arg)
{
	if (gone.locks++ == gone.at)
		th_aside(&gone.freer, free_ep_and_evd, arg, 20000);
}

/* Frees the endpoint whose bind has not been dequeued, when the new bind is about to take this
 * lock. False: the new bind takes no such lock. */
static bool binds_beside_free_at(unsigned int lock)
{
	DAT_RMR_CONTEXT ctx;

	gone.side = r.b;
	gone.at = lock;
	gone.locks = 0;
	cr_assert_eq(rig_evd(&r, 64, &gone.side.request), 0);
	cr_assert_eq(rig_ep(&r, &gone.side, &gone.ep), 0);
	cr_assert_eq(rig_ep(&r, &r.a, &gone.peer), 0);
	cr_assert_eq(rig_connect(gone.ep, gone.peer), 0);
	cr_assert_eq(bind_on(gone.ep, 0, 64, RW, 0, &ctx), DAT_SUCCESS);
	th_at_locks(free_at_lock, NULL);
	cr_expect_eq(bind_on(r.b.ep, 1000, 64, RW, 0, &ctx), DAT_SUCCESS,
		     "the bind failed; the endpoint of the last one was freed at lock %u", lock);
	th_at_locks(NULL, NULL);
	th_aside_end(&gone.freer);
	if (gone.locks <= lock)
		free_ep_and_evd(NULL);
	expect_bind(65);
	cr_assert_eq(write_through(ctx, 1000, 8), DAT_DTO_SUCCESS);
	rig_ep_free(gone.peer);
	return gone.locks > lock;
}

/* The call looks for the previous bind. The previous bind is on a queue that another thread frees at this
 * moment, together with its EVD. */
RIG_TEST(bind, rmr_bind__while_the_endpoint_before_is_freed_succeeds)
{
	enum { MOST = 64 };		/* the call takes all later locks in one loop */
	unsigned int lock = 0;

	while (lock < MOST && binds_beside_free_at(lock))
		lock++;
}
