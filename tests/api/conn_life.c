/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections between two adapters of one process: how they begin and end. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/api/conn.h"

TestSuite(conn, .init = sides_open, .fini = sides_close, .timeout = 60);

static void fill(unsigned char *buf, size_t len, unsigned int seed)
{
	for (size_t i = 0; i < len; i++)
		buf[i] = (unsigned char)(seed + 3 * i);
}

static DAT_RETURN connect_with(DAT_COUNT size, void *pd)
{
	return dat_ep_connect(a.ep, conn_host(), conn_qual(), DAT_TIMEOUT_INFINITE, size, pd,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

/* ---- Connect and accept ---- */

Test(conn, private_data__reach_both_sides)
{
	unsigned char ask[256], answer[256];
	DAT_CONNECTION_EVENT_DATA ev;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	fill(ask, sizeof(ask), 1);
	fill(answer, sizeof(answer), 2);
	side_listen(&b);
	assert_ok(connect_with(sizeof(ask), ask));
	cr = side_request(&b);
	assert_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	cr_assert_eq(param.private_data_size, 256);
	cr_assert_eq(memcmp(param.private_data, ask, 256), 0);
	cr_assert_null(param.local_ep_handle);
	assert_ok(dat_cr_accept(cr, b.ep, 255, answer));
	ev = side_event(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_assert_eq(ev.private_data_size, 0);
	ev = side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_assert_eq(ev.private_data_size, 255);
	cr_assert_eq(memcmp(ev.private_data, answer, 255), 0);
	assert_ret(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), DAT_INVALID_HANDLE);
}

Test(conn, private_data__none_is_reported_as_null_of_size_0)
{
	DAT_CONNECTION_EVENT_DATA ev;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	side_listen(&b);
	side_connect(&a);
	cr = side_request(&b);
	assert_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	cr_assert_eq(param.private_data_size, 0);
	cr_assert_null(param.private_data);
	assert_ok(dat_cr_accept(cr, b.ep, 0, NULL));
	ev = side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_assert_eq(ev.private_data_size, 0);
	cr_assert_null(ev.private_data);
}

Test(conn, ep_query__connected_returns_ports_and_address_of_the_peer)
{
	DAT_EP_PARAM pa, pb;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;

	side_listen(&b);
	side_connect(&a);
	cr = side_request(&b);
	assert_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	assert_ok(dat_cr_accept(cr, b.ep, 0, NULL));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &pa));
	assert_ok(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &pb));
	cr_assert_eq(pa.remote_port_qual, conn_qual());
	cr_assert_eq(pa.remote_port_qual, pb.local_port_qual);
	cr_assert_eq(pb.remote_port_qual, pa.local_port_qual);
	cr_assert_eq(pb.remote_port_qual, param.remote_port_qual);
	cr_assert_eq(pa.local_port_qual, 0);
	cr_assert_eq(((struct sockaddr_in *)pa.remote_ia_address_ptr)->sin_addr.s_addr,
		     htonl(INADDR_LOOPBACK));
	cr_assert_eq(((struct sockaddr_in *)pb.remote_ia_address_ptr)->sin_addr.s_addr,
		     htonl(INADDR_LOOPBACK));
}

