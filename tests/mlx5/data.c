/* SPDX-License-Identifier: BSD-2-Clause */
/* Data moves from one endpoint to the other by every operation, and is reported. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;
static const char *excused;

static void open_rig(void)
{
	struct rig_config c = { 0 };

	excused = NULL;
	cr_assert_eq(rig_open(&r, &c), 0);
}

static void close_rig(void)
{
	rig_close(&r, excused);
}

static void expect_dto(struct dap_evd *evd, struct dap_ep *ep, uint64_t cookie, uint64_t len)
{
	DAT_EVENT ev;
	DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;

	memset(&ev, 0xaa, sizeof(ev));
	cr_assert(rig_event(&r, evd, &ev), "the EVD got no event");
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(ev.evd_handle, evd);
	cr_assert_eq(d->ep_handle, ep);
	cr_assert_eq(d->user_cookie.as_64, cookie);
	cr_assert_eq(d->status, DAT_DTO_SUCCESS);
	cr_assert_eq(d->transfered_length, len);
}

RIG_TEST(data, rdma_write__of_8_inline_bytes_lands)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 100, 8);

	memcpy(r.a.mem, "12345678", 8);
	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(7), &t, 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 7, 8);
	cr_assert_arr_eq(r.b.mem + 100, "12345678", 8);
	cr_assert(rig_empty(&r, r.b.recv));
}

RIG_TEST(data, rdma_write__of_each_length_around_the_thresholds_lands_unchanged)
{
	static const size_t lengths[] = { 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 15, 16, 17, 23, 24, 25,
					  27, 28, 29, 31, 44, 45, 60, 61, 91, 92, 93, 155, 156, 187,
					  188, 189, 220, 221, 1000, 1024, 1025, 4096, 8192, 30000 };

	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		size_t n = lengths[k];
		DAT_LMR_TRIPLET l = rig_local(&r.a, k, n);
		DAT_RMR_TRIPLET t = rig_remote(&r.b, 64 + k, n);

		for (size_t i = 0; i < n; i++)
			r.a.mem[k + i] = (uint8_t)(i * 11 + n);
		memset(r.b.mem, 0xee, 65536);
		cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(n), &t, 0), DAT_SUCCESS);
		expect_dto(r.a.request, r.a.ep, n, n);
		cr_assert_arr_eq(r.b.mem + 64 + k, r.a.mem + k, n,
				 "a write of %zu bytes placed wrong data", n);
		cr_assert_eq(r.b.mem[64 + k - 1], 0xee);
		cr_assert_eq(r.b.mem[64 + k + n], 0xee, "a write of %zu bytes wrote beyond its end",
			     n);
	}
}

RIG_TEST(data, post_send__of_each_length_around_the_thresholds_arrives_unchanged)
{
	static const size_t lengths[] = { 1, 4, 8, 12, 13, 28, 29, 44, 45, 108, 109, 172, 188, 189,
					  1024, 5000 };

	for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
		size_t n = lengths[k];
		DAT_LMR_TRIPLET l = rig_local(&r.a, k, n), b = rig_local(&r.b, 4096, 8192);

		for (size_t i = 0; i < n; i++)
			r.a.mem[k + i] = (uint8_t)(i * 13 + n);
		memset(r.b.mem, 0xee, 65536);
		cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(1000 + n), 0), DAT_SUCCESS);
		cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(n), 0), DAT_SUCCESS);
		expect_dto(r.b.recv, r.b.ep, 1000 + n, n);
		expect_dto(r.a.request, r.a.ep, n, n);
		cr_assert_arr_eq(r.b.mem + 4096, r.a.mem + k, n,
				 "a message of %zu bytes brought wrong data", n);
		cr_assert_eq(r.b.mem[4096 + n], 0xee);
	}
}

RIG_TEST(data, rdma_read__has_the_length_of_the_remote_buffer)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 4000);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 10, 3000);

	for (int i = 0; i < 4096; i++)
		r.b.mem[i] = (uint8_t)(i * 3);
	memset(r.a.mem, 0xee, 4096);
	cr_assert_eq(r.hot->rdma_read(r.a.ep, 1, &l, rig_cookie(9), &t, 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 9, 3000);
	cr_assert_arr_eq(r.a.mem, r.b.mem + 10, 3000);
	cr_assert_eq(r.a.mem[3000], 0xee);
}

RIG_TEST(data, rdma_read__fills_front_segments_and_cuts_the_last)
{
	DAT_LMR_TRIPLET l[4] = { rig_local(&r.a, 0, 100), rig_local(&r.a, 200, 0),
				 rig_local(&r.a, 300, 100), rig_local(&r.a, 500, 100) };
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 150);

	for (int i = 0; i < 200; i++)
		r.b.mem[i] = (uint8_t)(i + 1);
	memset(r.a.mem, 0xee, 1024);
	cr_assert_eq(r.hot->rdma_read(r.a.ep, 4, l, rig_cookie(1), &t, 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 1, 150);
	cr_assert_arr_eq(r.a.mem, r.b.mem, 100);
	cr_assert_arr_eq(r.a.mem + 300, r.b.mem + 100, 50);
	cr_assert_eq(r.a.mem[350], 0xee);
	cr_assert_eq(r.a.mem[500], 0xee);
}

/* Writes have four segments, some of them empty, from a few bytes inline to many bytes by
 * reference. */
