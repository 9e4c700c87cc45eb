/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels and asynchronous events. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/stock/rig.h"

static void send_small(struct st_end *a, unsigned int flags)
{
	st_send(a, 8, flags);
	cr_assert_eq(st_poll(a), IBV_WC_SUCCESS);
}

static void take_event(struct st_end *end)
{
	struct ibv_cq *cq;
	void *context;

	cr_assert(st_readable(end->chan->fd, ST_LIMIT_MS), "the CQ's channel got no event in time");
	cr_assert_eq(ibv_get_cq_event(end->chan, &cq, &context), 0);
	cr_assert_eq(cq, end->cq);
	cr_assert_eq(context, end);
	ibv_ack_cq_events(cq, 1);
}

Test(stock, cq_event__each_arm_causes_one)
{
	struct st_end a, b;

	st_pair(&a, &b);
	for (int i = 0; i < 5; i++) {
		st_recv(&b, 64);
		st_recv(&b, 64);
		cr_assert_eq(ibv_req_notify_cq(b.cq, 0), 0);
		send_small(&a, 0);
		send_small(&a, 0);
		take_event(&b);
		cr_assert_eq(st_poll(&b), IBV_WC_SUCCESS);
		cr_assert_eq(st_poll(&b), IBV_WC_SUCCESS);
		cr_assert_not(st_readable(b.chan->fd, 20), "one arm caused two events");
	}
	cr_assert_not(st_readable(a.chan->fd, 0), "an event came without an arm");
	st_unpair(&a, &b);
}

Test(stock, cq_event__arm_after_a_completion_causes_one_at_once)
{
	struct st_end a, b;

	st_pair(&a, &b);
	st_recv(&b, 64);
	send_small(&a, 0);
	cr_assert_eq(ibv_req_notify_cq(b.cq, 0), 0);
	take_event(&b);
	cr_assert_eq(st_poll(&b), IBV_WC_SUCCESS);
	st_unpair(&a, &b);
}

Test(stock, cq_event__solicited_arm_ignores_other_completions)
{
	struct st_end a, b;

	st_pair(&a, &b);
	st_recv(&b, 64);
	st_recv(&b, 64);
	cr_assert_eq(ibv_req_notify_cq(b.cq, 1), 0);
	send_small(&a, 0);
	cr_assert_eq(st_poll(&b), IBV_WC_SUCCESS);
	cr_assert_not(st_readable(b.chan->fd, 50), "an unsolicited completion caused an event");
	send_small(&a, IBV_SEND_SOLICITED);
	take_event(&b);
	cr_assert_eq(st_poll(&b), IBV_WC_SUCCESS);
	st_unpair(&a, &b);
}

/* IBTA 11.4.2.2: the second request does not weaken the first one, although both are stores to one
 * word. */
Test(stock, cq_event__solicited_arm_does_not_weaken_an_earlier_one)
{
	struct st_end a, b;

	st_pair(&a, &b);
	for (int i = 0; i < 20; i++) {
		st_recv(&b, 64);
		cr_assert_eq(ibv_req_notify_cq(b.cq, 0), 0);
		cr_assert_eq(ibv_req_notify_cq(b.cq, 1), 0);
		send_small(&a, 0);
		take_event(&b);
		cr_assert_eq(st_poll(&b), IBV_WC_SUCCESS);
	}
	st_unpair(&a, &b);
}

/* ibv_destroy_cq waits until all events that were read have been acknowledged. Here no event was
 * read. */
Test(stock, destroy_cq__with_events_unread_succeeds)
{
	struct st_end a, b;

	st_pair(&a, &b);
	st_recv(&b, 64);
	cr_assert_eq(ibv_req_notify_cq(b.cq, 0), 0);
	send_small(&a, 0);
	cr_assert(st_readable(b.chan->fd, ST_LIMIT_MS));
	st_unpair(&b, &a);
}

