/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints created by the provider for a Service Point's requests. */
#include "tests/conformance/fixture.h"

/* Lets b listen so that its provider makes the endpoints, and lets a connect. */
static DAT_CR_HANDLE asked(struct side *a, struct side *b, bool any)
{
	const DAT_PSP_FLAGS flag = DAT_PSP_PROVIDER_FLAG;

	two_open_apart(a, b);
	if (b->attr.ep_creator == DAT_PSP_CREATES_EP_NEVER) {
		must_be(DAT_MODEL_NOT_SUPPORTED,
			dat_psp_create(b->ia, some_qual(3), b->cr_evd, flag, &b->psp));
		must_be(DAT_MODEL_NOT_SUPPORTED,
			dat_psp_create_any(b->ia, &b->qual, b->cr_evd, flag, &b->psp));
		skip("ep_creator is NEVER: dat_psp_create answers MODEL_NOT_SUPPORTED");
	}
	b->qual = some_qual(3);
	if (any)
		must(dat_psp_create_any(b->ia, &b->qual, b->cr_evd, flag, &b->psp));
	else
		must(dat_psp_create(b->ia, b->qual, b->cr_evd, flag, &b->psp));
	must(dial(a->ep, b, b->qual, SOON));
	return side_request(b);
}

static void both_connected(struct side *a, struct side *b, DAT_EP_HANDLE ep)
{
	took_conn(b, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(a, a->ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	same(state_of(ep), DAT_EP_STATE_CONNECTED);
}

/*
 * Gives the endpoint its missing attributes, and accepts the request without naming the endpoint.
 */
static void serves(struct side *a, struct side *b, DAT_CR_HANDLE cr)
{
	DAT_EP_HANDLE ep = ep_of(cr);

	give_all(b, ep);
	b->ep = ep;
	must(do_recv(b, 1, 0, 64));
	must(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	both_connected(a, b, ep);
	must(do_send(a, 2, 0, 64, DEFAULT));
	took_dto(a->req_evd, 2, DAT_DTO_SUCCESS);
	took_dto(b->recv_evd, 1, DAT_DTO_SUCCESS);
}

static void is_bare(DAT_CR_HANDLE cr)
{
	DAT_EP_PARAM p;

	check(ep_of(cr) != DAT_HANDLE_NULL);
	must(dat_ep_query(ep_of(cr), DAT_EP_FIELD_ALL, &p));
	same(p.ep_state, DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	check(p.pz_handle == DAT_HANDLE_NULL);
	check(p.recv_evd_handle == DAT_HANDLE_NULL && p.request_evd_handle == DAT_HANDLE_NULL &&
	      p.connect_evd_handle == DAT_HANDLE_NULL);
}

STATEMENT(psp_create__provided_endpoint_has_no_zone, dat_psp_create, DESCRIPTION)
{
	struct side a, b;

	is_bare(asked(&a, &b, false));
	two_close(&a, &b);
}

STATEMENT(psp_create_any__provided_endpoint_has_no_zone, dat_psp_create_any, DESCRIPTION)
{
	struct side a, b;

	is_bare(asked(&a, &b, true));
	two_close(&a, &b);
}

/*
 * dat_cr_accept(3): the endpoint must serve as many reads as the peer may have outstanding, and
 * must not have more outstanding than the peer serves.
 */
STATEMENT(psp_create__provided_attributes_match_the_request, dat_psp_create, DESCRIPTION)
{
	DAT_EP_PARAM here, there;
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b, false);

	must(dat_ep_query(ep_of(cr), DAT_EP_FIELD_ALL, &here));
	must(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &there));
	check(here.ep_attr.max_rdma_read_in >= there.ep_attr.max_rdma_read_out ||
	      here.ep_attr.max_rdma_read_in == b.ia_attr.max_rdma_read_per_ep_in);
	check(here.ep_attr.max_rdma_read_out <= there.ep_attr.max_rdma_read_in);
	same(here.ep_attr.service_type, there.ep_attr.service_type);
	same(here.ep_attr.qos, there.ep_attr.qos);
	two_close(&a, &b);
}

STATEMENT(psp_create__provided_endpoint_serves, dat_psp_create, USAGE)
{
	struct side a, b;

	serves(&a, &b, asked(&a, &b, false));
	two_close(&a, &b);
}

STATEMENT(psp_create_any__provided_endpoint_serves, dat_psp_create_any, DESCRIPTION)
{
	struct side a, b;

	serves(&a, &b, asked(&a, &b, true));
	two_close(&a, &b);
}

STATEMENT(psp_create__provides_an_endpoint_for_each_request, dat_psp_create, DESCRIPTION)
{
	DAT_CR_HANDLE cr[4];
	struct side a, b;

	cr[0] = asked(&a, &b, false);
	for (int i = 1; i < 4; i++) {
		must(dial(side_ep(&a, NULL), &b, b.qual, SOON));
		cr[i] = side_request(&b);
		for (int j = 0; j < i; j++)
			check(ep_of(cr[i]) != ep_of(cr[j]));
	}
	two_close(&a, &b);
}

STATEMENT(cr_query__peer_of_a_provided_endpoint, dat_cr_query, USAGE)
{
	DAT_EP_PARAM ep;
	DAT_CR_PARAM p;
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b, false);

	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	must(dat_ep_query(p.local_ep_handle, DAT_EP_FIELD_ALL, &ep));
	same(ep.remote_port_qual, p.remote_port_qual);
	same(ep.remote_ia_address_ptr->sa_family, p.remote_ia_address_ptr->sa_family);
	two_close(&a, &b);
}

/* The accept fails, and changes neither the endpoint nor the request. */
STATEMENT(cr_accept__endpoint_does_not_satisfy_the_request, dat_cr_accept, DESCRIPTION)
{
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b, false);

	must_be(DAT_INVALID_PARAMETER, dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	is_bare(cr);
	must_be(DAT_INVALID_PARAMETER, dat_cr_accept(cr, b.ep, 0, NULL));
	same(state_of(b.ep), DAT_EP_STATE_UNCONNECTED);
	serves(&a, &b, cr);
	two_close(&a, &b);
}

STATEMENT(cr_reject__provided_endpoint_is_the_providers_again, dat_cr_reject, DESCRIPTION)
{
	DAT_EP_HANDLE ep;
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b, false);

	ep = ep_of(cr);
	give_all(&b, ep);
	must(dat_cr_reject(cr));
	must_be(DAT_INVALID_HANDLE, dat_ep_free(ep));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	/* The EVDs that the endpoint used can be freed now. */
	side_free(&b);
	side_close(&a);
}

