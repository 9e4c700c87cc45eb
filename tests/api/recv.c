/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ep_recv_query(3) and dat_ep_set_watermark(3): arguments, and how long a watermark lasts. */
#include "tests/api/conn.h"

#define INFINITE DAT_WATERMARK_INFINITE

TestSuite(recv, .init = sides_open, .fini = sides_close, .timeout = 60);

static DAT_COUNT held(DAT_EP_HANDLE ep)
{
	DAT_COUNT n = -7, span = -7;

	assert_ok(dat_ep_recv_query(ep, &n, &span));
	cr_expect_eq(n, span);
	return n;
}

static DAT_SRQ_HANDLE srq_of(struct side *s, int recvs)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = s->context, .segment_length = 64,
			       .virtual_address = (uintptr_t)s->mem};
	DAT_SRQ_ATTR attr = {.max_recv_dtos = recvs, .max_recv_iov = 1};
	DAT_DTO_COOKIE cookie = {.as_64 = 1};
	DAT_SRQ_HANDLE srq;

	api_needs_srq(s->ia);
	assert_ok(dat_srq_create(s->ia, s->pz, &attr, &srq));
	for (int i = 0; i < recvs; i++)
		assert_ok(dat_srq_post_recv(srq, 1, &seg, cookie));
	return srq;
}

static DAT_RETURN ep_on(struct side *s, DAT_SRQ_HANDLE srq, DAT_EVD_HANDLE recv_evd, DAT_COUNT soft,
			DAT_EP_HANDLE *ep)
{
	DAT_EP_ATTR attr = {.max_request_dtos = 8, .max_request_iov = 2, .srq_soft_hw = soft};

	return dat_ep_create_with_srq(s->ia, s->pz, recv_evd, s->dto_evd, s->conn_evd, srq, &attr,
				      ep);
}

static DAT_COUNT soft_of(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM p;

	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	return p.ep_attr.srq_soft_hw;
}

/* The sender's completion shows that the message has arrived. */
static void arrive(int n)
{
	while (n--) {
		assert_ok(side_send(&a, a.ep, 9));
		cr_assert_eq(side_dto(&a, 9), DAT_DTO_SUCCESS);
	}
}

