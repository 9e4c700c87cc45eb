/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared Receive Queues. */
#include <string.h>

#include "tests/conformance/fixture.h"

#define LW DAT_SRQ_LW_DEFAULT

static DAT_RETURN create(struct side *s, DAT_COUNT dtos, DAT_COUNT iov, DAT_COUNT lw,
			 DAT_SRQ_HANDLE *srq)
{
	DAT_SRQ_ATTR attr = { dtos, iov, lw };

	return tried(dat_srq_create(s->ia, s->pz, &attr, srq));
}

static DAT_SRQ_HANDLE srq_of(struct side *s, DAT_COUNT dtos)
{
	DAT_SRQ_HANDLE srq = DAT_HANDLE_NULL;
	DAT_RETURN ret = create(s, dtos, 4, LW, &srq);

	if (!s->attr.srq_supported && is(ret, DAT_MODEL_NOT_SUPPORTED))
		skip("srq_supported is false: dat_srq_create answers MODEL_NOT_SUPPORTED");
	must_be(DAT_SUCCESS, ret);
	return srq;
}

static DAT_EP_HANDLE ep_on(struct side *s, DAT_SRQ_HANDLE srq)
{
	DAT_EP_ATTR attr = side_attr();
	DAT_EP_HANDLE ep = DAT_HANDLE_NULL;

	must(dat_ep_create_with_srq(s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd, srq, &attr,
				    &ep));
	return ep;
}

static DAT_RETURN post(struct side *s, DAT_SRQ_HANDLE srq, uint64_t n, size_t off, size_t len)
{
	DAT_LMR_TRIPLET t = seg(s, off, len);

	return tried(dat_srq_post_recv(srq, 1, &t, cookie(n)));
}

static DAT_SRQ_PARAM params(DAT_SRQ_HANDLE srq)
{
	DAT_SRQ_PARAM p;

	must(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	return p;
}

/* Connects two sides: a sends, and b's endpoint has an SRQ of that length. */
static DAT_SRQ_HANDLE two_with_srq(struct side *a, struct side *b, DAT_COUNT dtos)
{
	DAT_SRQ_HANDLE srq;

	two_open_apart(a, b);
	srq = srq_of(b, dtos);
	b->ep = ep_on(b, srq);
	join(a, a->ep, b, b->ep);
	return srq;
}

STATEMENT(srq_create__at_least_the_requested_length, dat_srq_create, DESCRIPTION)
{
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM p;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 10);
	p = params(srq);
	check(p.ia_handle == s.ia && p.pz_handle == s.pz);
	same(p.srq_state, DAT_SRQ_STATE_OPERATIONAL);
	check(p.max_recv_dtos >= 10 && p.max_recv_iov >= 4);
	check(p.available_dto_count == 0 || p.available_dto_count == DAT_VALUE_UNKNOWN);
	nothing_on(s.async);
	must(dat_srq_free(srq));
	side_close(&s);
}

STATEMENT(srq_create__attributes_out_of_range, dat_srq_create, RETURNS)
{
	DAT_SRQ_HANDLE srq;
	struct side s;

	side_open(&s);
	must(dat_srq_free(srq_of(&s, 1)));
	must_be(DAT_INVALID_PARAMETER, create(&s, 0, 1, LW, &srq));
	must_be(DAT_INVALID_PARAMETER, create(&s, -1, 1, LW, &srq));
	must_be(DAT_INVALID_PARAMETER, create(&s, 8, -1, LW, &srq));
	must_be(DAT_INVALID_PARAMETER, create(&s, s.ia_attr.max_recv_per_srq + 1, 1, LW, &srq));
	must_be(DAT_INVALID_PARAMETER,
		create(&s, 8, s.ia_attr.max_iov_segments_per_dto + 1, LW, &srq));
	must_be(DAT_INVALID_PARAMETER, create(&s, 8, 1, LW, NULL));
	must_be(DAT_INVALID_PARAMETER, dat_srq_create(s.ia, s.pz, NULL, &srq));
	side_close(&s);
}

STATEMENT(srq_create__when_not_supported, dat_srq_create, RETURNS)
{
	DAT_EP_ATTR attr = side_attr();
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	struct side s;

	side_open(&s);
	if (s.attr.srq_supported)
		skip("srq_supported is true");
	must_be(DAT_MODEL_NOT_SUPPORTED, create(&s, 8, 1, LW, &srq));
	tried(dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, DAT_HANDLE_NULL,
				     &attr, &ep));
	side_close(&s);
}

