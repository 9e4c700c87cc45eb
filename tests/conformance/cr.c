/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection Requests. */
#include <string.h>

#include "tests/conformance/fixture.h"

/* Connects a to b, and returns the request that b gets. */
static DAT_CR_HANDLE asked(struct side *a, struct side *b)
{
	two_open_apart(a, b);
	side_listen(b);
	must(dial_with(a->ep, b, b->qual, "knock", 6));
	return side_request(b);
}

static void is_dead(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM p;

	must_be(DAT_INVALID_HANDLE, dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	must_be(DAT_INVALID_HANDLE, dat_cr_reject(cr));
	must_be(DAT_INVALID_HANDLE, dat_cr_handoff(cr, some_qual(0)));
	must_be(DAT_INVALID_HANDLE, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
}

STATEMENT(cr_query__returns_the_requester, dat_cr_query, DESCRIPTION)
{
	struct side a, b;
	DAT_EP_PARAM ep;
	DAT_CR_PARAM p;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	must(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &ep));
	same(p.remote_port_qual, ep.local_port_qual);
	same(p.remote_ia_address_ptr->sa_family, side_address(&a)->sa_family);
	check(p.private_data_size >= 6);
	same(memcmp(p.private_data, "knock", 6), 0);
	check(p.local_ep_handle == DAT_HANDLE_NULL);
	two_close(&a, &b);
}

STATEMENT(cr_query__each_field_alone, dat_cr_query, DESCRIPTION)
{
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	for (DAT_CR_PARAM_MASK bit = 1; bit < DAT_CR_FIELD_ALL; bit <<= 1) {
		DAT_CR_PARAM p = { .private_data_size = -1 };

		must(dat_cr_query(b.cr, bit, &p));
		check(!(bit & DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR) || p.remote_ia_address_ptr);
		check(!(bit & DAT_CR_FIELD_PRIVATE_DATA_SIZE) || p.private_data_size >= 0);
		check(!(bit & DAT_CR_FIELD_LOCAL_EP_HANDLE) || p.local_ep_handle == b.s.ep);
	}
	bring_done(&b);
}

/* The page defines which port is reported in this state. Both sides must agree on it. */
STATEMENT(ep_query__ports_of_an_endpoint_with_its_request, dat_ep_query, DESCRIPTION)
{
	DAT_EP_PARAM here, there;
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_ep_query(b.s.ep, DAT_EP_FIELD_ALL, &here));
	must(dat_ep_query(b.peer.ep, DAT_EP_FIELD_ALL, &there));
	same(here.remote_port_qual, there.local_port_qual);
	same(here.remote_ia_address_ptr->sa_family, side_address(&b.peer)->sa_family);
	must(dat_cr_accept(b.cr, DAT_HANDLE_NULL, 0, NULL));
	took_conn(&b.peer, b.peer.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	must(dat_ep_query(b.peer.ep, DAT_EP_FIELD_ALL, &there));
	same(there.remote_port_qual, here.local_port_qual);
	bring_done(&b);
}

STATEMENT(cr_query__mask_out_of_range, dat_cr_query, RETURNS)
{
	struct side a, b;
	DAT_CR_PARAM p;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must_be(DAT_INVALID_PARAMETER,
		dat_cr_query(cr, (DAT_CR_PARAM_MASK)(DAT_CR_FIELD_ALL + 1), &p));
	must_be(DAT_INVALID_PARAMETER, dat_cr_query(cr, DAT_CR_FIELD_ALL, NULL));
	two_close(&a, &b);
}

STATEMENT(cr_accept__destroys_the_request, dat_cr_accept, DESCRIPTION)
{
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must(dat_cr_accept(cr, b.ep, 0, NULL));
	is_dead(cr);
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	two_close(&a, &b);
}

STATEMENT(cr_accept__bad_arguments_change_nothing, dat_cr_accept, DESCRIPTION)
{
	static char data[8192];
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must_be(DAT_INVALID_PARAMETER,
		dat_cr_accept(cr, b.ep, b.attr.max_private_data_size + 1, data));
	must_be(DAT_INVALID_PARAMETER, dat_cr_accept(cr, b.ep, -1, data));
	must_be(DAT_INVALID_PARAMETER, dat_cr_accept(cr, b.ep, 1, NULL));
	must_be(DAT_INVALID_HANDLE, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	must_be(DAT_INVALID_HANDLE, dat_cr_accept(cr, b.pz, 0, NULL));
	same(state_of(b.ep), DAT_EP_STATE_UNCONNECTED);
	must(dat_cr_accept(cr, b.ep, 0, NULL));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	two_close(&a, &b);
}

STATEMENT(cr_accept__not_the_reserved_endpoint, dat_cr_accept, RETURNS)
{
	DAT_EP_HANDLE other;
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	other = side_ep(&b.s, NULL);
	must_be(DAT_INVALID_PARAMETER, dat_cr_accept(b.cr, other, 0, NULL));
	must(dat_cr_accept(b.cr, b.s.ep, 0, NULL));
	took_conn(&b.s, b.s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	bring_done(&b);
}

STATEMENT(cr_reject__peer_gets_an_event, dat_cr_reject, DESCRIPTION)
{
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must(dat_cr_reject(cr));
	is_dead(cr);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	nothing_on(b.conn_evd);
	two_close(&a, &b);
}

STATEMENT(cr_reject__reserved_endpoint_is_free_again, dat_cr_reject, DESCRIPTION)
{
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_cr_reject(b.cr));
	same(state_of(b.s.ep), DAT_EP_STATE_UNCONNECTED);
	took_conn(&b.peer, b.peer.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	side_listen(&b.peer);
	must(dial(b.s.ep, &b.peer, b.peer.qual, SOON));
	bring_done(&b);
}

STATEMENT(cr_handoff__to_another_service_point, dat_cr_handoff, DESCRIPTION)
{
	DAT_CONN_QUAL other;
	DAT_PSP_HANDLE psp;
	DAT_CR_PARAM p;
	DAT_EVENT ev;
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must(dat_psp_create_any(b.ia, &other, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	must(dat_cr_handoff(cr, other));
	ev = took(b.cr_evd);
	check(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp);
	same(ev.event_data.cr_arrival_event_data.conn_qual, other);
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	same(memcmp(p.private_data, "knock", 6), 0);
	must(dat_cr_accept(cr, b.ep, 0, NULL));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	two_close(&a, &b);
}

STATEMENT(cr_handoff__destroys_the_request, dat_cr_handoff, DESCRIPTION)
{
	DAT_CONN_QUAL other;
	DAT_PSP_HANDLE psp;
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must(dat_psp_create_any(b.ia, &other, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	must(dat_cr_handoff(cr, other));
	side_request(&b);
	must_be(DAT_INVALID_HANDLE, dat_cr_reject(cr));
	two_close(&a, &b);
}

/* The endpoint of the first service point is free again; the endpoint of the second is in use. */
STATEMENT(cr_handoff__between_reserved_service_points, dat_cr_handoff, DESCRIPTION)
{
	DAT_RSP_HANDLE rsp;
	DAT_EP_HANDLE other;
	DAT_CR_HANDLE cr;
	struct bring b;

	bring(&b, DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	other = side_ep(&b.s, NULL);
	must(dat_rsp_create(b.s.ia, some_qual(1), other, b.s.cr_evd, &rsp));
	must(dat_cr_handoff(b.cr, some_qual(1)));
	cr = side_request(&b.s);
	same(state_of(b.s.ep), DAT_EP_STATE_UNCONNECTED);
	same(state_of(other), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	must(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	took_conn(&b.s, other, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&b.peer, b.peer.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	bring_done(&b);
}

STATEMENT(cr_handoff__with_a_provided_endpoint, dat_cr_handoff, DESCRIPTION)
{
	DAT_EP_HANDLE mine;
	struct bring b;

	if (!bring(&b, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING))
		skip("ep_creator is NEVER: dat_psp_create answers MODEL_NOT_SUPPORTED");
	side_listen(&b.s);
	must(dat_cr_handoff(b.cr, b.s.qual));
	must_be(DAT_INVALID_HANDLE, dat_ep_free(b.s.ep));
	b.cr = side_request(&b.s);
	check(ep_of(b.cr) == DAT_HANDLE_NULL);
	mine = side_ep(&b.s, NULL);
	must(dat_cr_accept(b.cr, mine, 0, NULL));
	took_conn(&b.s, mine, DAT_CONNECTION_EVENT_ESTABLISHED);
	bring_done(&b);
}

/* The handoff names the host of the adapter, so the new listener may be on another open IA. */
STATEMENT(cr_handoff__to_another_instance, dat_cr_handoff, DESCRIPTION)
{
	struct side a, b, c;
	DAT_CR_HANDLE cr = asked(&a, &b);

	side_open_peer(&c);
	side_listen(&c);
	must(dat_cr_handoff(cr, c.qual));
	cr = side_request(&c);
	must(dat_cr_accept(cr, c.ep, 0, NULL));
	took_conn(&c, c.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_close(&c);
	two_close(&a, &b);
}

STATEMENT(cr_handoff__without_a_listener, dat_cr_handoff, RETURNS)
{
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b);

	must_be(DAT_INVALID_PARAMETER, dat_cr_handoff(cr, some_qual(7)));
	must(dat_cr_accept(cr, b.ep, 0, NULL));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	two_close(&a, &b);
}
