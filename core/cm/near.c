/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way between processes of one host and user: a local stream socket. Each address and port that
 * is listened to has one beside the TCP port, with the user and both in its abstract name. Names are
 * of one network namespace, as addresses are. Such a socket is a line (line.c).
 *
 * Any user may bind any abstract name. So TCP is taken if the name does not exist, if its owner is
 * another user, and if its backlog is full: the kernel reports the owner only once it is connected.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "core/user.h"

#define LINE_NAME "dapl-direct.line."
#define PAIR_NAME "dapl-direct.near."	/* the random rest keeps others from binding it first */

socklen_t cm_near_name(struct in_addr address, uint16_t port, struct sockaddr_un *name)
{
	int len;

	*name = (struct sockaddr_un){ .sun_family = AF_UNIX };
	len = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, LINE_NAME "%u.%08x.%u",
		       geteuid(), ntohl(address.s_addr), port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

bool cm_near_read(const struct sockaddr_un *name, socklen_t len, struct sockaddr_in *at)
{
	char text[sizeof(name->sun_path)] = "";
	size_t head = offsetof(struct sockaddr_un, sun_path) + 1;
	unsigned int address, port;

	if (name->sun_family != AF_UNIX || len <= head || name->sun_path[0])
		return false;
	memcpy(text, name->sun_path + 1, len - head);
	if (sscanf(text, PAIR_NAME "%8x.%5u", &address, &port) != 2 || port > UINT16_MAX)
		return false;
	*at = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(address),
	};
	return true;
}

int cm_near_connect(const struct sockaddr_in *to)
{
	struct sockaddr_un name;
	socklen_t len = cm_near_name(to->sin_addr, ntohs(to->sin_port), &name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&name, len) && dap_user_is_ours(fd))
		return fd;
	close(fd);
	return -ENOENT;
}

static int bind_pair(int fd, const struct sockaddr_in *at)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	uint64_t rest[2];
	int len;

	if (getrandom(rest, sizeof(rest), 0) != sizeof(rest))
		return -1;
	len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, PAIR_NAME "%08x.%u.%jx.%jx",
		       ntohl(at->sin_addr.s_addr), ntohs(at->sin_port), (uintmax_t)rest[0],
		       (uintmax_t)rest[1]);
	return bind(fd, (struct sockaddr *)&name,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len));
}

int cm_near_pair(const struct sockaddr_in *at, int fd[2])
{
	int err;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd))
		return -errno;
	if (!bind_pair(fd[0], at))
		return 0;
	err = -errno;
	close(fd[0]);
	close(fd[1]);
	return err;
}

/* ---- listening ---- */

static void near_enter(struct cm_gate *gate, int fd)
{
	cm_line_accepted(fd, &((const struct cm_near *)gate)->at);
}

static struct cm_near *near_open(struct in_addr address, uint16_t port)
{
	struct cm_near *n = calloc(1, sizeof(*n));
	struct sockaddr_un name;
	socklen_t len = cm_near_name(address, port, &name);
	int err;

	if (!n)
		return NULL;
	n->port = port;
	n->at = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address,
	};
	n->gate.enter = near_enter;
	err = cm_gate_open(&n->gate, (struct sockaddr *)&name, len, SOCK_STREAM);
	if (err) {
		dap_log(DAP_LOG_WARN, "cannot listen on the local socket @%s: %s; peers of this host "
			"connect by TCP", name.sun_path + 1,
			err == -EADDRINUSE ? "another process has bound this name" : strerror(-err));
		free(n);
		return NULL;
	}
	LIST_INSERT_HEAD(&cm_loop.nears, n, link);
	return n;
}

/* Without one all peers come by TCP. */
struct cm_near *cm_near_get(struct in_addr address, uint16_t port)
{
	struct cm_near *n;

	LIST_FOREACH(n, &cm_loop.nears, link) {
		if (n->port == port && n->at.sin_addr.s_addr == address.s_addr)
			break;
	}
	if (!n)
		n = near_open(address, port);
	if (n)
		n->users++;
	return n;
}

void cm_near_put(struct cm_near *n)
{
	if (!n || --n->users)
		return;
	LIST_REMOVE(n, link);
	cm_gate_close(&n->gate);
}
