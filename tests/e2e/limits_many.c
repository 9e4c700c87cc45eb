/* SPDX-License-Identifier: BSD-2-Clause */
/* Many connections at once; qualifiers and private data at their limits. */
#include <netinet/in.h>
#include <string.h>

#include "tests/e2e/rig.h"

static struct end a, b;
static struct th_child peer;

static void setup(void)
{
	end_open(&a, RIG_MEM, NULL);
	end_open(&b, RIG_MEM, NULL);
}

static void teardown(void)
{
	th_kill(&peer);
	pair_close(&a, &b);
}

TestSuite(limits_many, .timeout = 120);

/* ---- Many connections at once ---- */

#define CROWD 300

static DAT_EP_HANDLE crowd_a[CROWD], crowd_b[CROWD];

static DAT_EP_HANDLE small_ep(struct end *e, DAT_EVD_HANDLE req_evd, DAT_EVD_HANDLE recv_evd)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE ep;

	attr.max_recv_dtos = attr.max_request_dtos = 4;
	must(dat_ep_create(e->ia, e->pz, recv_evd, req_evd, e->conn_evd, &attr, &ep));
	return ep;
}

static void crowd_evds(struct end *e)
{
	must(dat_evd_create(e->ia, 5000, NULL, DAT_EVD_DTO_FLAG, &e->req_evd));
	must(dat_evd_create(e->ia, 5000, NULL, DAT_EVD_DTO_FLAG, &e->recv_evd));
}

static DAT_EVENT_NUMBER ends_seen(DAT_EVD_HANDLE evd)
{
	unsigned int n = 0;
	DAT_EVENT ev;

	while (n < CROWD && rig_next(evd, &ev, SOON_MS))
		n += ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED;
	return n;
}