RIG_TEST(data, rdma_write__gathers_segments)
{
	for (size_t each = 0; each < 400; each += 13) {
		DAT_LMR_TRIPLET l[4] = { rig_local(&r.a, 0, each), rig_local(&r.a, 1000, 5),
					 rig_local(&r.a, 1500, 0), rig_local(&r.a, 2000, each) };
		size_t total = 2 * each + 5;
		DAT_RMR_TRIPLET t = rig_remote(&r.b, 8, total);

		for (int i = 0; i < 4096; i++)
			r.a.mem[i] = (uint8_t)(i * 7 + i / 256);
		memset(r.b.mem, 0, 4096);
		cr_assert_eq(r.hot->rdma_write(r.a.ep, 4, l, rig_cookie(each), &t, 0), DAT_SUCCESS);
		expect_dto(r.a.request, r.a.ep, each, total);
		cr_assert_arr_eq(r.b.mem + 8, r.a.mem, each);
		cr_assert_arr_eq(r.b.mem + 8 + each, r.a.mem + 1000, 5);
		cr_assert_arr_eq(r.b.mem + 13 + each, r.a.mem + 2000, each);
		cr_assert_eq(r.b.mem[8 + total], 0);
	}
}

RIG_TEST(data, post_send__of_0_bytes_completes)
{
	DAT_LMR_TRIPLET empty = rig_local(&r.a, 0, 0);

	cr_assert_eq(r.hot->post_recv(r.b.ep, 0, NULL, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &empty, rig_cookie(2), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 0, NULL, rig_cookie(3), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &empty, rig_cookie(4), 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 3, 0);
	expect_dto(r.a.request, r.a.ep, 4, 0);
	expect_dto(r.b.recv, r.b.ep, 1, 0);
	expect_dto(r.b.recv, r.b.ep, 2, 0);
}

RIG_TEST(data, rdma__of_0_bytes_completes)
{
	DAT_LMR_TRIPLET empty = rig_local(&r.a, 0, 0);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 0);

	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &empty, rig_cookie(3), &t, 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 3, 0);
	cr_assert_eq(r.hot->rdma_read(r.a.ep, 0, NULL, rig_cookie(4), &t, 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 4, 0);
}

