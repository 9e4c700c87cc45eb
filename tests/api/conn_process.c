/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections between two processes, and the death of one of them in each phase. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "tests/api/conn.h"

#define A_SECOND 1000		/* in ms */

static struct side s;
static struct th_child peer;

static void teardown(void)
{
	th_kill(&peer);
	side_close(&s);
}

TestSuite(process, .fini = teardown, .timeout = 60);

enum role {
	/* what the second process does; a LISTENER never answers */
	CONNECTOR, ACCEPTOR, REJECTOR, LISTENER
};

static void play(struct side *p, enum role role)
{
	DAT_CR_HANDLE cr;

	if (role == CONNECTOR) {
		side_connect(p);
		return;
	}
	cr = side_request(p);
	if (role == ACCEPTOR)
		assert_ok(dat_cr_accept(cr, p->ep, 0, NULL));
	else if (role == REJECTOR)
		assert_ok(dat_cr_reject(cr));
}

/* Does this side's part and reports it. Then receives and answers messages until it is killed or
 * disconnected. */
static int play_peer(int sock, void *arg)
{
	enum role role = *(enum role *)arg;
	DAT_EVENT ev;
	DAT_COUNT more;
	struct side p;

	side_open(&p);
	assert_ok(side_recv(&p, p.ep, 0));
	if (role != CONNECTOR)
		side_listen(&p);
	th_meet(sock);
	play(&p, role);
	if (role == CONNECTOR || role == ACCEPTOR) {
		side_event(&p, p.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		th_meet(sock);
		assert_ok(dat_evd_wait(p.conn_evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
		th_send(sock, &ev.event_number, sizeof(ev.event_number));
	} else {
		th_meet(sock);
	}
	th_meet(sock);
	side_close(&p);
	return 0;
}

static void with_peer(enum role role)
{
	conn_qual();
	cr_assert_eq(th_spawn(&peer, play_peer, &role), 0);
	side_open(&s);
	if (role == CONNECTOR)
		side_listen(&s);
	cr_assert_eq(th_meet(peer.sock), 0);
}

/* Starts the peer and connects to it. Returns when both processes have reported the connection. */
static void connected_to(enum role role)
{
	with_peer(role);
	if (role == CONNECTOR)
		assert_ok(dat_cr_accept(side_request(&s), s.ep, 0, NULL));
	else
		side_connect(&s);
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_assert_eq(th_meet(peer.sock), 0);
}

Test(process, disconnect__graceful_by_the_connector_reaches_the_other_process)
{
	DAT_EVENT_NUMBER end;

	connected_to(ACCEPTOR);
	assert_ok(side_send(&s, s.ep, 4));
	cr_assert_eq(side_dto(&s, 4), DAT_DTO_SUCCESS);
	assert_ok(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG));
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert_eq(th_recv(peer.sock, &end, sizeof(end)), 0);
	cr_assert_eq(end, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert_eq(th_meet(peer.sock), 0);
	cr_assert_eq(th_join(&peer, 10000), 0);
}

Test(process, disconnect__abrupt_by_the_acceptor_reaches_the_other_process)
{
	DAT_EVENT_NUMBER end;

	connected_to(CONNECTOR);
	assert_ok(dat_ep_disconnect(s.ep, DAT_CLOSE_ABRUPT_FLAG));
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert_eq(th_recv(peer.sock, &end, sizeof(end)), 0);
	cr_assert_eq(end, DAT_CONNECTION_EVENT_DISCONNECTED);
	cr_assert_eq(th_meet(peer.sock), 0);
	cr_assert_eq(th_join(&peer, 10000), 0);
}

Test(process, reject__by_another_process_ends_with_peer_rejected)
{
	with_peer(REJECTOR);
	side_connect(&s);
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

/* ---- Kill ---- */

/* Outstanding requests complete once each, in order, none with success. */
static void all_flushed(DAT_UINT64 first, DAT_UINT64 last)
{
	DAT_EVENT ev;

	for (DAT_UINT64 i = first; i <= last; i++)
		cr_assert_neq(side_dto(&s, i), DAT_DTO_SUCCESS);
	assert_ret(dat_evd_dequeue(s.dto_evd, &ev), DAT_QUEUE_EMPTY);
}

static void kill_connected(enum role role)
{
	connected_to(role);
	for (DAT_UINT64 i = 1; i <= 8; i++)
		assert_ok(side_recv(&s, s.ep, i));
	th_watch();
	th_kill(&peer);
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_BROKEN);
	cr_assert_lt(th_watched_ms(), A_SECOND);
	cr_assert_eq(side_state(s.ep), DAT_EP_STATE_DISCONNECTED);
	all_flushed(1, 8);
	side_quiet(&s);
	assert_ok(dat_ep_reset(s.ep));
	assert_ok(dat_ep_free(s.ep));
}

Test(process, kill__peer_that_connected_breaks_the_connection)
{
	kill_connected(CONNECTOR);
}

Test(process, kill__peer_that_accepted_breaks_the_connection)
{
	kill_connected(ACCEPTOR);
}

/* The peer is killed while sends are outstanding that it will never receive. */
Test(process, kill__peer_with_requests_outstanding_flushes_them)
{
	connected_to(ACCEPTOR);
	api_skip_if(s.ia, "send_completion", "at the peer's adapter");
	assert_ok(side_send(&s, s.ep, 1));
	cr_assert_eq(side_dto(&s, 1), DAT_DTO_SUCCESS);	/* the only receive of the peer */
	for (DAT_UINT64 i = 2; i <= 6; i++)
		assert_ok(side_send(&s, s.ep, i));
	th_watch();
	th_kill(&peer);
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_BROKEN);
	cr_assert_lt(th_watched_ms(), A_SECOND);
	all_flushed(2, 6);
	side_quiet(&s);
}

Test(process, kill__peer_while_disconnecting_breaks_the_connection)
{
	connected_to(ACCEPTOR);
	api_skip_if(s.ia, "send_completion", "at the peer's adapter");
	assert_ok(side_send(&s, s.ep, 1));
	cr_assert_eq(side_dto(&s, 1), DAT_DTO_SUCCESS);
	assert_ok(side_send(&s, s.ep, 2));
	assert_ok(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG));
	cr_assert_eq(side_state(s.ep), DAT_EP_STATE_DISCONNECT_PENDING);
	th_watch();
	th_kill(&peer);
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_BROKEN);
	cr_assert_lt(th_watched_ms(), A_SECOND);
	all_flushed(2, 2);
	side_quiet(&s);
}