STATEMENT(srq_post_recv__for_any_endpoint, dat_srq_post_recv, DESCRIPTION)
{
	DAT_EP_HANDLE a2, b2;
	struct side a, b;
	DAT_EVENT ev;
	DAT_SRQ_HANDLE srq = two_with_srq(&a, &b, 16);

	a2 = side_ep(&a, NULL);
	b2 = ep_on(&b, srq);
	join(&a, a2, &b, b2);
	for (uint64_t i = 0; i < 8; i++)
		must(post(&b, srq, i, i * 64, 64));
	memset(a.mem, 0x33, 64);
	for (uint64_t i = 0; i < 4; i++) {
		must(do_send(&a, i, 0, 64, DEFAULT));
		ev = took(b.recv_evd);
		check(ev.event_data.dto_completion_event_data.ep_handle == b.ep);
	}
	a.ep = a2;
	for (uint64_t i = 4; i < 8; i++) {
		must(do_send(&a, i, 0, 64, DEFAULT));
		ev = took(b.recv_evd);
		check(ev.event_data.dto_completion_event_data.ep_handle == b2);
	}
	same(memcmp(a.mem, b.mem, 64), 0);
	two_close(&a, &b);
}

STATEMENT(ep_create_with_srq__no_receives_of_its_own, dat_ep_create_with_srq, DESCRIPTION)
{
	DAT_SRQ_HANDLE srq;
	DAT_EP_PARAM p;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	s.ep = ep_on(&s, srq);
	must(dat_ep_query(s.ep, DAT_EP_FIELD_ALL, &p));
	check(p.srq_handle == srq);
	check(do_recv(&s, 1, 0, 64) != DAT_SUCCESS);
	must(post(&s, srq, 1, 0, 64));
	side_close(&s);
}

STATEMENT(ep_create_with_srq__bad_arguments, dat_ep_create_with_srq, RETURNS)
{
	DAT_EP_ATTR attr = side_attr();
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, srq, NULL, &ep));
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, srq, &attr,
				       NULL));
	attr.max_request_dtos = s.ia_attr.max_dto_per_ep + 1;
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, srq, &attr,
				       &ep));
	must_be(DAT_INVALID_HANDLE,
		dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd,
				       DAT_HANDLE_NULL, &attr, &ep));
	attr = side_attr();
	if (!(s.attr.dat_qos_supported & DAT_QOS_PREMIUM)) {
		attr.qos = DAT_QOS_PREMIUM;
		must_be(DAT_MODEL_NOT_SUPPORTED,
			dat_ep_create_with_srq(s.ia, s.pz, s.recv_evd, s.req_evd, s.conn_evd, srq,
					       &attr, &ep));
	}
	side_close(&s);
}

STATEMENT(ep_reset__srq_stays, dat_ep_create_with_srq, DESCRIPTION)
{
	DAT_EP_PARAM p;
	struct side a, b;
	DAT_SRQ_HANDLE srq = two_with_srq(&a, &b, 8);

	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_reset(b.ep));
	must(dat_ep_reset(a.ep));
	must(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &p));
	check(p.srq_handle == srq);
	must(post(&b, srq, 1, 0, 64));
	join(&a, a.ep, &b, b.ep);
	must(do_send(&a, 2, 0, 64, DEFAULT));
	took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

/* The example of the page: counts after posting, after a message, and after its completion was
 * dequeued. */
STATEMENT(srq_query__counts, dat_srq_query, USAGE)
{
	struct side a, b;
	DAT_SRQ_PARAM p;
	DAT_SRQ_HANDLE srq = two_with_srq(&a, &b, 10);
	bool free_known, used_known;

	free_known = b.attr.srq_info_supported & 0x01;
	used_known = b.attr.srq_info_supported & 0x10;
	for (uint64_t i = 0; i < 3; i++)
		must(post(&b, srq, i, i * 64, 64));
	p = params(srq);
	same(p.available_dto_count, free_known ? 3 : DAT_VALUE_UNKNOWN);
	same(p.outstanding_dto_count, used_known ? 3 : DAT_VALUE_UNKNOWN);
	must(do_send(&a, 1, 0, 64, DEFAULT));
	took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
	p = params(srq);
	same(p.outstanding_dto_count, used_known ? 3 : DAT_VALUE_UNKNOWN);
	took(b.recv_evd);
	p = params(srq);
	same(p.available_dto_count, free_known ? 2 : DAT_VALUE_UNKNOWN);
	same(p.outstanding_dto_count, used_known ? 2 : DAT_VALUE_UNKNOWN);
	two_close(&a, &b);
}