Test(recv, provider__reports_receive_queries_and_watermarks)
{
	DAT_PROVIDER_ATTR attr;

	assert_ok(dat_ia_query(a.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	cr_expect_eq(attr.ep_recv_info_supported, 0x11);
	cr_expect_eq(attr.srq_watermarks_supported, attr.srq_supported ? 0x111 : 0x110);
}

Test(recv, ep_recv_query__counts_to_the_last)
{
	side_pair(&a, &b);
	for (DAT_UINT64 i = 0; i < 3; i++)
		assert_ok(side_recv(&b, b.ep, i));
	cr_expect_eq(held(b.ep), 3);
	arrive(2);
	cr_expect_eq(held(b.ep), 1);
	cr_expect_eq(side_dto(&b, 0), DAT_DTO_SUCCESS);
	cr_expect_eq(held(b.ep), 1);
	assert_ok(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	cr_expect_eq(side_dto(&b, 1), DAT_DTO_SUCCESS);
	cr_expect_eq(side_dto(&b, 2), DAT_DTO_ERR_FLUSHED);
	cr_expect_eq(held(b.ep), 0);
	assert_ok(dat_ep_reset(b.ep));
	assert_ok(side_recv(&b, b.ep, 3));
	cr_expect_eq(held(b.ep), 1);
}

/* A completion in another endpoint's CQ could come while a message for this endpoint is only partly
 * received. */
Test(recv, ep_recv_query__of_two_on_an_srq_returns_unknown)
{
	DAT_SRQ_HANDLE srq = srq_of(&b, 4);
	DAT_EP_HANDLE one, two;
	DAT_EVD_HANDLE evd;

	assert_ok(dat_evd_create(b.ia, 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	assert_ok(ep_on(&b, srq, b.dto_evd, DAT_HW_DEFAULT, &one));
	assert_ok(ep_on(&b, srq, evd, DAT_HW_DEFAULT, &two));
	b.ep = one;
	side_pair(&a, &b);
	cr_expect_eq(held(one), 0);
	arrive(1);
	cr_expect_eq(held(one), 0);
	cr_expect_eq(held(two), 0, "the endpoint holds a receive although it is not connected");
	a.ep = side_ep(&a);
	side_connect(&a);
	assert_ok(dat_cr_accept(side_request(&b), two, 0, NULL));
	side_event(&b, two, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_expect_eq(held(two), DAT_VALUE_UNKNOWN);
	cr_expect_eq(side_dto(&b, 1), DAT_DTO_SUCCESS);
	cr_expect_eq(held(two), 0);
}

Test(recv, ep_set_watermark__invalid_values_are_refused)
{
	assert_code(dat_ep_set_watermark(a.ep, -2, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_ep_set_watermark(a.ep, 0, -2), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	cr_expect_eq(soft_of(a.ep), DAT_HW_DEFAULT);
	assert_ok(dat_ep_set_watermark(a.ep, 0x7fffffff, 0x7fffffff));
	cr_expect_eq(soft_of(a.ep), 0x7fffffff);
	assert_ok(dat_ep_set_watermark(a.ep, INFINITE, INFINITE));
	cr_expect_eq(soft_of(a.ep), INFINITE);
}

Test(recv, srq_soft_hw__0_is_no_watermark)
{
	DAT_SRQ_HANDLE srq = srq_of(&b, 1);
	DAT_EP_HANDLE ep = NULL;

	assert_code(ep_on(&b, srq, b.dto_evd, -2, &ep), DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	cr_expect_null(ep);
	assert_ok(ep_on(&b, srq, b.dto_evd, 0, &ep));
	cr_expect_eq(soft_of(ep), DAT_HW_DEFAULT);
}

Test(recv, ep_modify__soft_high_watermark_raises_its_event)
{
	DAT_EP_PARAM p = {.ep_attr.srq_soft_hw = 0x2};
	DAT_SRQ_HANDLE srq = srq_of(&b, 4);
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(ep_on(&b, srq, b.dto_evd, DAT_HW_DEFAULT, &b.ep));
	assert_ok(dat_ep_modify(b.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &p));
	cr_expect_eq(soft_of(b.ep), 2);
	p.ep_attr.srq_soft_hw = -3;
	assert_code(dat_ep_modify(b.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &p),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	side_pair(&a, &b);
	arrive(3);
	assert_ok(dat_evd_wait(b.async, CONN_SOON, 1, &ev, &more));
	cr_expect_eq(ev.event_data.asynch_error_event_data.dat_handle, b.ep);
}

/* The endpoint is broken, reset and connected again, and breaks again: earlier counts are
 * dropped. */
Test(recv, hard_watermark__outlives_a_reset)
{
	DAT_SRQ_HANDLE srq = srq_of(&b, 8);

	assert_ok(ep_on(&b, srq, b.dto_evd, DAT_HW_DEFAULT, &b.ep));
	assert_ok(dat_ep_set_watermark(b.ep, INFINITE, 1));
	side_listen(&b);
	for (int turn = 0; turn < 2; turn++) {
		side_pair(&a, &b);
		arrive(1);
		cr_assert_eq(side_state(b.ep), DAT_EP_STATE_CONNECTED);
		assert_ok(side_send(&a, a.ep, 8));
		side_event(&b, b.ep, DAT_CONNECTION_EVENT_BROKEN);
		cr_assert(TH_WITHIN(20000, side_state(a.ep) == DAT_EP_STATE_DISCONNECTED));
		assert_ok(dat_ep_free(a.ep));
		assert_ok(dat_evd_free(a.conn_evd));
		assert_ok(dat_evd_create(a.ia, 32, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG,
					 &a.conn_evd));
		a.ep = side_ep(&a);
		assert_ok(dat_ep_reset(b.ep));
	}
}
