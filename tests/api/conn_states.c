/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries each connection call in each state of an endpoint. The expected return code and next state come
 * from the manual pages. Every cell begins with new adapters on both sides.
 */
#include <string.h>

#include "tests/api/conn.h"

#define U DAT_EP_STATE_UNCONNECTED
#define R DAT_EP_STATE_RESERVED
#define P DAT_EP_STATE_PASSIVE_CONNECTION_PENDING
#define A DAT_EP_STATE_ACTIVE_CONNECTION_PENDING
#define M DAT_EP_STATE_COMPLETION_PENDING
#define C DAT_EP_STATE_CONNECTED
#define G DAT_EP_STATE_DISCONNECT_PENDING
#define D DAT_EP_STATE_DISCONNECTED

/* NO: the call returns INVALID_STATE, and the endpoint keeps its state */
enum { STATES = 8, STAYS = -1, NO = -2 };

static const DAT_EP_STATE states[STATES] = { U, R, P, A, M, C, G, D };
static const char *const names[STATES] = { "UNCONNECTED", "RESERVED", "PASSIVE_PENDING",
	"ACTIVE_PENDING", "COMPLETION_PENDING", "CONNECTED", "DISCONNECT_PENDING", "DISCONNECTED" };

static struct side s, peer;
static struct th_child child;

static DAT_RETURN connect_it(void)
{
	return side_try_connect(&s, s.ep, DAT_TIMEOUT_INFINITE);
}

static DAT_RETURN reserve_it(void)
{
	DAT_RSP_HANDLE rsp;

	return dat_rsp_create(s.ia, conn_qual() + 1, s.ep, s.cr_evd, &rsp);
}

/* Accepts the request of another endpoint of the peer. */
static DAT_RETURN accept_it(void)
{
	DAT_PSP_HANDLE psp;

	assert_ok(dat_psp_create(s.ia, conn_qual() + 1, s.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ok(dat_ep_connect(side_ep(&peer), conn_host(), conn_qual() + 1,
				 DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	return dat_cr_accept(side_request(&s), s.ep, 0, NULL);
}

static DAT_RETURN leave_gracefully(void)
{
	return dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN leave_abruptly(void)
{
	return dat_ep_disconnect(s.ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN reset_it(void)
{
	return dat_ep_reset(s.ep);
}

static DAT_RETURN free_it(void)
{
	return dat_ep_free(s.ep);
}

static DAT_RETURN post_recv(void)
{
	return side_recv(&s, s.ep, 77);
}

static DAT_RETURN post_send(void)
{
	return side_send(&s, s.ep, 78);
}

static DAT_RETURN query_it(void)
{
	DAT_EP_PARAM param;

	return dat_ep_query(s.ep, DAT_EP_FIELD_ALL, &param);
}

struct row {
	const char *name;
	DAT_RETURN (*call)(void);
	int next[STATES];
};

static void one_cell(const struct row *row, int i)
{
	int next = row->next[i];
	DAT_RETURN ret;
	DAT_EP_STATE now;

	if (states[i] == M)
		side_spawn_connector(&child);
	side_open(&s);
	side_open(&peer);
	side_bring(&s, &peer, &child, states[i]);
	ret = row->call();
	cr_expect_eq(DAT_GET_TYPE(ret), (DAT_RETURN)(next == NO ? DAT_INVALID_STATE : DAT_SUCCESS),
		     "%s in state %s returned the wrong code 0x%08x", row->name, names[i], ret);
	if (row->call != free_it || ret != DAT_SUCCESS) {
		now = side_state(s.ep);
		/* An intermediate state may be over before the test sees it. */
		cr_expect(now == (next < 0 ? states[i] : (DAT_EP_STATE)next) ||
				  (next == (int)M && now == C) || (next == (int)G && now == D),
			  "%s in state %s leads to the wrong state %d", row->name, names[i],
			  (int)now);
	} else {
		cr_expect_eq(DAT_GET_TYPE(dat_ep_free(s.ep)), DAT_INVALID_HANDLE);
	}
	side_close(&s);
	side_close(&peer);
	if (states[i] == M)
		th_kill(&child);
}

static void one_row(const struct row *row)
{
	for (int i = 0; i < STATES; i++)
		one_cell(row, i);
}

TestSuite(conn_states, .timeout = 120);

#define ROW(test, name, fn, ...)                                                                   \
	Test(conn_states, test)                                                                    \
	{                                                                                          \
		one_row(&(struct row){ name, fn, { __VA_ARGS__ } });                               \
	}
/*	UNC    RSV    PAS    ACT    CPL    CON    DSP    DIS */
ROW(connect__is_refused_in_each_state_but_unconnected, "connect", connect_it,
	A,     NO,    NO,    NO,    NO,    NO,    NO,    NO)
ROW(rsp_create__is_refused_in_each_state_but_unconnected, "rsp_create", reserve_it,
	R,     NO,    NO,    NO,    NO,    NO,    NO,    NO)
ROW(accept__is_refused_in_each_state_but_unconnected, "accept", accept_it,
	M,     NO,    NO,    NO,    NO,    NO,    NO,    NO)
ROW(disconnect__graceful_is_refused_before_connect_or_accept, "graceful", leave_gracefully,
	NO,    NO,    NO,    D,     D,     G,     STAYS, STAYS)
ROW(disconnect__abrupt_is_refused_before_connect_or_accept, "abrupt", leave_abruptly,
	NO,    NO,    NO,    D,     D,     D,     D,     STAYS)
ROW(reset__succeeds_only_when_unconnected_or_disconnected, "reset", reset_it,
	STAYS, NO,    NO,    NO,    NO,    NO,    NO,    U)
ROW(ep_free__is_refused_while_reserved_or_passive_pending, "free", free_it,
	STAYS, NO,    NO,    STAYS, STAYS, STAYS, STAYS, STAYS)
ROW(post_recv__succeeds_in_each_state, "recv", post_recv,
	STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS)
ROW(post_send__succeeds_only_when_connected_or_disconnected, "send", post_send,
	NO,    NO,    NO,    NO,    NO,    STAYS, NO,    STAYS)
ROW(ep_query__succeeds_in_each_state, "query", query_it,
	STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS, STAYS)
