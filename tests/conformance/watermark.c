/* SPDX-License-Identifier: BSD-2-Clause */
/* The receives of an endpoint, and its high watermarks. */
#include <string.h>

#include "tests/conformance/fixture.h"

#define INFINITE DAT_WATERMARK_INFINITE
#define SOFT 0x010			/* a bit of srq_watermarks_supported */
#define HARD 0x100

static DAT_RETURN set(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
	return tried(dat_ep_set_watermark(ep, soft, hard));
}

static void need(const struct side *s, int watermark)
{
	if (s->attr.srq_watermarks_supported & watermark)
		return;
	must_be(DAT_MODEL_NOT_SUPPORTED, set(s->ep, 1, 1));
	skip("srq_watermarks_supported is 0x%x", (unsigned int)s->attr.srq_watermarks_supported);
}

/* Checks these counts of s->ep, together and each queried alone. */
static void holds(struct side *s, DAT_COUNT n)
{
	bool nbufs_known = s->attr.ep_recv_info_supported & 0x01;
	bool span_known = s->attr.ep_recv_info_supported & 0x10;
	DAT_COUNT nbufs = -7, span = -7;

	if (!nbufs_known && !span_known) {
		tried(dat_ep_recv_query(s->ep, &nbufs, &span));
		skip("ep_recv_info_supported is 0");
	}
	must(dat_ep_recv_query(s->ep, &nbufs, NULL));
	must(dat_ep_recv_query(s->ep, NULL, &span));
	check(nbufs == n || nbufs == DAT_VALUE_UNKNOWN);
	check(span == n || span == DAT_VALUE_UNKNOWN);
	check(nbufs_known || nbufs == DAT_VALUE_UNKNOWN);
	check(span_known || span == DAT_VALUE_UNKNOWN);
}

static void receives(struct side *s, int n)
{
	for (int i = 0; i < n; i++)
		must(do_recv(s, (uint64_t)i, (size_t)i * 64, 64));
}

/*
 * Sends messages. Their completions show that they have arrived. The receives' completions are not
 * dequeued yet.
 */
static void arrive(struct side *from, int n)
{
	for (int i = 0; i < n; i++) {
		must(do_send(from, 100, 0, 64, DEFAULT));
		took_dto(from->req_evd, 100, DAT_DTO_SUCCESS);
	}
}

