/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * Events. A CQ with a waiter has its own DEVX channel, which holds at most one event and no data.
 * Errors of objects arrive on another channel as the device's EQE; port and device events on the
 * context's async descriptor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/dap.h"
#include "hw_mlx5/ctl/read.h"
#include "hw_mlx5/ctl/uverbs.h"

static int open_channel(struct m5_ctl_uverbs *u, enum mlx5dv_devx_create_event_channel_flags flags,
			struct mlx5dv_devx_event_channel **out)
{
	struct mlx5dv_devx_event_channel *new;
	int err;

	errno = 0;
	new = mlx5dv_devx_create_event_channel(u->dv.ctx, flags);
	if (!new)
		return hw_errno();
	err = hw_nonblocking(new->fd);
	if (err)
		mlx5dv_devx_destroy_event_channel(new);
	else
		*out = new;
	return err;
}

int uv_events_open(struct m5_ctl_uverbs *u)
{
	int err = open_channel(u, 0, &u->events);

	if (err)
		return err;
	u->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (u->poll_fd < 0) {
		err = hw_errno();
		goto err_channel;
	}
	err = hw_nonblocking(u->dv.ctx->async_fd);
	if (!err)
		err = hw_watch(u->poll_fd, u->dv.ctx->async_fd);
	if (!err)
		err = hw_watch(u->poll_fd, u->events->fd);
	if (!err)
		return 0;
	close(u->poll_fd);
err_channel:
	mlx5dv_devx_destroy_event_channel(u->events);
	return err;
}

void uv_events_close(struct m5_ctl_uverbs *u)
{
	close(u->poll_fd);
	mlx5dv_devx_destroy_event_channel(u->events);
}

/*
 * The firmware decides which events a user context may get. Errors that it does not report are
 * found later, by completions and the connection manager, so a refusal is not fatal.
 */
static int subscribe(struct m5_ctl_uverbs *u, const struct m5_obj *obj, uint16_t type)
{
	uint16_t list[] = { type };
	int ret = abs(mlx5dv_devx_subscribe_devx_event(u->events, obj->devx, sizeof(list), list,
						       obj->serial));

	if (ret != EINVAL && ret != EOPNOTSUPP)
		return hw_error(ret);
	dap_log(DAP_LOG_EP, "%s does not report events of type 0x%x", u->dv.ctx->device->name, type);
	return 0;
}

static void list_obj(struct m5_ctl_uverbs *u, struct m5_obj *obj)
{
	if (obj->serial)
		return;
	pthread_mutex_lock(&u->obj_lock);
	obj->serial = ++u->serial;
	LIST_INSERT_HEAD(&u->objs, obj, listed);
	pthread_mutex_unlock(&u->obj_lock);
}

void uv_events_end(struct m5_ctl_uverbs *u, struct m5_obj *obj)
{
	if (!obj->serial)
		return;
	pthread_mutex_lock(&u->obj_lock);
	LIST_REMOVE(obj, listed);
	pthread_mutex_unlock(&u->obj_lock);
}

int uv_events_of(struct m5_ctl_uverbs *u, struct m5_obj *obj, uint16_t opcode)
{
	static const struct {
		uint16_t create, type;
	} events[] = {
		{ M5_CMD_CREATE_QP, M5_EV_WQ_CATASTROPHIC },
		{ M5_CMD_CREATE_QP, M5_EV_WQ_INVALID_REQUEST },
		{ M5_CMD_CREATE_QP, M5_EV_WQ_ACCESS_ERROR },
		{ M5_CMD_CREATE_QP, M5_EV_SRQ_LAST_WQE },
		{ M5_CMD_CREATE_CQ, M5_EV_CQ_ERROR },
		{ M5_CMD_CREATE_RMP, M5_EV_SRQ_LIMIT },
		{ M5_CMD_CREATE_RMP, M5_EV_SRQ_CATASTROPHIC },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]) && !err; i++) {
		if (events[i].create != opcode)
			continue;
		list_obj(u, obj);
		err = subscribe(u, obj, events[i].type);
	}
	return err;
}

/* Uses all vectors in turn, so that not all interrupts go to one CPU. */
int uv_eqn(struct m5_ctl *ctl, uint32_t *eqn)
{
	struct ibv_context *ctx = dv_of(ctl)->ctx;
	uint32_t n = ctx->num_comp_vectors > 0 ? (uint32_t)ctx->num_comp_vectors : 1;

	return hw_error(mlx5dv_devx_query_eqn(ctx, (uint32_t)getpid() % n, eqn));
}

