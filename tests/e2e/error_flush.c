/* SPDX-License-Identifier: BSD-2-Clause */
/* When a connection has ended, each post has completed exactly once and in order, whatever was
 * outstanding. */
#include <string.h>

#include "tests/e2e/ledger.h"
#include "tests/e2e/pair.h"

/* The work that one end posts in both directions, and the seed of its data. */
struct worker {
	struct end *e, *peer;
	struct ledger requests, receives;
	DAT_RMR_HANDLE rmr;
	uint64_t x;
};

static struct worker wa, wb;

TestSuite(error_flush, .timeout = 120);

static uint64_t draw(struct worker *w, uint64_t below)
{
	w->x = w->x * 6364136223846793005u + 1442695040888963407u;
	return (w->x >> 33) % below;
}

static void worker_init(struct worker *w, struct end *e, struct end *peer, uint64_t seed)
{
	w->e = e;
	w->peer = peer;
	w->x = seed;
	w->requests = ledger_of(e->req_evd);
	w->receives = ledger_of(e->recv_evd);
	if (!w->rmr)
		must(dat_rmr_create(e->pz, &w->rmr));
}

static void post_receive(struct worker *w)
{
	uint64_t cookie = ledger_next(&w->receives);

	ledger_posted(&w->receives, do_recv(w->e, cookie, 0, 8192), false);
}

static void post_request(struct worker *w)
{
	static const size_t sizes[] = { 0, 1, 28, 29, 188, 189, 4096, 8192 };
	uint64_t cookie = ledger_next(&w->requests);
	size_t size = sizes[draw(w, 8)];
	int flags = draw(w, 3) ? 0 : SUPPRESS;
	DAT_RMR_CONTEXT context;
	DAT_RETURN ret;

	switch (draw(w, 5)) {
	case 0:
		ret = do_write(w->e, cookie, 8192, far(w->peer, 16384, size), flags);
		break;
	case 1:
		ret = do_read(w->e, cookie, 24576, far(w->peer, 16384, size), flags);
		break;
	case 2:
		ret = do_bind(w->e, w->rmr, cookie, 0, size, RIGHTS_RW, &context);
		flags = 0;
		break;
	default:
		ret = do_send(w->e, cookie, 8192, size, flags);
	}
	ledger_posted(&w->requests, ret, flags == SUPPRESS);
}

static void some_work(struct worker *w, uint64_t steps)
{
	for (uint64_t i = 0; i < steps; i++) {
		if (draw(w, 2))
			post_receive(w);
		else
			post_request(w);
		if (!draw(w, 6)) {
			ledger_take(&w->requests);
			ledger_take(&w->receives);
		}
	}
}

/* ---- Ways to end a connection ---- */

enum end_by { BAD_KEY, BAD_SEGMENT, BAD_RECEIVE, ABRUPT, ABRUPT_BY_PEER, GRACEFUL_BY_BOTH, WAYS };

static void spoil(struct worker *w, enum end_by how)
{
	uint64_t cookie = ledger_next(&w->requests);
	DAT_DTO_COOKIE c = { .as_64 = cookie };
	DAT_LMR_TRIPLET nowhere = { .lmr_context = 0x1234, .segment_length = 64 };
	DAT_RETURN ret;

	if (how == BAD_RECEIVE) {
		c.as_64 = ledger_next(&w->receives);
		ret = dat_ep_post_recv(w->e->ep, 1, &nowhere, c, DAT_COMPLETION_DEFAULT_FLAG);
		ledger_posted(&w->receives, ret, false);
		return;
	}
	if (how == BAD_KEY)
		ret = do_write(w->e, cookie, 0, through(0x1234, w->peer, 0, 64), SUPPRESS);
	else
		ret = dat_ep_post_send(w->e->ep, 1, &nowhere, c, SUPPRESS);
	ledger_posted(&w->requests, ret, true);
}

/*
 * A side without receives, or with an error of its own, makes the sends of the other side wait.
 * Then the planned error may never happen, so a call ends the connection instead.
 */
