/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints: create, query, modify, status, reset, free. */
#include "tests/conformance/fixture.h"

static DAT_RETURN create(struct side *s, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	return tried(dat_ep_create(s->ia, s->pz, s->recv_evd, s->req_evd, s->conn_evd, attr, ep));
}

static DAT_EP_PARAM params(DAT_EP_HANDLE ep)
{
	DAT_EP_PARAM p;

	must(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	return p;
}

STATEMENT(ep_create__begins_unconnected_and_idle, dat_ep_create, DESCRIPTION)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE, request_idle = DAT_FALSE;
	DAT_EP_STATE state;
	struct side s;

	side_open(&s);
	must(dat_ep_get_status(s.ep, &state, &recv_idle, &request_idle));
	same(state, DAT_EP_STATE_UNCONNECTED);
	same(recv_idle, DAT_TRUE);
	same(request_idle, DAT_TRUE);
	side_close(&s);
}

STATEMENT(ep_create__defaults_are_returned, dat_ep_create, DESCRIPTION)
{
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;
	struct side s;

	side_open(&s);
	must(create(&s, NULL, &ep));
	p = params(ep);
	same(p.ep_attr.service_type, DAT_SERVICE_TYPE_RC);
	check(p.ep_attr.max_recv_dtos >= 0 && p.ep_attr.max_request_dtos >= 0);
	side_close(&s);
}

STATEMENT(ep_create__without_evds, dat_ep_create, PARAMETERS)
{
	DAT_EP_HANDLE ep;
	struct side s;

	side_open(&s);
	must(dat_ep_create(s.ia, s.pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, NULL, &ep));
	check(params(ep).recv_evd_handle == DAT_HANDLE_NULL);
	must(dat_ep_free(ep));
	side_close(&s);
}

STATEMENT(ep_create__receives_do_not_suppress, dat_ep_modify, DESCRIPTION)
{
	DAT_EP_ATTR a = side_attr();
	DAT_EP_HANDLE ep;
	struct side s;

	side_open(&s);
	a.recv_completion_flags = SUPPRESS;
	must_be(DAT_INVALID_PARAMETER, create(&s, &a, &ep));
	a.recv_completion_flags = BARRIER;
	must_be(DAT_INVALID_PARAMETER, create(&s, &a, &ep));
	side_close(&s);
}

STATEMENT(ep_create__quality_not_supported, dat_ep_create, RETURNS)
{
	static const int qualities[] = { DAT_QOS_HIGH_THROUGHPUT, DAT_QOS_LOW_LATENCY,
					 DAT_QOS_ECONOMY, DAT_QOS_PREMIUM };
	DAT_EP_ATTR a = side_attr();
	DAT_EP_HANDLE ep;
	int refused = 0;
	struct side s;

	side_open(&s);
	for (size_t i = 0; i < sizeof(qualities) / sizeof(qualities[0]); i++) {
		if (s.attr.dat_qos_supported & (DAT_QOS)qualities[i])
			continue;
		a.qos = (DAT_QOS)qualities[i];
		must_be(DAT_MODEL_NOT_SUPPORTED, create(&s, &a, &ep));
		refused++;
	}
	if (!refused)
		skip("dat_qos_supported has every quality of service");
	side_close(&s);
}

STATEMENT(ep_create__streams_of_one_evd_agree, dat_ep_create, USAGE)
{
	DAT_EP_ATTR a = side_attr();
	DAT_EVD_HANDLE evd, mixed;
	DAT_EP_HANDLE ep;
	struct side s;

	side_open(&s);
	evd = side_evd(&s, 16, DAT_EVD_DTO_FLAG);
	mixed = side_evd(&s, 16, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG);
	a.recv_completion_flags = SOLICITED;
	side_ep_on(&s, &a, evd);
	a.recv_completion_flags = DEFAULT;
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_create(s.ia, s.pz, evd, s.req_evd, s.conn_evd, &a, &ep));
	a.recv_completion_flags = SOLICITED;
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_create(s.ia, s.pz, mixed, s.req_evd, s.conn_evd, &a, &ep));
	side_close(&s);
}

