/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared Receive Queues without connections: arguments, attributes, counts, life cycles. */
#include <string.h>

#include "tests/api/api.h"

static DAT_SRQ_HANDLE srq;

#define RECVS 10
#define IOV 3

static DAT_RETURN create(DAT_COUNT recvs, DAT_COUNT iov, DAT_COUNT low, DAT_SRQ_HANDLE *out)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = recvs, .max_recv_iov = iov, .low_watermark = low};

	return dat_srq_create(t.ia, t.pz, &attr, out);
}

static void setup(void)
{
	api_setup();
	api_needs_srq(t.ia);
	assert_ok(create(RECVS, IOV, DAT_SRQ_LW_DEFAULT, &srq));
}

TestSuite(srq, .init = setup, .fini = api_teardown, .timeout = 60);

static DAT_RETURN post(uint64_t cookie)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = t.lmr_context, .segment_length = 64,
			       .virtual_address = (uintptr_t)t.mem};
	DAT_DTO_COOKIE c = {.as_64 = cookie};

	return dat_srq_post_recv(srq, 1, &seg, c);
}

static DAT_SRQ_PARAM query(void)
{
	DAT_SRQ_PARAM p;

	assert_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	return p;
}

static DAT_EP_ATTR ep_attr(void)
{
	return (DAT_EP_ATTR){.max_recv_dtos = 7, .max_request_dtos = 8, .max_request_iov = 2};
}

static DAT_EP_HANDLE ep_of(DAT_SRQ_HANDLE s)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep = NULL;

	assert_ok(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.conn_evd, s, &attr, &ep));
	return ep;
}

/* Is the next event on the asynchronous EVD the low watermark of this SRQ? */
static bool low(void)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	if (dat_evd_wait(t.async, API_LONG, 1, &ev, &more) != DAT_SUCCESS)
		return false;
	return ev.event_data.asynch_error_event_data.dat_handle == srq &&
	       ev.event_data.asynch_error_event_data.reason == DAT_SRQ_LOW_WATERMARK_EVENT;
}

static bool quiet(void)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	return DAT_GET_TYPE(dat_evd_wait(t.async, 30000, 1, &ev, &more)) == DAT_TIMEOUT_EXPIRED;
}

Test(srq, provider__reports_srqs_and_their_limits)
{
	cr_expect_eq(t.provider_attr.srq_supported, DAT_TRUE);
	cr_expect_eq(t.provider_attr.srq_watermarks_supported & 1, 1);
	cr_expect_eq(t.provider_attr.srq_info_supported, 0x11);
	cr_expect_eq(t.provider_attr.srq_ep_pz_difference_supported, DAT_TRUE);
	cr_expect_gt(t.ia_attr.max_srqs, 0);
	cr_expect_gt(t.ia_attr.max_ep_per_srq, 0);
	cr_expect_geq(t.ia_attr.max_recv_per_srq, 1024);
}

