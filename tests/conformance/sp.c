/* SPDX-License-Identifier: BSD-2-Clause */
/* Service Points, public and reserved. */
#include "tests/conformance/fixture.h"

static DAT_RETURN listen_on(struct side *s, DAT_CONN_QUAL qual, int flags, DAT_PSP_HANDLE *psp)
{
	return tried(dat_psp_create(s->ia, qual, s->cr_evd, (DAT_PSP_FLAGS)flags, psp));
}

static DAT_RETURN reserve(struct side *s, DAT_CONN_QUAL qual, DAT_EP_HANDLE ep, DAT_RSP_HANDLE *rsp)
{
	return tried(dat_rsp_create(s->ia, qual, ep, s->cr_evd, rsp));
}

/* ---- Public service points ---- */

STATEMENT(psp_create__takes_many_requests, dat_psp_create, DESCRIPTION)
{
	const DAT_CR_ARRIVAL_EVENT_DATA *d;
	DAT_PSP_HANDLE psp;
	struct side a, b;
	DAT_EVENT ev;

	two_open_apart(&a, &b);
	must(listen_on(&b, some_qual(2), DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < 5; i++) {
		must(dial(side_ep(&a, NULL), &b, some_qual(2), SOON));
		ev = took(b.cr_evd);
		d = &ev.event_data.cr_arrival_event_data;
		same(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
		check(d->sp_handle.psp_handle == psp);
		same(d->conn_qual, some_qual(2));
		check(d->cr_handle != DAT_HANDLE_NULL);
	}
	two_close(&a, &b);
}

STATEMENT(psp_create__qualifier_in_use, dat_psp_create, RETURNS)
{
	DAT_PSP_HANDLE psp, second;
	DAT_RSP_HANDLE rsp;
	struct side s;

	side_open(&s);
	must(listen_on(&s, some_qual(3), DAT_PSP_CONSUMER_FLAG, &psp));
	must_be(DAT_CONN_QUAL_IN_USE, listen_on(&s, some_qual(3), DAT_PSP_CONSUMER_FLAG, &second));
	must_be(DAT_CONN_QUAL_IN_USE, reserve(&s, some_qual(3), s.ep, &rsp));
	must(dat_psp_free(psp));
	must(listen_on(&s, some_qual(3), DAT_PSP_CONSUMER_FLAG, &second));
	side_close(&s);
}

STATEMENT(psp_create__flags_out_of_range, dat_psp_create, RETURNS)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER, listen_on(&s, some_qual(3), 2, &psp));
	must_be(DAT_INVALID_PARAMETER, listen_on(&s, some_qual(3), -1, &psp));
	must_be(DAT_INVALID_PARAMETER, listen_on(&s, some_qual(3), DAT_PSP_CONSUMER_FLAG, NULL));
	must_be(DAT_INVALID_PARAMETER,
		dat_psp_create_any(s.ia, &qual, s.cr_evd, (DAT_PSP_FLAGS)2, &psp));
	must_be(DAT_INVALID_PARAMETER,
		dat_psp_create_any(s.ia, NULL, s.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	must_be(DAT_INVALID_PARAMETER,
		dat_psp_create_any(s.ia, &qual, s.cr_evd, DAT_PSP_CONSUMER_FLAG, NULL));
	side_close(&s);
}

STATEMENT(psp_create__evd_for_other_streams, dat_psp_create, RETURNS)
{
	DAT_PSP_HANDLE psp;
	struct side s;

	side_open(&s);
	s.cr_evd = s.recv_evd;
	must_be(DAT_INVALID_HANDLE, listen_on(&s, some_qual(3), DAT_PSP_CONSUMER_FLAG, &psp));
	side_close(&s);
}

STATEMENT(psp_create__requests_go_to_their_qualifier, dat_psp_create, DESCRIPTION)
{
	DAT_PSP_HANDLE psp[4];
	struct side a, b;
	DAT_EVENT ev;

	two_open_apart(&a, &b);
	for (int i = 0; i < 4; i++)
		must(listen_on(&b, some_qual(6 + i), DAT_PSP_CONSUMER_FLAG, &psp[i]));
	for (int i = 3; i >= 0; i--) {
		must(dial(side_ep(&a, NULL), &b, some_qual(6 + i), SOON));
		ev = took(b.cr_evd);
		check(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp[i]);
	}
	two_close(&a, &b);
}

STATEMENT(psp_create_any__qualifiers_differ, dat_psp_create_any, DESCRIPTION)
{
	DAT_CONN_QUAL qual[8];
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM p;
	struct side s;

	side_open(&s);
	for (int i = 0; i < 8; i++) {
		must(dat_psp_create_any(s.ia, &qual[i], s.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
		must(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &p));
		same(p.conn_qual, qual[i]);
		for (int j = 0; j < i; j++)
			check(qual[i] != qual[j]);
	}
	side_close(&s);
}

STATEMENT(psp_create_any__can_be_dialled, dat_psp_create_any, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	two_close(&a, &b);
}

STATEMENT(psp_query__as_it_was_made, dat_psp_query, DESCRIPTION)
{
	DAT_PSP_HANDLE psp;
	DAT_PSP_PARAM p;
	struct side s;

	side_open(&s);
	must(listen_on(&s, some_qual(3), DAT_PSP_CONSUMER_FLAG, &psp));
	must(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &p));
	check(p.ia_handle == s.ia && p.evd_handle == s.cr_evd);
	same(p.conn_qual, some_qual(3));
	same(p.psp_flags, DAT_PSP_CONSUMER_FLAG);
	must_be(DAT_INVALID_PARAMETER,
		dat_psp_query(psp, (DAT_PSP_PARAM_MASK)(DAT_PSP_FIELD_ALL + 1), &p));
	must_be(DAT_INVALID_PARAMETER, dat_psp_query(psp, DAT_PSP_FIELD_ALL, NULL));
	side_close(&s);
}

STATEMENT(psp_query__each_field_alone, dat_psp_query, DESCRIPTION)
{
	DAT_PSP_HANDLE psp;
	struct side s;

	side_open(&s);
	must(listen_on(&s, some_qual(3), DAT_PSP_CONSUMER_FLAG, &psp));
	for (DAT_PSP_PARAM_MASK bit = 1; bit < DAT_PSP_FIELD_ALL; bit <<= 1) {
		DAT_PSP_PARAM p = { .psp_flags = (DAT_PSP_FLAGS)77 };

		must(dat_psp_query(psp, bit, &p));
		check(!(bit & DAT_PSP_FIELD_IA_HANDLE) || p.ia_handle == s.ia);
		check(!(bit & DAT_PSP_FIELD_CONN_QUAL) || p.conn_qual == some_qual(3));
		check(!(bit & DAT_PSP_FIELD_EVD_HANDLE) || p.evd_handle == s.cr_evd);
		check(!(bit & DAT_PSP_FIELD_PSP_FLAGS) || p.psp_flags == DAT_PSP_CONSUMER_FLAG);
	}
	side_close(&s);
}

STATEMENT(psp_free__later_requests_find_no_listener, dat_psp_free, DESCRIPTION)
{
	struct side a, b;

	two_open_apart(&a, &b);
	side_listen(&b);
	must(dat_psp_free(b.psp));
	no_listener(&a, a.ep, &b, b.qual);
	nothing_on(b.cr_evd);
	two_close(&a, &b);
}

STATEMENT(psp_free__delivered_requests_stay, dat_psp_free, DESCRIPTION)
{
	DAT_CR_HANDLE cr;
	struct side a, b;

	two_open_apart(&a, &b);
	side_listen(&b);
	must(dial(a.ep, &b, b.qual, SOON));
	cr = side_request(&b);
	must(dat_psp_free(b.psp));
	must(dat_cr_accept(cr, b.ep, 0, NULL));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	two_close(&a, &b);
}

STATEMENT(psp_free__handle_is_dead_afterwards, dat_psp_free, DESCRIPTION)
{
	DAT_PSP_PARAM p;
	struct side s;

	side_open(&s);
	side_listen(&s);
	must(dat_psp_free(s.psp));
	must_be(DAT_INVALID_HANDLE, dat_psp_query(s.psp, DAT_PSP_FIELD_ALL, &p));
	must_be(DAT_INVALID_HANDLE, dat_psp_free(s.psp));
	side_close(&s);
}

/* ---- Reserved service points ---- */

STATEMENT(rsp_create__reserves_the_endpoint, dat_rsp_create, DESCRIPTION)
{
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM p;
	struct side s;

	side_open(&s);
	must(reserve(&s, some_qual(4), s.ep, &rsp));
	same(state_of(s.ep), DAT_EP_STATE_RESERVED);
	must(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &p));
	check(p.ia_handle == s.ia && p.evd_handle == s.cr_evd && p.ep_handle == s.ep);
	same(p.conn_qual, some_qual(4));
	must_be(DAT_INVALID_PARAMETER,
		dat_rsp_query(rsp, (DAT_RSP_PARAM_MASK)(DAT_RSP_FIELD_ALL + 1), &p));
	must_be(DAT_INVALID_PARAMETER, dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, NULL));
	must(dat_rsp_free(rsp));
	side_close(&s);
}

