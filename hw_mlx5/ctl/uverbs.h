/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access through the kernel's uverbs with DEVX, by libibverbs and libmlx5 (mlx5dv). The kernel keeps
 * PDs, registrations and the GID table; everything else is created by commands that it forwards.
 *
 *   uverbs.c        open and close
 *   uverbs_list.c   list of devices, and why one cannot be opened
 *   uverbs_event.c  completion channels, asynchronous events
 *   uverbs_port.c   the port and its address
 *   uverbs_count.c  the counter set of the port
 *   dv*.c           memory, commands and objects, shared with VFIO
 */
#ifndef M5_CTL_UVERBS_H
#define M5_CTL_UVERBS_H

#include "hw_mlx5/ctl/dv.h"

struct m5_evch {
	struct mlx5dv_devx_event_channel *channel;
};

/* The next hop to one address, cached from the kernel. */
struct uv_hop {
	uint8_t gid[16], gid_index, mac[6];
	uint64_t until;			/* ns, monotonic */
};

struct m5_ctl_uverbs {
	struct m5_ctl_dv dv;
	uint8_t port_num, gid_index;
	/* Object events come here, port and device events on ctx->async_fd: poll_fd covers both. */
	struct mlx5dv_devx_event_channel *events;
	int poll_fd;
	bool gone;
	pthread_mutex_t obj_lock;	/* protects objs and serial */
	LIST_HEAD(, m5_obj) objs;	/* objects that have events */
	uint64_t serial;		/* serial number of the newest object in objs */
	pthread_mutex_t hop_lock;
	struct uv_hop hop;		/* the next hop that was resolved last */
};

static inline struct m5_ctl_uverbs *uv_of(struct m5_ctl *ctl)
{
	return (struct m5_ctl_uverbs *)ctl;
}

/* ---- uverbs_list.c ---- */
/* Opens a DEVX context of that device: 0, or -errno with cause and remedy in why. */
int uv_context(const char *device, struct ibv_context **ctx, char *why, size_t whylen);
void uv_context_close(struct ibv_context *ctx);
size_t uv_list(const struct m5_ctl_ops *ops, struct dapl_device *devs, size_t max);
/* Checks that the device is new enough, the port carries traffic and memory can be locked. Returns
 * 0, or -errno with cause and remedy. */
int uv_usable(struct m5_ctl_uverbs *u, char *why, size_t whylen);

int uv_events_open(struct m5_ctl_uverbs *u);
void uv_events_close(struct m5_ctl_uverbs *u);
/* Delivers the object's errors to async_read: 0 or -errno. Does nothing for objects that have
 * none. */
int uv_events_of(struct m5_ctl_uverbs *u, struct m5_obj *obj, uint16_t opcode);
/* The object is about to be destroyed: async_read drops its unread events. */
void uv_events_end(struct m5_ctl_uverbs *u, struct m5_obj *obj);
int uv_eqn(struct m5_ctl *ctl, uint32_t *eqn);
int uv_evch_create(struct m5_ctl *ctl, struct m5_evch **ch);
void uv_evch_destroy(struct m5_evch *ch);
int uv_evch_fd(struct m5_evch *ch);
int uv_evch_bind(struct m5_evch *ch, struct m5_obj *cq, uint32_t cqn);
int uv_evch_drain(struct m5_evch *ch);
int uv_async_fd(struct m5_ctl *ctl);
int uv_async_read(struct m5_ctl *ctl, struct m5_event *ev);

/* Reads the counter set of the port, if that is possible. */
void uv_counter_set_read(struct m5_ctl_uverbs *u);

int uv_port_facts(struct m5_ctl_uverbs *u, struct m5_port *port);
int uv_port(struct m5_ctl *ctl, struct m5_port *port);
int uv_next_hop(struct m5_ctl *ctl, void *pd_priv, const uint8_t gid[16], uint8_t mac[6]);

#endif
