/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handing a request off to whoever listens to another qualifier on this host: its socket goes
 * through the door of that qualifier (door.c), and the peer notices nothing. When this returns
 * the request is the other's, though that one may be asleep: should it die before it looks, the
 * kernel closes the socket, and the peer is told that nobody listens.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "core/user.h"

/* What a system call that failed says of the door. */
static int door_error(int err)
{
	switch (err) {
	case ECONNREFUSED: case ECONNRESET: case EPIPE: case ENOTCONN: case EPERM: case EACCES:
		return -ENOENT;
	case EAGAIN: case ETOOMANYREFS:		/* it is there, and busy */
		return -EAGAIN;
	default:
		return -err;
	}
}

/* Never waits: to be connected to, a door need only be there. */
static int door_connect(uint64_t conn_qual)
{
	struct sockaddr_un name;
	socklen_t len = cm_door_name(conn_qual, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&name, len))
		err = door_error(errno);
	else if (!dap_user_is_ours(fd))
		err = -ENOENT;
	/* Any user may bind the name, and fill the backlog. */
	if (err == -EAGAIN && !dap_user_has_listener(&name, len))
		err = -ENOENT;
	if (err)
		close(fd);
	return err ? err : fd;
}

static bool send_end(const struct cm_line *line, const struct dap_cm_conn *c, int fd)
{
	const struct cm_msg move = { .type = CM_MOVE, .id = c->id };
	uint8_t bytes[CM_WIRE_SIZE];

	cm_wire_put(&move, bytes);
	return cm_send_fd(line->fd, &(struct iovec){ bytes, sizeof(bytes) }, 1, fd) ==
	       (ssize_t)sizeof(bytes);
}

/*
 * A request that came over a line and is handed off needs a socket of its own: a pair is made, one
 * end of which goes to the peer over the line. From there on it is a connection like those by TCP,
 * whoever has the other end.
 */
static int move_out(struct dap_cm_conn *c)
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

static int pass(int door, struct dap_cm_conn *c, const struct cm_msg *req)
{
	uint8_t bytes[CM_WIRE_SIZE];
	struct iovec iov[2] = { { bytes, sizeof(bytes) }, { cm_conn_in(c), c->in_len } };

	cm_wire_put(req, bytes);
	return cm_send_fd(door, iov, 2, c->fd) < 0 ? door_error(errno) : 0;
}

/* A request whose peer has gone meanwhile is nobody's any more. */
static int hand(struct dap_cm_conn *c, const struct cm_msg *req)
{
	int door = door_connect(req->conn_qual), err = 0;

	if (door < 0)
		return door;
	if (c->state == CM_WAIT_ACCEPT) {
		err = move_out(c);
		if (!err)
			err = pass(door, c, req);
	}
	close(door);
	if (!err)
		cm_conn_drop(c, false);
	return err;
}

int dap_cm_handoff(struct dap_cm_conn *c, uint64_t conn_qual, const struct dap_path *path,
		   const void *pd, uint32_t pd_size)
{
	struct cm_msg req = { .type = CM_REQ, .conn_qual = conn_qual, .path = *path };
	int err;

	if (pd_size > sizeof(req.pd))
		return -EMSGSIZE;
	req.pd_size = pd_size;
	if (pd_size)
		memcpy(req.pd, pd, pd_size);
	if (!cm_enter(c->generation))
		return -ECHILD;
	req.id = c->id;
	err = hand(c, &req);
	cm_leave();
	return err;
}
