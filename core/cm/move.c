/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request that came over a line and is handed off needs a socket of its own: a pair is made, one
 * end of which goes to the peer over the line. From there on it is a connection like those by TCP,
 * whoever has the other end.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "core/user.h"

static bool send_end(const struct cm_line *line, const struct dap_cm_conn *c, int fd)
{
	const struct cm_msg move = { .type = CM_MOVE, .id = c->id };
	uint8_t bytes[CM_WIRE_SIZE];

	cm_wire_put(&move, bytes);
	return cm_send_fd(line->fd, &(struct iovec){ bytes, sizeof(bytes) }, 1, fd) ==
	       (ssize_t)sizeof(bytes);
}

int cm_move_out(struct dap_cm_conn *c)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(c->port), .sin_addr = c->called,
	};
	struct cm_line *line = c->line;
	int fd[2], err;

	if (!line)
		return 0;
	cm_line_flush(line);
	if (!TAILQ_EMPTY(&line->out))
		return -EAGAIN;
	err = cm_near_pair(&at, fd);
	if (err)
		return err;
	err = cm_conn_watch(c, fd[0], EPOLLIN | EPOLLRDHUP);
	if (!err && !send_end(line, c, fd[1]))
		err = -EAGAIN;
	close(fd[1]);
	if (err) {
		cm_close_fd(&fd[0], false);
		return err;
	}
	cm_line_leave(c);
	c->fd = fd[0];
	return 0;
}

static bool is_good(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM &&
	       dap_user_is_ours(fd);
}

bool cm_moved(struct cm_line *line, struct dap_cm_conn *c)
{
	int fd = line->moved_fd;

	line->moved_fd = -1;
	if (fd < 0)
		return false;
	if (!is_good(fd)) {
		close(fd);
		return false;
	}
	if (c)
		cm_line_leave(c);
	if (!c || c->state != CM_WAIT_REP || cm_conn_watch(c, fd, EPOLLIN | EPOLLRDHUP)) {
		close(fd);
		if (c)
			cm_conn_lost(c, 0);
		return true;
	}
	c->fd = fd;
	return true;
}
