/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints created by the provider for requests, of public and of reserved service points. */
#include <string.h>

#include "tests/api/conn.h"

#define ALL_EVDS (DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |                 \
		  DAT_EP_FIELD_CONNECT_EVD_HANDLE)

TestSuite(provided, .init = sides_open, .fini = sides_close, .timeout = 60);

static void listen_provided(struct side *s)
{
	assert_ok(dat_psp_create(s->ia, conn_qual(), s->cr_evd, DAT_PSP_PROVIDER_FLAG, &s->psp));
}

static DAT_EP_HANDLE endpoint_of(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM p;

	assert_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	cr_assert_neq(p.local_ep_handle, DAT_HANDLE_NULL);
	return p.local_ep_handle;
}

static DAT_EP_HANDLE requested(DAT_CR_HANDLE *cr)
{
	listen_provided(&b);
	side_connect(&a);
	*cr = side_request(&b);
	return endpoint_of(*cr);
}

static DAT_RETURN give(DAT_EP_HANDLE ep, DAT_EP_PARAM_MASK mask)
{
	const DAT_EP_PARAM p = {
		.pz_handle = b.pz, .recv_evd_handle = b.dto_evd, .request_evd_handle = b.dto_evd,
		.connect_evd_handle = b.conn_evd,
	};

	return dat_ep_modify(ep, mask, &p);
}

static void talk(DAT_EP_HANDLE ep)
{
	side_event(&b, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_assert_eq(side_state(ep), DAT_EP_STATE_CONNECTED);
	assert_ok(side_send(&a, a.ep, 7));
	cr_assert_eq(side_dto(&a, 7), DAT_DTO_SUCCESS);
	cr_assert_eq(side_dto(&b, 1), DAT_DTO_SUCCESS);
}

Test(provided, psp__endpoint_has_no_evds)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = requested(&cr);
	DAT_EP_PARAM p, peer;
	DAT_CR_PARAM asked;

	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	assert_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &peer));
	assert_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &asked));
	cr_assert_eq(p.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	cr_assert(p.ia_handle == b.ia && p.pz_handle == DAT_HANDLE_NULL &&
		  p.recv_evd_handle == DAT_HANDLE_NULL && p.request_evd_handle == DAT_HANDLE_NULL &&
		  p.connect_evd_handle == DAT_HANDLE_NULL && p.srq_handle == DAT_HANDLE_NULL);
	cr_assert_eq(p.remote_port_qual, asked.remote_port_qual);
	cr_assert_eq(memcmp(p.remote_ia_address_ptr, asked.remote_ia_address_ptr,
			    sizeof(struct sockaddr_in)), 0);
	cr_assert_eq(p.ep_attr.max_rdma_read_in, peer.ep_attr.max_rdma_read_out);
	cr_assert_eq(p.ep_attr.max_rdma_read_out, peer.ep_attr.max_rdma_read_in);
}

/* Without a PZ the endpoint has no memory and cannot be connected. The request stays valid. */
Test(provided, psp__endpoint_without_a_zone_cannot_be_accepted)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = requested(&cr);

	assert_ret(side_recv(&b, ep, 1), DAT_PROTECTION_VIOLATION);
	assert_ret(side_send(&b, ep, 1), DAT_INVALID_STATE);
	assert_ret(dat_ep_free(ep), DAT_INVALID_STATE);
	assert_ret(dat_ep_reset(ep), DAT_INVALID_STATE);
	assert_ret(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_STATE);
	assert_ret(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dat_cr_accept(cr, ep, 0, NULL), DAT_INVALID_PARAMETER);
	cr_assert_eq(side_state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	assert_ok(give(ep, ALL_EVDS | DAT_EP_FIELD_PZ_HANDLE));
	assert_ok(side_recv(&b, ep, 1));
	assert_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	talk(ep);
}

Test(provided, psp__another_endpoint_does_not_serve)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = requested(&cr);

	assert_ret(dat_cr_accept(cr, b.ep, 0, NULL), DAT_INVALID_PARAMETER);
	assert_ok(give(ep, ALL_EVDS | DAT_EP_FIELD_PZ_HANDLE));
	assert_ok(side_recv(&b, ep, 1));
	assert_ok(dat_cr_accept(cr, ep, 0, NULL));
	talk(ep);
}