RIG_TEST(data, post_recv__scatters_over_segments)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 250);
	DAT_LMR_TRIPLET b[4] = { rig_local(&r.b, 0, 100), rig_local(&r.b, 200, 0),
				 rig_local(&r.b, 300, 100), rig_local(&r.b, 600, 100) };

	for (int i = 0; i < 250; i++)
		r.a.mem[i] = (uint8_t)(i + 5);
	cr_assert_eq(r.hot->post_recv(r.b.ep, 4, b, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(2), 0), DAT_SUCCESS);
	expect_dto(r.b.recv, r.b.ep, 1, 250);
	cr_assert_arr_eq(r.b.mem, r.a.mem, 100);
	cr_assert_arr_eq(r.b.mem + 300, r.a.mem + 100, 100);
	cr_assert_arr_eq(r.b.mem + 600, r.a.mem + 200, 50);
	cr_assert_eq(r.b.mem[650], 0);
}

enum { LAP_POSTS = 8, LAP_PART = 1024 };

static size_t lap_len(uint32_t i)
{
	static const size_t lengths[] = { 8, 100, 180, 40, 28, 600 };

	return lengths[i % 6];
}

/* The number i is at both ends of its write. */
static void lap_post(struct rig *r, uint32_t i)
{
	size_t at = i % LAP_POSTS * LAP_PART, n = lap_len(i);
	DAT_LMR_TRIPLET l = rig_local(&r->a, at, n);
	DAT_RMR_TRIPLET t = rig_remote(&r->b, at, n);

	memcpy(r->a.mem + at, &i, sizeof(i));
	memcpy(r->a.mem + at + n - sizeof(i), &i, sizeof(i));
	cr_assert_eq(r->hot->rdma_write(r->a.ep, 1, &l, rig_cookie(i), &t, 0), DAT_SUCCESS);
}

static void lap_take(struct rig *r, uint32_t i)
{
	size_t at = i % LAP_POSTS * LAP_PART;
	DAT_EVENT ev;

	cr_assert(rig_event(r, r->a.request, &ev));
	cr_assert_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, i);
	cr_assert_eq(memcmp(r->b.mem + at, r->a.mem + at, lap_len(i)), 0, "post %u brought wrong data", i);
}

/* Makes many more posts than the producer index can count in 16 bits, so that WQEs start at every
 * position of the ring, for several laps. */
RIG_TEST(data, rdma_write__over_the_wrap_of_ring_and_index_lands_unchanged)
{
	for (uint32_t i = 0; i < 40000; i += LAP_POSTS) {
		for (uint32_t j = 0; j < LAP_POSTS; j++)
			lap_post(&r, i + j);
		for (uint32_t j = 0; j < LAP_POSTS; j++)
			lap_take(&r, i + j);
	}
	cr_assert_gt(m5_ep(r.a.ep)->sq.pi, 65536);
}

RIG_TEST(data, cq_poll__gives_the_same_as_dequeue)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8), b = rig_local(&r.b, 0, 64);
	struct dap_event ev;

	cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(5), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(6), 0), DAT_SUCCESS);
	cr_assert(TH_WITHIN(20000, m5_hw.cq_poll(r.b.recv, &ev)));
	cr_assert_eq(ev.number, DAP_EV_DTO);
	cr_assert_eq(ev.dto.ep, r.b.ep);
	cr_assert_eq(ev.dto.cookie, 5);
	cr_assert_eq(ev.dto.length, 8);
	cr_assert(TH_WITHIN(20000, m5_hw.cq_poll(r.a.request, &ev)));
	cr_assert_eq(ev.dto.cookie, 6);
	cr_assert_eq(ev.dto.status, DAP_DTO_SUCCESS);
	cr_assert(!m5_hw.cq_poll(r.a.request, &ev));
	cr_assert(!m5_hw.cq_poll(r.b.recv, &ev));
}

/* These completions must be marked as waking no waiter: those of unsignaled posts, and of receives
 * whose sender did not set the solicited bit. */
