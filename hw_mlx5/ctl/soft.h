/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access to the software ConnectX in this process: does what the kernel's driver would do.
 *
 *   soft.c         open and close
 *   soft_obj.c     commands and objects
 *   soft_mem.c     PDs, registrations, umems, UARs
 *   soft_event.c   the event queue
 *   soft_port.c    the port and its address
 *   soft_hot.c     hot calls for callers that drive the device
 */
#ifndef M5_CTL_SOFT_H
#define M5_CTL_SOFT_H

#include <pthread.h>

#include "hw_common/soft.h"
#include "hw_mlx5/ctl/eq.h"
#include "hw_mlx5/params.h"

#define SOFT_EQ_LOG 10

struct m5_obj {
	struct m5_ctl *ctl;
	uint16_t destroy;		/* opcode that destroys it */
	uint32_t number;
	struct m5_cq_link link;		/* the channel of a CQ, if it has one */
};

struct soft_eq {
	struct m5_eq eq;
	struct m5_uar uar;
	bool made;
};

struct m5_ctl_soft {
	struct m5_ctl ctl;
	struct m5_params params;
	struct soft_eq eq;
	struct m5_events events;
};

static inline struct m5_ctl_soft *soft_of(struct m5_ctl *ctl)
{
	return (struct m5_ctl_soft *)ctl;
}

/* Implements cmd of ctl.h. */
int soft_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen);
/* Destroys an object. Test faults exclude it; failures are logged. Returns 0 or -errno. */
int soft_undo(struct m5_ctl *ctl, uint16_t opcode, uint32_t number);
int soft_obj_create(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen,
		    struct m5_obj **obj);
int soft_obj_cmd(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen);
int soft_obj_destroy(struct m5_obj *obj);

int soft_pd_alloc(struct m5_ctl *ctl, uint32_t *pdn, void **priv);
int soft_pd_free(struct m5_ctl *ctl, uint32_t pdn, void *priv);
int soft_mr_reg(struct m5_ctl *ctl, void *pd_priv, uint32_t pdn, void *addr, uint64_t len,
		unsigned int access, struct m5_mr *mr);
int soft_mr_dereg(struct m5_ctl *ctl, struct m5_mr *mr);
int soft_umem_reg(struct m5_ctl *ctl, void *addr, size_t len, struct m5_umem *umem);
int soft_umem_dereg(struct m5_ctl *ctl, struct m5_umem *umem);
int soft_uar_alloc(struct m5_ctl *ctl, enum m5_uar_type type, struct m5_uar *uar);
void soft_uar_free(struct m5_ctl *ctl, struct m5_uar *uar);

int soft_eq_open(struct m5_ctl_soft *s);
void soft_eq_close(struct m5_ctl_soft *s);
void soft_irq(void *ctx, unsigned int vector);
int soft_evch_create(struct m5_ctl *ctl, struct m5_evch **ch);
int soft_evch_bind(struct m5_evch *ch, struct m5_obj *cq, uint32_t cqn);
int soft_async_fd(struct m5_ctl *ctl);
int soft_async_read(struct m5_ctl *ctl, struct m5_event *ev);

int soft_port(struct m5_ctl *ctl, struct m5_port *port);
int soft_is_local(struct m5_ctl *ctl, const uint8_t mac[6], uint8_t gid[16]);

#endif
