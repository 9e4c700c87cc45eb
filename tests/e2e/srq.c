/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoints with a shared receive queue in use: b has two endpoints, which receive from two
 * senders. */
#include <string.h>

#include "tests/e2e/ends.h"

#define RECVS 8
#define PIECE 1024

static DAT_SRQ_HANDLE srq;
static DAT_EP_HANDLE a2, b1, b2;	/* a.ep sends to b1, a2 to b2 */

static DAT_EP_HANDLE shared_ep(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE ep = NULL;

	must(dat_ep_create_with_srq(b.ia, pz, recv, b.req_evd, b.conn_evd, srq, &attr, &ep));
	return ep;
}

static void open_ends(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = RECVS, .max_recv_iov = 2 };

	rig_needs_srq();
	end_open(&a, RIG_MEM, NULL);
	end_open(&b, RIG_MEM, NULL);
	must(dat_srq_create(b.ia, b.pz, &attr, &srq));
	a2 = end_ep(&a, NULL);
}

static void setup(void)
{
	open_ends();
	b1 = shared_ep(b.pz, b.recv_evd);
	b2 = shared_ep(b.pz, b.recv_evd);
	end_join(&a, a.ep, &b, b1);
	end_join(&a, a2, &b, b2);
}

/* Opens an adapter whose device will report violations. */
static void setup_wrong(void)
{
	rig_conf("");
	setup();
}

TestSuite(srq_wrong, .init = setup_wrong, .fini = teardown, .timeout = 60);
TestSuite(srq, .timeout = 60);
TestSuite(srq_other, .init = open_ends, .fini = teardown, .timeout = 60);

/* Posts a receive. The cookie selects the buffer. */
static DAT_RETURN give(uint64_t cookie, size_t len)
{
	DAT_LMR_TRIPLET s = seg(&b, cookie % 32 * PIECE, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_srq_post_recv(srq, 1, &s, c);
}

static DAT_RETURN send_by(DAT_EP_HANDLE ep, uint64_t cookie, size_t len)
{
	DAT_LMR_TRIPLET s = seg(&a, 0, len);
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dat_ep_post_send(ep, 1, &s, c, DAT_COMPLETION_DEFAULT_FLAG);
}

/* Checks the next receive: its endpoint and status; returns its cookie. */
static uint64_t took_by(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT ev;
	DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;

	check(rig_next(evd, &ev, SOON_MS));
	same(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	check(d->ep_handle == ep);
	same(d->status, status);
	return d->user_cookie.as_64;
}

static DAT_SRQ_PARAM query(void)
{
	DAT_SRQ_PARAM p;

	must(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &p));
	return p;
}

RIG_TEST(srq, buffers__go_to_the_endpoint_that_gets_a_message)
{
	static const int to_second[] = { 0, 1, 1, 0, 1, 0, 0, 1 };

	fill(a.mem, PIECE, 5);
	for (uint64_t i = 0; i < RECVS; i++)
		must(give(i, PIECE));
	for (uint64_t i = 0; i < RECVS; i++) {
		uint64_t got;

		must(send_by(to_second[i] ? a2 : a.ep, i, 100 + i));
		got = took_by(b.recv_evd, to_second[i] ? b2 : b1, DAT_DTO_SUCCESS);
		check(!memcmp(b.mem + got * PIECE, a.mem, 100 + i));
		took(a.req_evd, i, DAT_DTO_SUCCESS);
	}
	rig_empty(b.recv_evd);
}

/* dat_srq_query(3): the example of the page. */
RIG_TEST(srq, srq_query__counts_posted_and_taken_receives)
{
	for (uint64_t i = 0; i < 3; i++)
		must(give(i, PIECE));
	same(query().available_dto_count, 3);
	same(query().outstanding_dto_count, 3);
	must(send_by(a.ep, 1, 8));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	same(query().available_dto_count, 2);
	same(query().outstanding_dto_count, 3);
	took_by(b.recv_evd, b1, DAT_DTO_SUCCESS);
	same(query().available_dto_count, 2);
	same(query().outstanding_dto_count, 2);
	same(query().max_recv_dtos, RECVS);
}

/* A wait for two events takes the only completion from the CQ, and leaves it on the queue. */
static void set_aside_one(void)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	for (uint64_t i = 0; i < 3; i++)
		must(give(i, PIECE));
	must(send_by(a.ep, 1, 8));
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	must_fail(dat_evd_wait(b.recv_evd, 0, 2, &ev, &more), DAT_TIMEOUT_EXPIRED);
	same(more, 1);
	same(query().available_dto_count, 2);
	same(query().outstanding_dto_count, 3);
}

RIG_TEST(srq, completion__that_a_wait_has_set_aside_keeps_its_receive_outstanding)
{
	set_aside_one();
	must_fail(dat_srq_resize(srq, 2), DAT_INVALID_STATE);
	same(query().max_recv_dtos, RECVS);
	took_by(b.recv_evd, b1, DAT_DTO_SUCCESS);
	same(query().outstanding_dto_count, 2);
	must(dat_srq_resize(srq, 3));
}

