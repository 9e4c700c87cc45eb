/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handing off a request to another listener of this host: the request's socket is sent to the handoff
 * listener of the other qualifier, and the peer notices nothing. When dap_cm_handoff returns, the request
 * belongs to the other process, even if that process sleeps. If the other process dies before it reads
 * the request, the kernel closes the socket, and the peer finds no listener.
 *
 * Each qualifier with a listener has a handoff listener: a local socket with an abstract name, which
 * exists as long as the listener and ends with its process. If the name does not exist, there is no
 * listener.
 *
 * Only processes of one user hand off to each other: the kernel reports the user at the other end
 * (SO_PEERCRED). Nothing else about the sender is trusted: a handoff listener accepts one whole REQ for
 * its qualifier with the socket of one connection, nothing else.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "core/user.h"

#define MAX_PENDING 64

/* ---- Pending: accepted, but the request has not been received ---- */

static void pending_drop(struct cm_pending *g)
{
	cm_timer_clear(&g->timer);
	cm_close_fd(&g->fd, false);
	LIST_REMOVE(g, link);
	cm_loop.n_pending--;
	cm_free_later(&g->item);
}

static void pending_timeout(void *arg)
{
	pending_drop(arg);
}

void cm_pending_drop_all(void)
{
	while (!LIST_EMPTY(&cm_loop.pending))
		pending_drop(LIST_FIRST(&cm_loop.pending));
}

static bool is_connection(int fd, struct cm_handed *h)
{
	int type = 0, listens = 1;
	socklen_t len = sizeof(type);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) && !listens &&
	       cm_sock_ends(fd, &h->own, &h->peer);
}

/* bytes: the REQ, and the received part of the next message. Owns fd. */
static void pending_message(const struct cm_pending *g, const uint8_t *bytes, size_t len, int fd)
{
	struct cm_handed h = { .fd = fd, .rest = bytes + CM_WIRE_SIZE };
	bool ok = len >= CM_WIRE_SIZE && len < 2 * CM_WIRE_SIZE &&
		  cm_wire_get(bytes, CM_WIRE_SIZE, &h.req) > 0 && h.req.type == CM_REQ &&
		  h.req.conn_qual == g->conn_qual && is_connection(fd, &h);

	if (ok) {
		h.rest_len = (uint32_t)(len - CM_WIRE_SIZE);
		cm_passive_handed(&h);
		return;
	}
	dap_log(DAP_LOG_WARN, "qualifier 0x%llx: a request that was handed off is lost: %s",
		(unsigned long long)g->conn_qual,
		fd == -EMFILE ? dap_reason(fd) : "the message is malformed");
	if (fd >= 0)
		close(fd);
}

static void pending_read(struct cm_pending *g)
{
	uint8_t bytes[2 * CM_WIRE_SIZE];
	ssize_t n;
	int fd;

	if (g->fd < 0)
		return;
	n = cm_recv_fd(g->fd, bytes, sizeof(bytes), &fd);
	if (n == -EAGAIN)
		return;
	if (n > 0)
		pending_message(g, bytes, (size_t)n, fd);
	else if (fd >= 0)
		close(fd);		/* an empty packet may carry a descriptor */
	pending_drop(g);
}

static void pending_ready(struct cm_item *item, uint32_t events)
{
	(void)events;
	pending_read((struct cm_pending *)item);
}

static void pending_new(struct cm_acceptor *acceptor, int fd)
{
	const struct cm_local *listener = (struct cm_local *)acceptor;
	struct cm_pending *g = NULL;

	if (cm_loop.n_pending < MAX_PENDING && dap_user_is_ours(fd))
		g = calloc(1, sizeof(*g));
	if (!g) {
		close(fd);
		return;
	}
	g->item.ready = pending_ready;
	g->fd = fd;
	g->conn_qual = listener->conn_qual;
	g->timer = (struct dap_timer){ .fn = pending_timeout, .arg = g, .inside = true };
	LIST_INSERT_HEAD(&cm_loop.pending, g, link);
	cm_loop.n_pending++;
	cm_timer_set(&g->timer, cm_limits.request_us);
	if (cm_poll_add(fd, EPOLLIN, &g->item))
		pending_drop(g);
	pending_read(g);		/* the request is usually there already */
}

