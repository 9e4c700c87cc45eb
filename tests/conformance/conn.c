/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections: how both sides begin, and how they end. */
#include <netinet/in.h>
#include <string.h>

#include "tests/conformance/fixture.h"

STATEMENT(ep_connect__both_sides_get_an_event, dat_ep_connect, DESCRIPTION)
{
	DAT_CR_HANDLE cr;
	struct side a, b;

	two_open_apart(&a, &b);
	side_listen(&b);
	must(dial(a.ep, &b, b.qual, SOON));
	same(state_of(a.ep), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	cr = side_request(&b);
	must(dat_cr_accept(cr, b.ep, 0, NULL));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	same(state_of(a.ep), DAT_EP_STATE_CONNECTED);
	same(state_of(b.ep), DAT_EP_STATE_CONNECTED);
	nothing_on(a.conn_evd);
	nothing_on(b.conn_evd);
	two_close(&a, &b);
}

/* ---- Private data ---- */

static void exchange(DAT_COUNT len)
{
	DAT_CONNECTION_EVENT_DATA d;
	char there[4096], back[4096];
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM p;
	struct side a, b;

	memset(there, 0x21, sizeof(there));
	memset(back, 0x43, sizeof(back));
	two_open_apart(&a, &b);
	side_listen(&b);
	must(dial_with(a.ep, &b, b.qual, there, len));
	cr = side_request(&b);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	check(p.private_data_size >= len);
	same(len ? memcmp(p.private_data, there, (size_t)len) : 0, 0);
	must(dat_cr_accept(cr, b.ep, len, len ? back : NULL));
	d = took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	same(d.private_data_size, 0);
	d = took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	check(d.private_data_size >= len);
	same(len ? memcmp(d.private_data, back, (size_t)len) : 0, 0);
	/* The private data stays until the endpoint is reset. */
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	same(len ? memcmp(d.private_data, back, (size_t)len) : 0, 0);
	two_close(&a, &b);
}

STATEMENT(ep_connect__private_data_reach_the_peer_whole, dat_evd_dequeue, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	check(s.attr.max_private_data_size <= 4096);
	side_close(&s);
	exchange(0);
	exchange(1);
	exchange(64);
	exchange(s.attr.max_private_data_size);
}

STATEMENT(ep_connect__private_data_out_of_range, dat_evd_dequeue, DESCRIPTION)
{
	static char data[8192];
	struct side a, b;
	DAT_COUNT most;

	two_open_apart(&a, &b);
	most = a.attr.max_private_data_size;
	must_be(DAT_INVALID_PARAMETER, dial_with(a.ep, &b, some_qual(1), data, most + 1));
	must_be(DAT_INVALID_PARAMETER, dial_with(a.ep, &b, some_qual(1), data, -1));
	must_be(DAT_INVALID_PARAMETER, dial_with(a.ep, &b, some_qual(1), NULL, 1));
	same(state_of(a.ep), DAT_EP_STATE_UNCONNECTED);
	two_close(&a, &b);
}

/* ---- Failures to connect ---- */

STATEMENT(ep_connect__rejected_by_the_peer, dat_ep_connect, DESCRIPTION)
{
	struct side a, b;

	two_open_apart(&a, &b);
	side_listen(&b);
	must(do_recv(&a, 1, 0, 64));
	must(dial(a.ep, &b, b.qual, SOON));
	must(dat_cr_reject(side_request(&b)));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	same(state_of(a.ep), DAT_EP_STATE_DISCONNECTED);
	took_dto(a.recv_evd, 1, FLUSHED);
	two_close(&a, &b);
}

STATEMENT(ep_connect__without_a_listener, dat_ep_connect, DESCRIPTION)
{
	struct side a;

	side_open(&a);
	no_listener(&a, a.ep, &a, some_qual(5));
	same(state_of(a.ep), DAT_EP_STATE_DISCONNECTED);
	side_close(&a);
}

STATEMENT(ep_connect__backlog_is_full, dat_psp_create, DESCRIPTION)
{
	DAT_EVD_PARAM param;
	DAT_PSP_HANDLE psp;
	struct side a, b;
	DAT_COUNT n = 0;
	DAT_EVENT ev;

	two_open_apart(&a, &b);
	b.cr_evd = side_evd(&b, 1, DAT_EVD_CR_FLAG);
	must(dat_evd_query(b.cr_evd, DAT_EVD_FIELD_ALL, &param));
	if (param.evd_qlen > 16)
		skip("the shortest EVD of connection requests holds %d; the test needs at most 16",
		     param.evd_qlen);
	must(dat_psp_create_any(b.ia, &b.qual, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	for (n = 0; n <= param.evd_qlen; n++) {
		a.ep = side_ep(&a, NULL);
		must(dial(a.ep, &b, b.qual, SOON));
	}
	/* The event that arrives last decides the endpoint's state. */
	must(dat_evd_wait(a.conn_evd, SOON, 1, &ev, &n));
	same(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	two_close(&a, &b);
}

/* Connects, and returns the request, which is not answered in time. On a busy host the time may be over
 * before the request comes. Then the next attempt has more time. */
static DAT_CR_HANDLE unanswered(struct side *from, struct side *to)
{
	DAT_TIMEOUT us = 100000;
	DAT_COUNT more;
	DAT_RETURN ret;
	DAT_EVENT ev;

	while (true) {
		must(dial(from->ep, to, to->qual, us));
		ret = tried(dat_evd_wait(to->cr_evd, us, 1, &ev, &more));
		took_conn(from, from->ep, DAT_CONNECTION_EVENT_TIMED_OUT);
		us *= 10;
		if (ret == DAT_SUCCESS || us > SOON)
			break;
		must(dat_ep_reset(from->ep));
	}
	must(ret);
	same(ev.event_number, DAT_CONNECTION_REQUEST_EVENT);
	return ev.event_data.cr_arrival_event_data.cr_handle;
}

STATEMENT(ep_connect__time_is_up, dat_ep_connect, DESCRIPTION)
{
	struct side a, b;

	two_open_apart(&a, &b);
	side_listen(&b);
	unanswered(&a, &b);
	same(state_of(a.ep), DAT_EP_STATE_DISCONNECTED);
	two_close(&a, &b);
}

STATEMENT(cr_accept__too_late, dat_cr_accept, DESCRIPTION)
{
	DAT_CR_HANDLE cr;
	struct side a, b;

	two_open_apart(&a, &b);
	side_listen(&b);
	must(do_recv(&b, 1, 0, 64));
	cr = unanswered(&a, &b);
	must(dat_cr_accept(cr, b.ep, 0, NULL));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	same(state_of(b.ep), DAT_EP_STATE_DISCONNECTED);
	took_dto(b.recv_evd, 1, FLUSHED);
	two_close(&a, &b);
}

STATEMENT(ep_connect__address_is_none_of_a_host, dat_ep_connect, DESCRIPTION)
{
	static const uint32_t addresses[] = { INADDR_ANY, INADDR_BROADCAST, 0xe0000001 };
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct side s;

	side_open(&s);
	for (size_t i = 0; i < 3; i++) {
		to.sin_addr.s_addr = htonl(addresses[i]);
		must_be(DAT_INVALID_ADDRESS,
			dat_ep_connect(s.ep, (DAT_IA_ADDRESS_PTR)&to, 1, SOON, 0, NULL,
				       DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	}
	to.sin_family = 0x7777;
	must_be(DAT_INVALID_ADDRESS,
		dat_ep_connect(s.ep, (DAT_IA_ADDRESS_PTR)&to, 1, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG));
	same(state_of(s.ep), DAT_EP_STATE_UNCONNECTED);
	side_close(&s);
}

STATEMENT(ep_connect__bad_arguments, dat_ep_connect, RETURNS)
{
	struct side s;

	side_open(&s);
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_connect(s.ep, NULL, 1, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_DEFAULT_FLAG));
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_connect(s.ep, side_address(&s), 1, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
			       (DAT_CONNECT_FLAGS)2));
	same(state_of(s.ep), DAT_EP_STATE_UNCONNECTED);
	side_close(&s);
}

STATEMENT(ep_connect__quality_not_supported, dat_ep_connect, DESCRIPTION)
{
	DAT_QOS qos;
	struct side s;

	side_open(&s);
	for (qos = DAT_QOS_HIGH_THROUGHPUT; qos <= DAT_QOS_PREMIUM; qos *= 2) {
		if (!(s.attr.dat_qos_supported & qos))
			break;
	}
	if (qos > DAT_QOS_PREMIUM)
		skip("dat_qos_supported has every quality of service");
	must_be(DAT_MODEL_NOT_SUPPORTED,
		dat_ep_connect(s.ep, side_address(&s), 1, SOON, 0, NULL, qos,
			       DAT_CONNECT_DEFAULT_FLAG));
	side_close(&s);
}

STATEMENT(ep_connect__multipath_not_supported, dat_ep_connect, DESCRIPTION)
{
	struct side s;

	side_open(&s);
	if (s.attr.supports_multipath)
		skip("supports_multipath is true");
	must_be(DAT_MODEL_NOT_SUPPORTED,
		dat_ep_connect(s.ep, side_address(&s), 1, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
			       DAT_CONNECT_MULTIPATH_FLAG));
	side_close(&s);
}

/* ---- dup_connect ---- */

STATEMENT(ep_dup_connect__to_the_same_remote_end, dat_ep_dup_connect, DESCRIPTION)
{
	static const char data[] = "again";
	DAT_EP_HANDLE ea, eb;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM p;
	struct side a, b;

	two_open(&a, &b);
	ea = side_ep(&a, NULL);
	eb = side_ep(&b, NULL);
	must(dat_ep_dup_connect(ea, a.ep, SOON, sizeof(data), (DAT_PVOID)(uintptr_t)data,
				DAT_QOS_BEST_EFFORT));
	same(state_of(ea), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	cr = side_request(&b);
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	same(memcmp(p.private_data, data, sizeof(data)), 0);
	must(dat_cr_accept(cr, eb, 0, NULL));
	took_conn(&b, eb, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, ea, DAT_CONNECTION_EVENT_ESTABLISHED);
	two_close(&a, &b);
}

STATEMENT(ep_dup_connect__of_one_never_connected, dat_ep_dup_connect, RETURNS)
{
	DAT_EP_HANDLE ep;
	struct side s;

	side_open(&s);
	ep = side_ep(&s, NULL);
	must_be(DAT_INVALID_STATE,
		dat_ep_dup_connect(ep, s.ep, SOON, 0, NULL, DAT_QOS_BEST_EFFORT));
	side_close(&s);
}

STATEMENT(ep_dup_connect__bad_arguments, dat_ep_dup_connect, RETURNS)
{
	static char data[8192];
	DAT_EP_HANDLE ep;
	struct side a, b;

	two_open(&a, &b);
	ep = side_ep(&a, NULL);
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_dup_connect(ep, a.ep, SOON, a.attr.max_private_data_size + 1, data,
				   DAT_QOS_BEST_EFFORT));
	must_be(DAT_INVALID_PARAMETER,
		dat_ep_dup_connect(ep, a.ep, SOON, -1, data, DAT_QOS_BEST_EFFORT));
	must_be(DAT_INVALID_STATE,
		dat_ep_dup_connect(a.ep, a.ep, SOON, 0, NULL, DAT_QOS_BEST_EFFORT));
	if (!(a.attr.dat_qos_supported & DAT_QOS_PREMIUM))
		must_be(DAT_MODEL_NOT_SUPPORTED,
			dat_ep_dup_connect(ep, a.ep, SOON, 0, NULL, DAT_QOS_PREMIUM));
	two_close(&a, &b);
}

/* ---- Ends of connections ---- */

static void ends_both(DAT_CLOSE_FLAGS how)
{
	struct side a, b;

	two_open(&a, &b);
	must(do_recv(&b, 1, 0, 64));
	must(dat_ep_disconnect(a.ep, how));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	same(state_of(a.ep), DAT_EP_STATE_DISCONNECTED);
	same(state_of(b.ep), DAT_EP_STATE_DISCONNECTED);
	took_dto(b.recv_evd, 1, FLUSHED);
	must(dat_ep_disconnect(a.ep, how));
	nothing_on(a.conn_evd);
	nothing_on(b.conn_evd);
	two_close(&a, &b);
}

STATEMENT(ep_disconnect__abruptly, dat_ep_disconnect, DESCRIPTION)
{
	ends_both(DAT_CLOSE_ABRUPT_FLAG);
}

STATEMENT(ep_disconnect__gracefully, dat_ep_disconnect, DESCRIPTION)
{
	ends_both(DAT_CLOSE_GRACEFUL_FLAG);
}

STATEMENT(ep_disconnect__abruptly_while_graceful_is_pending, dat_ep_disconnect, DESCRIPTION)
{
	struct bring b;

	bring(&b, DAT_EP_STATE_DISCONNECT_PENDING);
	needs_end_to_end(&b.s);
	must(dat_ep_disconnect(b.s.ep, DAT_CLOSE_GRACEFUL_FLAG));
	must(dat_ep_disconnect(b.s.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&b.s, b.s.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_dto(b.s.req_evd, 1, FLUSHED);
	bring_done(&b);
}

STATEMENT(ep_disconnect__while_connecting, dat_ep_disconnect, DESCRIPTION)
{
	struct bring b;

	bring(&b, DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	must(do_recv(&b.s, 1, 0, 64));
	must(dat_ep_disconnect(b.s.ep, DAT_CLOSE_GRACEFUL_FLAG));
	check(gets_to(b.s.ep, DAT_EP_STATE_DISCONNECTED));
	took_dto(b.s.recv_evd, 1, FLUSHED);
	bring_done(&b);
}

STATEMENT(ep_disconnect__flags_out_of_range, dat_ep_disconnect, RETURNS)
{
	struct side a, b;

	two_open(&a, &b);
	must_be(DAT_INVALID_PARAMETER, dat_ep_disconnect(a.ep, (DAT_CLOSE_FLAGS)2));
	must_be(DAT_INVALID_PARAMETER, dat_ep_disconnect(a.ep, (DAT_CLOSE_FLAGS)-1));
	same(state_of(a.ep), DAT_EP_STATE_CONNECTED);
	two_close(&a, &b);
}