Test(stock, destroy_cq__leaves_the_events_of_others_in_the_channel)
{
	struct ibv_cq *other, *cq;
	struct st_end a, b;
	void *context;

	st_pair(&a, &b);
	cr_assert_not_null(other = ibv_create_cq(b.ctx, 4, &other, b.chan, 0));
	st_recv(&b, 64);
	cr_assert_eq(ibv_req_notify_cq(b.cq, 0), 0);
	send_small(&a, 0);
	cr_assert(st_readable(b.chan->fd, ST_LIMIT_MS));
	cr_assert_eq(ibv_destroy_cq(other), 0);
	cr_assert_eq(ibv_get_cq_event(b.chan, &cq, &context), 0);
	cr_assert_eq(cq, b.cq);
	ibv_ack_cq_events(cq, 1);
	st_unpair(&a, &b);
}

/* Linux refuses such a descriptor in lookup_get_fd_uobject. */
Test(stock, create_cq__with_a_channel_of_another_context_returns_ebadf)
{
	struct ibv_context *one = st_open(), *two = st_open();
	struct ibv_comp_channel *chan = ibv_create_comp_channel(one), wrong = { .context = two };

	cr_assert_not_null(chan);
	cr_expect_null(ibv_create_cq(two, 4, NULL, chan, 0));
	cr_expect_eq(errno, EBADF);
	wrong.fd = two->async_fd;
	cr_expect_null(ibv_create_cq(two, 4, NULL, &wrong, 0));
	cr_expect_eq(errno, EBADF);
	cr_assert_eq(ibv_destroy_comp_channel(chan), 0);
	st_close(one);
	st_close(two);
}

enum { CLOSINGS = 500 };

static _Atomic(struct ibv_comp_channel *) closing;

/* Closes each channel after another delay. */
static void *close_channels(void *arg)
{
	for (int i = 0; i < CLOSINGS; i++) {
		struct ibv_comp_channel *chan;

		while (!(chan = atomic_load(&closing)))
			;
		for (volatile int n = 0; n < i * 37 % 20000; n++)
			;
		ibv_destroy_comp_channel(chan);
		atomic_store(&closing, NULL);
	}
	return arg;
}

/* Either the CQ holds the channel, or the descriptor is invalid. */
Test(stock, create_cq__while_its_channel_is_closed_succeeds_or_returns_ebadf)
{
	struct ibv_context *ctx = st_open();
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, close_channels, NULL), 0);
	for (int i = 0; i < CLOSINGS; i++) {
		struct ibv_comp_channel *chan = ibv_create_comp_channel(ctx);
		struct ibv_comp_channel copy = { .context = ctx, .fd = chan ? chan->fd : -1 };
		struct ibv_cq *cq;

		cr_assert_not_null(chan);
		atomic_store(&closing, chan);
		cq = ibv_create_cq(ctx, 1, NULL, &copy, 0);
		cr_assert(cq || errno == EBADF, "CQ %d cannot be created: errno %d", i, errno);
		while (atomic_load(&closing))
			sched_yield();
		cr_assert(!cq || !ibv_destroy_cq(cq));
	}
	cr_assert_eq(pthread_join(thread, NULL), 0);
	st_close(ctx);
}

static void set_nonblocking(int fd)
{
	cr_assert_eq(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
}

Test(stock, async_event__access_error_is_reported_at_the_responder)
{
	struct ibv_async_event event;
	struct st_end a, b;

	st_pair(&a, &b);
	set_nonblocking(a.ctx->async_fd);
	cr_assert_neq(ibv_get_async_event(a.ctx, &event), 0);
	cr_assert_eq(errno, EAGAIN);
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf, b.mr->rkey ^ 1, 8), IBV_WC_REM_ACCESS_ERR);
	cr_assert(st_readable(b.ctx->async_fd, ST_LIMIT_MS), "no asynchronous event came in time");
	cr_assert_eq(ibv_get_async_event(b.ctx, &event), 0);
	cr_assert_eq(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	cr_assert_eq(event.element.qp, b.qp);
	ibv_ack_async_event(&event);
	st_unpair(&a, &b);
}

Test(stock, destroy_qp__with_its_event_unread_succeeds)
{
	struct st_end a, b;

	st_pair(&a, &b);
	cr_assert_eq(st_write(&a, (uintptr_t)b.buf, b.mr->rkey ^ 1, 8), IBV_WC_REM_ACCESS_ERR);
	cr_assert(st_readable(b.ctx->async_fd, ST_LIMIT_MS), "no asynchronous event came in time");
	st_destroy(&b);
	cr_assert_not(st_readable(a.ctx->async_fd, 0), "a destroyed QP caused an event");
	st_finish(&a);
}
