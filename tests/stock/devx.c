/* SPDX-License-Identifier: BSD-2-Clause */
/* DEVX through stock libmlx5: commands and objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stock/devx.h"

static int general(struct ibv_context *ctx, uint16_t opcode, uint16_t op_mod, uint8_t *out, size_t len)
{
	uint8_t in[DX_SHORT] = { 0 };

	dx_head(in, opcode, 0);
	dx_put(in, 4, 16, 16, op_mod);
	return mlx5dv_devx_general_cmd(ctx, in, sizeof(in), out, len);
}

Test(stock, devx_general__returns_the_capabilities)
{
	struct ibv_context *ctx = dx_open();
	uint8_t out[16 + 4096] = { 0 };

	cr_assert_eq(general(ctx, DX_QUERY_HCA_CAP, 1, out, sizeof(out)), 0);
	cr_expect_eq(dx_get(out, 0, 0, 8), 0);
	cr_expect_gt(dx_get(out + 16, 0x10, 27, 5), 10, "log_max_qp is not above 10");
	cr_expect_gt(dx_get(out + 16, 0x8c, 3, 5), 0, "log_max_uctx is 0");
	st_close(ctx);
}

Test(stock, devx_general__command_that_makes_or_changes_is_refused)
{
	struct ibv_context *ctx = dx_open();
	uint8_t out[DX_SHORT];

	cr_expect_eq(general(ctx, DX_ALLOC_PD, 0, out, sizeof(out)), EINVAL);
	cr_expect_eq(general(ctx, DX_QUERY_CQ, 0, out, sizeof(out)), EINVAL);
	cr_expect_eq(general(ctx, 0xfff, 0, out, sizeof(out)), EINVAL);
	cr_expect_eq(general(ctx, DX_QUERY_HCA_CAP, 0x3e, out, sizeof(out)), EREMOTEIO);
	cr_expect_neq(dx_get(out, 0, 0, 8), 0, "the refused command has no status in its output");
	cr_expect_neq(dx_get(out, 4, 0, 32), 0);
	st_close(ctx);
}

/* Linux allows this command. The device refuses it for a port that is not InfiniBand. */
Test(stock, devx_general__hca_vport_context_reaches_the_device)
{
	struct ibv_context *ctx = dx_open();
	uint8_t out[DX_SHORT + 512];

	cr_expect_eq(general(ctx, DX_QUERY_HCA_VPORT_CONTEXT, 0, out, sizeof(out)), EREMOTEIO);
	cr_expect_neq(dx_get(out, 0, 0, 8), 0, "the refused command has no status in its output");
	st_close(ctx);
}

/* UCX asks each adapter whether its ports are bonded. PRM "LAG context": lag_state is 0 if they are not. */
Test(stock, devx_general__query_lag_finds_no_bond)
{
	struct ibv_context *ctx = dx_open();
	uint8_t out[DX_SHORT];

	memset(out, 0xff, sizeof(out));
	cr_expect_eq(general(ctx, DX_QUERY_LAG, 0, out, sizeof(out)), 0);
	cr_expect_eq(dx_get(out, 8, 0, 32), 0);
	st_close(ctx);
}

Test(stock, devx_open__of_more_contexts_than_announced_returns_enomem)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx[1 << 8];
	uint8_t out[16 + 4096] = { 0 };

	cr_assert(list && list[0]);
	cr_assert_not_null(ctx[0] = mlx5dv_open_device(list[0], &attr));
	cr_assert_eq(general(ctx[0], DX_QUERY_HCA_CAP, 1, out, sizeof(out)), 0);
	cr_assert_eq(dx_get(out + 16, 0x8c, 3, 5), 8, "log_max_uctx is not 8");
	for (int i = 1; i < 1 << 8; i++)
		cr_assert_not_null(ctx[i] = mlx5dv_open_device(list[0], &attr),
				   "context %d of 256 cannot be opened", i);
	errno = 0;
	cr_expect_null(mlx5dv_open_device(list[0], &attr));
	cr_expect_eq(errno, ENOMEM);
	for (int i = 0; i < 1 << 8; i++)
		st_close(ctx[i]);
	ibv_free_device_list(list);
}

Test(stock, devx_general__without_devx_returns_einval)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx;
	uint8_t out[DX_SHORT];

	setenv("SOFTNIC_NO_DEVX", "1", 1);
	cr_assert(list && list[0]);
	cr_expect_null(mlx5dv_open_device(list[0], &attr));
	cr_assert_not_null(ctx = ibv_open_device(list[0]),
			   "the device cannot be opened for verbs without DEVX");
	cr_expect_eq(general(ctx, DX_QUERY_HCA_CAP, 1, out, sizeof(out)), EINVAL);
	cr_expect_null(mlx5dv_devx_umem_reg(ctx, out, sizeof(out), 0));
	ibv_free_device_list(list);
	st_close(ctx);
}

