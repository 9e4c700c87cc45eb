/* SPDX-License-Identifier: BSD-2-Clause */
/* Service points and connection requests. */
#include <string.h>
#include <unistd.h>

#include "tests/api/conn.h"

TestSuite(sp, .init = sides_open, .fini = sides_close, .timeout = 60);

Test(sp, psp_create__invalid_arguments_are_refused)
{
	DAT_PSP_HANDLE psp = (DAT_PSP_HANDLE)&psp;

	assert_ret(dat_psp_create(b.ia, conn_qual(), b.conn_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   DAT_INVALID_HANDLE);		/* an EVD that takes no requests */
	assert_ret(dat_psp_create(b.ia, conn_qual(), a.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   DAT_INVALID_HANDLE);		/* an EVD of another IA */
	assert_ret(dat_psp_create(b.ia, conn_qual(), b.cr_evd, (DAT_PSP_FLAGS)7, &psp),
		   DAT_INVALID_PARAMETER);
	assert_ret(dat_psp_create(b.ia, conn_qual(), b.cr_evd, DAT_PSP_CONSUMER_FLAG, NULL),
		   DAT_INVALID_PARAMETER);
	cr_assert_eq(psp, (DAT_PSP_HANDLE)&psp);
}

Test(sp, psp_create__qualifier_in_use_returns_conn_qual_in_use)
{
	DAT_PSP_HANDLE psp;

	side_listen(&b);
	assert_ret(dat_psp_create(b.ia, conn_qual(), b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		   DAT_CONN_QUAL_IN_USE);
	assert_ok(dat_psp_free(b.psp));
	assert_ret(dat_psp_free(b.psp), DAT_INVALID_HANDLE);
	side_listen(&b);
	side_pair(&a, &b);
}

/*
 * A software adapter has one address of the loopback network, by which its peers know it. A hardware
 * adapter is reached by any address of the host.
 */
Test(sp, psp_create__only_software_adapter_refuses_other_addresses)
{
	struct sockaddr_in other = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000002) };
	const bool software = strncmp(api_ia_name(), "soft-", 5) == 0;

	side_listen(&b);
	/* A refused request is repeated until its timeout. */
	assert_ok(dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&other, conn_qual(),
				 software ? CONN_SOON / 10 : CONN_SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	if (!software) {
		assert_ok(dat_cr_reject(side_request(&b)));
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
		return;
	}
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	assert_ok(dat_ep_reset(a.ep));
	side_pair(&a, &b);
}

/* The choice of a qualifier does not depend on ports that other programs of the host use. */
Test(sp, psp_create__leaves_the_port_of_its_number_alone)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	const int on = 1;
	DAT_PSP_HANDLE psp;
	int tried = 0;

	for (DAT_CONN_QUAL qual = 17000; qual < 19000 && tried < 20; qual += 39) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);
		DAT_RETURN ret;

		at.sin_port = htons((uint16_t)qual);
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (!bind(fd, (struct sockaddr *)&at, sizeof(at)) && !listen(fd, 1)) {
			ret = dat_psp_create(b.ia, qual, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp);
			if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE) {
				assert_ok(ret);
				assert_ok(dat_psp_free(psp));
				tried++;
			}
		}
		close(fd);
	}
	cr_assert_eq(tried, 20);
}

Test(sp, psp_query__returns_the_values_of_creation)
{
	DAT_PSP_PARAM p;

	side_listen(&b);
	assert_ok(dat_psp_query(b.psp, DAT_PSP_FIELD_ALL, &p));
	cr_assert_eq(p.ia_handle, b.ia);
	cr_assert_eq(p.conn_qual, conn_qual());
	cr_assert_eq(p.evd_handle, b.cr_evd);
	cr_assert_eq(p.psp_flags, DAT_PSP_CONSUMER_FLAG);
	assert_ret(dat_psp_query(b.psp, (DAT_PSP_PARAM_MASK)0x100, &p), DAT_INVALID_PARAMETER);
	assert_ret(dat_psp_query(b.psp, DAT_PSP_FIELD_ALL, NULL), DAT_INVALID_PARAMETER);
}

Test(sp, psp_create_any__gives_one_that_serves)
{
	DAT_CONN_QUAL quals[20];
	DAT_CR_ARRIVAL_EVENT_DATA arrival;
	DAT_PSP_HANDLE psp[20];
	DAT_EVENT ev;
	DAT_COUNT more;

	for (int i = 0; i < 20; i++) {
		assert_ok(dat_psp_create_any(b.ia, &quals[i], b.cr_evd, DAT_PSP_CONSUMER_FLAG,
					     &psp[i]));
		for (int k = 0; k < i; k++)
			cr_assert_neq(quals[i], quals[k]);
	}
	assert_ok(dat_ep_connect(a.ep, conn_host(), quals[7], CONN_SOON, 0, NULL, 0, 0));
	assert_ok(dat_evd_wait(b.cr_evd, CONN_SOON, 1, &ev, &more));
	arrival = ev.event_data.cr_arrival_event_data;
	cr_assert_eq(arrival.sp_handle.psp_handle, psp[7]);
	cr_assert_eq(arrival.conn_qual, quals[7]);
	assert_ret(dat_psp_create_any(b.ia, NULL, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp[0]),
		   DAT_INVALID_PARAMETER);
}