Test(data, cq_poll__marks_completions_that_wake_no_waiter)
{
	struct rig_config c = { .attr = { .request_completion_flags = DAP_COMP_UNSIGNALLED,
					  .recv_completion_flags = DAP_COMP_SOLICITED } };
	static const DAT_COMPLETION_FLAGS flags[] = {
		0, DAT_COMPLETION_UNSIGNALLED_FLAG, DAT_COMPLETION_SOLICITED_WAIT_FLAG,
		DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG
	};
	DAT_LMR_TRIPLET l, b;
	struct dap_event ev;

	cr_assert_eq(rig_open(&r, &c), 0);
	l = rig_local(&r.a, 0, 8);
	b = rig_local(&r.b, 0, 64);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(5), 0), DAT_SUCCESS);
		cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(6), flags[i]), DAT_SUCCESS);
		cr_assert(TH_WITHIN(20000, m5_hw.cq_poll(r.b.recv, &ev)));
		cr_assert_eq(ev.unsignalled, i < 2,
			     "the receive of send %d has the wrong mark of an unsignalled "
			     "completion",
			     i);
		cr_assert(TH_WITHIN(20000, m5_hw.cq_poll(r.a.request, &ev)));
		cr_assert_eq(ev.unsignalled, i & 1,
			     "send %d has the wrong mark of an unsignalled completion", i);
	}
	rig_close(&r, NULL);
}

RIG_TEST(data, qp_idle__is_false_until_all_is_dequeued)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8), b = rig_local(&r.b, 0, 64);
	bool recv, request;

	m5_hw.qp_idle(r.b.ep, &recv, &request);
	cr_assert(recv && request);
	r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(5), 0);
	r.hot->post_send(r.a.ep, 1, &l, rig_cookie(6), 0);
	m5_hw.qp_idle(r.b.ep, &recv, &request);
	cr_assert(!recv && request);
	m5_hw.qp_idle(r.a.ep, &recv, &request);
	cr_assert(recv && !request);
	expect_dto(r.b.recv, r.b.ep, 5, 8);
	expect_dto(r.a.request, r.a.ep, 6, 8);
	m5_hw.qp_idle(r.a.ep, &recv, &request);
	cr_assert(request);
	m5_hw.qp_idle(r.b.ep, &recv, &request);
	cr_assert(recv);
}

static bool request_idle(struct dap_ep *ep)
{
	bool recv, request;

	m5_hw.qp_idle(ep, &recv, &request);
	return request;
}

/* The call finds the internal completion in the CQ, and leaves the consumer's completions there. */
RIG_TEST(data, qp_idle__after_suppressed_work_is_true_without_a_poll)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);

	for (int lap = 0; lap < 10; lap++) {
		for (unsigned int i = 0; i < m5_ep(r.a.ep)->sq.signal_every; i++)
			cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(1), &t,
						       DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
		cr_assert(TH_WITHIN(20000, request_idle(r.a.ep)),
			  "round %d: suppressed writes are still outstanding after 20 seconds",
			  lap);
	}
	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(7), &t, 0), DAT_SUCCESS);
	for (int i = 0; i < 3; i++)
		cr_assert(!request_idle(r.a.ep));
	expect_dto(r.a.request, r.a.ep, 7, 8);
	cr_assert(request_idle(r.a.ep));
}

/* Writes have the largest number of segments. These WQEs are too long for a BlueFlame register, and
 * cross the ring's end. */