static void finish(enum end_by how)
{
	if (how <= BAD_RECEIVE) {
		spoil(&wa, how);
		some_work(&wa, 10);
		some_work(&wb, 10);
		how = ABRUPT;
	}
	if (how == ABRUPT || how == GRACEFUL_BY_BOTH)
		must(dat_ep_disconnect(a.ep, how == ABRUPT ? DAT_CLOSE_ABRUPT_FLAG :
							     DAT_CLOSE_GRACEFUL_FLAG));
	else
		must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	if (how == GRACEFUL_BY_BOTH) {
		/* A graceful end would take ten seconds, because some sends find no receive. */
		must(dat_ep_disconnect(b.ep, DAT_CLOSE_GRACEFUL_FLAG));
		must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
		must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	}
}

/* Checks that the end causes one event and no other. */
static void told_once(struct end *e)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	must(dat_evd_wait(e->conn_evd, SOON_MS * 1000u, 1, &ev, &more));
	check(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
	      ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
	same(ev.event_data.connect_event_data.ep_handle, e->ep);
	rig_empty(e->conn_evd);
	same(end_state(e->ep), DAT_EP_STATE_DISCONNECTED);
}

/* Drains the queues. dat_ep_reset(3): the last post completes last. */
static void drain(struct worker *w)
{
	check(TH_WITHIN(SOON_MS, (ledger_take(&w->requests),
		ledger_posted(&w->requests, do_send(w->e, ledger_next(&w->requests), 0, 8, 0), false))));
	check(TH_WITHIN(SOON_MS, (ledger_take(&w->receives),
		ledger_posted(&w->receives, do_recv(w->e, ledger_next(&w->receives), 0, 8), false))));
	ledger_close(&w->requests);
	ledger_close(&w->receives);
	check(w->requests.failed && w->receives.failed);
}

static void one_life(uint64_t seed, enum end_by how)
{
	worker_init(&wa, &a, &b, seed * 2 + 1);
	worker_init(&wb, &b, &a, seed * 3 + 1);
	for (uint64_t i = 0; i < 12; i++) {
		some_work(&wa, seed % 13);
		some_work(&wb, seed % 11);
	}
	finish(how);
	told_once(&a);
	told_once(&b);
	some_work(&wa, 20);		/* posts are still accepted, and flushed */
	some_work(&wb, 20);
	drain(&wa);
	drain(&wb);
	must(dat_ep_reset(a.ep));
	must(dat_ep_reset(b.ep));
	rig_empty(a.conn_evd);
	end_join(&a, a.ep, &b, b.ep);
}

static void many_lives(enum end_by how)
{
	for (uint64_t seed = 1; seed <= 60; seed++)
		one_life(seed, how);
	/* Other endpoints still work. */
	pair_moves(&a, &b);
}

RIG_TEST(error_flush, ledger__bad_remote_key_completes_all_work_once)
{
	many_lives(BAD_KEY);
}

RIG_TEST(error_flush, ledger__bad_segment_completes_all_work_once)
{
	many_lives(BAD_SEGMENT);
}

RIG_TEST(error_flush, ledger__bad_receive_completes_all_work_once)
{
	many_lives(BAD_RECEIVE);
}

RIG_TEST(error_flush, ledger__abrupt_disconnect_completes_all_work_once)
{
	many_lives(ABRUPT);
}

RIG_TEST(error_flush, ledger__abrupt_disconnect_by_the_peer_completes_all_work_once)
{
	many_lives(ABRUPT_BY_PEER);
}

RIG_TEST(error_flush, ledger__graceful_by_both_then_abrupt_completes_all_work_once)
{
	many_lives(GRACEFUL_BY_BOTH);
}

/* ---- Each way alone ---- */

/* Suppressed work that fails is reported, and so is all suppressed work behind it. */
RIG_TEST(error_flush, suppressed__failures_are_reported)
{
	must(do_write(&a, 1, 0, far(&b, 0, 64), SUPPRESS));
	must(do_write(&a, 2, 0, through(0x1234, &b, 0, 64), SUPPRESS));
	for (uint64_t i = 3; i < 30; i++)
		must(do_write(&a, i, 0, far(&b, 0, 64), SUPPRESS));
	took(a.req_evd, 2, DAT_DTO_ERR_REMOTE_ACCESS);
	took_range(a.req_evd, 3, 29, FLUSHED);
	took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
	for (uint64_t i = 30; i < 50; i++)
		must(do_write(&a, i, 0, far(&b, 0, 64), SUPPRESS));
	took_range(a.req_evd, 30, 49, FLUSHED);
	rig_empty(a.req_evd);
}