/* ---- Query ---- */

STATEMENT(ep_query__as_it_was_made, dat_ep_query, DESCRIPTION)
{
	DAT_EP_ATTR a = side_attr();
	DAT_EP_PARAM p;
	struct side s;

	side_open(&s);
	p = params(s.ep);
	check(p.ia_handle == s.ia && p.pz_handle == s.pz);
	check(p.recv_evd_handle == s.recv_evd && p.request_evd_handle == s.req_evd);
	check(p.connect_evd_handle == s.conn_evd);
	same(p.ep_state, DAT_EP_STATE_UNCONNECTED);
	check(p.ep_attr.max_message_size >= a.max_message_size);
	check(p.ep_attr.max_recv_dtos >= a.max_recv_dtos);
	check(p.ep_attr.max_request_dtos >= a.max_request_dtos);
	check(p.ep_attr.max_request_iov >= a.max_request_iov);
	same(p.ep_attr.qos, a.qos);
	same(p.ep_attr.recv_completion_flags, a.recv_completion_flags);
	side_close(&s);
}

STATEMENT(ep_query__addresses_while_connected, dat_ep_query, DESCRIPTION)
{
	DAT_EP_PARAM p, q;
	struct side a, b;

	two_open(&a, &b);
	p = params(a.ep);
	q = params(b.ep);
	check(p.remote_ia_address_ptr && q.remote_ia_address_ptr);
	same(p.remote_ia_address_ptr->sa_family, side_address(&b)->sa_family);
	same(p.local_port_qual, q.remote_port_qual);
	two_close(&a, &b);
}

STATEMENT(ep_query__mask_out_of_range, dat_ep_query, RETURNS)
{
	DAT_EP_PARAM p;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER, dat_ep_query(s.ep, UINT64_C(0x80000000), &p));
	must_be(DAT_INVALID_PARAMETER, dat_ep_query(s.ep, UINT64_C(1) << 63, &p));
	must_be(DAT_INVALID_PARAMETER, dat_ep_query(s.ep, DAT_EP_FIELD_ALL, NULL));
	side_close(&s);
}

STATEMENT(ep_get_status__returns_whether_requests_are_outstanding, dat_ep_get_status, DESCRIPTION)
{
	DAT_BOOLEAN recv_idle, request_idle;
	struct side a, b;

	two_open(&a, &b);
	must(do_recv(&a, 1, 0, 64));
	must(dat_ep_get_status(a.ep, NULL, &recv_idle, &request_idle));
	same(recv_idle, DAT_FALSE);
	same(request_idle, DAT_TRUE);
	must(do_send(&a, 2, 0, 64, DEFAULT));
	must(dat_ep_get_status(a.ep, NULL, &recv_idle, &request_idle));
	same(request_idle, DAT_FALSE);
	must(do_recv(&b, 1, 0, 64));
	took_dto(a.req_evd, 2, DAT_DTO_SUCCESS);
	must(do_send(&b, 3, 0, 64, DEFAULT));
	took_dto(a.recv_evd, 1, DAT_DTO_SUCCESS);
	must(dat_ep_get_status(a.ep, NULL, &recv_idle, &request_idle));
	same(recv_idle, DAT_TRUE);
	same(request_idle, DAT_TRUE);
	two_close(&a, &b);
}

/* ---- Modify ---- */

STATEMENT(ep_modify__only_fields_in_the_mask, dat_ep_modify, DESCRIPTION)
{
	DAT_EP_PARAM p, before, after;
	struct side s;

	side_open(&s);
	before = p = params(s.ep);
	p.ep_attr.max_recv_dtos = before.ep_attr.max_recv_dtos + 8;
	p.ep_attr.max_message_size = 128;
	must(dat_ep_modify(s.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p));
	after = params(s.ep);
	check(after.ep_attr.max_recv_dtos >= before.ep_attr.max_recv_dtos + 8);
	same(after.ep_attr.max_message_size, before.ep_attr.max_message_size);
	side_close(&s);
}

