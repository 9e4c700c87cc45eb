/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a context: the window is rebound, moved, closed, freed or flushed. */
#include <string.h>

#include "tests/e2e/ends.h"
#include "tests/e2e/window.h"

static DAT_RMR_HANDLE rmr;

static void setup(void)
{
	window_pair(&a, &b, &rmr);
}

TestSuite(bind_life, .timeout = 60);

RIG_TEST(bind_life, rebind__ends_the_old_context)
{
	DAT_RMR_CONTEXT x = window_bind(&b, rmr, 0, 100, RIGHTS_RW), y;

	window_opens(&a, &b, x, 0, 100);
	y = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	check(x != y);
	window_refuses_write(&a, &b, x, 0, 100);
	window_refuses_read(&a, &b, x, 0, 100);
	window_opens(&a, &b, y, 0, 100);
	y = window_bind(&b, rmr, 5000, 100, RIGHTS_RW);
	window_refuses_write(&a, &b, y, 0, 1);
	window_opens(&a, &b, y, 5000, 100);
}

RIG_TEST(bind_life, unbind__ends_the_window)
{
	DAT_RMR_CONTEXT x = window_bind(&b, rmr, 0, 100, RIGHTS_RW), none;
	DAT_LMR_TRIPLET nothing = { .segment_length = 0 };
	DAT_RMR_COOKIE cookie = { .as_64 = 5 };

	must_code(dat_lmr_free(b.lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	must(dat_rmr_bind(rmr, &nothing, DAT_MEM_PRIV_NONE_FLAG, b.ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &none));
	took_bind(b.req_evd, rmr, 5, DAT_RMR_BIND_SUCCESS);
	window_refuses_write(&a, &b, x, 0, 100);
	window_refuses_read(&a, &b, x, 0, 1);
	window_refuses_write(&a, &b, none, 0, 1);
	/* A closed window can be closed again, and bound again. */
	must(dat_rmr_bind(rmr, &nothing, DAT_MEM_PRIV_NONE_FLAG, b.ep, cookie,
			  DAT_COMPLETION_DEFAULT_FLAG, &none));
	took_bind(b.req_evd, rmr, 5, DAT_RMR_BIND_SUCCESS);
	x = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	window_opens(&a, &b, x, 0, 100);
}

RIG_TEST(bind_life, unbind__gives_the_lmr_free)
{
	DAT_LMR_HANDLE lmr;
	struct end other = b;

	lmr = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, &other.lmr_context, NULL);
	window_bind(&other, rmr, 0, 100, RIGHTS_RW);
	must_code(dat_lmr_free(lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
	window_bind(&other, rmr, 0, 0, DAT_MEM_PRIV_NONE_FLAG);
	must(dat_lmr_free(lmr));
	/* A window that moves to another LMR releases the first one. */
	lmr = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, &other.lmr_context, NULL);
	window_bind(&other, rmr, 0, 100, RIGHTS_RW);
	window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	must(dat_lmr_free(lmr));
	must_code(dat_lmr_free(b.lmr), DAT_INVALID_STATE, DAT_INVALID_STATE_LMR_IN_USE);
}

/* Completions of such an endpoint are never dequeued. A bind that finds no place drops them. */
RIG_TEST(bind_life, bind__on_an_endpoint_without_request_evd_finds_room)
{
	DAT_EP_HANDLE ep, own = b.ep, peer = end_ep(&a, NULL);
	DAT_EP_ATTR attr = rig_attr();
	DAT_RMR_CONTEXT context;

	must(dat_ep_create(b.ia, b.pz, b.recv_evd, DAT_HANDLE_NULL, b.conn_evd, &attr, &ep));
	end_join(&b, ep, &a, peer);
	b.ep = ep;
	for (uint32_t i = 0; i < 4 * RIG_DTOS; i++)
		soon(do_bind(&b, rmr, i, 0, 100, RIGHTS_RW, &context));
	b.ep = own;
}

static DAT_RMR_CONTEXT quietly(struct end *e, size_t len)
{
	DAT_LMR_TRIPLET to = seg(e, 0, len);
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT context = 0;

	soon(dat_rmr_bind(rmr, &to, len ? RIGHTS_RW : DAT_MEM_PRIV_NONE_FLAG, e->ep, cookie, SUPPRESS,
			  &context));
	return context;
}

/*
 * Closes or moves the window by a request whose completion is not awaited, behind one that opens it.
 * The LMR can be freed, nothing fails, and the old context is invalid.
 */
static void freed_under_way(size_t moved)
{
	DAT_RMR_CONTEXT old = 0, now = 0;
	struct end other = b;

	for (int i = 0; i < 100; i++) {
		DAT_LMR_HANDLE lmr = end_lmr(&b, b.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, &other.lmr_context,
					     NULL);

		old = quietly(&other, 100);
		now = quietly(moved ? &b : &other, moved);
		must(dat_lmr_free(lmr));
	}
	rig_empty(b.req_evd);
	window_refuses_write(&a, &b, old, 0, 8);
	if (moved)
		window_opens(&a, &b, now, 0, moved);
}

RIG_TEST(bind_life, lmr_free__with_the_unbind_under_way_succeeds)
{
	freed_under_way(0);
}

RIG_TEST(bind_life, lmr_free__with_a_rebind_under_way_succeeds)
{
	freed_under_way(100);
}

RIG_TEST(bind_life, free__ends_the_window)
{
	DAT_RMR_CONTEXT x = window_bind(&b, rmr, 0, 100, RIGHTS_RW), none;

	window_opens(&a, &b, x, 0, 100);
	must(dat_rmr_free(rmr));
	window_refuses_write(&a, &b, x, 0, 100);
	window_refuses_read(&a, &b, x, 0, 100);
	must_code(dat_rmr_free(rmr), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_RMR);
	must_code(do_bind(&b, rmr, 1, 0, 100, RIGHTS_RW, &none), DAT_INVALID_HANDLE,
		  DAT_INVALID_HANDLE_RMR);
	must(dat_lmr_free(b.lmr));
}

RIG_TEST(bind_life, lmr_free__ends_its_own_context)
{
	window_opens(&a, &b, b.rmr_context, 0, 100);
	must(dat_lmr_free(b.lmr));
	window_refuses_write(&a, &b, b.rmr_context, 0, 100);
	window_refuses_read(&a, &b, b.rmr_context, 0, 100);
}

/* The completion of a bind that is dequeued after its RMR was freed has the posted cookie. */
RIG_TEST(bind_life, free__before_the_bind_is_dequeued_keeps_its_completion)
{
	DAT_RMR_CONTEXT c;
	DAT_EVENT ev;

	must(do_bind(&b, rmr, 1, 0, 100, RIGHTS_RW, &c));
	must(dat_rmr_free(rmr));
	check(rig_next(b.req_evd, &ev, SOON_MS));
	same(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
	same(ev.event_data.rmr_completion_event_data.user_cookie.as_64, 1);
	rig_empty(b.req_evd);
	same(end_state(b.ep), DAT_EP_STATE_CONNECTED);
}

/* The very next post sends the context. The fence makes the context valid when the message arrives. */
RIG_TEST(bind_life, bind__before_a_send_of_its_context_is_valid_on_arrival)
{
	for (uint64_t i = 0; i < 300; i++) {
		size_t off = i * 64 % 30000;
		DAT_RMR_CONTEXT c;

		must(do_recv(&a, i, 4096, 64));
		must(do_bind(&b, rmr, i, off, 64, RIGHTS_RW, &c));
		memcpy(b.mem + 60000, &c, sizeof(c));
		must(do_send(&b, i, 60000, sizeof(c), SUPPRESS));
		took(a.recv_evd, i, DAT_DTO_SUCCESS);
		memcpy(&c, a.mem + 4096, sizeof(c));
		window_opens(&a, &b, c, off, 64);
		took_bind(b.req_evd, rmr, i, DAT_RMR_BIND_SUCCESS);
	}
}

/* The low byte of the key wraps, and the mkeys of an RMR alternate. No closed context works, and each
 * new one does. */
RIG_TEST(bind_life, rebind__a_thousand_times_gives_a_new_context_each_time)
{
	DAT_RMR_CONTEXT c[1021];
	DAT_LMR_TRIPLET nothing = { .segment_length = 0 };
	DAT_RMR_COOKIE cookie = { .as_64 = 1 };
	DAT_RMR_CONTEXT none;

	rig_needs_fresh_contexts();
	for (unsigned int i = 0; i < 1020; i++) {
		c[i] = window_bind(&b, rmr, i * 8, 8, RIGHTS_RW);
		window_opens(&a, &b, c[i], i * 8, 8);
		for (unsigned int k = 0; k < i; k++)
			check(c[k] != c[i]);
		/* the variants of a key are used up three times */
		if (i && i % 85 == 0) {
			window_refuses_write(&a, &b, c[i - 1], (i - 1) * 8, 8);
			window_refuses_read(&a, &b, c[i - 80], (i - 80) * 8, 8);
		}
	}
	must(dat_rmr_bind(rmr, &nothing, 0, b.ep, cookie, DAT_COMPLETION_DEFAULT_FLAG, &none));
	took_bind(b.req_evd, rmr, 1, DAT_RMR_BIND_SUCCESS);
	for (unsigned int i = 0; i < 1020; i += 51)
		window_refuses_write(&a, &b, c[i], i * 8, 8);
}

/* Fills the queue with binds without waiting. The last bind counts. */
RIG_TEST(bind_life, rebind__many_outstanding_leaves_the_last_one_open)
{
	DAT_RMR_CONTEXT c[RIG_DTOS];

	for (uint64_t lap = 0; lap < 40; lap++) {
		for (uint64_t i = 0; i < 15; i++)
			must(do_bind(&b, rmr, i, i * 100, 100, RIGHTS_RW, &c[i]));
		for (uint64_t i = 0; i < 15; i++)
			took_bind(b.req_evd, rmr, i, DAT_RMR_BIND_SUCCESS);
		window_opens(&a, &b, c[14], 1400, 100);
	}
	window_refuses_write(&a, &b, c[13], 1300, 100);
}

/* ---- Binds through another endpoint ---- */

struct pair_of_eps {
	DAT_EP_HANDLE x, y;
};

static struct pair_of_eps second_connection(void)
{
	struct pair_of_eps p = { end_ep(&a, NULL), end_ep(&b, NULL) };

	end_join(&a, p.x, &b, p.y);
	return p;
}

RIG_TEST(bind_life, rebind__through_another_endpoint_ends_the_old_context)
{
	struct pair_of_eps p = second_connection();
	DAT_EP_HANDLE ea = a.ep, eb = b.ep;
	DAT_RMR_CONTEXT old, c;

	c = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	for (int i = 0; i < 600; i++) {
		old = c;
		b.ep = i & 1 ? eb : p.y;
		c = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
		check(c != old);
		a.ep = i & 2 ? ea : p.x;	/* peers of both endpoints can use the context */
		window_opens(&a, &b, c, 0, 100);
		if (i % 100 == 50) {
			b.ep = a.ep == ea ? eb : p.y;
			window_refuses_write(&a, &b, old, 0, 100);
		}
	}
}

/* The last bind is outstanding on another endpoint, and its completion is still on the EVD. */
RIG_TEST(bind_life, rebind__through_another_endpoint_at_once_leaves_the_last_open)
{
	struct pair_of_eps p = second_connection();
	DAT_EP_HANDLE eb = b.ep;
	DAT_RMR_CONTEXT c[3];

	for (uint64_t i = 0; i < 200; i++) {
		b.ep = eb;
		must(do_bind(&b, rmr, 1, 0, 100, RIGHTS_RW, &c[0]));
		b.ep = p.y;
		soon(do_bind(&b, rmr, 2, 100, 100, RIGHTS_RW, &c[1]));
		b.ep = eb;
		soon(do_bind(&b, rmr, 3, 200, 100, RIGHTS_RW, &c[2]));
		for (uint64_t k = 1; k <= 3; k++)
			took_bind(b.req_evd, rmr, k, DAT_RMR_BIND_SUCCESS);
		window_opens(&a, &b, c[2], 200, 100);
	}
	window_refuses_write(&a, &b, c[1], 100, 100);
	window_refuses_write(&a, &b, c[0], 0, 100);
	window_opens(&a, &b, c[2], 200, 100);
}

/* Takes the completions of two endpoints, in any order. */
static void took_dtos_and_binds(DAT_EVD_HANDLE evd, unsigned int dtos, unsigned int binds)
{
	DAT_EVENT ev;

	while (dtos + binds) {
		check(rig_next(evd, &ev, SOON_MS));
		if (ev.event_number == DAT_DTO_COMPLETION_EVENT) {
			same(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
			check(dtos--);
			continue;
		}
		same(ev.event_number, DAT_RMR_BIND_COMPLETION_EVENT);
		same(ev.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
		check(binds--);
	}
}

/* The completion of the last bind comes after as many others as the endpoint allows. None of them has
 * been dequeued. */
RIG_TEST(bind_life, rebind__through_another_endpoint_behind_a_full_queue_succeeds)
{
	struct pair_of_eps p = second_connection();
	const uint64_t before = RIG_DTOS - 1;
	DAT_EP_HANDLE eb = b.ep;
	DAT_RMR_CONTEXT old, c;

	for (uint64_t lap = 0; lap < 40; lap++) {
		b.ep = lap & 1 ? p.y : eb;
		for (uint64_t i = 0; i < before; i++)
			must(do_write(&b, i, 4096 + 64 * i, far(&a, 4096 + 64 * i, 64), 0));
		must(do_bind(&b, rmr, before, 0, 100, RIGHTS_RW, &old));
		b.ep = lap & 1 ? eb : p.y;
		soon(do_bind(&b, rmr, before + 1, 0, 100, RIGHTS_RW, &c));
		took_dtos_and_binds(b.req_evd, RIG_DTOS - 1, 2);
	}
	b.ep = eb;
	window_refuses_write(&a, &b, old, 0, 100);
	window_opens(&a, &b, c, 0, 100);
}

/* The window is independent of the connection that it was bound through. */
RIG_TEST(bind_life, window__outlives_the_connection_it_was_bound_through)
{
	struct pair_of_eps p = second_connection();
	DAT_EP_HANDLE eb = b.ep;
	DAT_RMR_CONTEXT c, next;

	b.ep = p.y;
	c = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	must(dat_ep_free(p.y));
	took_conn(&a, p.x, DAT_CONNECTION_EVENT_DISCONNECTED);
	b.ep = eb;
	window_opens(&a, &b, c, 0, 100);
	next = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	window_refuses_write(&a, &b, c, 0, 100);
	window_opens(&a, &b, next, 0, 100);
}

/* Each suppressed bind has a completion that no call takes, and the EVD has few events. */
RIG_TEST(bind_life, bind__suppressed_in_numbers_overflows_no_small_evd)
{
	enum { DTOS = 256 };
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE own = b.ep, theirs = end_ep(&a, NULL), ep;
	DAT_LMR_TRIPLET part = seg(&b, 0, 100);
	DAT_RMR_COOKIE cookie = { 0 };
	DAT_RMR_CONTEXT context;
	DAT_EVD_HANDLE evd;

	attr.max_request_dtos = DTOS;
	must(dat_evd_create(b.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &evd));
	must(dat_ep_create(b.ia, b.pz, b.recv_evd, evd, b.conn_evd, &attr, &ep));
	end_join(&b, ep, &a, theirs);
	b.ep = ep;
	for (uint64_t i = 0; i < DTOS; i++)
		soon(dat_rmr_bind(rmr, &part, RIGHTS_RW, ep, cookie, SUPPRESS, &context));
	soon(do_write(&b, DTOS, 0, far(&a, 0, 8), 0));
	took(evd, DTOS, DAT_DTO_SUCCESS);
	b.ep = own;
	window_opens(&a, &b, context, 0, 100);
}

/* ---- flushed ---- */

/* After a flush it is unknown whether the bind has changed the key. The next bind resolves that, and so
 * does freeing the RMR. */
RIG_TEST(bind_life, disconnected__flushes_and_can_be_bound_again)
{
	struct pair_of_eps p = second_connection();
	DAT_EP_HANDLE eb = b.ep;
	DAT_RMR_CONTEXT first, lost, c;

	first = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	must(dat_ep_disconnect(p.y, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&b, p.y, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&a, p.x, DAT_CONNECTION_EVENT_DISCONNECTED);
	b.ep = p.y;
	for (uint64_t i = 0; i < 5; i++)
		must(do_bind(&b, rmr, i, 100, 100, RIGHTS_RW, &lost));
	for (uint64_t i = 0; i < 5; i++)
		took_bind(b.req_evd, rmr, i, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	b.ep = eb;
	window_refuses_write(&a, &b, lost, 100, 100);
	c = window_bind(&b, rmr, 200, 100, RIGHTS_RW);
	window_opens(&a, &b, c, 200, 100);
	window_refuses_write(&a, &b, first, 0, 100);
	window_refuses_write(&a, &b, lost, 100, 100);
}

/* The bind that is flushed was to change the RMR's key, so it is unknown which key the device has. */
RIG_TEST(bind_life, disconnected__flushes_a_change_of_keys_and_no_old_context_stays)
{
	enum { VARIANTS = 255 };
	struct pair_of_eps p = second_connection();
	DAT_EP_HANDLE eb = b.ep;
	DAT_RMR_CONTEXT last = 0, c;

	for (int i = 0; i < VARIANTS; i++)
		last = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	must(dat_ep_disconnect(p.y, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&b, p.y, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&a, p.x, DAT_CONNECTION_EVENT_DISCONNECTED);
	b.ep = p.y;
	must(do_bind(&b, rmr, 1, 100, 100, RIGHTS_RW, &c));
	took_bind(b.req_evd, rmr, 1, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	b.ep = eb;
	c = window_bind(&b, rmr, 200, 100, RIGHTS_RW);
	window_refuses_write(&a, &b, last, 0, 100);
	window_refuses_read(&a, &b, last, 0, 100);
	window_opens(&a, &b, c, 200, 100);
}

/* Such a bind changes nothing: the context from before the flush still opens the window. */
RIG_TEST(bind_life, refused__after_a_flush_leaves_the_old_context)
{
	struct pair_of_eps p = second_connection();
	DAT_EP_HANDLE eb = b.ep;
	DAT_RMR_CONTEXT first, none;

	first = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
	must(dat_ep_disconnect(p.y, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&b, p.y, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&a, p.x, DAT_CONNECTION_EVENT_DISCONNECTED);
	b.ep = p.y;
	must(do_bind(&b, rmr, 1, 100, 100, RIGHTS_RW, &none));
	took_bind(b.req_evd, rmr, 1, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	b.ep = eb;
	window_opens(&a, &b, first, 0, 100);
	must_code(do_bind(&b, rmr, 2, b.len, 100, RIGHTS_RW, &none), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG2);
	window_opens(&a, &b, first, 0, 100);
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		must(do_write(&b, i, 4096, far(&a, 4096, 8), 0));
	must_code(do_bind(&b, rmr, 3, 0, 100, RIGHTS_RW, &none), DAT_INSUFFICIENT_RESOURCES,
		  DAT_RESOURCE_TEP);
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		took(b.req_evd, i, DAT_DTO_SUCCESS);
	window_opens(&a, &b, first, 0, 100);
	none = window_bind(&b, rmr, 200, 100, RIGHTS_RW);
	window_opens(&a, &b, none, 200, 100);
	window_refuses_write(&a, &b, first, 0, 100);
}

RIG_TEST(bind_life, disconnected__flushes_in_order_with_the_rest)
{
	DAT_RMR_CONTEXT c;

	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_ends(&b, &a, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(do_send(&b, 1, 0, 8, 0));
	must(do_bind(&b, rmr, 2, 0, 100, RIGHTS_RW, &c));
	must(do_write(&b, 3, 0, far(&a, 0, 8), SUPPRESS));
	must(do_bind(&b, rmr, 4, 0, 0, RIGHTS_RW, &c));
	must(do_send(&b, 5, 0, 8, 0));
	took(b.req_evd, 1, FLUSHED);
	took_bind(b.req_evd, rmr, 2, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	took(b.req_evd, 3, FLUSHED);
	took_bind(b.req_evd, rmr, 4, (DAT_RMR_BIND_COMPLETION_STATUS)FLUSHED);
	took(b.req_evd, 5, FLUSHED);
	rig_empty(b.req_evd);
	must(dat_rmr_free(rmr));
}

/* One window is bound through several endpoints, one after the other. */
RIG_TEST(bind_life, reset__between_binds_keeps_the_window_usable)
{
	DAT_RMR_CONTEXT c, old = 0;

	rig_needs_fresh_contexts();
	for (int i = 0; i < 30; i++) {
		c = window_bind(&b, rmr, 0, 100, RIGHTS_RW);
		window_opens(&a, &b, c, 0, 100);
		/* a bind that is still outstanding when the connection ends */
		if (i % 3 == 2)
			must(do_bind(&b, rmr, 9, 0, 100, RIGHTS_RW, &c));
		must(dat_ep_disconnect(i & 1 ? b.ep : a.ep, DAT_CLOSE_ABRUPT_FLAG));
		took_ends(&b, &a, DAT_CONNECTION_EVENT_DISCONNECTED);
		pair_again(&a, &b);
		if (old && i % 5 == 0)
			window_refuses_write(&a, &b, old, 0, 100);
		old = i % 3 == 2 ? 0 : c;
		if (old) {
			window_opens(&a, &b, old, 0, 100);
			window_bind(&b, rmr, 0, 0, DAT_MEM_PRIV_NONE_FLAG);
		}
	}
}