Test(srq, srq_create__has_at_least_the_requested_values)
{
	DAT_SRQ_PARAM p = query();
	DAT_HANDLE_TYPE type;

	cr_expect_eq(p.ia_handle, t.ia);
	cr_expect_eq(p.pz_handle, t.pz);
	cr_expect_eq(p.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	cr_expect_geq(p.max_recv_dtos, RECVS);
	cr_expect_geq(p.max_recv_iov, IOV);
	cr_expect_eq(p.low_watermark, DAT_SRQ_LW_DEFAULT);
	cr_expect_eq(p.available_dto_count, 0);
	cr_expect_eq(p.outstanding_dto_count, 0);
	assert_ok(dat_get_handle_type(srq, &type));
	cr_expect_eq(type, DAT_HANDLE_TYPE_SRQ);
}

Test(srq, srq_create__default_low_watermark_raises_nothing)
{
	cr_expect(quiet());
}

Test(srq, srq_create__low_watermark_of_an_empty_queue_raises_its_event)
{
	assert_ok(dat_srq_free(srq));
	assert_ok(create(RECVS, IOV, 2, &srq));
	cr_expect(low());
	cr_expect_eq(query().low_watermark, 2);
}

Test(srq, srq_create__invalid_attributes_are_refused)
{
	DAT_SRQ_HANDLE h = (DAT_SRQ_HANDLE)&t;
	DAT_COUNT most = t.ia_attr.max_recv_per_srq, iov = t.ia_attr.max_iov_segments_per_dto;

	assert_code(create(0, 1, 0, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(create(-1, 1, 0, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(create(most + 1, 1, 0, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(create(4, iov + 1, 0, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(create(4, -1, 0, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(create(4, 1, 5, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(create(4, 1, -1, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_srq_create(t.ia, t.pz, NULL, &h), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(create(4, 1, 0, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	cr_expect_eq(h, (DAT_SRQ_HANDLE)&t, "the refused call wrote an output");
}

Test(srq, srq_create__smallest_and_largest_succeed)
{
	DAT_SRQ_HANDLE h[3];

	assert_ok(create(1, 0, 1, &h[0]));
	assert_ok(create(1, t.ia_attr.max_iov_segments_per_dto, 0, &h[1]));
	assert_ok(create(t.ia_attr.max_recv_per_srq, 1, 0, &h[2]));
	for (int i = 0; i < 3; i++)
		assert_ok(dat_srq_free(h[i]));
}

Test(srq, srq_create__zone_is_in_use)
{
	DAT_PZ_HANDLE pz;
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_SRQ_HANDLE h;

	assert_ok(dat_pz_create(t.ia, &pz));
	assert_ok(dat_srq_create(t.ia, pz, &attr, &h));
	assert_ret(dat_pz_free(pz), DAT_INVALID_STATE);
	assert_ok(dat_srq_free(h));
	assert_ok(dat_pz_free(pz));
}

/* Each call that takes an SRQ gets invalid handles: null, the async EVD, a freed SRQ. */
Test(srq, each_call__invalid_srq_handle_is_refused)
{
	DAT_HANDLE bad[] = {DAT_HANDLE_NULL, t.async, srq};
	DAT_EP_ATTR attr = ep_attr();
	DAT_DTO_COOKIE c = {.as_64 = 0};
	DAT_EP_HANDLE ep = NULL;
	DAT_SRQ_PARAM p;

	assert_ok(dat_srq_free(srq));
	for (int i = 0; i < 3; i++) {
		assert_ret(dat_srq_free(bad[i]), DAT_INVALID_HANDLE);
		assert_ret(dat_srq_post_recv(bad[i], 0, NULL, c), DAT_INVALID_HANDLE);
		assert_ret(dat_srq_query(bad[i], DAT_SRQ_FIELD_ALL, &p), DAT_INVALID_HANDLE);
		assert_ret(dat_srq_resize(bad[i], 5), DAT_INVALID_HANDLE);
		assert_ret(dat_srq_set_lw(bad[i], 1), DAT_INVALID_HANDLE);
		assert_ret(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.conn_evd, bad[i],
						  &attr, &ep), DAT_INVALID_HANDLE);
	}
	cr_expect_null(ep);
}

Test(srq, each_create__handles_of_another_kind_or_ia_are_refused)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EP_ATTR ea = ep_attr();
	DAT_HANDLE h = NULL;
	struct api other;

	api_open(&other);
	assert_ret(dat_srq_create(t.pz, t.pz, &attr, &h), DAT_INVALID_HANDLE);
	assert_ret(dat_srq_create(t.ia, t.ia, &attr, &h), DAT_INVALID_HANDLE);
	assert_ret(dat_srq_create(t.ia, other.pz, &attr, &h), DAT_INVALID_HANDLE);
	assert_ret(dat_ep_create_with_srq(other.ia, other.pz, other.evd, other.evd, other.conn_evd,
					  srq, &ea, &h), DAT_INVALID_HANDLE);
	assert_ret(dat_ep_create_with_srq(t.ia, other.pz, t.evd, t.evd, t.conn_evd, srq, &ea, &h),
		   DAT_INVALID_HANDLE);
	cr_expect_null(h);
	api_close(&other);
}

Test(srq, srq_free__used_by_an_endpoint_returns_srq_in_use)
{
	DAT_EP_HANDLE ep = ep_of(srq);

	assert_code(dat_srq_free(srq), DAT_SRQ_IN_USE, DAT_INVALID_STATE_SRQ_IN_USE);
	cr_expect_eq(query().srq_state, DAT_SRQ_STATE_OPERATIONAL);
	assert_ok(dat_ep_free(ep));
	assert_ok(dat_srq_free(srq));
}

Test(srq, srq_free__with_receives_posted_succeeds)
{
	for (uint64_t i = 0; i < RECVS; i++)
		assert_ok(post(i));
	assert_ok(dat_srq_free(srq));
}

Test(srq, srq_post_recv__on_a_full_queue_returns_insufficient_resources)
{
	DAT_COUNT n = query().max_recv_dtos;

	for (DAT_COUNT i = 0; i < n; i++)
		assert_ok(post((uint64_t)i));
	assert_ret(post(99), DAT_INSUFFICIENT_RESOURCES);
	cr_expect_eq(query().available_dto_count, n);
	cr_expect_eq(query().outstanding_dto_count, n);
}

Test(srq, srq_post_recv__invalid_arguments_are_refused)
{
	DAT_LMR_TRIPLET seg[IOV + 1];
	DAT_DTO_COOKIE c = {.as_64 = 0};

	memset(seg, 0, sizeof(seg));
	assert_code(dat_srq_post_recv(srq, IOV + 1, seg, c), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
	assert_code(dat_srq_post_recv(srq, -1, seg, c), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_srq_post_recv(srq, 1, NULL, c), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	seg[0].segment_length = 1ull << 32;
	assert_code(dat_srq_post_recv(srq, 1, seg, c), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	cr_expect_eq(query().outstanding_dto_count, 0);
	assert_ok(dat_srq_post_recv(srq, 0, NULL, c));
}

Test(srq, srq_query__invalid_arguments_are_refused)
{
	DAT_SRQ_PARAM p;

	assert_code(dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)0x100, &p), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
	assert_code(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG3);
	assert_ok(dat_srq_query(srq, DAT_SRQ_FIELD_IA_HANDLE, &p));
	cr_expect_eq(p.ia_handle, t.ia);
}

Test(srq, srq_resize__beyond_the_room_returns_insufficient_resources)
{
	DAT_COUNT n = query().max_recv_dtos;
	DAT_RETURN ret;

	assert_code(dat_srq_resize(srq, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_srq_resize(srq, -5), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_srq_resize(srq, t.ia_attr.max_recv_per_srq + 1), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
	assert_ok(dat_srq_resize(srq, n + 1));
	cr_expect_geq(query().max_recv_dtos, n + 1);
	n = query().max_recv_dtos;
	ret = dat_srq_resize(srq, t.ia_attr.max_recv_per_srq);
	assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
	cr_expect_eq(query().max_recv_dtos, n, "the refused call changed the size of the SRQ");
	for (DAT_COUNT i = 0; i < n; i++)
		assert_ok(post((uint64_t)i));
	assert_ret(post(99), DAT_INSUFFICIENT_RESOURCES);
}

Test(srq, srq_resize__below_the_outstanding_receives_is_refused)
{
	for (uint64_t i = 0; i < 6; i++)
		assert_ok(post(i));
	assert_ret(dat_srq_resize(srq, 5), DAT_INVALID_STATE);
	cr_expect_geq(query().max_recv_dtos, RECVS);
	assert_ok(dat_srq_resize(srq, 6));
	cr_expect_geq(query().max_recv_dtos, 6);
}

Test(srq, srq_resize__below_the_low_watermark_is_refused)
{
	for (uint64_t i = 0; i < 4; i++)
		assert_ok(post(i));
	assert_ok(dat_srq_set_lw(srq, 4));
	assert_ok(dat_srq_resize(srq, 4));
	for (uint64_t i = 4; i < (uint64_t)query().max_recv_dtos; i++)
		assert_ok(post(i));
	assert_ok(dat_srq_resize(srq, RECVS));
	assert_ok(dat_srq_set_lw(srq, 8));
	assert_ret(dat_srq_resize(srq, 7), DAT_INVALID_STATE);
	cr_expect_eq(query().low_watermark, 8);
}

Test(srq, srq_set_lw__more_than_the_queue_holds_is_refused)
{
	DAT_COUNT n = query().max_recv_dtos;

	assert_code(dat_srq_set_lw(srq, n + 1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_srq_set_lw(srq, -1), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	cr_expect_eq(query().low_watermark, DAT_SRQ_LW_DEFAULT);
	cr_expect(quiet());
}

/* dat_srq_set_lw(3): the call itself may cause the event, once per call. */
Test(srq, srq_set_lw__above_the_posted_receives_raises_the_event_at_once)
{
	assert_ok(post(1));
	assert_ok(post(2));
	assert_ok(dat_srq_set_lw(srq, 2));
	cr_expect(quiet(), "a watermark event came with two receives left; the watermark is two");
	assert_ok(dat_srq_set_lw(srq, 3));
	cr_expect(low());
	cr_expect(quiet(), "the low watermark caused a second event");
	assert_ok(dat_srq_set_lw(srq, 3));
	cr_expect(low(), "setting the low watermark again caused no event");
	assert_ok(dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT));
	cr_expect(quiet());
}

Test(srq, ep_create_with_srq__query_returns_the_srq_also_after_a_reset)
{
	DAT_EP_HANDLE ep = ep_of(srq);
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state;
	DAT_EP_PARAM p;

	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.srq_handle, srq);
	cr_expect_eq(p.ep_state, DAT_EP_STATE_UNCONNECTED);
	cr_expect_eq(p.ep_attr.max_recv_dtos, 7,
		     "the endpoint does not report the 7 requested receives");
	cr_expect_geq(p.ep_attr.max_request_dtos, 8);
	assert_ok(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	cr_expect_eq(recv_idle, DAT_TRUE);
	assert_ok(dat_ep_reset(ep));
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.srq_handle, srq, "the endpoint lost its SRQ in a reset");
}

Test(srq, ep_modify__keeps_the_segments_of_the_srqs_receives)
{
	DAT_EP_PARAM p = {.ep_attr = ep_attr()};
	DAT_EP_HANDLE ep = ep_of(srq);

	p.ep_attr.max_recv_iov = t.ia_attr.max_iov_segments_per_dto + 1;
	p.ep_attr.max_request_dtos = 12;
	assert_ok(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV |
				DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p));
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.ep_attr.max_request_dtos, 12);
	cr_expect_eq(p.ep_attr.max_recv_iov, query().max_recv_iov);
}

Test(srq, ep_create_with_srq__invalid_attributes_are_refused)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep = NULL;

	assert_code(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.conn_evd, srq, NULL, &ep),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	assert_code(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.conn_evd, srq, &attr, NULL),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG8);
	attr.max_rdma_read_iov = t.ia_attr.max_iov_segments_per_rdma_read + 1;
	assert_code(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.conn_evd, srq, &attr, &ep),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	cr_expect_null(ep);
	attr = ep_attr();
	attr.max_recv_iov = t.ia_attr.max_iov_segments_per_dto + 1;
	assert_ok(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.conn_evd, srq, &attr, &ep));
}

Test(srq, ep_create_with_srq__zone_other_than_the_srqs_succeeds)
{
	DAT_EP_ATTR attr = ep_attr();
	DAT_EP_HANDLE ep = NULL;
	DAT_PZ_HANDLE pz;

	assert_ok(dat_pz_create(t.ia, &pz));
	assert_ok(dat_ep_create_with_srq(t.ia, pz, t.evd, t.evd, t.conn_evd, srq, &attr, &ep));
	assert_ok(dat_ep_free(ep));
	assert_ok(dat_pz_free(pz));
}

Test(srq, ep_post_recv__to_an_endpoint_with_an_srq_is_refused)
{
	DAT_EP_HANDLE ep = ep_of(srq);
	DAT_DTO_COOKIE c = {.as_64 = 0};

	assert_ret(dat_ep_post_recv(ep, 0, NULL, c, 0), DAT_INVALID_STATE);
}

Test(srq, ia_close__graceful_with_an_srq_left_is_refused)
{
	DAT_SRQ_ATTR attr = {.max_recv_dtos = 4, .max_recv_iov = 1};
	char name[64] = "";
	DAT_SRQ_HANDLE h;
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PZ_HANDLE pz;

	strncpy(name, api_ia_name(), sizeof(name) - 1);
	assert_ok(dat_ia_open(name, 4, &async, &ia));
	assert_ok(dat_pz_create(ia, &pz));
	assert_ok(dat_srq_create(ia, pz, &attr, &h));
	assert_ret(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	assert_ok(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	assert_ret(dat_srq_free(h), DAT_INVALID_HANDLE);
}
