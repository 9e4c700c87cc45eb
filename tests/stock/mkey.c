/* SPDX-License-Identifier: BSD-2-Clause */
/* Indirect mkeys of mlx5dv: a list of regions, used and invalidated by work requests. */
#include <errno.h>
#include <infiniband/mlx5dv.h>
#include <string.h>

#include "tests/stock/rig.h"

struct owner {
	struct st_end end, peer;	/* the peer writes through the mkey */
	struct ibv_qp_ex *qp;
	struct mlx5dv_qp_ex *mqp;
	struct mlx5dv_mkey *mkey;
};

static void create(struct owner *o)
{
	struct mlx5dv_mkey_init_attr mkey = {
		.create_flags = MLX5DV_MKEY_INIT_ATTR_FLAGS_INDIRECT,
		.max_entries = 4,
	};
	struct mlx5dv_qp_init_attr dv = {
		.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS,
		.send_ops_flags = MLX5DV_QP_EX_WITH_MR_LIST | MLX5DV_QP_EX_WITH_MR_INTERLEAVED,
	};
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { ST_DEPTH, ST_DEPTH, 4, 4, 128 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_LOCAL_INV,
	};

	st_create(&o->end, st_open());
	cr_assert_eq(ibv_destroy_qp(o->end.qp), 0);
	attr.send_cq = attr.recv_cq = o->end.cq;
	mkey.pd = attr.pd = o->end.pd;
	cr_assert_not_null(o->end.qp = mlx5dv_create_qp(o->end.ctx, &attr, &dv),
			   "the QP cannot be created, errno %d", errno);
	cr_assert_not_null(o->mkey = mlx5dv_create_mkey(&mkey),
			   "the mkey cannot be created, errno %d", errno);
	o->qp = ibv_qp_to_qp_ex(o->end.qp);
	o->mqp = mlx5dv_qp_ex_from_ibv_qp_ex(o->qp);
	st_create(&o->peer, o->end.ctx);
	st_connect(&o->end, &o->peer);
}

static void destroy(struct owner *o)
{
	cr_expect_eq(mlx5dv_destroy_mkey(o->mkey), 0);
	st_unpair(&o->peer, &o->end);
}

static enum ibv_wc_status map_two_pieces(struct owner *o)
{
	struct ibv_sge sge[2] = {
		{ (uintptr_t)o->end.buf + 1024, 32, o->end.mr->lkey },
		{ (uintptr_t)o->end.buf + 4096, 32, o->end.mr->lkey },
	};

	ibv_wr_start(o->qp);
	o->qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_list(o->mqp, o->mkey, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, 2, sge);
	cr_assert_eq(ibv_wr_complete(o->qp), 0);
	return st_poll(&o->end);
}

Test(stock, local_inv__of_an_indirect_mkey_ends_its_key)
{
	struct owner o;

	create(&o);
	memset(o.peer.buf, 0x37, 64);
	cr_assert_eq(map_two_pieces(&o), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&o.peer, 0, o.mkey->rkey, 64), IBV_WC_SUCCESS);
	cr_expect_arr_eq(o.end.buf + 1024, o.peer.buf, 32);
	cr_expect_arr_eq(o.end.buf + 4096, o.peer.buf, 32);
	ibv_wr_start(o.qp);
	o.qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_local_inv(o.qp, o.mkey->lkey);
	cr_assert_eq(ibv_wr_complete(o.qp), 0);
	cr_assert_eq(st_poll(&o.end), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&o.peer, 0, o.mkey->rkey, 64), IBV_WC_REM_ACCESS_ERR);
	destroy(&o);
}

/* Maps rows of two matrices: 8 of every 64 bytes of the first, then 4 of every 16 bytes of the
 * second. */
static enum ibv_wc_status map_columns(struct owner *o, uint32_t rows)
{
	struct mlx5dv_mr_interleaved columns[2] = {
		{ (uintptr_t)o->end.buf + 1024, 8, 56, o->end.mr->lkey },
		{ (uintptr_t)o->end.buf + 4096, 4, 12, o->end.mr->lkey },
	};

	ibv_wr_start(o->qp);
	o->qp->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	mlx5dv_wr_mr_interleaved(o->mqp, o->mkey, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE, rows, 2,
				 columns);
	cr_assert_eq(ibv_wr_complete(o->qp), 0);
	return st_poll(&o->end);
}

Test(stock, wr_mr_interleaved__takes_a_column_of_each_matrix)
{
	enum { ROWS = 5, ROW = 12 };
	struct owner o;

	create(&o);
	for (int i = 0; i < ROWS * ROW; i++)
		o.peer.buf[i] = (uint8_t)(i + 1);
	cr_assert_eq(map_columns(&o, ROWS), IBV_WC_SUCCESS);
	cr_assert_eq(st_write(&o.peer, 0, o.mkey->rkey, ROWS * ROW), IBV_WC_SUCCESS);
	for (int i = 0; i < ROWS; i++) {
		cr_expect_arr_eq(o.end.buf + 1024 + 64 * i, o.peer.buf + ROW * i, 8);
		cr_expect_arr_eq(o.end.buf + 4096 + 16 * i, o.peer.buf + ROW * i + 8, 4);
		cr_expect_eq(o.end.buf[1024 + 64 * i + 8], 0);
		cr_expect_eq(o.end.buf[4096 + 16 * i + 4], 0);
	}
	/* The access begins in the middle of a row and ends in the next row. */
	memset(o.peer.buf, 0x5a, 8);
	cr_assert_eq(st_write(&o.peer, ROW + 6, o.mkey->rkey, 8), IBV_WC_SUCCESS);
	cr_expect_eq(o.end.buf[1024 + 64 + 5], ROW + 6);
	cr_expect_arr_eq(o.end.buf + 1024 + 64 + 6, o.peer.buf, 2);
	cr_expect_arr_eq(o.end.buf + 4096 + 16, o.peer.buf, 4);
	cr_expect_arr_eq(o.end.buf + 1024 + 128, o.peer.buf, 2);
	cr_expect_eq(o.end.buf[1024 + 128 + 2], 2 * ROW + 3);
	destroy(&o);
}

Test(stock, wr_mr_interleaved__ends_with_the_last_row)
{
	struct owner o;

	create(&o);
	cr_assert_eq(map_columns(&o, 2), IBV_WC_SUCCESS);
	cr_expect_eq(st_write(&o.peer, 0, o.mkey->rkey, 25), IBV_WC_REM_ACCESS_ERR);
	destroy(&o);
}
