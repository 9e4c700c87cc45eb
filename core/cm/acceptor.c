/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening sockets. If accept(2) fails they pause, and the connection stays in the backlog. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/cm/loop.h"

/* after this number of accepts the loop serves other descriptors */
#define ACCEPTS_AT_ONCE 64

static void acceptor_resume(void *arg)
{
	struct cm_acceptor *a = arg;

	cm_poll_change(a->fd, EPOLLIN, &a->item);
}

/* A listener has an IP address, or a name that begins with a null byte. */
static void log_pause(const struct cm_acceptor *a, int err)
{
	union { union dap_addr ip; struct sockaddr_un local; } at = { .local = { 0 } };
	socklen_t len = sizeof(at);
	char ip[DAP_ADDR_TEXT];

	if (getsockname(a->fd, &at.ip.sa, &len) || at.ip.sa.sa_family == AF_UNIX)
		dap_log(DAP_LOG_WARN, "local socket @%.*s: cannot accept a connection yet: %s",
			(int)sizeof(at.local.sun_path) - 1, at.local.sun_path + 1, dap_reason(err));
	else
		dap_log(DAP_LOG_WARN, "%s port %u: cannot accept a connection yet: %s",
			dap_addr_text(&at.ip, ip), dap_addr_port(&at.ip), dap_reason(err));
}

/* Without a descriptor accept(2) fails even if no connection is in the backlog. */
static bool is_waiting(const struct cm_acceptor *a)
{
	struct pollfd p = { .fd = a->fd, .events = POLLIN };
	int err = errno, n = poll(&p, 1, 0);

	errno = err;
	return n != 0;
}

/* Returns false if no connection can be accepted for now. */
static bool enter_one(struct cm_acceptor *a)
{
	int fd = accept4(a->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		a->fails = false;
		a->enter(a, fd);
		return true;
	}
	switch (errno) {
	case EAGAIN:
		return false;
	case ECONNABORTED:
		return true;		/* the peer has already closed it */
	case EMFILE:
	case ENFILE:
		if (!is_waiting(a))
			return false;
		if (cm_loop.spare_fd())
			return true;
		/* fall through */
	default:
		/* Without a descriptor, memory or permission the connection stays in the backlog; without a
		 * pause epoll would report it again and again. */
		if (!a->fails)
			log_pause(a, -errno);
		a->fails = true;
		cm_poll_change(a->fd, 0, &a->item);
		cm_timer_set(&a->pause, cm_limits.pause_us);
		return false;
	}
}

static void acceptor_ready(struct cm_item *item, uint32_t events)
{
	struct cm_acceptor *a = (struct cm_acceptor *)item;

	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE && a->fd >= 0; i++) {
		if (!enter_one(a))
			break;
	}
}

static int listen_at(const struct sockaddr *at, socklen_t len, int type, bool share)
{
	int fd = socket(at->sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err;
	const int on = 1, off = 0;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (share)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (at->sa_family == AF_INET6)		/* :: accepts IPv4, too */
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, at, len) || listen(fd, SOMAXCONN)) {
		err = -errno;
		close(fd);
		return err;
	}
	if (share)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &off, sizeof(off));
	return fd;
}

int cm_acceptor_open(struct cm_acceptor *a, const struct sockaddr *at, socklen_t len, int type, bool share)
{
	int fd = listen_at(at, len, type, share), err;

	if (fd < 0)
		return fd;
	a->item.ready = acceptor_ready;
	a->pause = (struct dap_timer){ .fn = acceptor_resume, .arg = a, .inside = true };
	err = cm_poll_add(fd, EPOLLIN, &a->item);
	if (err)
		close(fd);
	else
		a->fd = fd;
	return err;
}

void cm_acceptor_close(struct cm_acceptor *a)
{
	cm_timer_clear(&a->pause);
	cm_close_fd(&a->fd, false);
	cm_free_later(&a->item);
}

int cm_local_get(struct cm_locals *list, const struct sockaddr_un *name, socklen_t len, int type,
		 void (*enter)(struct cm_acceptor *acceptor, int fd), struct cm_local **out)
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
		l->acceptor.enter = enter;
		err = cm_acceptor_open(&l->acceptor, (const struct sockaddr *)name, len, type,
				       false);
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
	cm_acceptor_close(&l->acceptor);
}