int uv_evch_create(struct m5_ctl *ctl, struct m5_evch **ch)
{
	struct m5_evch *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	err = open_channel(uv_of(ctl), MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA,
			   &new->channel);
	if (err)
		free(new);
	else
		*ch = new;
	return err;
}

void uv_evch_destroy(struct m5_evch *ch)
{
	mlx5dv_devx_destroy_event_channel(ch->channel);
	free(ch);
}

int uv_evch_fd(struct m5_evch *ch)
{
	return ch->channel->fd;
}

int uv_evch_bind(struct m5_evch *ch, struct m5_obj *cq, uint32_t cqn)
{
	uint16_t completion[] = { M5_EV_COMPLETION };

	return hw_error(mlx5dv_devx_subscribe_devx_event(ch->channel, cq->devx, sizeof(completion),
							 completion, cqn));
}

int uv_evch_drain(struct m5_evch *ch)
{
	struct mlx5dv_devx_async_event_hdr ev;
	int n = 0;

	while (mlx5dv_devx_get_event(ch->channel, &ev, sizeof(ev)) >= 0)
		n++;
	return !n && hw_is_gone(ch->channel->fd) ? -ENODEV : n;
}

int uv_async_fd(struct m5_ctl *ctl)
{
	return uv_of(ctl)->poll_fd;
}

/* The descriptor of a removed device stays readable forever: report it once, then stop polling
 * it. */
static int report_gone(struct m5_ctl_uverbs *u, struct m5_event *ev)
{
	u->gone = true;
	epoll_ctl(u->poll_fd, EPOLL_CTL_DEL, u->dv.ctx->async_fd, NULL);
	epoll_ctl(u->poll_fd, EPOLL_CTL_DEL, u->events->fd, NULL);
	*ev = (struct m5_event){ .kind = M5_EVENT_FATAL, .type = M5_EV_INTERNAL_ERROR };
	return 1;
}

static bool exists(struct m5_ctl_uverbs *u, uint64_t serial)
{
	const struct m5_obj *obj;

	pthread_mutex_lock(&u->obj_lock);
	LIST_FOREACH(obj, &u->objs, listed)
		if (obj->serial == serial)
			break;
	pthread_mutex_unlock(&u->obj_lock);
	return obj;
}

/* The kernel keeps the unread events of a destroyed object, whose number the device may have given to another
 * object. */
static int read_object(struct m5_ctl_uverbs *u, struct m5_event *ev)
{
	union {
		struct mlx5dv_devx_async_event_hdr hdr;
		uint8_t bytes[sizeof(struct mlx5dv_devx_async_event_hdr) + sizeof(struct m5_eqe)];
	} in;
	struct m5_eqe eqe;
	ssize_t n;

	do {
		n = mlx5dv_devx_get_event(u->events, &in.hdr, sizeof(in));
	} while (n == sizeof(in) && !exists(u, in.hdr.cookie));
	if (n == sizeof(in)) {
		memcpy(&eqe, in.bytes + sizeof(in.hdr), sizeof(eqe));
		m5_eqe_event(&eqe, ev);
		return 1;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno == EOVERFLOW) {
		*ev = (struct m5_event){ .kind = M5_EVENT_LOST };
		return 1;
	}
	return report_gone(u, ev);
}

static int read_device(struct m5_ctl_uverbs *u, struct m5_event *ev)
{
	static const uint8_t states[] = { [HW_EVENT_PORT_DOWN] = M5_PORT_DOWN,
					  [HW_EVENT_PORT_UP] = M5_PORT_UP, [HW_EVENT_PORT] = 0 };
	enum hw_event kind = hw_async_event(u->dv.ctx, u->port_num);

	if (kind == HW_EVENT_NONE)
		return 0;
	if (kind == HW_EVENT_GONE)
		return report_gone(u, ev);
	*ev = (struct m5_event){ .kind = M5_EVENT_PORT, .type = M5_EV_PORT_CHANGE,
				 .sub_type = states[kind], .number = u->port_num };
	return 1;
}

int uv_async_read(struct m5_ctl *ctl, struct m5_event *ev)
{
	struct m5_ctl_uverbs *u = uv_of(ctl);
	int n = u->gone ? 0 : read_object(u, ev);

	if (!n && !u->gone)
		n = read_device(u, ev);
	return n;
}