STATEMENT(ep_free__provided_endpoint_with_its_request, dat_ep_free, DESCRIPTION)
{
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b, false);

	must_be(DAT_INVALID_STATE, dat_ep_free(ep_of(cr)));
	must(dat_cr_reject(cr));
	two_close(&a, &b);
}

STATEMENT(psp_free__delivered_requests_keep_their_endpoints, dat_psp_free, DESCRIPTION)
{
	struct side a, b;
	DAT_CR_HANDLE cr = asked(&a, &b, false);

	must(dat_psp_free(b.psp));
	serves(&a, &b, cr);
	two_close(&a, &b);
}

/* ---- Reserved service points ---- */

static DAT_EP_HANDLE reserved(struct side *s, DAT_RSP_HANDLE *rsp)
{
	DAT_RSP_PARAM p;

	must(dat_rsp_create(s->ia, some_qual(4), DAT_HANDLE_NULL, s->cr_evd, rsp));
	must(dat_rsp_query(*rsp, DAT_RSP_FIELD_ALL, &p));
	check(p.ep_handle != DAT_HANDLE_NULL);
	return p.ep_handle;
}

STATEMENT(rsp_create__with_an_endpoint_of_the_providers, dat_rsp_create, PARAMETERS)
{
	DAT_RSP_HANDLE rsp;
	DAT_CR_HANDLE cr;
	DAT_EP_HANDLE ep;
	struct side a, b;

	two_open_apart(&a, &b);
	ep = reserved(&b, &rsp);
	same(state_of(ep), DAT_EP_STATE_RESERVED);
	must(dial(a.ep, &b, some_qual(4), SOON));
	cr = side_request(&b);
	check(ep_of(cr) == ep);
	serves(&a, &b, cr);
	two_close(&a, &b);
}

STATEMENT(rsp_free__with_an_endpoint_of_the_providers, dat_rsp_free, DESCRIPTION)
{
	DAT_RSP_HANDLE rsp;
	struct side s;

	side_open(&s);
	reserved(&s, &rsp);
	must(dat_rsp_free(rsp));
	/* A graceful close would fail if an object of the endpoint were left. */
	side_free(&s);
}
