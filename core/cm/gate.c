/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets: whom they let in, and that they wait when there is no descriptor for him. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/loop.h"

#define ACCEPTS_AT_ONCE 64		/* then the others have their turn */

static void resume(void *arg)
{
	struct cm_gate *g = arg;

	cm_poll_change(g->fd, EPOLLIN, &g->item);
}

/* False when there is nobody more to let in for now. */
static bool enter_one(struct cm_gate *g)
{
	int fd = accept4(g->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		g->enter(g, fd);
		return true;
	}
	switch (errno) {
	case EAGAIN:
		return false;
	case EMFILE: case ENFILE: case ENOBUFS: case ENOMEM:
		/* The connection stays in the backlog and would wake us again and again. */
		dap_log(DAP_LOG_WARN, "cannot accept a connection yet: %s", dap_reason(-errno));
		cm_poll_change(g->fd, 0, &g->item);
		cm_timer_set(&g->pause, cm_limits.pause_us);
		return false;
	default:
		return true;		/* that one has gone again */
	}
}

static void gate_ready(struct cm_item *item, uint32_t events)
{
	struct cm_gate *g = (struct cm_gate *)item;

	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE && g->fd >= 0; i++) {
		if (!enter_one(g))
			break;
	}
}

static int listen_at(const struct sockaddr *at, socklen_t len, int type)
{
	int fd = socket(at->sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;
	const int on = 1;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, at, len) || listen(fd, SOMAXCONN)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int cm_gate_open(struct cm_gate *g, const struct sockaddr *at, socklen_t len, int type)
{
	int fd = listen_at(at, len, type), err;

	if (fd < 0)
		return fd;
	g->item.ready = gate_ready;
	g->pause = (struct dap_timer){ .fn = resume, .arg = g, .inside = true };
	err = cm_poll_add(fd, EPOLLIN, &g->item);
	if (err)
		close(fd);
	else
		g->fd = fd;
	return err;
}

void cm_gate_close(struct cm_gate *g)
{
	cm_timer_clear(&g->pause);
	cm_close_fd(&g->fd, false);
	cm_bury(&g->item);
}

int cm_local_get(struct cm_locals *list, const struct sockaddr_un *name, socklen_t len, int type,
		 void (*enter)(struct cm_gate *gate, int fd), struct cm_local **out)
{
	struct cm_local *l;
	int err;

	LIST_FOREACH(l, list, link) {
		if (!memcmp(&l->name, name, sizeof(*name)))
			break;
	}
	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l)
			return -ENOMEM;
		l->name = *name;
		l->gate.enter = enter;
		err = cm_gate_open(&l->gate, (const struct sockaddr *)name, len, type);
		if (err) {
			free(l);
			return err;
		}
		LIST_INSERT_HEAD(list, l, link);
	}
	l->users++;
	*out = l;
	return 0;
}

void cm_local_put(struct cm_local *l)
{
	if (!l || --l->users)
		return;
	LIST_REMOVE(l, link);
	cm_gate_close(&l->gate);
}