STATEMENT(srq_query__mask_out_of_range, dat_srq_query, RETURNS)
{
	DAT_SRQ_HANDLE srq;
	DAT_SRQ_PARAM p;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	must_be(DAT_INVALID_PARAMETER,
		dat_srq_query(srq, (DAT_SRQ_PARAM_MASK)(DAT_SRQ_FIELD_ALL + 1), &p));
	must_be(DAT_INVALID_PARAMETER, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, NULL));
	side_close(&s);
}

/* ---- Posts ---- */

STATEMENT(srq_post_recv__queue_full, dat_srq_post_recv, RETURNS)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_SRQ_HANDLE srq;
	DAT_COUNT n = 0;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	while (n < 4000 && (ret = post(&s, srq, 1, 0, 64)) == DAT_SUCCESS)
		n++;
	check(n >= 8);
	same(DAT_GET_TYPE(ret), DAT_INSUFFICIENT_RESOURCES);
	side_close(&s);
}

STATEMENT(srq_post_recv__bad_counts_of_segments, dat_srq_post_recv, RETURNS)
{
	DAT_LMR_TRIPLET t[64];
	DAT_SRQ_HANDLE srq;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	for (int i = 0; i < 64; i++)
		t[i] = seg(&s, 0, 8);
	check(params(srq).max_recv_iov < 64);
	must_be(DAT_INVALID_PARAMETER, dat_srq_post_recv(srq, -1, t, cookie(1)));
	must_be(DAT_INVALID_PARAMETER,
		dat_srq_post_recv(srq, params(srq).max_recv_iov + 1, t, cookie(1)));
	must_be(DAT_INVALID_PARAMETER, dat_srq_post_recv(srq, 1, NULL, cookie(1)));
	side_close(&s);
}

static void bad_memory(struct side *a, struct side *b, DAT_SRQ_HANDLE srq, DAT_LMR_CONTEXT context,
		       uint32_t at_once)
{
	DAT_LMR_TRIPLET t = seg(b, 0, 64);
	DAT_RETURN ret;

	t.lmr_context = context;
	ret = tried(dat_srq_post_recv(srq, 1, &t, cookie(9)));
	if (ret != DAT_SUCCESS) {
		check(is(ret, at_once) || is(ret, DAT_PROTECTION_VIOLATION));
		return;
	}
	must(do_send(a, 1, 0, 64, DEFAULT));
	same(took_any(b->recv_evd, 9).status, DAT_DTO_ERR_LOCAL_PROTECTION);
}

STATEMENT(srq_post_recv__lmr_of_another_zone, dat_srq_post_recv, RETURNS)
{
	DAT_LMR_CONTEXT context;
	DAT_PZ_HANDLE pz;
	struct side a, b;
	DAT_SRQ_HANDLE srq = two_with_srq(&a, &b, 8);

	must(dat_pz_create(b.ia, &pz));
	side_lmr(&b, pz, DAT_MEM_PRIV_ALL_FLAG, &context, NULL);
	bad_memory(&a, &b, srq, context, DAT_PROTECTION_VIOLATION);
	two_close(&a, &b);
}

STATEMENT(srq_post_recv__lmr_lacks_the_right, dat_srq_post_recv, RETURNS)
{
	DAT_LMR_CONTEXT context;
	struct side a, b;
	DAT_SRQ_HANDLE srq = two_with_srq(&a, &b, 8);

	side_lmr(&b, b.pz, DAT_MEM_PRIV_LOCAL_READ_FLAG, &context, NULL);
	bad_memory(&a, &b, srq, context, DAT_PRIVILEGES_VIOLATION);
	two_close(&a, &b);
}

/* ---- Resize, low watermark and free ---- */

