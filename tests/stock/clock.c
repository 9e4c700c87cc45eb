/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter's clock through libmlx5: its mapped pages, and the timestamps of completions. */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <time.h>

#include "tests/harness/harness.h"
#include "tests/stock/rig.h"

static uint64_t raw_clock(struct ibv_context *ctx)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	cr_assert_eq(ibv_query_rt_values_ex(ctx, &values), 0);
	cr_assert(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK);
	return (uint64_t)values.raw_clock.tv_nsec;
}

static uint64_t to_ns(struct ibv_context *ctx, uint64_t cycles)
{
	struct mlx5dv_clock_info info;

	cr_assert_eq(mlx5dv_get_clock_info(ctx, &info), 0);
	return mlx5dv_ts_to_ns(&info, cycles);
}

Test(stock, query_rt_values__advance_while_nothing_happens)
{
	struct ibv_context *ctx = st_open();
	struct ibv_device_attr_ex attr;
	uint64_t first = raw_clock(ctx);

	cr_assert_eq(ibv_query_device_ex(ctx, NULL, &attr), 0);
	cr_expect_eq(attr.hca_core_clock, 1000000, "hca_core_clock is not 1000000 kHz");
	cr_expect_eq(attr.completion_timestamp_mask, INT64_MAX);
	cr_expect(TH_WITHIN(ST_LIMIT_MS, raw_clock(ctx) > first));
	st_close(ctx);
}

Test(stock, clock_info__leads_to_the_time_of_day)
{
	struct ibv_context *ctx = st_open();
	uint64_t seconds = to_ns(ctx, raw_clock(ctx)) / 1000000000u;

	/* The time of day may be set during the test, but hardly by more than a day. */
	cr_expect_leq(llabs((long long)seconds - (long long)time(NULL)), 86400);
	st_close(ctx);
}

/* libmlx5 maps the clock at an offset at which no doorbell page can be. */
Test(stock, query_rt_values__beside_all_uars_returns_the_clock)
{
	struct ibv_context *ctx = st_open();
	struct mlx5dv_devx_uar *uar[1 << 11];
	uint64_t first = raw_clock(ctx), ns = to_ns(ctx, first);
	int n = 0;

	while (n < 1 << 11 && (uar[n] = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC)))
		n++;
	cr_expect_gt(n, 0);
	cr_expect_geq(raw_clock(ctx), first);
	cr_expect_eq(to_ns(ctx, first), ns);
	while (n--)
		mlx5dv_devx_free_uar(uar[n]);
	st_close(ctx);
}

/* Replaces a CQ and the QP of the end by objects with this kind of timestamp. */
static struct ibv_cq_ex *stamp(struct st_end *end, uint64_t kind)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 4 * ST_DEPTH, .wc_flags = IBV_WC_STANDARD_FLAGS | kind };
	struct ibv_qp_init_attr qp = { .cap = { ST_DEPTH, ST_DEPTH, 4, 4, 64 }, .qp_type = IBV_QPT_RC };
	struct ibv_cq_ex *ex = ibv_create_cq_ex(end->ctx, &cq);

	cr_assert_not_null(ex, "the extended CQ cannot be created, errno %d", errno);
	cr_assert_eq(ibv_destroy_qp(end->qp), 0);
	cr_assert_eq(ibv_destroy_cq(end->cq), 0);
	qp.send_cq = qp.recv_cq = end->cq = ibv_cq_ex_to_cq(ex);
	cr_assert_not_null(end->qp = ibv_create_qp(end->pd, &qp));
	return ex;
}

static void write_self(struct st_end *end)
{
	struct ibv_sge sge = { (uintptr_t)end->buf, 8, end->mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge, .num_sge = 1,
				  .wr.rdma = { (uintptr_t)end->buf + 4096, end->mr->rkey } };

	st_post(end, &wr);
}

static void poll_ex(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };

	cr_assert(TH_WITHIN(ST_LIMIT_MS, ibv_start_poll(cq, &attr) != ENOENT),
		  "the CQ got no completion in time");
	cr_assert_eq(cq->status, IBV_WC_SUCCESS);
}

Test(stock, read_completion_ts__lies_between_two_readings_of_the_clock)
{
	struct ibv_cq_ex *cq;
	struct st_end end;
	uint64_t before, ts;

	st_create(&end, st_open());
	cq = stamp(&end, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP);
	st_connect(&end, &end);
	for (int i = 0; i < 3; i++) {
		before = raw_clock(end.ctx);
		write_self(&end);
		poll_ex(cq);
		ts = ibv_wc_read_completion_ts(cq);
		ibv_end_poll(cq);
		cr_expect_geq(ts, before);
		cr_expect_leq(ts, raw_clock(end.ctx));
	}
	st_finish(&end);
}

Test(stock, read_completion_wallclock__is_the_same_time_in_ns)
{
	struct ibv_cq_ex *cq;
	struct st_end end;
	uint64_t before, ns;

	st_create(&end, st_open());
	cq = stamp(&end, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK);
	st_connect(&end, &end);
	before = raw_clock(end.ctx);
	write_self(&end);
	poll_ex(cq);
	ns = ibv_wc_read_completion_wallclock_ns(cq);
	ibv_end_poll(cq);
	cr_expect_geq(ns, to_ns(end.ctx, before));
	cr_expect_leq(ns, to_ns(end.ctx, raw_clock(end.ctx)));
	st_finish(&end);
}