Test(stock, devx_umem__of_what_cannot_be_pinned_is_refused)
{
	struct ibv_context *ctx = dx_open();
	static uint8_t buf[3 * 4096];
	struct mlx5dv_devx_umem *umem;

	cr_expect_null(mlx5dv_devx_umem_reg(ctx, NULL, 4096, IBV_ACCESS_LOCAL_WRITE));
	cr_expect_eq(errno, EFAULT);
	cr_expect_null(mlx5dv_devx_umem_reg(ctx, buf, 0, IBV_ACCESS_LOCAL_WRITE));
	cr_expect_eq(errno, EINVAL);
	cr_expect_null(mlx5dv_devx_umem_reg(ctx, buf, 64, IBV_ACCESS_REMOTE_WRITE));
	cr_expect_eq(errno, EINVAL);
	cr_assert_not_null(umem = mlx5dv_devx_umem_reg(ctx, buf + 64, 5000, IBV_ACCESS_LOCAL_WRITE));
	cr_expect_eq(mlx5dv_devx_umem_dereg(umem), 0);
	st_close(ctx);
}

static int umem_error(struct ibv_context *ctx, size_t size, uint64_t pages)
{
	static uint8_t buf[4 * 4096];
	struct mlx5dv_devx_umem_in in = {
		.addr = buf, .size = size, .access = IBV_ACCESS_LOCAL_WRITE, .pgsz_bitmap = pages,
	};
	struct mlx5dv_devx_umem *umem;

	errno = 0;
	umem = mlx5dv_devx_umem_reg_ex(ctx, &in);
	if (umem)
		cr_expect_eq(mlx5dv_devx_umem_dereg(umem), 0);
	return umem ? 0 : errno;
}

/* Linux, devx_umem_find_best_pgsize: from a page to the umem's size, rounded up to a power of two. */
Test(stock, devx_umem__without_a_page_size_that_fits_is_refused)
{
	struct ibv_context *ctx = dx_open();

	cr_expect_eq(umem_error(ctx, 4096, 0), EINVAL);
	cr_expect_eq(umem_error(ctx, 4096, 4095), EINVAL);
	cr_expect_eq(umem_error(ctx, 4096, 8192), EINVAL);
	cr_expect_eq(umem_error(ctx, 100, 4096), 0);
	cr_expect_eq(umem_error(ctx, 3 * 4096, 16384 | 4096), 0);
	cr_expect_eq(umem_error(ctx, 3 * 4096, 32768), EINVAL);
	st_close(ctx);
}

Test(stock, devx_obj__queue_pair_completes_its_nops)
{
	struct dx d;

	dx_create(&d, dx_open());
	dx_connect(&d);
	for (int i = 0; i < 100; i++) {
		dx_nop(&d);
		dx_wait(&d);
	}
	cr_expect_not(dx_polled(&d));
	dx_destroy(&d);
	st_close(d.ctx);
}

Test(stock, devx_obj__command_for_another_handle_returns_einval)
{
	uint8_t in[DX_SHORT] = { 0 }, out[DX_LONG];
	struct dx d;

	dx_create(&d, dx_open());
	dx_head(in, DX_QUERY_CQ, d.cqn);
	cr_expect_eq(mlx5dv_devx_obj_query(d.cq, in, sizeof(in), out, sizeof(out)), 0);
	cr_expect_eq(dx_get(out + 16, 0x0c, 3, 5), __builtin_ctz(DX_CQES));
	cr_expect_eq(mlx5dv_devx_obj_query(d.qp, in, sizeof(in), out, sizeof(out)), EINVAL);
	dx_head(in, DX_QUERY_CQ, d.cqn + 1);
	cr_expect_eq(mlx5dv_devx_obj_query(d.cq, in, sizeof(in), out, sizeof(out)), EINVAL);
	dx_head(in, DX_2ERR_QP, d.qpn);
	cr_expect_eq(mlx5dv_devx_obj_query(d.qp, in, sizeof(in), out, sizeof(out)), EINVAL);
	cr_expect_eq(mlx5dv_devx_obj_modify(d.cq, in, sizeof(in), out, sizeof(out)), EINVAL);
	cr_expect_eq(mlx5dv_devx_obj_modify(d.qp, in, sizeof(in), out, sizeof(out)), 0);
	dx_destroy(&d);
	st_close(d.ctx);
}

