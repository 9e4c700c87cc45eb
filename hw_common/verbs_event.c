/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Events of a device and its ports, from the context's async descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <sys/epoll.h>

#include "hw_common/verbs.h"

int hw_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? hw_errno() : 0;
}

int hw_watch(int poll_fd, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &ev) ? hw_errno() : 0;
}

bool hw_is_gone(int fd)
{
	struct pollfd channel = { .fd = fd, .events = POLLRDHUP };

	return poll(&channel, 1, 0) > 0;
}

static enum hw_event kind_of(const struct ibv_async_event *ev, unsigned int port)
{
	if (ev->event_type == IBV_EVENT_DEVICE_FATAL)
		return HW_EVENT_GONE;
	switch (ev->event_type) {
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
		if (ev->element.port_num != (int)port)
			return HW_EVENT_NONE;
		return ev->event_type == IBV_EVENT_PORT_ACTIVE ? HW_EVENT_PORT_UP :
		       ev->event_type == IBV_EVENT_PORT_ERR ? HW_EVENT_PORT_DOWN : HW_EVENT_PORT;
	default:
		return HW_EVENT_NONE;
	}
}

enum hw_event hw_async_event(struct ibv_context *ctx, unsigned int port)
{
	struct ibv_async_event in;
	enum hw_event kind;

	do {
		errno = 0;
		if (ibv_get_async_event(ctx, &in))
			return errno == EAGAIN || errno == EINTR ? HW_EVENT_NONE : HW_EVENT_GONE;
		kind = kind_of(&in, port);
		ibv_ack_async_event(&in);
	} while (kind == HW_EVENT_NONE);
	return kind;
}