Test(conn, connect_and_accept__invalid_arguments_are_refused)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
	struct sockaddr_in none = { .sin_family = AF_INET }, odd = { .sin_family = AF_UNIX };
	unsigned char pd[300] = { 0 };
	DAT_CR_HANDLE cr;

	assert_code(connect_with(257, pd), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	assert_code(connect_with(-1, pd), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	assert_code(connect_with(1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	assert_code(side_try_connect(&a, a.ep, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
#define TO(to, qos, flags)                                                                         \
	dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)(to), conn_qual(), 1000000, 0, NULL, qos, flags)
	assert_ret(TO(NULL, 0, 0), DAT_INVALID_PARAMETER);
	assert_code(TO(&odd, 0, 0), DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED);
	assert_ret(TO(&six, 0, 0), DAT_INVALID_ADDRESS);
	assert_code(TO(&none, 0, 0), DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED);
	assert_code(TO(conn_host(), (DAT_QOS)3, 0), DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	assert_ret(TO(conn_host(), 0, DAT_CONNECT_MULTIPATH_FLAG), DAT_MODEL_NOT_SUPPORTED);
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_UNCONNECTED);
	side_listen(&b);
	side_connect(&a);
	cr = side_request(&b);
	assert_ret(dat_cr_accept(cr, b.ep, 257, pd), DAT_INVALID_PARAMETER);
	assert_ret(dat_cr_accept(cr, b.ep, -1, pd), DAT_INVALID_PARAMETER);
	assert_ret(dat_cr_accept(cr, b.ep, 1, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dat_cr_accept(cr, NULL, 0, NULL), DAT_INVALID_HANDLE);
	/* the EP belongs to another IA */
	assert_ret(dat_cr_accept(cr, a.ep, 0, NULL), DAT_INVALID_HANDLE);
	assert_ok(dat_cr_accept(cr, b.ep, 256, pd));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

Test(conn, reject__ends_the_attempt_with_peer_rejected)
{
	DAT_CR_HANDLE cr;

	assert_ok(side_recv(&a, a.ep, 5));
	side_listen(&b);
	side_connect(&a);
	cr = side_request(&b);
	assert_ok(dat_cr_reject(cr));
	assert_ret(dat_cr_reject(cr), DAT_INVALID_HANDLE);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECTED);
	cr_assert_eq(side_dto(&a, 5), DAT_DTO_ERR_FLUSHED);
	assert_ok(dat_ep_reset(a.ep));
	side_pair(&a, &b);
}

Test(conn, connect__without_a_listener_ends_with_non_peer_rejected)
{
	DAT_EP_HANDLE pending = side_ep(&a);
	DAT_TIMEOUT us = 200000;
	DAT_COUNT more;
	DAT_EVENT ev;

	assert_ok(side_try_connect(&a, pending, DAT_TIMEOUT_INFINITE));
	cr_assert_eq(side_state(pending), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
	/* On a busy machine the time may be over before the refusal comes: the next try has more. */
	while (true) {
		assert_ok(side_recv(&a, a.ep, 6));
		assert_ok(side_try_connect(&a, a.ep, us));
		assert_ok(dat_evd_wait(a.conn_evd, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_data.connect_event_data.ep_handle, a.ep);
		cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECTED);
		cr_assert_eq(side_dto(&a, 6), DAT_DTO_ERR_FLUSHED);
		us *= 10;
		if (ev.event_number != DAT_CONNECTION_EVENT_TIMED_OUT || us > CONN_SOON)
			break;
		assert_ok(dat_ep_reset(a.ep));
	}
	cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	cr_assert_eq(side_state(pending), DAT_EP_STATE_ACTIVE_CONNECTION_PENDING);
}

Test(conn, connect__before_the_service_point_exists_waits_for_it)
{
	side_connect(&a);
	th_sleep_ms(30);
	side_listen(&b);
	assert_ok(dat_cr_accept(side_request(&b), b.ep, 0, NULL));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

static void *connect_while_cancelled(void *connected)
{
	pthread_cancel(pthread_self());
	side_connect(&a);
	*(bool *)connected = true;
	pthread_testcancel();
	return NULL;
}

/* The call ends before its thread does, so that no lock stays taken. */
Test(conn, connect__by_a_cancelled_thread_is_completed)
{
	bool connected = false;
	pthread_t thread;

	side_listen(&b);
	cr_assert_eq(pthread_create(&thread, NULL, connect_while_cancelled, &connected), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert(connected, "the thread ended within the call");
	assert_ok(dat_cr_accept(side_request(&b), b.ep, 0, NULL));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

Test(conn, accept__after_the_peer_timed_out_ends_with_accept_completion_error)
{
	DAT_CR_HANDLE cr;

	assert_ok(side_recv(&b, b.ep, 8));
	side_listen(&b);
	assert_ok(side_try_connect(&a, a.ep, 100000));
	cr = side_request(&b);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_TIMED_OUT);
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECTED);
	th_sleep_ms(20);
	assert_ok(dat_cr_accept(cr, b.ep, 0, NULL));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_DISCONNECTED);
	cr_assert_eq(side_dto(&b, 8), DAT_DTO_ERR_FLUSHED);
	side_quiet(&b);
}

Test(conn, dup_connect__reaches_the_peer_of_the_other)
{
	DAT_EP_HANDLE ep = side_ep(&a), other = side_ep(&b);

	assert_ret(dat_ep_dup_connect(ep, a.ep, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT),
		   DAT_INVALID_STATE);
	side_pair(&a, &b);
	assert_ret(dat_ep_dup_connect(ep, a.ep, 0, 0, NULL, DAT_QOS_BEST_EFFORT),
		   DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_dup_connect(ep, b.ep, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT),
		   DAT_INVALID_HANDLE);
	/* The passive side does not know the qualifier at which its peer listens, so it cannot
	 * duplicate the connection. */
	assert_ret(dat_ep_dup_connect(other, b.ep, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT),
		   DAT_INVALID_PARAMETER);
	assert_ok(dat_ep_dup_connect(ep, a.ep, CONN_SOON, 0, NULL, DAT_QOS_BEST_EFFORT));
	assert_ok(dat_cr_accept(side_request(&b), other, 0, NULL));
	side_event(&a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_ret(dat_ep_dup_connect(a.ep, ep, 1000000, 0, NULL, DAT_QOS_BEST_EFFORT),
		   DAT_INVALID_STATE);
}

/* The peer sends as early as possible: its message never comes before ESTABLISHED. */
Test(conn, established__comes_before_the_first_receive)
{
	DAT_EVD_HANDLE all;
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(dat_evd_create(b.ia, 32, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &all));
	side_listen(&b);
	for (int i = 0; i < 100; i++) {
		DAT_EP_HANDLE ep;

		assert_ok(dat_ep_create(b.ia, b.pz, all, b.dto_evd, all, NULL, &ep));
		assert_ok(side_recv(&b, ep, 7));
		side_connect(&a);
		assert_ok(dat_cr_accept(side_request(&b), ep, 0, NULL));
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		assert_ok(side_send(&a, a.ep, 8));
		assert_ok(dat_evd_wait(all, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		assert_ok(dat_evd_wait(all, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
		cr_assert_eq(side_dto(&a, 8), DAT_DTO_SUCCESS);
		assert_ok(dat_ep_free(ep));
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		assert_ok(dat_ep_reset(a.ep));
	}
}

/* ---- Disconnecting ---- */

Test(conn, disconnect__abrupt_is_done_when_it_returns)
{
	side_pair(&a, &b);
	assert_ok(side_recv(&a, a.ep, 1));
	assert_ok(side_recv(&b, b.ep, 2));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECTED);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert_eq(side_dto(&a, 1), DAT_DTO_ERR_FLUSHED);
	cr_assert_eq(side_dto(&b, 2), DAT_DTO_ERR_FLUSHED);
	side_quiet(&a);
	side_quiet(&b);
}

Test(conn, disconnect__unknown_flag_is_refused)
{
	assert_code(dat_ep_disconnect(a.ep, (DAT_CLOSE_FLAGS)2), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
}

/* All posted messages arrive before the end of the connection does. */
Test(conn, disconnect__graceful_completes_posted_requests)
{
	side_pair(&a, &b);
	for (DAT_UINT64 i = 0; i < 10; i++)
		assert_ok(side_recv(&b, b.ep, 100 + i));
	for (DAT_UINT64 i = 0; i < 10; i++)
		assert_ok(side_send(&a, a.ep, i));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (DAT_UINT64 i = 0; i < 10; i++) {
		cr_assert_eq(side_dto(&a, i), DAT_DTO_SUCCESS);
		cr_assert_eq(side_dto(&b, 100 + i), DAT_DTO_SUCCESS);
	}
}

/* Each side has received everything that the other sent, whichever of them disconnects first,
 * gracefully or not. */
Test(conn, disconnect__by_the_receiver_lets_the_received_send_succeed)
{
	static const DAT_CLOSE_FLAGS how[] = { DAT_CLOSE_GRACEFUL_FLAG, DAT_CLOSE_ABRUPT_FLAG };

	side_listen(&b);
	for (int i = 0; i < 60; i++) {
		DAT_EP_HANDLE ep = side_ep(&b);

		assert_ok(side_recv(&b, ep, 1));
		side_connect(&a);
		assert_ok(dat_cr_accept(side_request(&b), ep, 0, NULL));
		side_event(&b, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		assert_ok(side_send(&a, a.ep, 2));
		cr_assert_eq(side_dto(&b, 1), DAT_DTO_SUCCESS);
		if (i % 3 < 2)
			assert_ok(dat_ep_disconnect(ep, how[i % 3]));
		else
			assert_ok(dat_ep_free(ep));
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		cr_assert_eq(side_dto(&a, 2), DAT_DTO_SUCCESS, "round %d: the send failed", i);
		if (i % 3 < 2) {
			side_event(&b, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
			assert_ok(dat_ep_free(ep));
		}
		assert_ok(dat_ep_reset(a.ep));
	}
}

Test(conn, disconnect__graceful_waits_for_the_peers_receive)
{
	side_pair(&a, &b);
	assert_ok(side_send(&a, a.ep, 1));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	th_sleep_ms(50);
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	/* has no effect, because the endpoint is disconnected */
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	assert_ok(side_recv(&b, b.ep, 2));
	cr_assert_eq(side_dto(&b, 2), DAT_DTO_SUCCESS);
	cr_assert_eq(side_dto(&a, 1), DAT_DTO_SUCCESS);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_quiet(&a);
}

Test(conn, disconnect__abrupt_ends_a_graceful_one)
{
	api_skip_if(a.ia, "send_completion", "at the peer's adapter");
	side_pair(&a, &b);
	assert_ok(side_send(&a, a.ep, 1));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECTED);
	cr_assert_eq(side_dto(&a, 1), DAT_DTO_ERR_FLUSHED);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_quiet(&a);
}

Test(conn, disconnect__by_both_at_once_gives_each_side_one_event)
{
	side_listen(&b);
	for (int i = 0; i < 40; i++) {
		side_pair(&a, &b);
		assert_ok(dat_ep_disconnect(a.ep, (DAT_CLOSE_FLAGS)(i & 1)));
		assert_ok(dat_ep_disconnect(b.ep, (DAT_CLOSE_FLAGS)(i >> 1 & 1)));
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		side_quiet(&a);
		side_quiet(&b);
		assert_ok(dat_ep_reset(a.ep));
		assert_ok(dat_ep_reset(b.ep));
	}
}

Test(conn, disconnect__aborts_an_attempt)
{
	DAT_CR_HANDLE cr;

	side_listen(&b);
	side_connect(&a);
	cr = side_request(&b);
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECTED);
	assert_ok(dat_cr_accept(cr, b.ep, 0, NULL));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	side_quiet(&a);
	side_quiet(&b);
}

/* dat_ep_reset(3): a receive posted after the end is a marker: it is flushed after all earlier work. */
Test(conn, disconnected__marker_comes_last)
{
	side_pair(&a, &b);
	for (DAT_UINT64 i = 0; i < 5; i++)
		assert_ok(side_recv(&a, a.ep, i));
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	assert_ok(side_recv(&a, a.ep, 99));
	for (DAT_UINT64 i = 0; i < 5; i++)
		cr_assert_eq(side_dto(&a, i), DAT_DTO_ERR_FLUSHED);
	cr_assert_eq(side_dto(&a, 99), DAT_DTO_ERR_FLUSHED);
	assert_ok(side_send(&a, a.ep, 98));
	cr_assert_eq(side_dto(&a, 98), DAT_DTO_ERR_FLUSHED);
}

/* dat_ep_disconnect(3): on one EVD for all, completions precede the end of their connection. */
Test(conn, disconnected__comes_after_the_completions)
{
	DAT_EVD_HANDLE all;
	DAT_EP_HANDLE ep;
	DAT_EVENT ev;
	DAT_COUNT more;

	assert_ok(dat_evd_create(a.ia, 32, NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &all));
	assert_ok(dat_ep_create(a.ia, a.pz, all, all, all, NULL, &ep));
	for (DAT_UINT64 i = 0; i < 4; i++)
		assert_ok(side_recv(&a, ep, i));
	side_listen(&b);
	assert_ok(side_try_connect(&a, ep, CONN_SOON));
	assert_ok(dat_cr_accept(side_request(&b), b.ep, 0, NULL));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	assert_ok(side_send(&b, b.ep, 50));
	assert_ok(dat_ep_disconnect(b.ep, DAT_CLOSE_GRACEFUL_FLAG));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (DAT_UINT64 i = 0; i < 6; i++) {
		assert_ok(dat_evd_wait(all, CONN_SOON, 1, &ev, &more));
		cr_assert_eq(ev.event_number, i == 0 ? DAT_CONNECTION_EVENT_ESTABLISHED :
			     i == 5 ? DAT_CONNECTION_EVENT_DISCONNECTED : DAT_DTO_COMPLETION_EVENT);
		if (i == 0 || i == 5)
			continue;
		cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i - 1);
		cr_assert_eq(ev.event_data.dto_completion_event_data.status,
			     i == 1 ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
	}
}

Test(conn, ep_free__ends_the_connection_for_the_peer)
{
	side_pair(&a, &b);
	assert_ok(dat_ep_free(a.ep));
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_quiet(&a);
}

Test(conn, ia_close__ends_the_connection_for_the_peer)
{
	side_pair(&a, &b);
	side_close(&a);
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_quiet(&b);
}

Test(conn, ia_close__with_requests_and_attempts_pending_rejects_the_peer)
{
	DAT_RSP_HANDLE rsp;

	side_listen(&b);
	side_connect(&a);
	side_request(&b);
	assert_ok(dat_ep_connect(side_ep(&a), conn_host(), conn_qual() + 1, DAT_TIMEOUT_INFINITE, 0,
				 NULL, 0, 0));
	assert_ok(dat_rsp_create(b.ia, conn_qual() + 2, side_ep(&b), b.cr_evd, &rsp));
	assert_ret(dat_ia_close(b.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE);
	side_close(&b);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
}

/* A protection error of one side ends the connection for both sides. */
Test(conn, error_completion__breaks_the_connection_for_both_sides)
{
	DAT_RMR_TRIPLET nowhere = { .rmr_context = 0x12345678, .target_address = 0x1000,
				    .segment_length = 64 };
	DAT_LMR_TRIPLET t = { .lmr_context = a.context,
			      .virtual_address = (DAT_VADDR)(uintptr_t)a.mem,
			      .segment_length = 64 };
	DAT_DTO_COOKIE cookie = { .as_64 = 3 };

	side_pair(&a, &b);
	assert_ok(side_recv(&a, a.ep, 1));
	assert_ok(side_recv(&b, b.ep, 2));
	assert_ok(dat_ep_post_rdma_write(a.ep, 1, &t, cookie, &nowhere,
					 DAT_COMPLETION_DEFAULT_FLAG));
	cr_assert_eq(side_dto(&a, 3), DAT_DTO_ERR_REMOTE_ACCESS);
	side_event(&a, a.ep, DAT_CONNECTION_EVENT_BROKEN);
	side_event(&b, b.ep, DAT_CONNECTION_EVENT_BROKEN);
	cr_assert_eq(side_state(a.ep), DAT_EP_STATE_DISCONNECTED);
	cr_assert_eq(side_state(b.ep), DAT_EP_STATE_DISCONNECTED);
	cr_assert_eq(side_dto(&a, 1), DAT_DTO_ERR_FLUSHED);
	cr_assert_eq(side_dto(&b, 2), DAT_DTO_ERR_FLUSHED);
	side_quiet(&a);
	side_quiet(&b);
	assert_ok(dat_ep_reset(a.ep));
	assert_ok(dat_ep_reset(b.ep));
	side_pair(&a, &b);
}

/* A new connection gets no errors of the previous one. */
Test(conn, reset__under_errors_leaves_no_completion_of_the_old_connection)
{
	struct th_usage first, last;

	for (int i = 0; i < 60; i++) {
		DAT_EVENT ev;

		side_pair(&a, &b);
		for (DAT_UINT64 k = 0; k < 8; k++)
			assert_ok(side_recv(&a, a.ep, k));
		assert_ok(dat_ep_disconnect(i % 2 ? a.ep : b.ep, DAT_CLOSE_ABRUPT_FLAG));
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		dat_evd_dequeue(a.dto_evd, &ev);
		assert_ok(dat_ep_reset(a.ep));
		assert_ok(dat_ep_reset(b.ep));
		assert_ret(dat_evd_dequeue(a.dto_evd, &ev), DAT_QUEUE_EMPTY);
		if (i == 20)
			th_usage(&first);
	}
	th_usage(&last);
	cr_assert_leq(last.fds, first.fds + 2);
	if (!getenv("SAN") || !*getenv("SAN"))	/* a sanitizer keeps freed memory for a while */
		cr_assert_leq(last.rss_kb, first.rss_kb + 4096);
}

/* ---- Threads that wait ---- */

static void *wait_for_ever(void *evd)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more);
	return NULL;
}

/* A thread that is cancelled in a wait leaves the EVD unchanged, and other waiters get their events. */
Test(conn, cancelled__waiter_delays_no_other_waiter)
{
	pthread_t thread;
	void *result;
	DAT_EVENT ev;

	side_listen(&b);
	side_pair(&a, &b);
	cr_assert_eq(pthread_create(&thread, NULL, wait_for_ever, a.conn_evd), 0);
	cr_assert(TH_WITHIN(CONN_SOON / 1000, DAT_GET_TYPE(dat_evd_dequeue(a.conn_evd, &ev)) ==
			    DAT_INVALID_STATE));
	th_sleep_ms(20);
	cr_assert_eq(pthread_cancel(thread), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	a.ep = side_ep(&a);
	b.ep = side_ep(&b);
	side_pair(&a, &b);
}

/*
 * Two threads wait, one for each side. Whichever of them reads the socket, both get their events.
 */
static void *wait_for_request(void *side)
{
	return side_request(side);
}

Test(conn, waiters__of_two_sides_each_get_their_events)
{
	for (int i = 0; i < 50; i++) {
		pthread_t thread;
		void *cr;

		if (!i)
			side_listen(&b);
		cr_assert_eq(pthread_create(&thread, NULL, wait_for_request, &b), 0);
		side_connect(&a);
		cr_assert_eq(pthread_join(thread, &cr), 0);
		assert_ok(dat_cr_accept(cr, b.ep, 0, NULL));
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		side_event(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
		side_event(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		side_event(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		assert_ok(dat_ep_reset(a.ep));
		assert_ok(dat_ep_reset(b.ep));
	}
}