Test(stock, devx_obj__command_queries_a_verbs_object)
{
	uint8_t in[DX_SHORT] = { 0 }, out[DX_LONG];
	struct mlx5dv_cq cq;
	struct mlx5dv_obj obj;
	struct st_end a;

	st_create(&a, dx_open());
	obj.cq.in = a.cq;
	obj.cq.out = &cq;
	memset(&cq, 0, sizeof(cq));
	cr_assert_eq(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	dx_head(in, DX_QUERY_CQ, cq.cqn);
	cr_expect_eq(mlx5dv_devx_cq_query(a.cq, in, sizeof(in), out, sizeof(out)), 0);
	dx_head(in, DX_QUERY_QP, a.qp->qp_num);
	cr_expect_eq(mlx5dv_devx_qp_query(a.qp, in, sizeof(in), out, sizeof(out)), 0);
	dx_head(in, DX_QUERY_QP, a.qp->qp_num ^ 1);
	cr_expect_eq(mlx5dv_devx_qp_query(a.qp, in, sizeof(in), out, sizeof(out)), EINVAL);
	st_finish(&a);
}

/* PRM QUERY_QP: context at 0x18. */
static uint32_t counter_set(const uint8_t out[DX_LONG])
{
	return dx_get(out + 0x18, 0x0c, 0, 8);
}

static uint32_t counter_set_of(struct ibv_qp *qp)
{
	uint8_t in[DX_SHORT] = { 0 }, out[DX_LONG] = { 0 };

	dx_head(in, DX_QUERY_QP, qp->qp_num);
	cr_assert_eq(mlx5dv_devx_qp_query(qp, in, sizeof(in), out, sizeof(out)), 0);
	return counter_set(out);
}

/* Linux puts the set into RST2INIT of its own QPs (__mlx5_ib_modify_qp), and changes no command of DEVX. */
Test(stock, devx_obj__only_a_verbs_qp_gets_the_counter_set_of_its_port)
{
	uint8_t in[DX_SHORT] = { 0 }, out[DX_LONG] = { 0 };
	struct st_end a;
	struct dx d;

	st_create(&a, dx_open());
	dx_create(&d, a.ctx);
	cr_expect_eq(counter_set_of(a.qp), 0);
	cr_assert_eq(st_to_init(a.qp), 0);
	cr_expect_eq(counter_set_of(a.qp), 0x41, "not the set of port 1");
	dx_connect(&d);
	dx_head(in, DX_QUERY_QP, d.qpn);
	cr_assert_eq(mlx5dv_devx_obj_query(d.qp, in, sizeof(in), out, sizeof(out)), 0);
	cr_expect_eq(counter_set(out), 0);
	dx_destroy(&d);
	st_finish(&a);
}

static void refused(struct ibv_context *ctx, const uint8_t cmd[DX_LONG], const char *what)
{
	uint8_t out[DX_SHORT] = { 0 };

	errno = 0;
	cr_expect_null(mlx5dv_devx_obj_create(ctx, cmd, DX_LONG, out, sizeof(out)),
		       "the %s of another context is not refused", what);
	cr_expect_eq(errno, EREMOTEIO);
	cr_expect_eq(dx_get(out, 0, 0, 8), 0x05, "the %s: the status is not 5, bad resource", what);
}

/* Linux puts the uid of the context into each command. The device compares it with that of each object. */
Test(stock, devx_obj__names_no_object_of_another_context)
{
	uint8_t cmd[DX_LONG];
	struct dx d, e, mixed;

	dx_create(&d, dx_open());
	dx_create(&e, dx_open());
	mixed = d;
	mixed.umem = e.umem;
	dx_begin_cq(&mixed, cmd);
	refused(d.ctx, cmd, "umem");
	mixed = d;
	mixed.uar = e.uar;
	dx_begin_cq(&mixed, cmd);
	refused(d.ctx, cmd, "UAR");
	mixed = d;
	mixed.cqn = e.cqn;
	dx_begin_qp(&mixed, cmd);
	refused(d.ctx, cmd, "CQ");
	mixed = d;
	mixed.pd = e.pd;
	dx_begin_qp(&mixed, cmd);
	refused(d.ctx, cmd, "PD");
	dx_destroy(&d);
	dx_destroy(&e);
	st_close(d.ctx);
	st_close(e.ctx);
}

/* A function of the leak detector, which some builds lack. */
extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));

/* Leaves objects behind. libmlx5 leaks its part, which is expected; this tests the device's
 * part. */
static void leave_behind(void)
{
	struct dx d;

	if (&__lsan_disable)
		__lsan_disable();
	dx_create(&d, dx_open());
	dx_connect(&d);
	dx_nop(&d);
	st_close(d.ctx);
	if (&__lsan_enable)
		__lsan_enable();
}

Test(stock, devx_obj__left_behind_leaves_the_next_context_working)
{
	struct dx e;

	for (int i = 0; i < 3; i++)
		leave_behind();
	dx_create(&e, dx_open());
	cr_expect_neq(mlx5dv_devx_obj_destroy(e.cq), 0, "a CQ that a QP uses was destroyed");
	cr_expect_neq(mlx5dv_devx_umem_dereg(e.umem), 0);
	dx_destroy(&e);
	st_close(e.ctx);
}

Test(stock, devx_uar__not_cached_has_a_page_of_its_own)
{
	struct ibv_context *ctx = dx_open();
	struct mlx5dv_devx_uar *bf = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_BF);
	struct mlx5dv_devx_uar *nc = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC);

	cr_assert(bf && nc);
	cr_expect_neq(bf->page_id, nc->page_id);
	cr_expect_eq((uint8_t *)nc->reg_addr - (uint8_t *)nc->base_addr, 0x800);
	mlx5dv_devx_free_uar(nc);
	mlx5dv_devx_free_uar(bf);
	st_close(ctx);
}