RIG_TEST(srq, ep_free__with_a_completion_set_aside_ends_its_receive)
{
	set_aside_one();
	must(dat_ep_free(b1));
	same(query().available_dto_count, 2);
	same(query().outstanding_dto_count, 2);
}

/* The queue is full during many laps. */
RIG_TEST(srq, srq_post_recv__of_a_thousand_laps_keeps_the_order)
{
	uint64_t posted = 0;

	for (; posted < RECVS; posted++)
		must(give(posted, PIECE));
	for (uint64_t i = 0; i < 1000; i++) {
		bool second = i * 7 % 3 == 0;

		must_fail(give(9, PIECE), DAT_INSUFFICIENT_RESOURCES);
		must(send_by(second ? a2 : a.ep, i, 8));
		same(took_by(b.recv_evd, second ? b2 : b1, DAT_DTO_SUCCESS), posted - RECVS);
		took(a.req_evd, i, DAT_DTO_SUCCESS);
		must(give(posted++, PIECE));
	}
}

/* Only a completion that was not dequeued keeps its slot in use. */
RIG_TEST(srq, srq_post_recv__undequeued_completion_keeps_only_its_slot)
{
	DAT_EVD_HANDLE own = NULL;
	DAT_EP_HANDLE eb, ea = end_ep(&a, NULL);

	must(dat_evd_create(b.ia, 32, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &own));
	eb = shared_ep(b.pz, own);
	end_join(&a, ea, &b, eb);
	for (uint64_t i = 0; i < RECVS; i++)
		must(give(i, PIECE));
	must(send_by(ea, 7, 8));
	took(a.req_evd, 7, DAT_DTO_SUCCESS);
	for (uint64_t i = 0; i < 50; i++) {
		must(send_by(a.ep, i, 8));
		took_by(b.recv_evd, b1, DAT_DTO_SUCCESS);
		took(a.req_evd, i, DAT_DTO_SUCCESS);
		must(give(100 + i, PIECE));
		must_fail(give(9, PIECE), DAT_INSUFFICIENT_RESOURCES);
	}
	same(query().available_dto_count, RECVS - 1);
	same(query().outstanding_dto_count, RECVS);
	same(took_by(own, eb, DAT_DTO_SUCCESS), 0);
	must(give(200, PIECE));
}

RIG_TEST(srq, message__waits_for_a_buffer)
{
	DAT_EVENT ev;

	must(send_by(a.ep, 1, 8));
	check(!rig_next(b.recv_evd, &ev, 20));
	must(give(4, PIECE));
	same(took_by(b.recv_evd, b1, DAT_DTO_SUCCESS), 4);
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
}

RIG_TEST(srq, low_watermark__passed_by_a_message_raises_one_event)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT ev;

	d = &ev.event_data.asynch_error_event_data;
	for (uint64_t i = 0; i < 4; i++)
		must(give(i, PIECE));
	must(dat_srq_set_lw(srq, 3));
	must(send_by(a.ep, 1, 8));
	took_by(b.recv_evd, b1, DAT_DTO_SUCCESS);
	check(!rig_next(b.async, &ev, 20));
	must(send_by(a2, 2, 8));
	took_by(b.recv_evd, b2, DAT_DTO_SUCCESS);
	check(rig_next(b.async, &ev, SOON_MS));
	check(d->dat_handle == srq);
	same(d->reason, DAT_SRQ_LOW_WATERMARK_EVENT);
	must(send_by(a2, 3, 8));
	took_by(b.recv_evd, b2, DAT_DTO_SUCCESS);
	check(!rig_next(b.async, &ev, 20));
}