STATEMENT(ep_modify__quality_not_supported, dat_ep_modify, RETURNS)
{
	DAT_EP_PARAM p;
	struct side s;

	side_open(&s);
	if (s.attr.dat_qos_supported & DAT_QOS_PREMIUM)
		skip("dat_qos_supported has PREMIUM");
	must(dat_ep_query(s.ep, DAT_EP_FIELD_ALL, &p));
	p.ep_attr.qos = DAT_QOS_PREMIUM;
	must_be(DAT_INVALID_PARAMETER, dat_ep_modify(s.ep, DAT_EP_FIELD_EP_ATTR_QOS, &p));
	p.ep_attr.qos = (DAT_QOS)3;
	must_be(DAT_INVALID_PARAMETER, dat_ep_modify(s.ep, DAT_EP_FIELD_EP_ATTR_QOS, &p));
	side_close(&s);
}

STATEMENT(ep_modify__constant_attributes, dat_ep_modify, DESCRIPTION)
{
	static const DAT_EP_PARAM_MASK fixed[] = {
		DAT_EP_FIELD_IA_HANDLE, DAT_EP_FIELD_EP_STATE, DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR,
		DAT_EP_FIELD_LOCAL_PORT_QUAL, DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR,
		DAT_EP_FIELD_REMOTE_PORT_QUAL, UINT64_C(0x80000000), UINT64_C(1) << 63,
	};
	DAT_EP_PARAM p;
	struct side s;

	side_open(&s);
	p = params(s.ep);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		must_be(DAT_INVALID_PARAMETER, dat_ep_modify(s.ep, fixed[i], &p));
	must_be(DAT_INVALID_PARAMETER, dat_ep_modify(s.ep, DAT_EP_FIELD_EP_ATTR_QOS, NULL));
	side_close(&s);
}

STATEMENT(ep_modify__all_or_nothing, dat_ep_modify, RETURNS)
{
	DAT_EP_PARAM p, before;
	struct side s;

	side_open(&s);
	before = p = params(s.ep);
	p.ep_attr.max_recv_dtos = 8;
	p.ep_attr.max_request_iov = s.ia_attr.max_iov_segments_per_dto + 1;
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_modify(s.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			      DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, &p));
	same(params(s.ep).ep_attr.max_recv_dtos, before.ep_attr.max_recv_dtos);
	side_close(&s);
}

