/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes over a line. Messages lie in the queues of their connections until the socket takes them,
 * so that none needs memory of the line's; those of one turn go out together at its end.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/cm/private.h"

#define OUT_AT_ONCE 64
#define IN_AT_ONCE 16		/* then whoever reads looks what it brought: each may take a command */
#define UNREAD_MOST 4096	/* answers, of which a caller that has not read them is cut off */

/* ---- out ---- */

/* All of it has gone, or will not go any more. */
static void unqueue(struct cm_line *line, struct dap_cm_conn *c)
{
	TAILQ_REMOVE(&line->out, c, out_link);
	line->n_out--;
	c->out_line = NULL;
	c->out_off = c->out_len;
	if (c->buried)
		cm_conn_free(c);
}

void cm_line_unqueue_all(struct cm_line *line)
{
	while (!TAILQ_EMPTY(&line->out))
		unqueue(line, TAILQ_FIRST(&line->out));
}

static void has_gone(struct cm_line *line, size_t n)
{
	while (n) {
		struct dap_cm_conn *c = TAILQ_FIRST(&line->out);
		size_t left = c->out_len - c->out_off;

		if (n < left) {
			c->out_off += (uint32_t)n;
			return;
		}
		n -= left;
		unqueue(line, c);
	}
}

static ssize_t send_some(struct cm_line *line)
{
	struct iovec iov[OUT_AT_ONCE];
	struct msghdr m = { .msg_iov = iov };
	struct dap_cm_conn *c;

	TAILQ_FOREACH(c, &line->out, out_link) {
		if (m.msg_iovlen == OUT_AT_ONCE)
			break;
		iov[m.msg_iovlen++] = (struct iovec){ c->out + c->out_off, c->out_len - c->out_off };
	}
	return sendmsg(line->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void set_wants_out(struct cm_line *line, bool wants)
{
	struct epoll_event ev = { .events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = line };

	if (line->wants_out == wants)
		return;
	line->wants_out = wants;
	epoll_ctl(cm_loop.line_fd, EPOLL_CTL_MOD, line->fd, &ev);
}

/* What the socket refuses for good, whoever reads will learn. */
void cm_line_flush(struct cm_line *line)
{
	while (!TAILQ_EMPTY(&line->out)) {
		ssize_t n = send_some(line);

		if (n > 0)
			has_gone(line, (size_t)n);
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			cm_line_unqueue_all(line);
	}
	set_wants_out(line, !TAILQ_EMPTY(&line->out));
}

void cm_lines_flush(void)
{
	struct cm_line *line;

	while ((line = TAILQ_FIRST(&cm_loop.dirty)) != NULL) {
		TAILQ_REMOVE(&cm_loop.dirty, line, dirty_link);
		line->dirty = false;
		cm_line_flush(line);
	}
}

static void later(struct cm_line *line)
{
	if (!line->dirty)
		TAILQ_INSERT_TAIL(&cm_loop.dirty, line, dirty_link);
	line->dirty = true;
}

void cm_line_queue(struct dap_cm_conn *c)
{
	struct cm_line *line = c->line;

	if (line->fd < 0) {		/* it is closed: its other connections are about to end, too */
		c->out_off = c->out_len;
		return;
	}
	if (!c->out_line) {
		c->out_line = line;
		line->n_out++;
		TAILQ_INSERT_TAIL(&line->out, c, out_link);
	}
	if (line->wants_out)
		return;
	if (cm_loop.turn && pthread_equal(cm_loop.turner, pthread_self()))
		later(line);
	else
		cm_line_flush(line);
}

/* ---- in ---- */

/* At most one descriptor waits for the message that it belongs to. */
static bool keep_fd(struct cm_line *line, struct msghdr *m)
{
	int fd;

	if (!cm_one_fd(m, &fd))
		return false;
	if (fd < 0)
		return true;
	if (line->moved_fd >= 0) {
		close(fd);
		return false;
	}
	line->moved_fd = fd;
	return true;
}

/* Behind what is there of a message; 0 at the end. */
static ssize_t receive(struct cm_line *line, uint8_t *to, size_t room)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = { to, room };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	ssize_t n;

	do
		n = recvmsg(line->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return keep_fd(line, &m) ? n : -EPROTO;
}

/* Out of memory: the peer is told so by the line's own voice. */
static bool refuse(struct cm_line *line, uint64_t id)
{
	struct dap_cm_conn *voice = line->voice;

	if (voice->out_line)
		cm_line_flush(line);
	if (line->fd < 0 || voice->out_line)
		return false;
	voice->id = id;
	cm_conn_send(voice, CM_CUT, NULL);
	return true;
}

/* Of a connection that is there no more, messages may still be on their way. */
static bool stranger(struct cm_line *line, const struct cm_msg *m)
{
	struct dap_cm_conn *c;

	if (m->type != CM_REQ)
		return true;
	if (line->active || line->n_out > UNREAD_MOST)
		return false;
	c = cm_conn_new(CM_WAIT_REQ);
	if (!c)
		return refuse(line, m->id);
	c->id = m->id;
	cm_line_add(line, c);
	cm_passive_asked(c, m);
	return true;
}

/* False: no manager says that. */
static bool message(struct cm_line *line, const uint8_t *bytes)
{
	struct dap_cm_conn *c;
	struct cm_msg m;

	if (cm_wire_get(bytes, CM_WIRE_SIZE, &m) != 1)
		return false;
	c = cm_line_find(line, m.id);
	if (m.type == CM_MOVE)
		return line->active && cm_moved(line, c);
	if (!c)
		return stranger(line, &m);
	if (m.type == CM_REQ)
		return false;
	if (m.type == CM_CUT) {
		cm_line_leave(c);
		cm_conn_lost(c, 0);
	} else {
		cm_conn_heard(c, &m);
	}
	return true;
}

bool cm_line_read(struct cm_line *line)
{
	static uint8_t bytes[IN_AT_ONCE * CM_WIRE_SIZE];	/* of whose turn it is */
	size_t len = line->in_len, at = 0;
	ssize_t n;
	struct cm_msg m;

	if (line->fd < 0)
		return false;
	n = receive(line, bytes + len, sizeof(bytes) - len);
	if (n <= 0) {
		if (n != -EAGAIN)
			cm_line_lose(line, (int)n);
		return n != -EAGAIN;
	}
	memcpy(bytes, line->in, len);
	len += (size_t)n;
	for (; len - at >= CM_WIRE_SIZE && line->fd >= 0; at += CM_WIRE_SIZE) {
		if (!message(line, bytes + at))
			cm_line_lose(line, -EPROTO);
	}
	if (line->fd < 0)
		return true;
	line->in_len = (uint32_t)(len - at);
	memcpy(line->in, bytes + at, len - at);
	if (cm_wire_get(line->in, line->in_len, &m) < 0)
		cm_line_lose(line, -EPROTO);
	return true;
}
