/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way between processes of one host and user: a local stream socket. Each address and port that
 * is listened to has one beside the TCP port, with the user and both in its abstract name. Names are
 * of one network namespace, as addresses are. Such a socket is a line (mux.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/cm/private.h"

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
