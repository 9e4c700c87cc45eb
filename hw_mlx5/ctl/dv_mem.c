/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* PDs, registered memory, queue memory and doorbell pages, managed by the kernel or libmlx5. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "hw_common/memory.h"
#include "hw_mlx5/ctl/dv.h"
#include "hw_mlx5/wqe.h"

/* Enough for an endpoint with small queues and its EVDs. */
#define LEAST_LOCKED (64u << 10)

static int pd_number(struct ibv_pd *pd, uint32_t *pdn)
{
	struct mlx5dv_pd dvpd = { 0 };
	struct mlx5dv_obj obj = { .pd = { .in = pd, .out = &dvpd } };
	int err = mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD);

	if (!err)
		*pdn = dvpd.pdn;
	return hw_error(err);
}

int dv_pd_alloc(struct m5_ctl *ctl, uint32_t *pdn, void **priv)
{
	struct dv_call call;
	struct ibv_pd *pd;
	int err = dv_begin(ctl, &call);

	if (err)
		return err;
	pd = ibv_alloc_pd(dv_of(ctl)->ctx);
	if (pd) {
		err = pd_number(pd, pdn);
		if (err)
			ibv_dealloc_pd(pd);
		else
			*priv = pd;
	} else {
		err = hw_errno();
	}
	dv_end(&call);
	return err;
}

int dv_pd_free(struct m5_ctl *ctl, uint32_t pdn, void *priv)
{
	struct dv_call call;
	int err = dv_begin(ctl, &call);

	(void)pdn;
	if (err)
		return err;
	err = hw_error(ibv_dealloc_pd(priv));
	dv_end(&call);
	return err;
}

static unsigned int verbs_access(unsigned int access)
{
	return (access & M5_ACCESS_LOCAL_WRITE ? (unsigned int)IBV_ACCESS_LOCAL_WRITE : 0) |
	       (access & M5_ACCESS_REMOTE_WRITE ? (unsigned int)IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & M5_ACCESS_REMOTE_READ ? (unsigned int)IBV_ACCESS_REMOTE_READ : 0) |
	       (access & M5_ACCESS_REMOTE_ATOMIC ? (unsigned int)IBV_ACCESS_REMOTE_ATOMIC : 0);
}

/*
 * Over VFIO libmlx5 maps memory into a block of bus addresses that is as long as the smallest aligned
 * block of virtual addresses around it. Before rdma-core 47 the whole block must be free: for a few
 * bytes at a multiple of 2^38, that is 2^39 addresses.
 */
static int mr_failed(struct m5_ctl *ctl, const void *addr, uint64_t len)
{
	if (dv_of(ctl)->watch && errno == ENOSPC)
		dap_log(DAP_LOG_ERR, "%s: cannot register %" PRIu64 " bytes at %p: libmlx5 has no bus "
			"addresses for a range that lies across a multiple of a large power of two; use "
			"memory at another address, or rdma-core 47 or newer", ctl->device, len, addr);
	return hw_errno();
}

/* Counts the GiB that the kernel pins or releases, which gives a waiting command more time. sign: 1 or -1. */
static void count_pinning(struct m5_ctl *ctl, uint64_t len, int sign)
{
	struct dv_watch *watch = dv_of(ctl)->watch;

	if (watch)
		__atomic_fetch_add(&watch->pinning, (unsigned int)(len >> 30) * (unsigned int)sign,
				   __ATOMIC_SEQ_CST);
}

/* Never asks for relaxed ordering: DAT requires that a write is placed before the next one. */
int dv_mr_reg(struct m5_ctl *ctl, void *pd_priv, uint32_t pdn, void *addr, uint64_t len,
	      unsigned int access, struct m5_mr *mr)
{
	struct dv_call call;
	struct ibv_mr *new;
	int err = dv_begin(ctl, &call);

	(void)pdn;
	if (err)
		return err;
	count_pinning(ctl, len, 1);
	new = ibv_reg_mr(pd_priv, addr, len, verbs_access(access));
	count_pinning(ctl, len, -1);
	dv_end(&call);
	if (!new)
		return mr_failed(ctl, addr, len);
	*mr = (struct m5_mr){ .lkey = new->lkey, .rkey = new->rkey, .priv = new };
	return 0;
}