/* Sets the attributes one by one, the PZ last. EVDs and PZ count the endpoint as a user at once. */
Test(provided, modify__attribute_by_attribute_makes_the_endpoint_acceptable)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = requested(&cr);
	DAT_EP_PARAM p = { .pz_handle = DAT_HANDLE_NULL };
	DAT_EVD_HANDLE other;

	assert_ok(dat_evd_create(b.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &other));
	p.recv_evd_handle = other;
	assert_ok(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &p));
	assert_ret(dat_evd_free(other), DAT_INVALID_STATE);
	assert_ok(give(ep, ALL_EVDS));
	assert_ok(dat_evd_free(other));
	p.ep_attr.max_recv_dtos = 3;
	assert_ok(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p));
	assert_ret(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE, &p), DAT_INVALID_PARAMETER);
	assert_ok(give(ep, DAT_EP_FIELD_PZ_HANDLE));
	assert_ret(dat_pz_free(b.pz), DAT_INVALID_STATE);
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	cr_assert(p.pz_handle == b.pz && p.recv_evd_handle == b.dto_evd &&
		  p.request_evd_handle == b.dto_evd && p.connect_evd_handle == b.conn_evd);
	cr_assert_eq(p.ep_attr.max_recv_dtos, 3);
	assert_ok(side_recv(&b, ep, 1));
	assert_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	talk(ep);
}

