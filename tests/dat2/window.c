/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RMRs of one endpoint, and sends that invalidate them at the peer. b owns the memory, a accesses it.
 * Through the tables: libdat2 exports neither call.
 */
#include <string.h>

#include "tests/dat2/dat2.h"
#include "tests/harness/harness.h"

static void setup(void)
{
	sides_open();
	side_needs_windows();
}

TestSuite(window, .init = setup, .fini = sides_close, .timeout = 60);

enum { LEN = 64 };

static const DAT_DTO_COOKIE cookie = { .as_64 = 4 };
static const DAT_RMR_COOKIE bind_cookie = { .as_64 = 9 };

static DAT_RMR_HANDLE window_of_ep(void)
{
	DAT_RMR_HANDLE rmr = NULL;

	assert_ok(PROVIDER(b.pz)->rmr_create_for_ep_func(b.pz, &rmr));
	return rmr;
}

static DAT_RETURN post_bind(DAT_RMR_HANDLE rmr, DAT_EP_HANDLE ep, DAT_SEG_LENGTH len,
			    DAT_RMR_CONTEXT *context)
{
	DAT_LMR_TRIPLET part = side_segment(&b, 0, len);

	return dat_rmr_bind(rmr, b.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA, ep,
			    bind_cookie, 0, context);
}

static DAT_RMR_CONTEXT bind_it(DAT_RMR_HANDLE rmr, DAT_EP_HANDLE ep, DAT_SEG_LENGTH len)
{
	DAT_RMR_CONTEXT context = 0;
	DAT_EVENT ev;

	assert_ok(post_bind(rmr, ep, len, &context));
	ev = side_wait(b.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.rmr_completion_event_data.rmr_handle, rmr);
	cr_assert_eq(ev.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
	return context;
}

/* Returns the status of a write of `word` through the context, over ep. */
static DAT_DTO_COMPLETION_STATUS write_by(DAT_EP_HANDLE ep, DAT_RMR_CONTEXT context, const char *word)
{
	DAT_RMR_TRIPLET to = side_remote(&b, 0, LEN);
	DAT_LMR_TRIPLET from = side_segment(&a, 0, (DAT_SEG_LENGTH)strlen(word) + 1);
	DAT_EVENT ev;

	to.rmr_context = context;
	strcpy(a.mem, word);
	assert_ok(dat_ep_post_rdma_write(ep, 1, &from, cookie, &to, 0));
	ev = side_wait(a.dto, DAT_DTO_COMPLETION_EVENT);
	return ev.event_data.dto_completion_event_data.status;
}

/* Sends over a.ep and invalidates this context; checks the completions of a and b. */
static void send_end(DAT_RMR_CONTEXT context, DAT_DTO_COMPLETION_EVENT_DATA *at_a,
		     DAT_DTO_COMPLETION_EVENT_DATA *at_b)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 1024, 8), to = side_segment(&b, 4096, LEN);

	assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	assert_ok(PROVIDER(a.ep)->ep_post_send_with_invalidate_func(a.ep, 1, &from, cookie, 0,
								     DAT_TRUE, context));
	*at_b = side_wait(b.dto, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
	*at_a = side_wait(a.dto, DAT_DTO_COMPLETION_EVENT).event_data.dto_completion_event_data;
}

static void end_it(DAT_RMR_CONTEXT context)
{
	DAT_DTO_COMPLETION_EVENT_DATA at_a, at_b;

	send_end(context, &at_a, &at_b);
	cr_assert_eq(at_a.status, DAT_DTO_SUCCESS);
	cr_assert_eq(at_a.operation, DAT_DTO_SEND);
	cr_assert_eq(at_b.status, DAT_DTO_SUCCESS);
	cr_assert_eq(at_b.operation, DAT_DTO_RECEIVE_WITH_INVALIDATE);
	cr_assert_eq(at_b.rmr_context, context);
	cr_assert_eq(at_b.transfered_length, 8);
	cr_assert_eq(at_b.ep_handle, b.ep);
}

/*
 * The context is not that of a window of b.ep. The receive reports the failed invalidate, and the
 * connection ends. The adapter sends no answer, so the send ends when its retries are exhausted or
 * when the end of the connection flushes it.
 */
