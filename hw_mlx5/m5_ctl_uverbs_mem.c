/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* What the kernel keeps for a process: PDs, registered memory, queue memory, doorbell pages. */
#include <errno.h>
#include <stdlib.h>

#include "hw_mlx5/m5_ctl_uverbs.h"

int uv_pd_alloc(struct m5_ctl *ctl, uint32_t *pdn, void **priv)
{
	struct mlx5dv_pd dvpd = { 0 };
	struct mlx5dv_obj obj = { .pd = { .out = &dvpd } };
	struct ibv_pd *pd;
	int err;

	errno = 0;
	pd = ibv_alloc_pd(uv_of(ctl)->ctx);
	if (!pd)
		return uv_errno();
	obj.pd.in = pd;
	err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD);
	if (err) {
		ibv_dealloc_pd(pd);
		return uv_error(err);
	}
	*pdn = dvpd.pdn;
	*priv = pd;
	return 0;
}

int uv_pd_free(struct m5_ctl *ctl, uint32_t pdn, void *priv)
{
	(void)ctl;
	(void)pdn;
	return uv_error(ibv_dealloc_pd(priv));
}

static unsigned int verbs_access(unsigned int access)
{
	return (access & M5_ACCESS_LOCAL_WRITE ? (unsigned int)IBV_ACCESS_LOCAL_WRITE : 0) |
	       (access & M5_ACCESS_REMOTE_WRITE ? (unsigned int)IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & M5_ACCESS_REMOTE_READ ? (unsigned int)IBV_ACCESS_REMOTE_READ : 0) |
	       (access & M5_ACCESS_REMOTE_ATOMIC ? (unsigned int)IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/* Relaxed ordering is never asked for: DAT counts on a write being placed before the next one. */
int uv_mr_reg(struct m5_ctl *ctl, void *pd_priv, uint32_t pdn, void *addr, uint64_t len,
	      unsigned int access, struct m5_mr *mr)
{
	struct ibv_mr *new;

	(void)ctl;
	(void)pdn;
	uv_enter();
	errno = 0;
	new = ibv_reg_mr(pd_priv, addr, len, verbs_access(access));
	uv_leave();
	if (!new)
		return uv_errno();
	*mr = (struct m5_mr){ .lkey = new->lkey, .rkey = new->rkey, .priv = new };
	return 0;
}

int uv_mr_dereg(struct m5_ctl *ctl, struct m5_mr *mr)
{
	int ret;

	(void)ctl;
	uv_enter();
	ret = ibv_dereg_mr(mr->priv);
	uv_leave();
	return uv_error(ret);
}

int uv_umem_reg(struct m5_ctl *ctl, void *addr, size_t len, struct m5_umem *umem)
{
	struct mlx5dv_devx_umem *new;

	uv_enter();
	errno = 0;
	new = mlx5dv_devx_umem_reg(uv_of(ctl)->ctx, addr, len, IBV_ACCESS_LOCAL_WRITE);
	uv_leave();
	if (!new)
		return uv_errno();
	*umem = (struct m5_umem){ .id = new->umem_id, .priv = new };
	return 0;
}

int uv_umem_dereg(struct m5_ctl *ctl, struct m5_umem *umem)
{
	int ret;

	(void)ctl;
	uv_enter();
	ret = mlx5dv_devx_umem_dereg(umem->priv);
	uv_leave();
	return uv_error(ret);
}

static struct mlx5dv_devx_uar *uar_of_kind(struct m5_ctl *ctl, bool bf)
{
	errno = 0;
	return mlx5dv_devx_alloc_uar(uv_of(ctl)->ctx, bf ? MLX5DV_UAR_ALLOC_TYPE_BF
							 : MLX5DV_UAR_ALLOC_TYPE_NC);
}

/*
 * libmlx5 has one uncached page for all who ask for one. Old kernels know none, and a machine that
 * cannot map write-combined has no BlueFlame: then the other kind serves, with 8-byte doorbells.
 */
int uv_uar_alloc(struct m5_ctl *ctl, enum m5_uar_type type, struct m5_uar *uar)
{
	bool bf = type == M5_UAR_BF;
	struct mlx5dv_devx_uar *new = uar_of_kind(ctl, bf);

	if (!new && errno == EOPNOTSUPP) {
		new = uar_of_kind(ctl, !bf);
		bf = false;
	}
	if (!new)
		return uv_errno();
	*uar = (struct m5_uar){
		.page = new->page_id,
		.base = new->base_addr,
		.reg = new->reg_addr,
		.bf = bf,
		.priv = new,
	};
	return 0;
}

void uv_uar_free(struct m5_ctl *ctl, struct m5_uar *uar)
{
	(void)ctl;
	mlx5dv_devx_free_uar(uar->priv);
}
