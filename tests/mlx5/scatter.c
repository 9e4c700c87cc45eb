/* SPDX-License-Identifier: BSD-2-Clause */
/* Scatter to CQE with memory whose addresses are offsets: the key of such an LMR refers to another one. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;
static struct dap_lmr *zero;

static void open_rig(void)
{
	struct rig_config c = { .params = "scatter_cqe=2" };

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert_eq(rig_lmr(&r, &r.b, true, &zero), 0);
}

static void close_rig(void)
{
	if (zero)
		rig_lmr_free(zero);
	rig_close(&r, NULL);
}

static void completes(struct dap_evd *evd, uint64_t len)
{
	DAT_EVENT ev;

	cr_assert(rig_event(&r, evd, &ev), "the EVD got no event");
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	cr_assert_eq(ev.event_data.dto_completion_event_data.transfered_length, len);
}

RIG_TEST(scatter, post_recv__into_a_zero_based_lmr_lands)
{
	DAT_LMR_TRIPLET from = rig_local(&r.a, 0, 20);
	DAT_LMR_TRIPLET to = { .lmr_context = zero->lmr_context, .virtual_address = 100,
			       .segment_length = 64 };

	memcpy(r.a.mem, "a message of 20 byte", 20);
	cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &to, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &from, rig_cookie(2), 0), DAT_SUCCESS);
	completes(r.b.recv, 20);
	completes(r.a.request, 20);
	cr_expect_arr_eq(r.b.mem + 100, "a message of 20 byte", 20);
}

RIG_TEST(scatter, rdma_read__into_a_zero_based_lmr_lands)
{
	DAT_RMR_TRIPLET from = rig_remote(&r.a, 0, 16);
	DAT_LMR_TRIPLET to = { .lmr_context = zero->lmr_context, .virtual_address = 1000,
			       .segment_length = 16 };

	memcpy(r.a.mem, "sixteen bytes...", 16);
	cr_assert_eq(r.hot->rdma_read(r.b.ep, 1, &to, rig_cookie(1), &from, 0), DAT_SUCCESS);
	completes(r.b.request, 16);
	cr_expect_arr_eq(r.b.mem + 1000, "sixteen bytes...", 16);
}

static void read_16(size_t i, DAT_COMPLETION_FLAGS flags)
{
	DAT_RMR_TRIPLET from = rig_remote(&r.a, i * 16, 16);
	DAT_LMR_TRIPLET to = rig_local(&r.b, 1000 + i * 16, 16);

	memset(r.a.mem + i * 16, (int)i + 1, 16);
	cr_assert_eq(r.hot->rdma_read(r.b.ep, 1, &to, rig_cookie(i), &from, flags), DAT_SUCCESS);
}

RIG_TEST(scatter, rdma_read__suppressed_has_its_data)
{
	for (size_t i = 0; i < 5; i++)
		read_16(i, DAT_COMPLETION_SUPPRESS_FLAG);
	read_16(5, 0);
	completes(r.b.request, 16);
	cr_expect_arr_eq(r.b.mem + 1000, r.a.mem, 6 * 16);
	cr_expect(rig_empty(&r, r.b.request), "a suppressed success is reported");
}

/* No call dequeues the completions of these reads. */
RIG_TEST(scatter, drain__places_the_data_of_suppressed_reads)
{
	for (size_t i = 0; i < 8; i++)
		read_16(i, DAT_COMPLETION_SUPPRESS_FLAG);
	m5_hw.qp_drain_begin(r.b.ep);
	cr_assert(TH_WITHIN(5000, m5_hw.qp_drain_done(r.b.ep)));
	cr_expect_arr_eq(r.b.mem + 1000, r.a.mem, 8 * 16);
}

/* The message is in the CQ when its memory is deregistered. */
RIG_TEST(scatter, lmr_destroy__before_the_dequeue_leaves_the_completion)
{
	DAT_LMR_TRIPLET from = rig_local(&r.a, 0, 20);
	DAT_LMR_TRIPLET to = { .lmr_context = zero->lmr_context, .virtual_address = 100,
			       .segment_length = 64 };

	memset(r.a.mem, 7, 20);
	cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &to, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &from, rig_cookie(2), 0), DAT_SUCCESS);
	completes(r.a.request, 20);
	rig_lmr_free(zero);
	zero = NULL;
	completes(r.b.recv, 20);
	cr_expect_eq(r.b.mem[100], 0);
}