/* dat_ep_disconnect(3): the end of a connection comes after its completions. */
RIG_TEST(error_flush, disconnected__comes_when_the_queues_are_flushed)
{
	DAT_DTO_COMPLETION_EVENT_DATA *d;
	DAT_EVENT ev;

	for (uint64_t i = 0; i < RIG_DTOS; i++)
		must(do_recv(&a, i, 0, 64));
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t i = 0; i < RIG_DTOS; i++) {
		must(dat_evd_dequeue(a.recv_evd, &ev));
		d = &ev.event_data.dto_completion_event_data;
		same(d->user_cookie.as_64, i);
		same(d->status, FLUSHED);
	}
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
}

/* All completions of a full queue are there afterwards, though none has been dequeued before. */
RIG_TEST(error_flush, full_queues__are_flushed_whole)
{
	rig_needs_end_to_end();
	for (uint64_t i = 0; i < RIG_DTOS; i++) {
		must(do_send(&a, i, 0, 64, i & 1 ? SUPPRESS : 0));
		must(do_recv(&a, i, 0, 64));
	}
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
	must_fail(do_send(&a, 99, 0, 64, SUPPRESS), DAT_INSUFFICIENT_RESOURCES);
	must_fail(do_recv(&a, 99, 0, 64), DAT_INSUFFICIENT_RESOURCES);
	took_range(a.req_evd, 0, RIG_DTOS - 1, FLUSHED);
	took_range(a.recv_evd, 0, RIG_DTOS - 1, FLUSHED);
	for (uint64_t lap = 0; lap < 20; lap++) {
		for (uint64_t i = 0; i < RIG_DTOS; i++) {
			must(do_send(&a, i, 0, 64, SUPPRESS));
			must(do_recv(&a, i, 0, 64));
		}
		took_range(a.req_evd, 0, RIG_DTOS - 1, FLUSHED);
		took_range(a.recv_evd, 0, RIG_DTOS - 1, FLUSHED);
	}
	rig_empty(a.req_evd);
	rig_empty(a.recv_evd);
}

/* Reset drops undequeued completions; none of them appears in the next connection. */
RIG_TEST(error_flush, reset__drops_undequeued_completions)
{
	for (uint64_t lap = 0; lap < 30; lap++) {
		for (uint64_t i = 0; i < RIG_DTOS; i++) {
			must(do_recv(&a, 1000 + i, 0, 64));
			must(do_send(&a, 2000 + i, 0, 64, 0));
		}
		must(dat_ep_disconnect(lap & 1 ? a.ep : b.ep, DAT_CLOSE_ABRUPT_FLAG));
		took_ends(&a, &b, DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_again(&a, &b);
		rig_empty(a.req_evd);
		rig_empty(a.recv_evd);
		pair_moves(&a, &b);
	}
}

/* The failure of one connection does not affect others on the same EVDs. */
RIG_TEST(error_flush, neighbours__are_left_alone)
{
	DAT_EP_HANDLE ea = a.ep, x = end_ep(&a, NULL), y = end_ep(&b, NULL);

	end_join(&a, x, &b, y);
	for (uint64_t i = 0; i < 100; i++) {
		a.ep = x;
		must(do_write(&a, i, 0, far(&b, 0, 500), 0));
		took(a.req_evd, i, DAT_DTO_SUCCESS);
		a.ep = ea;
		if (i % 10 == 3) {
			must(do_write(&a, 7, 0, through(0x1234, &b, 0, 500), 0));
			took(a.req_evd, 7, DAT_DTO_ERR_REMOTE_ACCESS);
			took_ends(&a, &b, DAT_CONNECTION_EVENT_BROKEN);
			pair_again(&a, &b);
		}
	}
	same(end_state(x), DAT_EP_STATE_CONNECTED);
}
