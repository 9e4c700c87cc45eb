/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts that are refused at once, without side effects. */
#include <criterion/criterion.h>

#include "tests/mlx5/rig.h"

static struct rig r;
static DAT_LMR_TRIPLET l[40];
static DAT_RMR_TRIPLET t;

static void open_rig(void)
{
	struct rig_config c = { .attr = { .max_request_iov = 3, .max_rdma_read_iov = 2,
					  .max_rdma_write_iov = 4, .max_recv_iov = 2,
					  .max_message_size = 1000, .max_rdma_size = 2000 } };

	cr_assert_eq(rig_open(&r, &c), 0);
	for (int i = 0; i < 40; i++)
		l[i] = rig_local(&r.a, 0, 4);
	t = rig_remote(&r.b, 0, 4000);
}

static void close_rig(void)
{
	cr_assert(rig_empty(&r, r.a.request), "the refused call posted a WQE");
	cr_assert_eq(m5_ep(r.a.ep)->rq.pi, 0);
	rig_close(&r, NULL);
}

#define REFUSED(type, arg, call)                                                                   \
	cr_assert_eq(DAT_GET_TYPE(call), type, "wrong type of the error that %s returned", #call); \
	cr_assert_eq(DAP_ERR_SUB(fake.err), arg,                                                   \
		     "wrong argument named by the error that %s returned", #call)

#define SEND(n, iov, flags) r.hot->post_send(r.a.ep, n, iov, rig_cookie(1), flags)
#define RECV(n, iov, flags) r.hot->post_recv(r.a.ep, n, iov, rig_cookie(1), flags)
#define WRITE(n, iov, to, flags) r.hot->rdma_write(r.a.ep, n, iov, rig_cookie(1), to, flags)
#define READ(n, iov, to, flags) r.hot->rdma_read(r.a.ep, n, iov, rig_cookie(1), to, flags)

RIG_TEST(args, num_segments__out_of_range_is_refused)
{
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, SEND(-1, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, SEND(4, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, SEND(INT32_MAX, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, RECV(-1, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, RECV(3, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, WRITE(INT32_MIN, l, &t, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, WRITE(5, l, &t, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, READ(3, l, &t, 0));
}

RIG_TEST(args, iov__missing_is_refused)
{
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, SEND(1, NULL, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, RECV(1, NULL, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, WRITE(1, NULL, &t, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, READ(2, NULL, &t, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG5, WRITE(1, l, NULL, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG5, READ(1, l, NULL, 0));
}

RIG_TEST(args, flags__not_of_this_call_are_refused)
{
	/* Invalid flags: UNSIGNALLED without the endpoint's attribute; SUPPRESS and BARRIER on a
	 * receive. */
	static const unsigned int bad_recv[] = { 1, 2, 4, 8, 0x10, 0x100 };
	static const unsigned int bad_send[] = { 4, 0x10, 0x20, 0x80000000 };
	static const unsigned int bad_rdma[] = { 2, 4, 0x10, 0x40, 0x100 };

	for (int i = 0; i < 6; i++)
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG5, RECV(1, l, bad_recv[i]));
	for (int i = 0; i < 4; i++)
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG5, SEND(1, l, bad_send[i]));
	for (int i = 0; i < 5; i++) {
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG6, WRITE(1, l, &t, bad_rdma[i]));
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG6, WRITE(2, l, &t, bad_rdma[i]));
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG6, READ(1, l, &t, bad_rdma[i]));
	}
}

RIG_TEST(args, length__over_the_limits_returns_length_error)
{
	l[0].segment_length = 1001;
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(1, l, 0));
	l[0].segment_length = 999;
	l[1].segment_length = 2;
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(2, l, 0));
	l[0].segment_length = 2001;
	REFUSED(DAT_LENGTH_ERROR, 0, WRITE(1, l, &t, 0));
	REFUSED(DAT_LENGTH_ERROR, 0, READ(1, l, &t, 0));
	t.segment_length = 100;
	l[0].segment_length = 101;
	REFUSED(DAT_LENGTH_ERROR, 0, WRITE(1, l, &t, 0));
	l[0].segment_length = 99;
	l[1].segment_length = 2;
	REFUSED(DAT_LENGTH_ERROR, 0, WRITE(2, l, &t, 0));
	l[1].segment_length = 0;
	REFUSED(DAT_LENGTH_ERROR, 0, READ(1, l, &t, 0));
	REFUSED(DAT_LENGTH_ERROR, 0, READ(2, l, &t, 0));
	REFUSED(DAT_LENGTH_ERROR, 0, READ(0, NULL, &t, 0));
}

/* Sums of lengths that wrap, so that the sum is small. */
RIG_TEST(args, length__that_overflows_returns_length_error)
{
	l[0].segment_length = UINT64_MAX;
	l[1].segment_length = 2;
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(1, l, 0));
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(2, l, 0));
	REFUSED(DAT_LENGTH_ERROR, 0, WRITE(2, l, &t, 0));
	l[0].segment_length = 1ull << 63;
	l[1].segment_length = 1ull << 63;
	REFUSED(DAT_LENGTH_ERROR, 0, WRITE(2, l, &t, 0));
	t.segment_length = UINT64_MAX;
	REFUSED(DAT_LENGTH_ERROR, 0, READ(2, l, &t, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, RECV(1, l, 0));
	l[0].segment_length = 1ull << 32;
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(1, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, RECV(1, l, 0));
}