/* After the accept, the endpoint is like one that the consumer has created. */
Test(provided, psp__belongs_to_the_consumer_in_the_end)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = requested(&cr);
	DAT_RSP_HANDLE rsp;

	assert_ok(give(ep, ALL_EVDS | DAT_EP_FIELD_PZ_HANDLE));
	assert_ok(side_recv(&b, ep, 1));
	assert_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	talk(ep);
	assert_ok(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	side_event(&b, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_ok(dat_ep_reset(ep));
	assert_ok(dat_ep_reset(a.ep));
	assert_ok(dat_psp_free(b.psp));
	assert_ok(dat_rsp_create(b.ia, conn_qual(), ep, b.cr_evd, &rsp));
	side_connect(&a);
	cr = side_request(&b);
	cr_assert_eq(side_state(ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	assert_ok(dat_cr_reject(cr));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	cr_assert_eq(side_state(ep), DAT_EP_STATE_UNCONNECTED);
	assert_ok(dat_ep_free(ep));
}

Test(provided, reject__ends_the_endpoint)
{
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep = requested(&cr);

	assert_ok(give(ep, ALL_EVDS | DAT_EP_FIELD_PZ_HANDLE));
	assert_ok(dat_cr_reject(cr));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	assert_ret(dat_ep_free(ep), DAT_INVALID_HANDLE);
	side_quiet(&b);
}

/* If a request does not fit on the queue, it is freed together with its endpoint. So the adapter
 * can be closed. */
Test(provided, psp__endpoints_of_refused_requests_are_freed)
{
	DAT_EVD_HANDLE evd;
	DAT_EVENT ev;
	int room = 0;

	assert_ok(dat_evd_create(b.ia, 2, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &evd));
	assert_ok(dat_psp_create(b.ia, conn_qual(), evd, DAT_PSP_PROVIDER_FLAG, &b.psp));
	for (int i = 0; i < 8; i++)
		assert_ok(side_try_connect(&a, side_ep(&a), CONN_SOON));
	for (int i = 0; i < 6; i++) {
		DAT_COUNT more;

		assert_ok(dat_evd_wait(a.conn_evd, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
		assert_ok(dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle));
		room++;
	}
	cr_assert_eq(room, 2);
	assert_ok(dat_psp_free(b.psp));
	assert_ok(dat_evd_free(evd));
	side_close_gracefully(&b);
}

Test(provided, psp_create_any__provider_flag_provides_an_endpoint)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_PARAM p;
	DAT_CR_HANDLE cr;

	assert_ok(dat_psp_create_any(b.ia, &qual, b.cr_evd, DAT_PSP_PROVIDER_FLAG, &b.psp));
	assert_ok(dat_psp_query(b.psp, DAT_PSP_FIELD_ALL, &p));
	cr_assert_eq(p.psp_flags, DAT_PSP_PROVIDER_FLAG);
	assert_ok(dat_ep_connect(a.ep, conn_host(), qual, CONN_SOON, 0, NULL, 0, 0));
	cr = side_request(&b);
	cr_assert_eq(side_state(endpoint_of(cr)), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	assert_ok(dat_psp_free(b.psp));		/* the request and its endpoint stay valid */
	assert_ok(give(endpoint_of(cr), ALL_EVDS | DAT_EP_FIELD_PZ_HANDLE));
	assert_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- Reserved service points ---- */

static DAT_RSP_HANDLE reserve(DAT_EP_HANDLE *ep)
{
	DAT_RSP_HANDLE rsp = DAT_HANDLE_NULL;
	DAT_RSP_PARAM p;

	assert_ok(dat_rsp_create(b.ia, conn_qual(), DAT_HANDLE_NULL, b.cr_evd, &rsp));
	assert_ok(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &p));
	*ep = p.ep_handle;
	cr_assert_neq(*ep, DAT_HANDLE_NULL);
	cr_assert_eq(side_state(*ep), DAT_EP_STATE_RESERVED);
	return rsp;
}

Test(provided, rsp__its_endpoint_serves_one_request)
{
	DAT_EP_HANDLE ep;
	DAT_RSP_HANDLE rsp = reserve(&ep);
	DAT_CR_HANDLE cr;

	assert_ret(dat_ep_free(ep), DAT_INVALID_STATE);
	assert_ret(give(ep, DAT_EP_FIELD_PZ_HANDLE), DAT_INVALID_STATE);
	assert_ok(give(ep, ALL_EVDS));
	side_connect(&a);
	cr = side_request(&b);
	cr_assert_eq(endpoint_of(cr), ep);
	cr_assert_eq(side_state(ep), DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	assert_ret(dat_cr_accept(cr, b.ep, 0, NULL), DAT_INVALID_PARAMETER);
	assert_ok(give(ep, DAT_EP_FIELD_PZ_HANDLE));
	assert_ok(side_recv(&b, ep, 1));
	assert_ok(dat_rsp_free(rsp));
	assert_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	talk(ep);
	assert_ok(dat_ep_free(ep));
}

Test(provided, rsp__rejected_request_frees_the_provided_endpoint)
{
	DAT_EP_HANDLE ep;
	DAT_RSP_HANDLE rsp = reserve(&ep);

	side_connect(&a);
	assert_ok(dat_cr_reject(side_request(&b)));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	assert_ret(dat_ep_free(ep), DAT_INVALID_HANDLE);
	assert_ok(dat_rsp_free(rsp));
}

Test(provided, rsp_free__frees_its_endpoint)
{
	DAT_EP_HANDLE ep;
	DAT_RSP_HANDLE rsp = reserve(&ep);

	assert_ok(dat_rsp_free(rsp));
	assert_ret(dat_ep_free(ep), DAT_INVALID_HANDLE);
	assert_ok(dat_psp_create(b.ia, conn_qual(), b.cr_evd, DAT_PSP_CONSUMER_FLAG, &b.psp));
	assert_ret(dat_rsp_create(b.ia, conn_qual(), DAT_HANDLE_NULL, b.cr_evd, &rsp),
		   DAT_CONN_QUAL_IN_USE);
	assert_ok(dat_psp_free(b.psp));
	side_close_gracefully(&b);
}

/* An abrupt close with all kinds of endpoints leaks nothing. The first round allocates memory that
 * is kept. */
Test(provided, ia_close__with_requests_pending_leaks_nothing)
{
	struct th_usage before, after;
	struct side c;

	for (int i = 0; i < 3; i++) {
		DAT_RSP_HANDLE rsp;
		DAT_CR_HANDLE cr;

		if (i == 1)
			th_usage(&before);
		side_open(&c);
		listen_provided(&c);
		assert_ok(dat_rsp_create(c.ia, conn_qual() + 1, DAT_HANDLE_NULL, c.cr_evd, &rsp));
		side_connect(&a);
		cr = side_request(&c);
		if (i)
			assert_ok(dat_ep_modify(endpoint_of(cr), DAT_EP_FIELD_PZ_HANDLE,
						&(DAT_EP_PARAM){ .pz_handle = c.pz }));
		side_close(&c);
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		assert_ok(dat_ep_reset(a.ep));
	}
	cr_assert(TH_WITHIN(20000, (th_usage(&after), after.fds <= before.fds)));
}
