/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion flags, and full queues. */
#include <string.h>

#include "tests/e2e/pair.h"

TestSuite(data_post, .timeout = 60);

/* ---- Suppressed requests ---- */

/* Makes a request that completes after all earlier ones have been executed. */
static void settle(uint64_t cookie)
{
	soon(do_read(&a, cookie, 0, far(&b, 0, 8), 0));
	took(a.req_evd, cookie, DAT_DTO_SUCCESS);
	rig_empty(a.req_evd);
}

RIG_TEST(data_post, suppress__never_strands_the_queue)
{
	static const size_t sizes[] = { 1, 8, 28, 29, 188, 189, 5000 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint64_t k = 0; k < 10 * RIG_DTOS; k++) {
			fill(a.mem, sizes[i], k);
			soon(do_write(&a, k, 0, far(&b, 20000, sizes[i]), SUPPRESS));
		}
		soon(do_read(&a, 1, 40000, far(&b, 20000, sizes[i]), 0));
		took(a.req_evd, 1, DAT_DTO_SUCCESS);
		check(filled(a.mem + 40000, sizes[i], 10 * RIG_DTOS - 1) || sizes[i] > 188);
		rig_empty(a.req_evd);
	}
}

RIG_TEST(data_post, suppress__of_every_operation_gives_no_event)
{
	DAT_LMR_TRIPLET t = seg(&a, 0, 64);
	DAT_RMR_COOKIE c = { .as_64 = 3 };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	must(dat_rmr_create(a.pz, &rmr));
	for (uint64_t i = 0; i < 10 * RIG_DTOS; i++) {
		must(do_recv(&b, i, 0, 64));
		soon(do_write(&a, i, 0, far(&b, 100, 64), SUPPRESS));
		soon(do_read(&a, i, 1000, far(&b, 100, 64), SUPPRESS));
		soon(dat_rmr_bind(rmr, &t, RIGHTS_RW, a.ep, c, SUPPRESS, &context));
		soon(do_send(&a, i, 0, 64, SUPPRESS));
		took(b.recv_evd, i, DAT_DTO_SUCCESS);
	}
	settle(1);
}

/* Only the visible completions are there, however many suppressed ones were posted in between. */
RIG_TEST(data_post, suppress__among_others_leaves_only_visible_completions)
{
	for (uint64_t lap = 0; lap < 2 * RIG_DTOS + 8; lap++) {
		for (uint64_t i = 0; i < lap; i++)
			soon(do_write(&a, 7, 0, far(&b, 0, 64), SUPPRESS));
		soon(do_write(&a, lap + 1000, 0, far(&b, 0, 64), 0));
		soon(do_write(&a, 8, 0, far(&b, 0, 64), SUPPRESS));
		took(a.req_evd, lap + 1000, DAT_DTO_SUCCESS);
	}
	settle(2);
}

/* Returns a connected endpoint of a whose completions no call dequeues. */
static DAT_EP_HANDLE without_request_evd(DAT_EP_HANDLE peer)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE ep;

	must(dat_ep_create(a.ia, a.pz, a.recv_evd, DAT_HANDLE_NULL, a.conn_evd, &attr, &ep));
	end_join(&a, ep, &b, peer);
	return ep;
}

RIG_TEST(data_post, suppress__on_an_endpoint_without_request_evd_finds_room)
{
	DAT_EP_HANDLE own = a.ep;

	a.ep = without_request_evd(end_ep(&b, NULL));
	for (uint32_t i = 0; i < 20 * RIG_DTOS; i++) {
		memcpy(a.mem, &i, sizeof(i));
		soon(do_write(&a, i, 0, far(&b, 0, 4), i & 1 ? SUPPRESS : 0));
	}
	a.ep = own;
	/* A completed read on another connection does not show that the writes of this connection have
	 * completed, so the test waits for the last value. */
	check(TH_WITHIN(SOON_MS, !memcmp(a.mem, b.mem, 4)));
}

static bool requests_idle(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN idle = DAT_FALSE;

	must(dat_ep_get_status(ep, NULL, NULL, &idle));
	return idle;
}

RIG_TEST(data_post, get_status__of_an_endpoint_without_request_evd_becomes_idle)
{
	DAT_EP_HANDLE ep = without_request_evd(end_ep(&b, NULL)), own = a.ep;

	a.ep = ep;
	for (uint64_t i = 0; i < 3; i++)
		must(do_write(&a, i, 0, far(&b, 0, 64), 0));
	a.ep = own;
	check(TH_WITHIN(SOON_MS, requests_idle(ep)));
}