static void is_refused(DAT_RMR_CONTEXT context)
{
	DAT_DTO_COMPLETION_EVENT_DATA at_a, at_b;

	send_end(context, &at_a, &at_b);
	cr_assert(at_a.status == DAT_DTO_ERR_TRANSPORT || at_a.status == DAT_DTO_ERR_FLUSHED,
		  "the send ended with the wrong status %d", at_a.status);
	cr_assert_eq(at_b.status, DAT_RMR_OPERATION_FAILED,
		     "the receive ended with the wrong status %d", at_b.status);
	side_wait(a.conn, DAT_CONNECTION_EVENT_BROKEN);
	side_wait(b.conn, DAT_CONNECTION_EVENT_BROKEN);
}

Test(window, for_ep__lets_its_peer_in)
{
	DAT_RMR_CONTEXT context, second;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	rmr = window_of_ep();
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.rmr_scope, DAT_RMR_SCOPE_EP);
	cr_assert_eq(param.lmr_triplet.segment_length, 0);
	context = bind_it(rmr, b.ep, LEN);
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.rmr_context, context);
	cr_assert_eq(param.lmr_triplet.segment_length, LEN);
	cr_assert_eq(write_by(a.ep, context, "one"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "one");
	second = bind_it(rmr, b.ep, LEN);
	cr_assert_neq(second, context);
	cr_assert_eq(write_by(a.ep, second, "two"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "two");
	cr_assert_eq(write_by(a.ep, context, "old"), DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert_str_eq(b.mem, "two");
	assert_ok(dat_rmr_free(rmr));
}

Test(window, for_ep__lets_no_other_endpoint_in)
{
	DAT_EP_HANDLE of_a, of_b;
	DAT_RMR_CONTEXT context;

	sides_connect();
	sides_connect_more(&of_a, &of_b);
	context = bind_it(window_of_ep(), b.ep, LEN);
	cr_assert_eq(write_by(of_a, context, "over the other"), DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert_str_eq(b.mem, "");
	cr_assert_eq(write_by(a.ep, context, "over its own"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "over its own");
}

Test(window, for_pz__lets_any_endpoint_in)
{
	DAT_EP_HANDLE of_a, of_b;
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	sides_connect_more(&of_a, &of_b);
	assert_ok(dat_rmr_create(b.pz, &rmr));
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.rmr_scope, DAT_RMR_SCOPE_PZ);
	context = bind_it(rmr, b.ep, LEN);
	cr_assert_eq(write_by(of_a, context, "over the other"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "over the other");
}

Test(window, bind__through_a_second_endpoint_is_refused)
{
	DAT_EP_HANDLE of_a, of_b;
	DAT_RMR_CONTEXT context, none = 77;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	sides_connect_more(&of_a, &of_b);
	rmr = window_of_ep();
	bind_it(rmr, b.ep, LEN);
	assert_ret(post_bind(rmr, of_b, LEN, &none), DAT_INVALID_STATE);
	assert_ret(post_bind(rmr, of_b, 0, &none), DAT_INVALID_STATE);
	cr_assert_eq(none, 77);
	bind_it(rmr, b.ep, 0);
	context = bind_it(rmr, of_b, LEN);
	cr_assert_eq(write_by(of_a, context, "moved"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "moved");
	cr_assert_eq(write_by(a.ep, context, "no"), DAT_DTO_ERR_REMOTE_ACCESS);
}

/* A new endpoint that gets the QP number does not get the window. */
Test(window, ep_free__ends_what_is_bound_through_it)
{
	DAT_EP_HANDLE of_a, of_b;
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	sides_connect_more(&of_a, &of_b);
	rmr = window_of_ep();
	context = bind_it(rmr, of_b, LEN);
	assert_ok(dat_ep_free(of_b));
	side_wait(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.lmr_triplet.segment_length, 0);
	cr_assert_eq(write_by(a.ep, bind_it(rmr, b.ep, LEN), "again"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "again");
	cr_assert_eq(write_by(a.ep, context, "no"), DAT_DTO_ERR_REMOTE_ACCESS);
}

/* Makes more binds than the RMR's keys have variants. A context that is used a second time works like a
 * new one. */
Test(window, bind__goes_through_all_its_keys)
{
	DAT_RMR_CONTEXT context = 0;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	rmr = window_of_ep();
	for (int i = 0; i < 1100; i++) {
		context = bind_it(rmr, b.ep, LEN);
		if (i % 16 == 0)
			end_it(context);
	}
	cr_assert_eq(write_by(a.ep, context, "last"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "last");
	end_it(context);
	assert_ok(dat_lmr_free(b.lmr));
}

Test(window, send_with_invalidate__ends_the_context)
{
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	rmr = window_of_ep();
	context = bind_it(rmr, b.ep, LEN);
	assert_ret(dat_lmr_free(b.lmr), DAT_INVALID_STATE);
	cr_assert_eq(write_by(a.ep, context, "before"), DAT_DTO_SUCCESS);
	end_it(context);
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.lmr_triplet.segment_length, 0);
	cr_assert_eq(write_by(a.ep, context, "behind"), DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert_str_eq(b.mem, "before");
	assert_ok(dat_lmr_free(b.lmr));
}

Test(window, bind__without_room_leaves_an_ended_window_ended)
{
	DAT_LMR_TRIPLET from = side_segment(&b, 0, 8);
	DAT_RMR_CONTEXT context;
	DAT_RMR_PARAM param;
	DAT_RMR_HANDLE rmr;
	int n = 0;

	sides_connect();
	rmr = window_of_ep();
	end_it(bind_it(rmr, b.ep, LEN));
	/* a has posted no receive, so the sends stay outstanding. */
	while (dat_ep_post_send(b.ep, 1, &from, cookie, 0) == DAT_SUCCESS)
		cr_assert_lt(n++, 10000);
	assert_ret(post_bind(rmr, b.ep, LEN, &context), DAT_INSUFFICIENT_RESOURCES);
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.lmr_triplet.segment_length, 0);
	assert_ok(dat_lmr_free(b.lmr));
}

Test(window, send_with_invalidate__lets_another_endpoint_bind_the_window)
{
	DAT_EP_HANDLE of_a, of_b;
	DAT_RMR_HANDLE rmr;

	sides_connect();
	sides_connect_more(&of_a, &of_b);
	rmr = window_of_ep();
	end_it(bind_it(rmr, b.ep, LEN));
	cr_assert_eq(write_by(of_a, bind_it(rmr, of_b, LEN), "moved"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "moved");
}

/*
 * The device has invalidated the window, and b has not yet dequeued the receive that reports this.
 */
Test(window, bind__before_the_completion_of_the_invalidate_succeeds)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 1024, 8), to = side_segment(&b, 4096, LEN);
	DAT_RMR_CONTEXT first, second;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT ev;

	sides_connect();
	rmr = window_of_ep();
	first = bind_it(rmr, b.ep, LEN);
	assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	assert_ok(PROVIDER(a.ep)->ep_post_send_with_invalidate_func(a.ep, 1, &from, cookie, 0,
								     DAT_TRUE, first));
	side_wait(a.dto, DAT_DTO_COMPLETION_EVENT);
	assert_ok(post_bind(rmr, b.ep, LEN, &second));
	ev = side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.rmr_context, first);
	side_wait(b.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	assert_ret(dat_lmr_free(b.lmr), DAT_INVALID_STATE);
	cr_assert_eq(write_by(a.ep, second, "second"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "second");
}

Test(window, send_with_invalidate__of_an_ended_context_is_refused)
{
	DAT_RMR_CONTEXT context;

	sides_connect();
	context = bind_it(window_of_ep(), b.ep, LEN);
	end_it(context);
	is_refused(context);
}

Test(window, send_with_invalidate__of_no_key_is_refused)
{
	sides_connect();
	is_refused(0xdead00);
}

Test(window, send_with_invalidate__of_an_lmr_is_refused)
{
	sides_connect();
	is_refused(b.rmr_context);
}

Test(window, send_with_invalidate__of_a_window_of_the_zone_is_refused)
{
	DAT_RMR_HANDLE rmr;

	sides_connect();
	assert_ok(dat_rmr_create(b.pz, &rmr));
	is_refused(bind_it(rmr, b.ep, LEN));
}

Test(window, send_with_invalidate__of_another_endpoint_is_refused)
{
	DAT_EP_HANDLE of_a, of_b;
	DAT_RMR_CONTEXT context;

	sides_connect();
	sides_connect_more(&of_a, &of_b);
	context = bind_it(window_of_ep(), of_b, LEN);
	is_refused(context);
	cr_assert_eq(write_by(of_a, context, "still"), DAT_DTO_SUCCESS);
	cr_assert_str_eq(b.mem, "still");
}

/*
 * A send with invalidate can be inline, have many segments, or be suppressed, like any other send.
 */
Test(window, send_with_invalidate__is_a_send)
{
	DAT_LMR_TRIPLET from[3], to = side_segment(&b, 4096, 1024);
	const DAT_PROVIDER *p = PROVIDER(a.ep);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT ev;

	sides_connect();
	p = PROVIDER(a.ep);
	rmr = window_of_ep();
	for (unsigned int len = 8; len <= 512; len *= 8) {
		context = bind_it(rmr, b.ep, LEN);
		memset(a.mem, (int)len, 3 * len);
		for (unsigned int i = 0; i < 3; i++)
			from[i] = side_segment(&a, i * len, i < 2 ? len / 2 : len);
		assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
		assert_ok(p->ep_post_send_with_invalidate_func(a.ep, 3, from, cookie,
							       DAT_COMPLETION_SUPPRESS_FLAG,
							       DAT_TRUE, context));
		ev = side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
		cr_assert_eq(ev.event_data.dto_completion_event_data.transfered_length, 2 * len);
		cr_assert_eq(ev.event_data.dto_completion_event_data.rmr_context, context);
		cr_assert_eq(memcmp(b.mem + 4096, a.mem, 2 * len), 0);
	}
	assert_ret(dat_evd_dequeue(a.dto, &ev), DAT_QUEUE_EMPTY);
}

Test(window, window_calls__invalid_arguments_are_refused)
{
	DAT_LMR_TRIPLET iov = side_segment(&a, 0, 8), part = side_segment(&b, 0, LEN);
	DAT_LMR_TRIPLET beyond = side_segment(&b, MEM - 8, LEN);
	DAT_RMR_HANDLE rmr, none = (DAT_RMR_HANDLE)&iov;
	const DAT_PROVIDER *p = PROVIDER(a.ep);
	DAT_RMR_CONTEXT context;

	assert_ret(p->rmr_create_for_ep_func(a.ep, &none), DAT_INVALID_HANDLE);
	assert_ret(p->rmr_create_for_ep_func(a.pz, NULL), DAT_INVALID_PARAMETER);
	cr_assert_eq(none, (DAT_RMR_HANDLE)&iov);
	assert_ret(p->ep_post_send_with_invalidate_func(a.pz, 1, &iov, cookie, 0, DAT_TRUE, 7),
		   DAT_INVALID_HANDLE);
	assert_ret(p->ep_post_send_with_invalidate_func(a.ep, 1, &iov, cookie, 0, DAT_TRUE, 7),
		   DAT_INVALID_STATE);
	sides_connect();
	p = PROVIDER(a.ep);
	rmr = window_of_ep();
	assert_ret(p->ep_post_send_with_invalidate_func(a.ep, 99, &iov, cookie, 0, DAT_TRUE, 7),
		   DAT_INVALID_PARAMETER);
	assert_ret(p->ep_post_send_with_invalidate_func(a.ep, 1, NULL, cookie, 0, DAT_TRUE, 7),
		   DAT_INVALID_PARAMETER);
	assert_ret(p->ep_post_send_with_invalidate_func(a.ep, 1, &iov, cookie, 0x100, DAT_TRUE, 7),
		   DAT_INVALID_PARAMETER);
	assert_ret(dat_rmr_bind(rmr, a.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
				b.ep, bind_cookie, 0, &context), DAT_INVALID_HANDLE);
	assert_ret(dat_rmr_bind(rmr, b.lmr, &beyond, DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
				DAT_VA_TYPE_VA, b.ep, bind_cookie, 0, &context),
		   DAT_INVALID_PARAMETER);
	assert_ret(dat_rmr_bind(rmr, b.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
				b.ep, bind_cookie, 0x100, &context), DAT_INVALID_PARAMETER);
	assert_ret(dat_rmr_bind(rmr, b.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
				b.ep, bind_cookie, 0, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dat_rmr_bind(rmr, b.lmr, NULL, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
				b.ep, bind_cookie, 0, &context), DAT_INVALID_PARAMETER);
	assert_ret(dat_rmr_bind(rmr, b.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
				a.ep, bind_cookie, 0, &context), DAT_INVALID_HANDLE);
}

/* ---- Calls beside other threads ---- */

static struct {
	struct th_aside aside;
	unsigned int locks;
	bool stuck;
} growth;

/* Adds more endpoints than the CQ of b.dto has room for. */
static void grow(void *arg)
{
	DAT_EP_HANDLE ep;

	(void)arg;
	for (int i = 0; i < 64; i++)
		cr_expect_eq(dat_ep_create(b.ia, b.pz, NULL, b.dto, NULL, NULL, &ep), DAT_SUCCESS);
}

/* The thread that dequeues stops before a lock. Meanwhile another thread makes the CQ grow. */
static void grow_meanwhile(void *arg)
{
	if (growth.locks++)
		return;
	/* Behind VFIO the growing thread sleeps for each command, too. */
	growth.stuck = !th_aside(&growth.aside, grow, arg, SOON / 1000 / 2) &&
		       !TH_WITHIN(SOON / 1000 / 2, __atomic_load_n(&growth.aside.done, __ATOMIC_ACQUIRE));
	if (!growth.stuck)
		th_aside_end(&growth.aside);
}

static DAT_EVENT dequeue_slowly(DAT_EVD_HANDLE evd)
{
	DAT_RETURN ret = DAT_QUEUE_EMPTY;
	DAT_EVENT ev = { 0 };

	for (uint64_t end = th_now_ms() + SOON / 1000; th_now_ms() < end && ret != DAT_SUCCESS;) {
		th_at_locks(grow_meanwhile, NULL);
		ret = dat_evd_dequeue(evd, &ev);
		th_at_locks(NULL, NULL);
	}
	cr_assert_eq(ret, DAT_SUCCESS);
	return ev;
}

/* Whichever lock the poller is about to take, it does not own the CQ then, so the CQ can grow. */
Test(window, dequeue__of_an_end_lets_the_evd_grow)
{
	DAT_LMR_TRIPLET from, to;
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;
	DAT_EVENT ev;

	sides_connect();
	rmr = window_of_ep();
	context = bind_it(rmr, b.ep, LEN);
	from = side_segment(&a, 1024, 8);
	to = side_segment(&b, 4096, LEN);
	assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	assert_ok(PROVIDER(a.ep)->ep_post_send_with_invalidate_func(a.ep, 1, &from, cookie, 0,
								     DAT_TRUE, context));
	side_wait(a.dto, DAT_DTO_COMPLETION_EVENT);
	ev = dequeue_slowly(b.dto);
	cr_assert_eq(ev.event_data.dto_completion_event_data.operation,
		     DAT_DTO_RECEIVE_WITH_INVALIDATE);
	cr_assert_not(growth.stuck, "the poller keeps the CQ while it waits for a lock");
	cr_assert_gt(growth.locks, 0);
	assert_ok(dat_rmr_free(rmr));
}

static struct {
	struct th_aside binder;
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret;
	unsigned int locks, at;
} move;

static void bind_elsewhere(void *arg)
{
	(void)arg;
	move.ret = post_bind(move.rmr, b.ep, LEN, &move.context);
}

static void bind_at_lock(void *arg)
{
	if (move.locks++ == move.at)
		th_aside(&move.binder, bind_elsewhere, arg, SOON / 1000);
}

static void bound_is_open(void)
{
	DAT_RMR_PARAM param;
	DAT_EVENT ev;

	cr_assert_eq(move.ret, DAT_SUCCESS, "the bind at lock %u returned 0x%x", move.at, move.ret);
	ev = side_wait(b.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
	assert_ok(dat_rmr_query(move.rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.lmr_triplet.segment_length, LEN, "bind at lock %u: the RMR is not bound",
		     move.at);
	cr_assert_eq(write_by(a.ep, move.context, "moved"), DAT_DTO_SUCCESS,
		     "bind at lock %u: the write through the context failed", move.at);
	bind_it(move.rmr, b.ep, 0);
}

/* Another thread binds the RMR through b.ep when the call is about to take this lock. False: the call
 * takes no such lock. */
static bool binds_beside_free_at(unsigned int lock)
{
	DAT_EP_HANDLE of_a, of_b;

	sides_connect_more(&of_a, &of_b);
	bind_it(move.rmr, of_b, LEN);
	assert_ok(dat_ep_disconnect(of_b, DAT_CLOSE_ABRUPT_FLAG));
	side_wait(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_wait(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_ok(dat_ep_free(of_a));
	move.at = lock;
	move.locks = 0;
	th_at_locks(bind_at_lock, NULL);
	assert_ok(dat_ep_free(of_b));
	th_at_locks(NULL, NULL);
	if (move.locks <= lock)
		bind_elsewhere(NULL);
	th_aside_end(&move.binder);
	bound_is_open();
	return move.locks > lock;
}

/* Freeing the endpoint ends windows bound through it, except those that have moved. */
Test(window, ep_free__leaves_a_bind_through_another_endpoint)
{
	unsigned int lock = 0;

	sides_connect();
	move.rmr = window_of_ep();
	while (binds_beside_free_at(lock))
		lock++;
	cr_assert_gt(lock, 3);
	assert_ok(dat_rmr_free(move.rmr));
}