/* Connects two sides: a sends, and b takes receives from an SRQ, in which this number is posted. */
static DAT_SRQ_HANDLE two_with_srq(struct side *a, struct side *b, int n, DAT_COUNT soft)
{
	DAT_SRQ_ATTR srq_attr = { n, 1, DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR attr = side_attr();
	DAT_SRQ_HANDLE srq;

	two_open_apart(a, b);
	if (!b->attr.srq_supported)
		skip("srq_supported is false");
	must(dat_srq_create(b->ia, b->pz, &srq_attr, &srq));
	attr.srq_soft_hw = soft;
	must(dat_ep_create_with_srq(b->ia, b->pz, b->recv_evd, b->req_evd, b->conn_evd, srq, &attr,
				    &b->ep));
	join(a, a->ep, b, b->ep);
	for (int i = 0; i < n; i++) {
		DAT_LMR_TRIPLET t = seg(b, (size_t)i * 64, 64);

		must(dat_srq_post_recv(srq, 1, &t, cookie((uint64_t)i)));
	}
	return srq;
}

static void took_soft_high(struct side *s)
{
	DAT_EVENT ev = took(s->async);

	check(ev.event_data.asynch_error_event_data.dat_handle == s->ep);
	same(ev.event_data.asynch_error_event_data.reason, DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

static void took_all(struct side *s, int n)
{
	for (int i = 0; i < n; i++)
		took_dto(s->recv_evd, (uint64_t)i, DAT_DTO_SUCCESS);
}

static void still_works(struct side *a, struct side *b)
{
	must(do_recv(b, 7, 0, 64));
	must(do_send(a, 8, 0, 64, DEFAULT));
	took_dto(b->recv_evd, 7, DAT_DTO_SUCCESS);
	took_dto(a->req_evd, 8, DAT_DTO_SUCCESS);
}

/* ---- dat_ep_recv_query ---- */

STATEMENT(ep_recv_query__completion_ends_a_buffer, dat_ep_recv_query, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	holds(&b, 0);
	receives(&b, 4);
	holds(&b, 4);
	arrive(&a, 1);
	holds(&b, 3);
	took_all(&b, 1);
	holds(&b, 3);
	two_close(&a, &b);
}

STATEMENT(ep_recv_query__flushed_buffers_are_gone, dat_ep_recv_query, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	receives(&b, 2);
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_dto(b.recv_evd, 0, FLUSHED);
	took_dto(b.recv_evd, 1, FLUSHED);
	holds(&b, 0);
	two_close(&a, &b);
}

STATEMENT(ep_recv_query__srq_buffer_not_before_it_is_taken, dat_ep_recv_query, DESCRIPTION)
{
	struct side a, b;

	two_with_srq(&a, &b, 4, DAT_HW_DEFAULT);
	holds(&b, 0);
	arrive(&a, 2);
	holds(&b, 0);
	took_all(&b, 2);
	holds(&b, 0);
	two_close(&a, &b);
}

/* ---- dat_ep_set_watermark ---- */

STATEMENT(ep_set_watermark__values_out_of_range, dat_ep_set_watermark, RETURNS)
{
	struct side s;

	side_open(&s);
	need(&s, SOFT | HARD);
	must_be(DAT_INVALID_PARAMETER, set(s.ep, -2, INFINITE));
	must_be(DAT_INVALID_PARAMETER, set(s.ep, INFINITE, -2));
	must(set(s.ep, 0, INFINITE));
	must(set(s.ep, INFINITE, INFINITE));
	side_close(&s);
}

static void soft_high_once(struct side *a, struct side *b)
{
	need(b, SOFT);
	must(set(b->ep, 2, INFINITE));
	arrive(a, 2);
	nothing_on(b->async);
	arrive(a, 1);
	took_soft_high(b);
	arrive(a, 1);
	took_all(b, 4);
	nothing_on(b->async);
	nothing_on(b->conn_evd);
	two_close(a, b);
}

STATEMENT(ep_set_watermark__soft_raises_one_event, dat_ep_set_watermark, DESCRIPTION)
{
	struct side a, b;

	two_with_srq(&a, &b, 8, DAT_HW_DEFAULT);
	soft_high_once(&a, &b);
}

STATEMENT(ep_set_watermark__soft_of_an_own_queue, dat_ep_set_watermark, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	receives(&b, 8);
	soft_high_once(&a, &b);
}

STATEMENT(ep_set_watermark__soft_set_again_raises_an_event_again, dat_ep_set_watermark, DESCRIPTION)
{
	struct side a, b;

	two_with_srq(&a, &b, 8, DAT_HW_DEFAULT);
	need(&b, SOFT);
	must(set(b.ep, 1, INFINITE));
	arrive(&a, 2);
	took_soft_high(&b);
	must(set(b.ep, 2, INFINITE));
	nothing_on(b.async);
	arrive(&a, 1);
	took_soft_high(&b);
	two_close(&a, &b);
}

STATEMENT(ep_set_watermark__soft_below_the_count_raises_an_event_at_once, dat_ep_set_watermark, USAGE)
{
	struct side a, b;

	two_with_srq(&a, &b, 8, DAT_HW_DEFAULT);
	need(&b, SOFT);
	arrive(&a, 3);
	must(set(b.ep, 3, INFINITE));
	must(set(b.ep, 2, INFINITE));
	took_soft_high(&b);
	took_all(&b, 3);
	nothing_on(b.async);
	two_close(&a, &b);
}

STATEMENT(ep_set_watermark__nothing_while_the_consumer_keeps_up, dat_ep_set_watermark, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	need(&b, SOFT | HARD);
	must(set(b.ep, 1, 1));
	for (int i = 0; i < 20; i++)
		still_works(&a, &b);
	nothing_on(b.async);
	nothing_on(b.conn_evd);
	two_close(&a, &b);
}

STATEMENT(ep_set_watermark__hard_breaks_the_connection, dat_ep_set_watermark, DESCRIPTION)
{
	struct side a, b;

	two_with_srq(&a, &b, 8, DAT_HW_DEFAULT);
	need(&b, HARD);
	must(set(b.ep, INFINITE, 2));
	arrive(&a, 2);
	same(state_of(b.ep), DAT_EP_STATE_CONNECTED);
	must(do_send(&a, 100, 0, 64, DEFAULT));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_BROKEN);
	same(state_of(b.ep), DAT_EP_STATE_DISCONNECTED);
	took_all(&b, 3);
	nothing_on(b.async);
	check(gets_to(a.ep, DAT_EP_STATE_DISCONNECTED));
	two_close(&a, &b);
}

STATEMENT(ep_set_watermark__hard_below_the_count_breaks_at_once, dat_ep_set_watermark, USAGE)
{
	struct side a, b;

	two_open(&a, &b);
	need(&b, HARD);
	receives(&b, 4);
	arrive(&a, 2);
	must(set(b.ep, INFINITE, 1));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_BROKEN);
	two_close(&a, &b);
}

STATEMENT(ep_set_watermark__hard_is_ready_when_connected, dat_ep_set_watermark, USAGE)
{
	struct side a, b;

	two_open_apart(&a, &b);
	need(&b, HARD);
	must(set(b.ep, INFINITE, 0));
	join(&a, a.ep, &b, b.ep);
	receives(&b, 1);
	must(do_send(&a, 100, 0, 64, DEFAULT));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_BROKEN);
	two_close(&a, &b);
}

STATEMENT(ep_set_watermark__infinite_raises_no_event, dat_ep_set_watermark, DESCRIPTION)
{
	struct side a, b;

	two_with_srq(&a, &b, 8, DAT_HW_DEFAULT);
	need(&b, SOFT | HARD);
	must(set(b.ep, 1, 1));
	must(set(b.ep, INFINITE, INFINITE));
	arrive(&a, 4);
	took_all(&b, 4);
	nothing_on(b.async);
	same(state_of(b.ep), DAT_EP_STATE_CONNECTED);
	two_close(&a, &b);
}

STATEMENT(ep_create_with_srq__soft_high_watermark, dat_ep_create_with_srq, DESCRIPTION)
{
	struct side a, b;
	DAT_EP_PARAM p;

	two_with_srq(&a, &b, 8, 2);
	need(&b, SOFT);
	must(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &p));
	same(p.ep_attr.srq_soft_hw, 2);
	arrive(&a, 3);
	took_soft_high(&b);
	must(set(b.ep, 5, INFINITE));
	must(dat_ep_query(b.ep, DAT_EP_FIELD_ALL, &p));
	same(p.ep_attr.srq_soft_hw, 5);
	two_close(&a, &b);
}