STATEMENT(rsp_create__its_endpoint_is_connected, dat_rsp_create, DESCRIPTION)
{
	DAT_CR_PARAM p;
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_cr_query(b.cr, DAT_CR_FIELD_ALL, &p));
	check(p.local_ep_handle == b.s.ep);
	must(dat_cr_accept(b.cr, DAT_HANDLE_NULL, 0, NULL));
	took_conn(&b.s, b.s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&b.peer, b.peer.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	bring_done(&b);
}

STATEMENT(rsp_create__request_names_its_qualifier, dat_rsp_create, USAGE)
{
	DAT_RSP_HANDLE rsp;
	struct side a, b;
	DAT_EVENT ev;

	two_open_apart(&a, &b);
	must(reserve(&b, some_qual(4), b.ep, &rsp));
	must(dial(a.ep, &b, some_qual(4), SOON));
	ev = took(b.cr_evd);
	same(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	same(ev.event_data.cr_arrival_event_data.conn_qual, some_qual(4));
	check(ep_of(ev.event_data.cr_arrival_event_data.cr_handle) == b.ep);
	two_close(&a, &b);
}

STATEMENT(rsp_query__each_field_alone, dat_rsp_query, DESCRIPTION)
{
	DAT_RSP_HANDLE rsp;
	struct side s;

	side_open(&s);
	must(reserve(&s, some_qual(4), s.ep, &rsp));
	for (DAT_RSP_PARAM_MASK bit = 1; bit < DAT_RSP_FIELD_ALL; bit <<= 1) {
		DAT_RSP_PARAM p = { .ia_handle = NULL };

		must(dat_rsp_query(rsp, bit, &p));
		check(!(bit & DAT_RSP_FIELD_IA_HANDLE) || p.ia_handle == s.ia);
		check(!(bit & DAT_RSP_FIELD_CONN_QUAL) || p.conn_qual == some_qual(4));
		check(!(bit & DAT_RSP_FIELD_EVD_HANDLE) || p.evd_handle == s.cr_evd);
		check(!(bit & DAT_RSP_FIELD_EP_HANDLE) || p.ep_handle == s.ep);
	}
	side_close(&s);
}

STATEMENT(rsp_create__one_request_at_most, dat_rsp_create, DESCRIPTION)
{
	DAT_EP_HANDLE ep;
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	ep = side_ep(&b.peer, NULL);
	no_listener(&b.peer, ep, &b.s, some_qual(0));
	nothing_on(b.s.cr_evd);
	bring_done(&b);
}

STATEMENT(rsp_create__qualifier_in_use, dat_rsp_create, RETURNS)
{
	DAT_RSP_HANDLE rsp, second;
	DAT_EP_HANDLE ep;
	struct side s;

	side_open(&s);
	ep = side_ep(&s, NULL);
	must(reserve(&s, some_qual(4), s.ep, &rsp));
	must_be(DAT_CONN_QUAL_IN_USE, reserve(&s, some_qual(4), ep, &second));
	same(state_of(ep), DAT_EP_STATE_UNCONNECTED);
	must_be(DAT_INVALID_STATE, reserve(&s, some_qual(5), s.ep, &second));
	side_close(&s);
}

STATEMENT(rsp_create__bad_arguments, dat_rsp_create, RETURNS)
{
	DAT_RSP_HANDLE rsp;
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER, reserve(&s, some_qual(4), s.ep, NULL));
	same(state_of(s.ep), DAT_EP_STATE_UNCONNECTED);
	s.cr_evd = s.recv_evd;
	must_be(DAT_INVALID_HANDLE, reserve(&s, some_qual(4), s.ep, &rsp));
	side_close(&s);
}

STATEMENT(rsp_free__endpoint_is_unconnected_again, dat_rsp_free, DESCRIPTION)
{
	DAT_RSP_PARAM p;
	struct bring b;

	bring(&b, DAT_EP_STATE_RESERVED);
	must(dat_rsp_free(b.rsp));
	same(state_of(b.s.ep), DAT_EP_STATE_UNCONNECTED);
	must_be(DAT_INVALID_HANDLE, dat_rsp_query(b.rsp, DAT_RSP_FIELD_ALL, &p));
	must_be(DAT_INVALID_HANDLE, dat_rsp_free(b.rsp));
	no_listener(&b.peer, b.peer.ep, &b.s, some_qual(0));
	must(dat_ep_free(b.s.ep));
	bring_done(&b);
}

STATEMENT(rsp_free__delivered_request_stays, dat_rsp_free, DESCRIPTION)
{
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_rsp_free(b.rsp));
	must(dat_cr_accept(b.cr, DAT_HANDLE_NULL, 0, NULL));
	took_conn(&b.s, b.s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&b.peer, b.peer.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	bring_done(&b);
}