/* Receives that the endpoint has not taken stay in the SRQ for the others; none is flushed. */
RIG_TEST(srq, ep_disconnect__leaves_the_buffers)
{
	for (uint64_t i = 0; i < 4; i++)
		must(give(i, PIECE));
	must(dat_ep_disconnect(b1, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&b, b1, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	rig_empty(b.recv_evd);
	same(query().available_dto_count, 4);
	must(send_by(a2, 5, 8));
	same(took_by(b.recv_evd, b2, DAT_DTO_SUCCESS), 0);
	must_fail(dat_srq_free(srq), DAT_SRQ_IN_USE);
}

RIG_TEST(srq, ep_reset__reconnected_endpoint_uses_the_buffers)
{
	must(give(1, PIECE));
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&b, b1, DAT_CONNECTION_EVENT_DISCONNECTED);
	must(dat_ep_reset(a.ep));
	must(dat_ep_reset(b1));
	end_join(&a, a.ep, &b, b1);
	must(send_by(a.ep, 3, 8));
	same(took_by(b.recv_evd, b1, DAT_DTO_SUCCESS), 1);
}

RIG_TEST(srq, ep_free__returns_undequeued_receives)
{
	for (uint64_t i = 0; i < RECVS; i++)
		must(give(i, PIECE));
	for (uint64_t i = 0; i < 5; i++) {
		must(send_by(a.ep, i, 8));
		took(a.req_evd, i, DAT_DTO_SUCCESS);
	}
	same(query().outstanding_dto_count, RECVS);
	must(dat_ep_free(b1));
	same(query().outstanding_dto_count, RECVS - 5);
	for (uint64_t i = 0; i < 5; i++)
		must(give(i, PIECE));
	rig_empty(b.recv_evd);
}

RIG_TEST(srq, ep_post_recv__connected_with_an_srq_is_refused)
{
	DAT_LMR_TRIPLET s = seg(&b, 0, 8);
	DAT_DTO_COOKIE c = { .as_64 = 1 };

	must_fail(dat_ep_post_recv(b1, 1, &s, c, 0), DAT_INVALID_STATE);
	must(give(1, PIECE));
	must(send_by(a.ep, 1, 8));
	took_by(b.recv_evd, b1, DAT_DTO_SUCCESS);
	must_fail(dat_ep_post_recv(b1, 1, &s, c, 0), DAT_INVALID_STATE);
}

RIG_TEST(srq, message__of_no_byte_or_two_segments_arrives)
{
	DAT_LMR_TRIPLET s[2] = { seg(&b, 0, 10), seg(&b, 5000, 90) };
	DAT_DTO_COOKIE c = { .as_64 = 77 };

	fill(a.mem, 100, 3);
	must(dat_srq_post_recv(srq, 0, NULL, c));
	must(dat_srq_post_recv(srq, 2, s, c));
	must(dat_ep_post_send(a2, 0, NULL, c, 0));
	must(send_by(a2, 5, 100));
	same(took(b.recv_evd, 77, DAT_DTO_SUCCESS), 0);
	same(took(b.recv_evd, 77, DAT_DTO_SUCCESS), 100);
	check(!memcmp(b.mem, a.mem, 10) && !memcmp(b.mem + 5000, a.mem + 10, 90));
}

RIG_TEST(srq, ep_query__connected_endpoint_returns_its_srq)
{
	DAT_BOOLEAN recv_idle = DAT_FALSE;
	DAT_EP_PARAM p;

	must(give(1, PIECE));
	must(dat_ep_query(b1, DAT_EP_FIELD_ALL, &p));
	check(p.srq_handle == srq);
	must(dat_ep_get_status(b1, NULL, &recv_idle, NULL));
	same(recv_idle, DAT_TRUE);
}

/* A message that is longer than its buffer ends only its connection. The slot is freed. */
Test(srq_wrong, buffer__too_short_breaks_only_its_connection)
{
	must(give(1, 10));
	must(give(2, PIECE));
	must(send_by(a.ep, 1, 100));
	same(took_by(b.recv_evd, b1, DAT_DTO_ERR_LOCAL_LENGTH), 1);
	took_conn(&b, b1, DAT_CONNECTION_EVENT_BROKEN);
	must(send_by(a2, 2, 100));
	same(took_by(b.recv_evd, b2, DAT_DTO_SUCCESS), 2);
	same(query().outstanding_dto_count, 0);
}

/* A receive uses the zone of the SRQ, all other work uses that of the endpoint. */
Test(srq_other, zone__other_than_the_srqs_receives_messages)
{
	DAT_PZ_HANDLE pz = NULL;

	must(dat_pz_create(b.ia, &pz));
	b1 = shared_ep(pz, b.recv_evd);
	end_join(&a, a.ep, &b, b1);
	must(give(3, PIECE));
	must(send_by(a.ep, 1, 100));
	same(took_by(b.recv_evd, b1, DAT_DTO_SUCCESS), 3);
}

/* Completions without an event do not fill the queue. */
Test(srq_other, recv_evd__none_leaves_the_queue_usable)
{
	b1 = shared_ep(b.pz, DAT_HANDLE_NULL);
	b2 = shared_ep(b.pz, b.recv_evd);
	end_join(&a, a.ep, &b, b1);
	end_join(&a, a2, &b, b2);
	for (uint64_t i = 0; i < 100; i++) {
		must(give(i, PIECE));
		must(send_by(a.ep, i, 8));
		took(a.req_evd, i, DAT_DTO_SUCCESS);
	}
	must(give(4, PIECE));
	must(send_by(a2, 4, 8));
	same(took_by(b.recv_evd, b2, DAT_DTO_SUCCESS), 4);
	must(dat_ep_free(b1));
	must(dat_ep_free(b2));
	must(dat_srq_free(srq));
}

Test(srq_other, ia_close__abrupt_with_all_in_use_invalidates_the_srq)
{
	b1 = shared_ep(b.pz, b.recv_evd);
	end_join(&a, a.ep, &b, b1);
	for (uint64_t i = 0; i < 4; i++)
		must(give(i, PIECE));
	must(send_by(a.ep, 4, 8));
	end_close(&b);
	must_fail(give(1, PIECE), DAT_INVALID_HANDLE);
}