Test(data, rdma_write__of_thirty_segments_lands_unchanged)
{
	struct rig_config c = { .attr = { .max_request_iov = 30, .max_rdma_write_iov = 30,
					  .max_rdma_read_iov = 30, .max_recv_iov = 30 } };
	DAT_LMR_TRIPLET l[30], b[30];
	DAT_RMR_TRIPLET t;

	cr_assert_eq(rig_open(&r, &c), 0);
	t = rig_remote(&r.b, 0, 30000);
	for (size_t i = 0; i < 30; i++) {
		l[i] = rig_local(&r.a, i * 2000, 1000);
		b[i] = rig_local(&r.b, 30000 + i * 1000, 1000);
		memset(r.a.mem + i * 2000, (int)i + 1, 1000);
	}
	for (int lap = 0; lap < 50; lap++) {
		memset(r.b.mem, 0, 65536);
		cr_assert_eq(r.hot->rdma_write(r.a.ep, 30, l, rig_cookie(1), &t, 0), DAT_SUCCESS);
		expect_dto(r.a.request, r.a.ep, 1, 30000);
		cr_assert_eq(r.hot->post_recv(r.b.ep, 30, b, rig_cookie(2), 0), DAT_SUCCESS);
		cr_assert_eq(r.hot->post_send(r.a.ep, 30, l, rig_cookie(3), 0), DAT_SUCCESS);
		expect_dto(r.b.recv, r.b.ep, 2, 30000);
		expect_dto(r.a.request, r.a.ep, 3, 30000);
		for (size_t i = 0; i < 60000; i += 999)
			cr_assert_eq(r.b.mem[i], i % 30000 / 1000 + 1, "wrong data at byte %zu", i);
	}
	rig_close(&r, NULL);
}

/*
 * There are more endpoints than BlueFlame registers. The others share a page and write eight bytes.
 */
RIG_TEST(data, rdma_write__of_endpoints_on_one_uar_completes)
{
	struct dap_ep *a[12], *b[12];
	unsigned int shared = 0;

	for (int i = 0; i < 12; i++) {
		cr_assert_eq(rig_ep(&r, &r.a, &a[i]), 0);
		cr_assert_eq(rig_ep(&r, &r.b, &b[i]), 0);
		cr_assert_eq(rig_connect(a[i], b[i]), 0);
		shared += !m5_ep(a[i])->own_uar;
	}
	cr_assert_geq(shared, 8u);
	for (uint64_t k = 0; k < 120; k++) {
		DAT_LMR_TRIPLET l = rig_local(&r.a, k, 100);
		DAT_RMR_TRIPLET t = rig_remote(&r.b, 200 * k, 100);

		cr_assert_eq(r.hot->rdma_write(a[k % 12], 1, &l, rig_cookie(k), &t, 0), DAT_SUCCESS);
		expect_dto(r.a.request, a[k % 12], k, 100);
	}
	for (int i = 0; i < 12; i++) {
		rig_ep_free(a[i]);
		rig_ep_free(b[i]);
	}
	cr_assert_eq(m5_ia(r.ia)->bf_regs_left, m5_ia(r.ia)->params.bf_eps - 2u);
}

/* Data of a freed LMR is not copied, even if the endpoint has cached the LMR. */
RIG_TEST(data, rdma_write__of_an_lmr_that_was_freed_gets_local_protection)
{
	struct dap_lmr lmr = { .obj.ia = r.ia, .pz = r.pz, .addr = (uintptr_t)r.a.mem,
			       .mem = (uintptr_t)r.a.mem, .length = 64, .priv = DAP_PRIV_ALL };
	struct dap_lmr_page **page;
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_EVENT ev;

	cr_assert_eq(m5_hw.lmr_create(&lmr), 0);
	l.lmr_context = lmr.lmr_context;
	page = &r.ia->lmr_dir[lmr.lmr_context >> 20];
	if (!*page)
		*page = calloc(1, sizeof(**page));
	(*page)->lmr[lmr.lmr_context >> 8 & 0xfff] = &lmr;
	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(1), &t, 0), DAT_SUCCESS);
	expect_dto(r.a.request, r.a.ep, 1, 8);
	cr_assert_eq(m5_ep(r.a.ep)->sq.lmr, &lmr);
	(*page)->lmr[lmr.lmr_context >> 8 & 0xfff] = NULL;
	cr_assert_eq(m5_hw.lmr_destroy(&lmr), 0);
	excused = "mkey.stale";
	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(1), &t, 0), DAT_SUCCESS);
	cr_assert(rig_event(&r, r.a.request, &ev));
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_ERR_LOCAL_PROTECTION,
		     "data of a freed LMR was copied");
}