/* Skips the test unless the adapters of both sides support that many connections. */
static void needs_a_crowd(void)
{
	DAT_IA_ATTR attr;

	must(dat_ia_query(a.ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	if (attr.max_eps <= CROWD)
		cr_skip_test("the adapter says max_eps = %d", attr.max_eps);
}

RIG_TEST(limits_many, endpoints__three_hundred_at_once_transfer_data)
{
	needs_a_crowd();
	/* For each i, endpoint i of a writes to its own slot at b, notifies b, and reads the slot
	 * back. */
	crowd_evds(&a);
	crowd_evds(&b);
	for (int i = 0; i < CROWD; i++) {
		crowd_a[i] = small_ep(&a, a.req_evd, a.recv_evd);
		crowd_b[i] = small_ep(&b, b.req_evd, b.recv_evd);
		end_join(&a, crowd_a[i], &b, crowd_b[i]);
	}
	for (uint64_t i = 0; i < CROWD; i++) {
		a.ep = crowd_a[i];
		b.ep = crowd_b[i];
		fill(a.mem + i * 100, 100, i);
		must(do_recv(&b, i, 60000, 64));
		must(do_write(&a, i, i * 100, far(&b, i * 100, 100), SUPPRESS));
		must(do_send(&a, i, 0, 0, SUPPRESS));
	}
	for (unsigned int i = 0; i < CROWD; i++) {
		DAT_EVENT ev;
		const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;

		check(rig_next(b.recv_evd, &ev, SOON_MS));
		same(d->status, DAT_DTO_SUCCESS);
		check(d->user_cookie.as_64 < CROWD);
		same(d->ep_handle, crowd_b[d->user_cookie.as_64]);
		check(filled(b.mem + d->user_cookie.as_64 * 100, 100, d->user_cookie.as_64));
	}
	rig_empty(a.req_evd);
	for (int i = 0; i < CROWD; i++) {
		must(dat_ep_disconnect(crowd_a[i], (DAT_CLOSE_FLAGS)(i & 1)));
		/* The connect EVD has 64 entries. */
		took_conn(&a, crowd_a[i], DAT_CONNECTION_EVENT_DISCONNECTED);
		took_conn(&b, crowd_b[i], DAT_CONNECTION_EVENT_DISCONNECTED);
	}
}

/* All connections end at the same time. */
RIG_TEST(limits_many, endpoints__that_all_lose_their_peer_each_get_their_events)
{
	needs_a_crowd();
	crowd_evds(&a);
	crowd_evds(&b);
	must(dat_evd_create(a.ia, 1000, NULL, DAT_EVD_CONNECTION_FLAG, &a.conn_evd));
	for (int i = 0; i < CROWD; i++) {
		crowd_a[i] = small_ep(&a, a.req_evd, a.recv_evd);
		end_join(&a, crowd_a[i], &b, small_ep(&b, b.req_evd, b.recv_evd));
		a.ep = crowd_a[i];
		for (uint64_t k = 0; k < 4; k++)
			must(do_recv(&a, (uint64_t)i * 4 + k, 0, 64));
	}
	end_close(&b);
	same(ends_seen(a.conn_evd), CROWD);
	rig_empty(a.conn_evd);
	for (int i = 0; i < CROWD * 4; i++) {
		DAT_EVENT ev;
		static bool seen[CROWD * 4];
		uint64_t cookie;

		check(rig_next(a.recv_evd, &ev, SOON_MS));
		cookie = ev.event_data.dto_completion_event_data.user_cookie.as_64;
		same(ev.event_data.dto_completion_event_data.status, FLUSHED);
		check(cookie < CROWD * 4 && !seen[cookie] && (cookie % 4 == 0 || seen[cookie - 1]));
		seen[cookie] = true;
	}
	rig_empty(a.recv_evd);
}

/* ---- Qualifiers and private data ---- */

static int holds_a_qualifier(int sock, void *arg)
{
	struct end e;

	(void)arg;
	end_open(&e, RIG_MEM, NULL);
	end_listen(&e);
	same(th_send(sock, &e.qual, sizeof(e.qual)), 0);
	same(th_meet(sock), 0);
	must(dat_psp_free(e.psp));
	same(th_meet(sock), 0);
	same(th_meet(sock), 0);
	end_close(&e);
	return 0;
}

RIG_TEST(limits_many, qualifier__of_another_process_is_in_use)
{
	DAT_PSP_HANDLE psp = NULL;
	DAT_CONN_QUAL qual;

	peer_spawn(&peer, holds_a_qualifier, NULL);
	same(th_recv(peer.sock, &qual, sizeof(qual)), 0);
	must_fail(dat_psp_create(b.ia, qual, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE);
	check(!psp);
	same(th_meet(peer.sock), 0);
	same(th_meet(peer.sock), 0);
	must(dat_psp_create(b.ia, qual, b.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp));
	must_fail(dat_psp_create(a.ia, qual, a.cr_evd, DAT_PSP_CONSUMER_FLAG, &psp),
		  DAT_CONN_QUAL_IN_USE);
	same(th_meet(peer.sock), 0);
	peer_done(&peer);
}

static DAT_RETURN dial_with(DAT_COUNT size, void *data)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return dat_ep_connect(a.ep, (DAT_IA_ADDRESS_PTR)&to, b.qual, SOON_MS * 1000u, size, data,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

RIG_TEST(limits_many, private_data__too_long_is_refused)
{
	char data[300];
	DAT_CR_HANDLE cr;

	end_listen(&b);
	memset(data, 'd', sizeof(data));
	must_fail(dial_with(257, data), DAT_INVALID_PARAMETER);
	must_fail(dial_with(-1, data), DAT_INVALID_PARAMETER);
	must_fail(dial_with(INT32_MAX, data), DAT_INVALID_PARAMETER);
	must_fail(dial_with(1, NULL), DAT_INVALID_PARAMETER);
	same(end_state(a.ep), DAT_EP_STATE_UNCONNECTED);
	must(dial_with(256, data));
	cr = end_request(&b);
	must_fail(dat_cr_accept(cr, b.ep, 257, data), DAT_INVALID_PARAMETER);
	must_fail(dat_cr_accept(cr, b.ep, -1, data), DAT_INVALID_PARAMETER);
	must_fail(dat_cr_accept(cr, b.ep, 1, NULL), DAT_INVALID_PARAMETER);
	must(dat_cr_accept(cr, b.ep, 256, data));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
}

/* dat_ep_connect(3): the call retries until the timeout. */
RIG_TEST(limits_many, connect__without_a_listener_retries_until_the_timeout)
{
	DAT_EVENT_NUMBER last;
	unsigned int ms = 300;
	uint64_t start;
	DAT_EVENT ev;

	end_listen(&b);
	must(dat_psp_free(b.psp));
	b.psp = NULL;
	/* On a busy machine the time may be over before the refusal comes: the next try has more. */
	do {
		must(do_recv(&a, 1, 0, 64));
		start = th_now_ms();
		must(end_dial(a.ep, b.qual, ms * 1000));
		check(TH_WITHIN(SOON_MS, dat_evd_dequeue(a.conn_evd, &ev) == DAT_SUCCESS));
		last = ev.event_number;
		check(th_now_ms() - start >= ms - 10);
		took(a.recv_evd, 1, FLUSHED);
		must(dat_ep_reset(a.ep));
		ms *= 5;
	} while (last == DAT_CONNECTION_EVENT_TIMED_OUT && ms < SOON_MS);
	same(last, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	end_join(&a, a.ep, &b, b.ep);
}
