/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread of the program is cancelled in a call of libibverbs. ioctl(2) and the functions of the data path
 * are no cancellation points: the call ends before the thread does, and other threads find no lock taken.
 */
#include "tests/harness/harness.h"
#include "tests/stock/rig.h"

static struct ibv_context *ctx;
static struct ibv_cq *cq;

static void destroy_cq(void)
{
	ibv_destroy_cq(cq);
}

Test(stock, destroy_cq__by_a_cancelled_thread_keeps_no_lock, .timeout = 30)
{
	struct ibv_comp_channel *chan;

	ctx = st_open();
	cr_assert_not_null(chan = ibv_create_comp_channel(ctx));
	cr_assert_not_null(cq = ibv_create_cq(ctx, 8, NULL, chan, 0));
	cr_assert(th_cancelled(destroy_cq));
	cr_assert_eq(ibv_destroy_comp_channel(chan), 0, "the CQ was not destroyed");
	st_close(ctx);
}

static void close_device(void)
{
	ibv_close_device(ctx);
}

Test(stock, close_device__by_a_cancelled_thread_keeps_no_lock, .timeout = 30)
{
	ctx = st_open();
	cr_assert(th_cancelled(close_device));
	st_close(st_open());
}

static struct st_end a, b;

/* The thread that sends drives the device, and so reports the completion to the channel. */
static void send_one(void)
{
	st_send(&a, 8, 0);
}

Test(stock, post_send__by_a_cancelled_thread_reports_the_completion, .timeout = 30)
{
	st_pair(&a, &b);
	for (int i = 0; i < 10; i++) {
		st_recv(&b, 64);
		cr_assert_eq(ibv_req_notify_cq(b.cq, 0), 0);
		cr_assert(th_cancelled(send_one));
		cr_assert_eq(st_poll(&a), IBV_WC_SUCCESS);
		cr_assert(st_readable(b.chan->fd, ST_LIMIT_MS), "the CQ's channel got no event in time");
		cr_assert_eq(st_poll(&b), IBV_WC_SUCCESS);
	}
	st_unpair(&a, &b);
}
