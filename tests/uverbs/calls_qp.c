/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls for CQs and QPs of verbs, and commands for QPs. */
#include <string.h>

#include "tests/uverbs/calls.h"

uint8_t calls_path[44];
uint8_t calls_counter_set, calls_reported_set;

/*
 * PRM, transitions of QPs: the context is 0x18 bytes into the command. The counter set is 0x0c bytes into
 * that, the address path 0x18 bytes.
 */
static void remember(const uint8_t *in, size_t inlen)
{
	if (inlen > 0x24 && in[0] == 0x05 && in[1] == 0x02)
		calls_counter_set = in[0x24];
	if (inlen > 0x30 + sizeof(calls_path) && in[0] == 0x05 && in[1] == 0x03)
		memcpy(calls_path, in + 0x30, sizeof(calls_path));
}

int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	int err = calls_fails(__func__);

	remember(in, inlen);
	return err ? err : CALLS_REAL(mlx5dv_devx_obj_modify)(obj, in, inlen, out, outlen);
}

/* libibverbs names the descriptor of async events to the kernel if it creates a CQ or QP. */
struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *cookie, struct ibv_comp_channel *channel,
			     int vector)
{
	struct ibv_cq *cq;

	if (calls_fails(__func__))
		return NULL;
	calls_swap_async(ctx);
	cq = calls_made(CALLS_REAL(ibv_create_cq)(ctx, cqe, cookie, channel, vector));
	calls_swap_async(ctx);
	return cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	return calls_ended(CALLS_REAL(ibv_destroy_cq)(cq));
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp *qp;

	if (calls_fails(__func__))
		return NULL;
	calls_swap_async(pd->context);
	qp = calls_made(CALLS_REAL(ibv_create_qp)(pd, attr));
	calls_swap_async(pd->context);
	return qp;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	return calls_ended(CALLS_REAL(ibv_destroy_qp)(qp));
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	int err = calls_fails(__func__);

	return err ? err : CALLS_REAL(ibv_modify_qp)(qp, attr, mask);
}

int mlx5dv_devx_qp_query(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	int err = calls_fails(__func__);

	if (!err)
		err = CALLS_REAL(mlx5dv_devx_qp_query)(qp, in, inlen, out, outlen);
	if (!err && calls_reported_set)
		((uint8_t *)out)[0x24] = calls_reported_set;
	return err;
}