/* ---- Handoff listeners ---- */

int cm_handoff_listener_get(uint64_t conn_qual, struct cm_local **out)
{
	struct sockaddr_un name;
	socklen_t len = cm_handoff_name(conn_qual, &name);
	int err = cm_local_get(&cm_loop.handoffs, &name, len, SOCK_SEQPACKET, pending_new, out);

	if (!err)
		(*out)->conn_qual = conn_qual;
	return err;
}

/* ---- Handing off a request ---- */

/* Maps the errno of a system call on the handoff socket. */
static int handoff_error(int err)
{
	switch (err) {
	case ECONNREFUSED: case ECONNRESET: case EPIPE: case ENOTCONN: case EPERM: case EACCES:
		return -ENOENT;
	case EAGAIN: case ETOOMANYREFS:		/* the listener exists, but is busy */
		return -EAGAIN;
	default:
		return -err;
	}
}

/* Never waits: connect(2) completes as soon as the listener exists. */
static int handoff_connect(uint64_t conn_qual)
{
	struct sockaddr_un name;
	socklen_t len = cm_handoff_name(conn_qual, &name);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&name, len))
		err = handoff_error(errno);
	else if (!dap_user_is_ours(fd))
		err = -ENOENT;
	/* Any user may bind the name and fill the backlog. */
	if (err == -EAGAIN && !dap_user_has_listener(&name, len))
		err = -ENOENT;
	if (err)
		close(fd);
	return err ? err : fd;
}

static bool send_end(const struct cm_mux *mux, const struct dap_cm_conn *c, int fd)
{
	const struct cm_msg move = { .type = CM_MOVE, .id = c->id };
	uint8_t bytes[CM_WIRE_SIZE];

	cm_wire_put(&move, bytes);
	return cm_send_fd(mux->fd, &(struct iovec){ bytes, sizeof(bytes) }, 1, fd) ==
	       (ssize_t)sizeof(bytes);
}

/*
 * A request that came over a mux needs a socket of its own for the handoff: creates a pair and
 * sends one end to the peer over the mux. From then on it is a connection like those over TCP.
 */
static int move_out(struct dap_cm_conn *c)
{
	struct cm_mux *mux = c->mux;
	int fd[2], err;

	if (!mux)
		return 0;
	cm_mux_flush(mux);
	if (!TAILQ_EMPTY(&mux->out))
		return -EAGAIN;
	err = cm_local_pair(&c->called, fd);
	if (err)
		return err;
	err = cm_conn_watch(c, fd[0], EPOLLIN | EPOLLRDHUP);
	if (!err && !send_end(mux, c, fd[1]))
		err = -EAGAIN;
	close(fd[1]);
	if (err) {
		cm_close_fd(&fd[0], false);
		return err;
	}
	cm_mux_leave(c);
	c->fd = fd[0];
	return 0;
}

static int send_request(int sock, struct dap_cm_conn *c, const struct cm_msg *req)
{
	uint8_t bytes[CM_WIRE_SIZE];
	struct iovec iov[2] = { { bytes, sizeof(bytes) }, { cm_conn_in(c), c->in_len } };

	cm_wire_put(req, bytes);
	return cm_send_fd(sock, iov, 2, c->fd) < 0 ? handoff_error(errno) : 0;
}

/* If the peer has already closed the connection, there is nothing to hand off. */
static int handoff_request(struct dap_cm_conn *c, const struct cm_msg *req)
{
	int sock = handoff_connect(req->conn_qual), err = 0;

	if (sock < 0)
		return sock;
	if (c->state == CM_WAIT_ACCEPT) {
		err = move_out(c);
		if (!err)
			err = send_request(sock, c, req);
	}
	close(sock);
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
	err = handoff_request(c, &req);
	cm_leave();
	return err;
}