RIG_TEST(data_post, failure__on_an_endpoint_without_request_evd_breaks_the_connection)
{
	DAT_EP_HANDLE peer = end_ep(&b, NULL), ep = without_request_evd(peer);
	DAT_LMR_TRIPLET t = seg(&a, 0, 4096);
	DAT_RMR_TRIPLET to = far(&b, 0, 4096);

	must(dat_lmr_free(end_lmr(&a, a.mem, a.len, DAT_MEM_PRIV_ALL_FLAG, &t.lmr_context, NULL)));
	must(dat_ep_post_rdma_write(ep, 1, &t, (DAT_DTO_COOKIE){ .as_64 = 1 }, &to, 0));
	took_conn(&a, ep, DAT_CONNECTION_EVENT_BROKEN);
	took_conn(&b, peer, DAT_CONNECTION_EVENT_BROKEN);
}

/* ---- barrier ---- */

/*
 * Writes the data of a read to another target. That needs a fence: the bytes must not be taken when
 * the write is posted.
 */
RIG_TEST(data_post, barrier__waits_for_reads)
{
	static const size_t sizes[] = { 1, 8, 28, 29, 100, 188, 189, 4000, 5000 };

	rig_skip_if("scatter_cqe", "receives and reads");
	for (uint64_t i = 1; i < 200; i++) {
		size_t size = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];

		fill(b.mem, size, i);
		memset(a.mem, 0, size);
		must(do_read(&a, i, 0, far(&b, 0, size), SUPPRESS));
		must(do_write(&a, i, 0, far(&b, 30000, size),
			      DAT_COMPLETION_BARRIER_FENCE_FLAG | (i & 1 ? SUPPRESS : 0)));
		if (!(i & 1))
			took(a.req_evd, i, DAT_DTO_SUCCESS);
		must(do_read(&a, i, 20000, far(&b, 30000, size), 0));
		took(a.req_evd, i, DAT_DTO_SUCCESS);
		check(filled(a.mem + 20000, size, i));
	}
	settle(1);
}