Test(sp, evd_free__while_a_service_point_feeds_it_is_refused)
{
	side_listen(&b);
	assert_ret(dat_evd_free(b.cr_evd), DAT_INVALID_STATE);
	assert_ok(dat_psp_free(b.psp));
	assert_ok(dat_evd_free(b.cr_evd));
}

Test(sp, psp_free__requests_already_there_live_on)
{
	DAT_CR_HANDLE cr;

	side_listen(&b);
	side_connect(&a);
	cr = side_request(&b);
	assert_ok(dat_psp_free(b.psp));
	assert_ok(dat_cr_accept(cr, b.ep, 0, NULL));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* The length of the EVD is the backlog: further requests are refused, without other effects. */
Test(sp, backlog__is_the_evds_size)
{
	DAT_EP_HANDLE ep[12];
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;
	DAT_COUNT more;
	int room = 0;

	assert_ok(dat_evd_create(b.ia, 4, NULL, DAT_EVD_CR_FLAG, &evd));
	assert_ok(dat_psp_create(b.ia, conn_qual(), evd, DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < 12; i++) {
		ep[i] = side_ep(&a);
		assert_ok(side_try_connect(&a, ep[i], CONN_SOON));
	}
	for (int i = 0; i < 8; i++) {
		assert_ok(dat_evd_wait(a.conn_evd, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	}
	while (dat_evd_dequeue(evd, &ev) == DAT_SUCCESS) {
		assert_ok(dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle));
		room++;
	}
	cr_assert_eq(room, 4);
	for (int i = 0; i < 4; i++) {
		assert_ok(dat_evd_wait(a.conn_evd, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	assert_ret(dat_evd_dequeue(b.async, &ev), DAT_QUEUE_EMPTY);
}

/* Of two requests one fills the queue and the other is refused, again and again. */
Test(sp, backlog__of_one_refuses_each_further_request)
{
	DAT_EP_HANDLE queued = side_ep(&a), refused = a.ep, ep;
	DAT_EVD_HANDLE evd;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(dat_evd_create(b.ia, 1, NULL, DAT_EVD_CR_FLAG, &evd));
	assert_ok(dat_psp_create(b.ia, conn_qual(), evd, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ok(side_try_connect(&a, queued, CONN_SOON));
	for (int i = 0; i < 300; i++) {
		assert_ok(side_try_connect(&a, refused, CONN_SOON));
		assert_ok(dat_evd_wait(a.conn_evd, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
		ep = ev.event_data.connect_event_data.ep_handle;
		if (ep == queued) {
			queued = refused;
			refused = ep;
		}
		assert_ok(dat_ep_reset(refused));
	}
	assert_ok(dat_evd_dequeue(evd, &ev));
	assert_ok(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, b.ep, 0, NULL));
	side_event(&a, queued, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* ---- Reserved service points ---- */

static DAT_RSP_HANDLE reserve(void)
{
	DAT_RSP_HANDLE rsp = NULL;

	assert_ok(dat_rsp_create(b.ia, conn_qual(), b.ep, b.cr_evd, &rsp));
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_RESERVED);
	return rsp;
}

Test(sp, rsp__request_is_accepted_only_on_its_endpoint)
{
	DAT_RSP_HANDLE rsp = reserve();
	DAT_EP_HANDLE other = side_ep(&b);
	DAT_RSP_PARAM rp;
	DAT_CR_PARAM cp;
	DAT_CR_HANDLE cr;

	assert_ok(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rp));
	cr_assert(rp.ia_handle == b.ia && rp.conn_qual == conn_qual() && rp.ep_handle == b.ep &&
		  rp.evd_handle == b.cr_evd);
	side_connect(&a);
	cr = side_request(&b);
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	assert_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &cp));
	cr_assert_eq(cp.local_ep_handle, b.ep);
	assert_ret(dat_cr_accept(cr, other, 0, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_free(b.ep), DAT_INVALID_STATE);
	assert_ok(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_ok(dat_rsp_free(rsp));
	assert_ret(dat_rsp_free(rsp), DAT_INVALID_HANDLE);
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_CONNECTED);
}

/* On a busy machine the time may be over before the refusal comes. Then the next attempt has more time. */
static void is_refused(DAT_EP_HANDLE ep)
{
	DAT_TIMEOUT us = 100000;
	DAT_EVENT ev;
	DAT_COUNT more;

	while (true) {
		assert_ok(side_try_connect(&a, ep, us));
		assert_ok(dat_evd_wait(a.conn_evd, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_data.connect_event_data.ep_handle, ep);
		if (ev.event_number != DAT_CONNECTION_EVENT_TIMED_OUT || us == 10000000)
			break;
		us *= 10;
		assert_ok(dat_ep_reset(ep));
	}
	cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

Test(sp, rsp__listens_no_more_after_its_request)
{
	DAT_EP_HANDLE late = side_ep(&a);

	reserve();
	side_connect(&a);
	side_request(&b);
	is_refused(late);
	side_listen(&b);		/* the qualifier is free again */
}

Test(sp, rsp__rejected_endpoint_is_free_again)
{
	DAT_RSP_HANDLE rsp = reserve();

	side_connect(&a);
	assert_ok(dat_cr_reject(side_request(&b)));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_UNCONNECTED);
	assert_ok(dat_rsp_free(rsp));
	assert_ok(dat_ep_reset(a.ep));
	side_pair(&a, &b);
}

Test(sp, rsp_free__gives_the_endpoint_back)
{
	DAT_RSP_HANDLE rsp = reserve();

	assert_ret(dat_ep_free(b.ep), DAT_INVALID_STATE);
	assert_ok(dat_rsp_free(rsp));
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_UNCONNECTED);
	assert_ok(dat_ep_free(b.ep));
}

/* A service point that has had its request need not be freed before the IA is closed. */
Test(sp, rsp__spent_one_does_not_keep_the_adapter_open)
{
	struct side c;

	side_open(&c);
	assert_ok(dat_rsp_create(c.ia, conn_qual(), c.ep, c.cr_evd, &c.psp));
	side_connect(&a);
	assert_ok(dat_cr_reject(side_request(&c)));
	side_close_gracefully(&c);
}

/* ---- Requests that are lost with their EVD ---- */

Test(sp, evd_free__refuses_the_request_of_a_reserved_endpoint)
{
	reserve();
	side_connect(&a);
	cr_assert(TH_WITHIN(CONN_SOON / 1000,
			    side_state(b.ep) == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING));
	/* The service point releases the EVD just after that. */
	cr_assert(TH_WITHIN(CONN_SOON / 1000, dat_evd_free(b.cr_evd) == DAT_SUCCESS));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	assert_ok(dat_ep_free(b.ep));
}

static bool holds_one(DAT_EVD_HANDLE evd)
{
	DAT_COUNT more = 0;
	DAT_EVENT ev;

	assert_ret(dat_evd_wait(evd, 0, 2, &ev, &more), DAT_TIMEOUT_EXPIRED);
	return more == 1;
}

Test(sp, evd_free__request_does_not_keep_the_adapter_open)
{
	struct side c;

	side_open(&c);
	assert_ok(dat_psp_create(c.ia, conn_qual(), c.cr_evd, DAT_PSP_PROVIDER_FLAG, &c.psp));
	side_connect(&a);
	cr_assert(TH_WITHIN(CONN_SOON / 1000, holds_one(c.cr_evd)));
	assert_ok(dat_psp_free(c.psp));
	side_close_gracefully(&c);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

Test(sp, rsp_create__failure_leaves_the_endpoint_as_it_was)
{
	DAT_RSP_HANDLE rsp;

	side_listen(&b);
	assert_ret(dat_rsp_create(b.ia, conn_qual(), b.ep, b.cr_evd, &rsp), DAT_CONN_QUAL_IN_USE);
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_UNCONNECTED);
}

/* ---- Handoff ---- */

Test(sp, handoff__to_another_service_point_delivers_the_request_there)
{
	unsigned char pd[] = "handed on";
	DAT_PSP_HANDLE second;
	DAT_CR_HANDLE cr, next;
	DAT_CR_PARAM param;
	DAT_EVENT ev;
	DAT_COUNT more;

	side_listen(&b);
	assert_ok(dat_psp_create(b.ia, conn_qual() + 1, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &second));
	assert_ok(dat_ep_connect(a.ep, conn_host(), conn_qual(), CONN_SOON, sizeof(pd), pd, 0, 0));
	cr = side_request(&b);
	assert_ret(dat_cr_handoff(cr, conn_qual() + 2), DAT_INVALID_PARAMETER);
	assert_ok(dat_cr_handoff(cr, conn_qual() + 1));
	assert_ret(dat_cr_handoff(cr, conn_qual() + 1), DAT_INVALID_HANDLE);
	assert_ok(dat_evd_wait(b.cr_evd, CONN_SOON, 1, &ev, &more));
	cr_assert_eq(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle, second);
	cr_assert_eq(ev.event_data.cr_arrival_event_data.conn_qual, conn_qual() + 1);
	next = ev.event_data.cr_arrival_event_data.cr_handle;
	assert_ok(dat_cr_query(next, DAT_CR_FIELD_ALL, &param));
	cr_assert_eq(param.private_data_size, sizeof(pd));
	cr_assert_eq(memcmp(param.private_data, pd, sizeof(pd)), 0);
	assert_ok(dat_cr_accept(next, b.ep, 0, NULL));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}