STATEMENT(ep_modify__moves_the_streams, dat_ep_modify, DESCRIPTION)
{
	DAT_EVD_HANDLE recv_evd, conn_evd;
	DAT_EP_PARAM p;
	struct side a, b;

	two_open_apart(&a, &b);
	recv_evd = b.recv_evd;
	conn_evd = b.conn_evd;
	p.recv_evd_handle = b.recv_evd = side_evd(&b, 16, DAT_EVD_DTO_FLAG);
	p.connect_evd_handle = b.conn_evd = side_evd(&b, 16, DAT_EVD_CONNECTION_FLAG);
	must(dat_ep_modify(b.ep, DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE, &p));
	must(dat_evd_free(recv_evd));
	must(dat_evd_free(conn_evd));
	join(&a, a.ep, &b, b.ep);
	must(do_recv(&b, 1, 0, 64));
	must(do_send(&a, 2, 0, 64, DEFAULT));
	took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

/* ---- Reset and free ---- */

STATEMENT(ep_reset__can_be_connected_again, dat_ep_reset, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	for (int i = 0; i < 3; i++) {
		must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
		took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		must(dat_ep_reset(a.ep));
		must(dat_ep_reset(b.ep));
		same(state_of(a.ep), DAT_EP_STATE_UNCONNECTED);
		join(&a, a.ep, &b, b.ep);
		must(do_recv(&b, 1, 0, 64));
		must(do_send(&a, 2, 0, 64, DEFAULT));
		took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
		took_dto(a.req_evd, 2, DAT_DTO_SUCCESS);
	}
	two_close(&a, &b);
}

STATEMENT(ep_reset__receives_of_an_unconnected_stay, dat_ep_reset, DESCRIPTION)
{
	struct side a, b;

	two_open_apart(&a, &b);
	must(do_recv(&b, 5, 0, 64));
	must(dat_ep_reset(b.ep));
	nothing_on(b.recv_evd);
	join(&a, a.ep, &b, b.ep);
	must(do_send(&a, 2, 0, 64, DEFAULT));
	took_dto(b.recv_evd, 5, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

/* The marker is the last entry of its queue. When it has been dequeued, all entries before it have
 * been dequeued too. */
STATEMENT(ep_reset__a_marker_completes_when_all_is_drained, dat_ep_reset, USAGE)
{
	struct side a, b;

	two_open(&a, &b);
	for (uint64_t i = 0; i < 5; i++)
		must(do_recv(&a, i, i * 64, 64));
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(do_recv(&a, 99, 0, 64));
	must(do_send(&a, 98, 0, 64, DEFAULT));
	for (uint64_t i = 0; i < 5; i++)
		took_dto(a.recv_evd, i, FLUSHED);
	took_dto(a.recv_evd, 99, FLUSHED);
	took_dto(a.req_evd, 98, FLUSHED);
	must(dat_ep_reset(a.ep));
	nothing_on(a.recv_evd);
	nothing_on(a.req_evd);
	two_close(&a, &b);
}

STATEMENT(ep_free__handle_is_dead_afterwards, dat_ep_free, DESCRIPTION)
{
	DAT_EP_STATE state;
	struct side s;

	side_open(&s);
	must(dat_ep_free(s.ep));
	must_be(DAT_INVALID_HANDLE, dat_ep_get_status(s.ep, &state, NULL, NULL));
	must_be(DAT_INVALID_HANDLE, dat_ep_free(s.ep));
	must(dat_evd_free(s.recv_evd));
	side_close(&s);
}

STATEMENT(ep_free__aborts_the_connection, dat_ep_free, DESCRIPTION)
{
	struct side a, b;
	DAT_EVENT ev;

	two_open(&a, &b);
	must(dat_ep_free(a.ep));
	ev = took(b.conn_evd);
	check(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED ||
	      ev.event_number == DAT_CONNECTION_EVENT_BROKEN);
	two_close(&a, &b);
}

/* ---- Buffers ---- */

STATEMENT(ep_recv_query__counts_posted_buffers, dat_ep_recv_query, DESCRIPTION)
{
	DAT_COUNT n = -7, span = -7;
	DAT_RETURN ret;
	struct side s;

	side_open(&s);
	must(do_recv(&s, 1, 0, 64));
	ret = tried(dat_ep_recv_query(s.ep, &n, &span));
	if (!s.attr.ep_recv_info_supported && is(ret, DAT_MODEL_NOT_SUPPORTED))
		skip("ep_recv_info_supported is 0: dat_ep_recv_query answers MODEL_NOT_SUPPORTED");
	must_be(DAT_SUCCESS, ret);
	check(n == 1 || (n == DAT_VALUE_UNKNOWN && !(s.attr.ep_recv_info_supported & 0x01)));
	check(span == DAT_VALUE_UNKNOWN || span >= n);
	must(dat_ep_recv_query(s.ep, NULL, NULL));
	side_close(&s);
}

STATEMENT(ep_set_watermark__in_any_state, dat_ep_set_watermark, DESCRIPTION)
{
	DAT_RETURN ret;
	struct side s;

	side_open(&s);
	ret = tried(dat_ep_set_watermark(s.ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
	if (!(s.attr.srq_watermarks_supported & 0x110) && is(ret, DAT_MODEL_NOT_SUPPORTED))
		skip("srq_watermarks_supported is 0x%x: dat_ep_set_watermark answers "
		     "MODEL_NOT_SUPPORTED", (unsigned int)s.attr.srq_watermarks_supported);
	must_be(DAT_SUCCESS, ret);
	must_be(DAT_INVALID_PARAMETER, dat_ep_set_watermark(s.ep, -5, DAT_WATERMARK_INFINITE));
	side_close(&s);
}