RIG_TEST(data_post, barrier__on_a_receive_is_refused)
{
	DAT_LMR_TRIPLET t = seg(&b, 0, 64);
	DAT_DTO_COOKIE c = { .as_64 = 1 };
	static const int bad[] = {
		DAT_COMPLETION_BARRIER_FENCE_FLAG, DAT_COMPLETION_SUPPRESS_FLAG,
		DAT_COMPLETION_SOLICITED_WAIT_FLAG, DAT_COMPLETION_UNSIGNALLED_FLAG,
		DAT_COMPLETION_EVD_THRESHOLD_FLAG, 0x20, -1,
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		must_code(dat_ep_post_recv(b.ep, 1, &t, c, (DAT_COMPLETION_FLAGS)bad[i]),
			  DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	must(do_recv(&b, 2, 0, 64));
	must(do_send(&a, 3, 0, 64, 0));
	took(b.recv_evd, 2, DAT_DTO_SUCCESS);
}

/* ---- Flags that are refused ---- */

RIG_TEST(data_post, unsignalled__refused_unless_the_endpoint_is)
{
	static const int bad[] = { DAT_COMPLETION_UNSIGNALLED_FLAG, 0x20, 0x40, -1,
				   DAT_COMPLETION_UNSIGNALLED_FLAG | SUPPRESS };
	DAT_RMR_TRIPLET to = far(&b, 0, 8);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		must_code(do_send(&a, 1, 0, 8, bad[i]), DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
		must_code(do_write(&a, 1, 0, to, bad[i]), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
		must_code(do_read(&a, 1, 0, to, bad[i]), DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	}
	must_code(do_write(&a, 1, 0, to, DAT_COMPLETION_SOLICITED_WAIT_FLAG), DAT_INVALID_PARAMETER,
		  DAT_INVALID_ARG6);
	settle(2);
}

/* ---- Full queues ---- */

/* The peer has posted no receives, so sends stay outstanding: exactly as many as the endpoint's
 * limit can be posted. */
RIG_TEST(data_post, full__queue_refuses_until_completions_are_taken)
{
	for (uint64_t lap = 0; lap < 10; lap++) {
		for (uint64_t i = 0; i < RIG_DTOS; i++)
			must(do_send(&a, i, 0, lap % 2 ? 4000 : 8, 0));
		for (int i = 0; i < 5; i++)
			must_code(do_send(&a, 99, 0, 8, 0), DAT_INSUFFICIENT_RESOURCES,
				  DAT_RESOURCE_TEP);
		must_code(do_write(&a, 99, 0, far(&b, 0, 8), SUPPRESS), DAT_INSUFFICIENT_RESOURCES,
			  DAT_RESOURCE_TEP);
		for (uint64_t i = 0; i < RIG_DTOS; i++)
			must(do_recv(&b, i, 0, 4096));
		must_code(do_recv(&b, 99, 0, 4096), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
		took_range(b.recv_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
		took_range(a.req_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
		rig_empty(a.req_evd);
	}
}

RIG_TEST(data_post, full__endpoint_of_0_receives_and_requests_takes_one_request)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_EP_HANDLE ep, own = a.ep;

	attr.max_recv_dtos = attr.max_request_dtos = 0;
	ep = end_ep(&a, &attr);
	end_join(&a, ep, &b, end_ep(&b, NULL));
	a.ep = ep;
	must_code(do_recv(&a, 1, 0, 64), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	must(do_send(&a, 2, 0, 8, 0));
	must_code(do_send(&a, 3, 0, 8, 0), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
	a.ep = own;
}

RIG_TEST(data_post, full__of_suppressed_sends_has_room_after_they_complete)
{
	uint64_t n = 0;

	rig_needs_end_to_end();
	while (do_send(&a, n, 0, 8, SUPPRESS) == DAT_SUCCESS)
		check(++n <= RIG_DTOS);
	same(n, RIG_DTOS);
	for (uint64_t i = 0; i < RIG_DTOS; i++)
		must(do_recv(&b, i, 0, 64));
	took_range(b.recv_evd, 0, RIG_DTOS - 1, DAT_DTO_SUCCESS);
	settle(1);
	for (uint64_t i = 0; i < 10 * RIG_DTOS; i++)
		soon(do_write(&a, i, 0, far(&b, 0, 8), SUPPRESS));
	settle(2);
}

/* The longest posts: the queue has room for as many of them as of short ones. */
RIG_TEST(data_post, full__of_posts_with_the_most_pieces_holds_as_many)
{
	DAT_EP_ATTR attr = rig_attr();
	DAT_LMR_TRIPLET t[30];
	DAT_RMR_TRIPLET to = far(&b, 0, 60000);
	DAT_EP_HANDLE ep, peer;

	rig_needs_end_to_end();
	attr.max_request_iov = attr.max_rdma_write_iov = 30;
	attr.max_request_dtos = 50;
	ep = end_ep(&a, &attr);
	peer = end_ep(&b, NULL);
	end_join(&a, ep, &b, peer);
	for (int i = 0; i < 30; i++)
		t[i] = seg(&a, (size_t)i * 100, 90);
	for (uint64_t i = 0; i < 50; i++) {
		DAT_DTO_COOKIE c = { .as_64 = i };

		must(dat_ep_post_send(ep, 30, t, c, 0));
	}
	must_fail(dat_ep_post_rdma_write(ep, 30, t, (DAT_DTO_COOKIE){ .as_64 = 9 }, &to, 0),
		  DAT_INSUFFICIENT_RESOURCES);
	rig_empty(a.req_evd);
	must(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	took_range(a.req_evd, 0, 49, FLUSHED);
	rig_empty(a.req_evd);
}

/* Between the two laps of long posts no post needs a count of the outstanding requests. */
RIG_TEST(data_post, full__of_long_posts_after_many_short_ones_holds_as_many)
{
	DAT_EP_HANDLE of_a = a.ep, of_b = b.ep;
	DAT_EP_ATTR attr = rig_attr();
	DAT_LMR_TRIPLET t[30];

	rig_needs_end_to_end();
	attr.max_request_iov = 30;
	attr.max_request_dtos = attr.max_recv_dtos = 50;
	a.ep = end_ep(&a, &attr);
	b.ep = end_ep(&b, &attr);
	end_join(&a, a.ep, &b, b.ep);
	for (int i = 0; i < 30; i++)
		t[i] = seg(&a, (size_t)i * 100, 90);
	for (int lap = 0; lap < 2; lap++) {
		for (uint64_t i = 0; i < 2000 && lap; i++) {
			must(do_write(&a, i, 0, far(&b, 0, 8), 0));
			took(a.req_evd, i, DAT_DTO_SUCCESS);
		}
		for (uint64_t i = 0; i < 50; i++)
			must(dat_ep_post_send(a.ep, 30, t, (DAT_DTO_COOKIE){ .as_64 = i }, 0));
		must_code(do_send(&a, 99, 0, 8, 0), DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEP);
		for (uint64_t i = 0; i < 50; i++)
			must(do_recv(&b, i, 0, 4096));
		took_range(b.recv_evd, 0, 49, DAT_DTO_SUCCESS);
		took_range(a.req_evd, 0, 49, DAT_DTO_SUCCESS);
	}
	a.ep = of_a;
	b.ep = of_b;
}
