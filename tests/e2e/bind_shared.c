/* SPDX-License-Identifier: BSD-2-Clause */
/* bind_doorbell=shared: what becomes of a bind that is left when the connection or the adapter ends. */
#include "tests/e2e/window.h"

static struct end a, b;
static DAT_RMR_HANDLE rmr;

static void setup(void)
{
	rig_conf("strict=1;bind_doorbell=shared");
	rig_skip_if("bind_doorbell", "");
	window_pair(&a, &b, &rmr);
}

static void teardown(void)
{
	pair_close(&a, &b);
}

TestSuite(bind_shared, .timeout = 60);

static DAT_RMR_CONTEXT bound(size_t len, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET to = seg(&b, 64, len);
	DAT_RMR_CONTEXT context = 0;

	must(dat_rmr_bind(rmr, &to, RIGHTS_RW, b.ep, (DAT_RMR_COOKIE){ .as_64 = 7 }, flags, &context));
	return context;
}

/* The peer ends it, and b has a bind that nothing has rung for. */
static DAT_RMR_CONTEXT left_over(void)
{
	DAT_RMR_CONTEXT context = bound(64, SUPPRESS);

	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	return context;
}

/* Through a window of its own the peer reaches b, and not by the context of before. */
static void only_a_new_bind_opens(DAT_RMR_CONTEXT old)
{
	DAT_RMR_CONTEXT context = bound(64, 0);

	took_bind(b.req_evd, rmr, 7, DAT_RMR_BIND_SUCCESS);
	fill(a.mem, 64, 5);
	must(do_write(&a, 1, 0, through(context, &b, 64, 64), 0));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	check(filled(b.mem + 64, 64, 5));
	must(do_write(&a, 2, 0, through(old, &b, 64, 8), 0));
	took(a.req_evd, 2, DAT_DTO_ERR_REMOTE_ACCESS);
}

RIG_TEST(bind_shared, post__after_the_end_brings_the_flushed_bind)
{
	left_over();
	must(do_send(&b, 1, 0, 8, 0));
	took_bind(b.req_evd, rmr, 7, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	took(b.req_evd, 1, FLUSHED);
	rig_empty(b.req_evd);
}

RIG_TEST(bind_shared, ep_get_status__after_the_end_brings_the_flushed_bind)
{
	left_over();
	same(end_state(b.ep), DAT_EP_STATE_DISCONNECTED);
	took_bind(b.req_evd, rmr, 7, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	rig_empty(b.req_evd);
}

RIG_TEST(bind_shared, ep_disconnect__brings_the_bind)
{
	bound(64, SUPPRESS);
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	rig_empty(b.req_evd);
}

RIG_TEST(bind_shared, ep_reset__forgets_the_bind)
{
	DAT_RMR_CONTEXT old = left_over();

	pair_again(&a, &b);
	rig_empty(b.req_evd);
	only_a_new_bind_opens(old);
}

/* The endpoint goes, and another one has the window. */
RIG_TEST(bind_shared, ep_free__forgets_the_bind)
{
	DAT_RMR_CONTEXT old = left_over();

	must(dat_ep_free(b.ep));
	b.ep = end_ep(&b, NULL);
	must(dat_ep_reset(a.ep));
	end_join(&a, a.ep, &b, b.ep);
	rig_empty(b.req_evd);
	only_a_new_bind_opens(old);
}

/* Nothing is rung for, and all goes: connected, and after the end. */
RIG_TEST(bind_shared, ia_close__with_a_bind_left)
{
	bound(64, SUPPRESS);
	end_close(&b);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

RIG_TEST(bind_shared, ia_close__with_a_bind_left_after_the_end)
{
	left_over();
	end_close(&b);
	end_close(&a);
}

/* Freed one by one while it is left: window, memory, endpoint. */
RIG_TEST(bind_shared, free__one_by_one_with_a_bind_left)
{
	bound(64, SUPPRESS);
	must(dat_rmr_free(rmr));
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	end_free(&b);
}