Test(process, kill__peer_that_has_the_request_ends_with_non_peer_rejected)
{
	with_peer(LISTENER);
	assert_ok(side_recv(&s, s.ep, 1));
	side_connect(&s);
	cr_assert_eq(th_meet(peer.sock), 0);
	th_watch();
	th_kill(&peer);
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	cr_assert_lt(th_watched_ms(), A_SECOND);
	all_flushed(1, 1);
}

Test(process, kill__peer_whose_request_is_pending_fails_the_accept)
{
	DAT_CR_HANDLE cr;

	with_peer(CONNECTOR);
	assert_ok(side_recv(&s, s.ep, 1));
	cr = side_request(&s);
	th_kill(&peer);
	assert_ok(dat_cr_accept(cr, s.ep, 0, NULL));
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	all_flushed(1, 1);
	side_quiet(&s);
}

Test(process, kill__peer_that_owes_its_answer_fails_the_accept)
{
	side_spawn_connector(&peer);
	side_open(&s);
	side_bring(&s, NULL, &peer, DAT_EP_STATE_COMPLETION_PENDING);
	assert_ok(side_recv(&s, s.ep, 1));
	th_watch();
	th_kill(&peer);
	side_event(&s, s.ep, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	cr_assert_lt(th_watched_ms(), A_SECOND);
	all_flushed(1, 1);
	side_quiet(&s);
}

/* A peer whose process is only stopped does not count as dead. */
Test(process, stop__peer_for_a_while_keeps_the_connection)
{
	connected_to(ACCEPTOR);
	cr_assert_eq(kill(peer.pid, SIGSTOP), 0);
	th_sleep_ms(1500);
	side_quiet(&s);
	cr_assert_eq(kill(peer.pid, SIGCONT), 0);
	assert_ok(side_send(&s, s.ep, 1));
	cr_assert_eq(side_dto(&s, 1), DAT_DTO_SUCCESS);
}

static int leave_at_once(int sock, void *arg)
{
	(void)sock;
	(void)arg;
	return 0;
}

Test(process, fork__child_that_leaves_hurts_no_connection)
{
	struct th_child child;

	connected_to(ACCEPTOR);
	cr_assert_eq(th_spawn(&child, leave_at_once, NULL), 0);
	cr_assert_neq(th_join(&child, 10000), -ETIMEDOUT);
	assert_ok(side_send(&s, s.ep, 1));
	cr_assert_eq(side_dto(&s, 1), DAT_DTO_SUCCESS);
	side_quiet(&s);
}