int dv_mr_dereg(struct m5_ctl *ctl, struct m5_mr *mr)
{
	uint64_t len = ((struct ibv_mr *)mr->priv)->length;
	struct dv_call call;
	int err = dv_begin(ctl, &call);

	if (err)
		return err;
	count_pinning(ctl, len, 1);
	err = hw_error(ibv_dereg_mr(mr->priv));
	count_pinning(ctl, len, -1);
	dv_end(&call);
	return err;
}

int dv_umem_reg(struct m5_ctl *ctl, void *addr, size_t len, struct m5_umem *umem)
{
	struct mlx5dv_devx_umem *new;
	struct dv_call call;
	int err = dv_begin(ctl, &call);

	if (err)
		return err;
	new = mlx5dv_devx_umem_reg(dv_of(ctl)->ctx, addr, len, IBV_ACCESS_LOCAL_WRITE);
	dv_end(&call);
	if (!new)
		return hw_errno();
	*umem = (struct m5_umem){ .id = new->umem_id, .priv = new };
	return 0;
}

int dv_umem_dereg(struct m5_ctl *ctl, struct m5_umem *umem)
{
	struct dv_call call;
	int err = dv_begin(ctl, &call);

	if (err)
		return err;
	err = hw_error(mlx5dv_devx_umem_dereg(umem->priv));
	dv_end(&call);
	return err;
}

struct mlx5dv_devx_uar *dv_uar(struct m5_ctl *ctl, bool bf)
{
	errno = 0;
	return mlx5dv_devx_alloc_uar(dv_of(ctl)->ctx, bf ? MLX5DV_UAR_ALLOC_TYPE_BF
							 : MLX5DV_UAR_ALLOC_TYPE_NC);
}

int dv_uar_describe(struct mlx5dv_devx_uar *new, bool bf, struct m5_uar *uar)
{
	if (!new)
		return hw_errno();
	*uar = (struct m5_uar){
		.page = new->page_id,
		.base = new->base_addr,
		.reg = new->reg_addr,
		.bf = bf,
		.priv = new,
	};
	return 0;
}

void dv_uar_free(struct m5_ctl *ctl, struct m5_uar *uar)
{
	(void)ctl;
	mlx5dv_devx_free_uar(uar->priv);
}

int dv_new_enough(struct m5_ctl *ctl, const char *name, struct m5_dev_caps *caps, char *why,
		  size_t whylen)
{
	int err = m5_cmd_caps(ctl, caps);

	if (err) {
		snprintf(why, whylen, "cannot query the capabilities of %s: %s", name,
			 strerror(-err));
	} else if (!caps->cqe_version) {
		snprintf(why, whylen, "the firmware of %s is too old (CQE version 0): update it",
			 name);
		err = -EIO;
	} else if (caps->max_sq_wqe < M5_LONGEST_WQE) {
		snprintf(why, whylen, "%s supports WQEs of only %u bytes, too few for this provider", name,
			 caps->max_sq_wqe);
		err = -EOPNOTSUPP;
	}
	return err;
}

int dv_lockable(struct m5_ctl *ctl, char *why, size_t whylen)
{
	struct m5_umem umem = { .priv = NULL };
	void *mem = mmap(NULL, LEAST_LOCKED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	int err = mem == MAP_FAILED ? -ENOMEM : dv_umem_reg(ctl, mem, LEAST_LOCKED, &umem);

	if (!err)
		dv_umem_dereg(ctl, &umem);
	if (mem != MAP_FAILED)
		munmap(mem, LEAST_LOCKED);
	if (err)
		hw_why_memory(err, why, whylen);
	return err;
}
