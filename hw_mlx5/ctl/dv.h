/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by both accesses to a ConnectX through libibverbs and libmlx5 (mlx5dv): the kernel's DEVX
 * (uverbs*.c) and VFIO (vfio*.c). The libraries support the same calls for both.
 *
 *   dv_mem.c    PDs, registrations, umems
 *   dv_obj.c    commands and objects
 */
#ifndef M5_CTL_DV_H
#define M5_CTL_DV_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <signal.h>
#include <sys/queue.h>

#include "hw_common/verbs.h"
#include "hw_mlx5/cmd.h"
#include "hw_mlx5/ctl/read.h"
#include "hw_mlx5/params.h"

struct m5_obj {
	struct m5_ctl *ctl;
	struct mlx5dv_devx_obj *devx;
	/* used by VFIO: the channel of a CQ; opcode that created the object, and its number */
	struct m5_cq_link link;
	uint16_t create;
	uint32_t number;
	/* used by DEVX, for an object with events: its serial number, which is never reused, and the list
	 * entry */
	uint64_t serial;
	LIST_ENTRY(m5_obj) listed;
};

/* For a device that only this process monitors; all members are atomic. */
struct dv_watch {
	bool dead;			/* commands would never return */
	/* numbers of calls that use the device now: those that began in this turn of the health check, and
	 * those of the turn before; the parity of turn is the index of the former */
	unsigned int calls[2], turn;
	unsigned int pinning;		/* GiB that such calls pin or release */
};

struct m5_ctl_dv {
	struct m5_ctl ctl;
	struct m5_params params;
	struct ibv_context *ctx;
	struct dv_watch *watch;		/* NULL: the kernel monitors the device */
};

static inline struct m5_ctl_dv *dv_of(struct m5_ctl *ctl)
{
	return (struct m5_ctl_dv *)ctl;
}

/* ---- dv_obj.c ---- */
/*
 * Called around each use of the device. begin returns 0, or -EIO if it is dead. Signals are blocked
 * until end: over VFIO libmlx5 takes an interrupted wait for the end of the command.
 */
struct dv_call {
	sigset_t mask;
	unsigned int *calls;		/* the number that includes this call, or NULL */
};
int dv_begin(struct m5_ctl *ctl, struct dv_call *call);
void dv_end(const struct dv_call *call);

int dv_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen);
int dv_obj_create(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen,
		  struct m5_obj **obj);
int dv_obj_cmd(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen);
int dv_obj_destroy(struct m5_obj *obj);

/* ---- dv_mem.c ---- */
int dv_pd_alloc(struct m5_ctl *ctl, uint32_t *pdn, void **priv);
int dv_pd_free(struct m5_ctl *ctl, uint32_t pdn, void *priv);
int dv_mr_reg(struct m5_ctl *ctl, void *pd_priv, uint32_t pdn, void *addr, uint64_t len,
	      unsigned int access, struct m5_mr *mr);
int dv_mr_dereg(struct m5_ctl *ctl, struct m5_mr *mr);
int dv_umem_reg(struct m5_ctl *ctl, void *addr, size_t len, struct m5_umem *umem);
int dv_umem_dereg(struct m5_ctl *ctl, struct m5_umem *umem);
/* Allocates a page of that kind; NULL with errno set on failure. */
struct mlx5dv_devx_uar *dv_uar(struct m5_ctl *ctl, bool bf);
/* Fills uar from new, the result of dv_uar. Returns 0, or -errno if dv_uar failed. */
int dv_uar_describe(struct mlx5dv_devx_uar *new, bool bf, struct m5_uar *uar);
void dv_uar_free(struct m5_ctl *ctl, struct m5_uar *uar);
/* Is the device new enough for this driver? Returns 0, or -errno with cause and remedy. */
int dv_new_enough(struct m5_ctl *ctl, const char *name, struct m5_dev_caps *caps, char *why,
		  size_t whylen);
/* Can enough memory be locked? Returns 0, or -errno with cause and remedy. */
int dv_lockable(struct m5_ctl *ctl, char *why, size_t whylen);

/* Rows of m5_ctl_ops that both accesses have. */
#define DV_OPS \
	.cmd = dv_cmd, .obj_cmd = dv_obj_cmd, .pd_alloc = dv_pd_alloc, .pd_free = dv_pd_free, \
	.mr_reg = dv_mr_reg, .mr_dereg = dv_mr_dereg, .umem_reg = dv_umem_reg, \
	.umem_dereg = dv_umem_dereg, .uar_free = dv_uar_free

#endif
