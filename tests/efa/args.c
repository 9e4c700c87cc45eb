/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts that are refused at once, without side effects. */
#include <criterion/criterion.h>

#include "tests/efa/rig.h"

static struct rig r;
static DAT_LMR_TRIPLET l[2];
static DAT_RMR_TRIPLET t;

static void open_rig(void)
{
	rig_open_pair(&r, "");
	for (int i = 0; i < 2; i++)
		l[i] = (DAT_LMR_TRIPLET){ .lmr_context = r.a.lmr->lmr_context, .segment_length = 4,
					  .virtual_address = (uintptr_t)r.a.mem };
	t = (DAT_RMR_TRIPLET){ .rmr_context = r.b.lmr->rmr_context, .segment_length = 4000,
			       .target_address = (uintptr_t)r.b.mem };
}

/* The queues are as before: a message is the first request and the first receive. */
static void close_rig(void)
{
	cr_assert_eq(rig_recv(&r, &r.b, 1, 0, 64), DAT_SUCCESS);
	cr_assert_eq(rig_send(&r, &r.a, 2, 0, 64), DAT_SUCCESS);
	cr_assert_eq(rig_next(&r, r.b.recv).dto.cookie, 1);
	cr_assert_eq(rig_next(&r, r.a.req).dto.cookie, 2);
	rig_close_pair(&r);
}

TestSuite(efa_args, .init = open_rig, .fini = close_rig);

#define REFUSED(type, arg, call)								\
	cr_assert_eq(DAT_GET_TYPE(call), type, "wrong type of the error that %s returned", #call);	\
	cr_assert_eq(DAP_ERR_SUB(fake.err), arg, "wrong argument named by the error that %s returned", #call)

#define COOKIE (DAT_DTO_COOKIE){ .as_64 = 7 }
#define SEND(n, iov, flags) r.hot->post_send(r.a.ep, n, iov, COOKIE, flags)
#define RECV(n, iov, flags) r.hot->post_recv(r.b.ep, n, iov, COOKIE, flags)
#define WRITE(n, iov, to, flags) r.hot->rdma_write(r.a.ep, n, iov, COOKIE, to, flags)
#define READ(n, iov, to, flags) r.hot->rdma_read(r.a.ep, n, iov, COOKIE, to, flags)

Test(efa_args, num_segments__out_of_range_is_refused)
{
	static const DAT_COUNT bad[] = { -1, 5, INT32_MAX, INT32_MIN };

	for (int i = 0; i < 4; i++) {
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, SEND(bad[i], l, 0));
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, RECV(bad[i], l, 0));
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, WRITE(bad[i], l, &t, 0));
		REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG2, READ(bad[i], l, &t, 0));
	}
}

Test(efa_args, iov__missing_is_refused)
{
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, SEND(1, NULL, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, RECV(1, NULL, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, WRITE(1, NULL, &t, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, READ(2, NULL, &t, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG5, WRITE(1, l, NULL, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG5, READ(1, l, NULL, 0));
}

/* UNSIGNALLED needs an attribute of the endpoint; a receive has no SUPPRESS and no BARRIER. */
Test(efa_args, flags__not_of_this_call_are_refused)
{
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

/* A sum that wraps would be small. */
Test(efa_args, length__over_the_limits_returns_length_error)
{
	static const struct {
		DAT_VLEN first, second, remote;
	} bad[] = { { 4001, 0, 4000 }, { 3999, 2, 4000 }, { 2, UINT64_MAX - 1, 4000 },
		    { 1ull << 63, 1ull << 63, 4000 }, { 1ull << 32, 0, 1ull << 33 } };

	for (int i = 0; i < 5; i++) {
		l[0].segment_length = bad[i].first;
		l[1].segment_length = bad[i].second;
		t.segment_length = bad[i].remote;
		REFUSED(DAT_LENGTH_ERROR, 0, WRITE(2, l, &t, 0));
	}
	l[0].segment_length = UINT64_MAX;
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(1, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, RECV(1, l, 0));
	l[0].segment_length = 2;
	l[1].segment_length = UINT64_MAX - 1;
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(2, l, 0));
	l[0].segment_length = 1ull << 32;
	REFUSED(DAT_LENGTH_ERROR, 0, SEND(1, l, 0));
	REFUSED(DAT_INVALID_PARAMETER, DAP_SUB_ARG3, RECV(1, l, 0));
}

/* A read needs local segments for all bytes of the remote buffer. */
Test(efa_args, read__into_segments_that_are_too_short_is_refused)
{
	l[0].segment_length = 3999;
	l[1].segment_length = 0;
	t.segment_length = 4000;
	REFUSED(DAT_LENGTH_ERROR, 0, READ(1, l, &t, 0));
	REFUSED(DAT_LENGTH_ERROR, 0, READ(2, l, &t, 0));
	REFUSED(DAT_LENGTH_ERROR, 0, READ(0, NULL, &t, 0));
	t.segment_length = UINT64_MAX;
	REFUSED(DAT_LENGTH_ERROR, 0, READ(2, l, &t, 0));
}
