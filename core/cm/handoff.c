/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handing a request off to whoever listens to another qualifier on this host: its socket goes
 * through the door of that qualifier (door.c), and the peer notices nothing. When this returns
 * the request is the other's, though that one may be asleep: should it die before it looks, the
 * kernel closes the socket, and the peer is told that nobody listens.
 */
#include <errno.h>
#include <string.h>
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
		err = cm_move_out(c);
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