STATEMENT(srq_resize__loses_no_buffer, dat_srq_resize, DESCRIPTION)
{
	struct side a, b;
	DAT_RETURN ret;
	DAT_SRQ_HANDLE srq = two_with_srq(&a, &b, 8);

	for (uint64_t i = 0; i < 4; i++)
		must(post(&b, srq, i, i * 64, 64));
	ret = tried(dat_srq_resize(srq, 16));
	check(ret == DAT_SUCCESS || is(ret, DAT_INSUFFICIENT_RESOURCES));
	if (ret == DAT_SUCCESS)
		check(params(srq).max_recv_dtos >= 16);
	must(dat_srq_resize(srq, 6));
	for (uint64_t i = 0; i < 4; i++) {
		must(do_send(&a, i, 0, 64, DEFAULT));
		took_dto(b.recv_evd, i, DAT_DTO_SUCCESS);
	}
	two_close(&a, &b);
}

STATEMENT(srq_resize__below_the_outstanding_receives, dat_srq_resize, DESCRIPTION)
{
	DAT_SRQ_HANDLE srq;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	for (uint64_t i = 0; i < 4; i++)
		must(post(&s, srq, i, i * 64, 64));
	must_be(DAT_INVALID_STATE, dat_srq_resize(srq, 3));
	must_be(DAT_INVALID_PARAMETER, dat_srq_resize(srq, 0));
	must_be(DAT_INVALID_PARAMETER, dat_srq_resize(srq, -1));
	side_close(&s);
}

STATEMENT(srq_resize__beyond_the_maximum, dat_srq_resize, RETURNS)
{
	DAT_SRQ_HANDLE srq;
	DAT_RETURN ret;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	ret = tried(dat_srq_resize(srq, s.ia_attr.max_recv_per_srq));
	check(ret == DAT_SUCCESS || is(ret, DAT_INSUFFICIENT_RESOURCES));
	check(tried(dat_srq_resize(srq, s.ia_attr.max_recv_per_srq + 1)) != DAT_SUCCESS);
	side_close(&s);
}

static bool has_low_watermark(struct side *s, DAT_SRQ_HANDLE srq)
{
	if (s->attr.srq_watermarks_supported & 0x001)
		return true;
	must_be(DAT_MODEL_NOT_SUPPORTED, dat_srq_set_lw(srq, 1));
	skip("srq_watermarks_supported has no low watermark: dat_srq_set_lw answers "
	     "MODEL_NOT_SUPPORTED");
}

STATEMENT(srq_set_lw__one_event_for_each_setting, dat_srq_set_lw, DESCRIPTION)
{
	struct side a, b;
	DAT_EVENT ev;
	DAT_SRQ_HANDLE srq = two_with_srq(&a, &b, 8);

	check(has_low_watermark(&b, srq));
	for (uint64_t i = 0; i < 6; i++)
		must(post(&b, srq, i, i * 64, 64));
	must(dat_srq_set_lw(srq, 4));
	nothing_on(b.async);
	for (uint64_t i = 0; i < 5; i++) {
		must(do_send(&a, i, 0, 64, DEFAULT));
		took_dto(b.recv_evd, i, DAT_DTO_SUCCESS);
	}
	ev = took(b.async);
	check(ev.event_data.asynch_error_event_data.dat_handle == srq);
	same(ev.event_data.asynch_error_event_data.reason, DAT_SRQ_LOW_WATERMARK_EVENT);
	nothing_on(b.async);
	two_close(&a, &b);
}

STATEMENT(srq_set_lw__out_of_range, dat_srq_set_lw, RETURNS)
{
	DAT_SRQ_HANDLE srq;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	check(has_low_watermark(&s, srq));
	must_be(DAT_INVALID_PARAMETER, dat_srq_set_lw(srq, params(srq).max_recv_dtos + 1));
	must_be(DAT_INVALID_PARAMETER, dat_srq_set_lw(srq, -1));
	side_close(&s);
}

STATEMENT(srq_free__in_use_by_an_endpoint, dat_srq_free, DESCRIPTION)
{
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_SRQ_PARAM p;
	struct side s;

	side_open(&s);
	srq = srq_of(&s, 8);
	must(post(&s, srq, 1, 0, 64));
	ep = ep_on(&s, srq);
	must_be(DAT_SRQ_IN_USE, dat_srq_free(srq));
	must(dat_ep_free(ep));
	must(dat_srq_free(srq));
	must_be(DAT_INVALID_HANDLE, dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	side_close(&s);
}
