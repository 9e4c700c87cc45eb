/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines: all connections from this process to one listener's port, in another process of this host and
 * user, share one local stream socket. It carries the same messages as TCP; the id of a message names
 * its connection. Where TCP would close the socket of a connection, a line sends CUT.
 *
 * A malformed message closes the line and every connection on it, because all of them belong to one
 * peer; an unexpected one closes only its own connection. The peer runs as our user; nothing else
 * about it is trusted.
 *
 * Messages wait in the queues of their connections until the socket takes them, so that a line needs
 * no memory for them. The messages of one turn go out together at its end.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/cm/mux.h"
#include "core/cm/sock.h"
#include "core/user.h"

#define BUCKETS 4096u		/* a power of two */
#define LAST_WORDS_MS 100
#define PASSIVE_MOST 1024u	/* lines that may be there without a connection */
#define OUT_AT_ONCE 64
#define IN_AT_ONCE 16		/* messages of one read: each may cost the adapter a command */
#define UNREAD_MOST 4096	/* answers, of which a caller that has not read them is cut off */

static struct cm_conn_list table[BUCKETS];

/* ---- whose a message is ---- */

static struct cm_conn_list *bucket(const struct cm_line *line, uint64_t id)
{
	uint64_t key = (id ^ (uintptr_t)line) * UINT64_C(0x9e3779b97f4a7c15);

	return &table[key >> 32 & (BUCKETS - 1)];
}

static struct dap_cm_conn *line_find(const struct cm_line *line, uint64_t id)
{
	struct dap_cm_conn *c;

	LIST_FOREACH(c, bucket(line, id), hash_link) {
		if (c->line == line && c->id == id)
			break;
	}
	return c;
}

static void line_add(struct cm_line *line, struct dap_cm_conn *c)
{
	LIST_INSERT_HEAD(bucket(line, c->id), c, hash_link);
	LIST_INSERT_HEAD(&line->conns, c, line_link);
	c->line = line;
	if (!line->n_conns++)
		cm_timer_clear(&line->idle);
}

/* The caller hangs up first: a request that crosses it would have to be made again. */
static uint64_t idle_us(const struct cm_line *line)
{
	return line->passive ? cm_limits.request_us : cm_limits.idle_us;
}

void cm_line_leave(struct dap_cm_conn *c)
{
	struct cm_line *line = c->line;

	if (!line)
		return;
	LIST_REMOVE(c, hash_link);
	LIST_REMOVE(c, line_link);
	c->line = NULL;
	if (!--line->n_conns && line->fd >= 0)
		cm_timer_set(&line->idle, idle_us(line));
}

/* ---- out ---- */

/* All of it has gone, or will not go any more. */
static void unqueue(struct cm_line *line, struct dap_cm_conn *c)
{
	TAILQ_REMOVE(&line->out, c, out_link);
	line->n_out--;
	c->out_line = NULL;
	c->out_off = c->out_len;
	if (c->retired)
		cm_conn_free(c);
}

static void unqueue_all(struct cm_line *line)
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

/* Errors of the socket are found by the next read. */
void cm_line_flush(struct cm_line *line)
{
	while (!TAILQ_EMPTY(&line->out)) {
		ssize_t n = send_some(line);

		if (n > 0)
			has_gone(line, (size_t)n);
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			unqueue_all(line);
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

static void queue_conn(struct dap_cm_conn *c)
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
	if (!cm_loop.turn || !pthread_equal(cm_loop.turner, pthread_self())) {
		cm_line_flush(line);
	} else if (!line->dirty) {
		TAILQ_INSERT_TAIL(&cm_loop.dirty, line, dirty_link);
		line->dirty = true;
	}
}

static const struct cm_transport multiplexed = { .flush = queue_conn, .leave = cm_line_leave };

/* ---- life ---- */

static void line_close(struct cm_line *line)
{
	cm_timer_clear(&line->idle);
	epoll_ctl(cm_loop.line_fd, EPOLL_CTL_DEL, line->fd, NULL);
	close(line->fd);
	line->fd = -1;
	if (line->moved_fd >= 0)
		close(line->moved_fd);
	line->moved_fd = -1;
	if (line->dirty)
		TAILQ_REMOVE(&cm_loop.dirty, line, dirty_link);
	line->dirty = false;
	LIST_REMOVE(line, link);
	__atomic_sub_fetch(&cm_loop.n_lines, 1, __ATOMIC_RELAXED);
	unqueue_all(line);
}

/* Closes it; its connections are lost. With the turn. */
static void line_lose(struct cm_line *line, int err)
{
	struct dap_cm_conn *c;

	if (line->fd < 0)
		return;
	if (err == -EPROTO)
		dap_log(DAP_LOG_WARN, "a process of this host is cut off: it says what no manager does");
	line_close(line);
	while ((c = LIST_FIRST(&line->conns)) != NULL) {
		cm_line_leave(c);
		cm_conn_lost(c, err);
	}
	cm_free_at_turn_end(&line->voice->item);
	cm_free_at_turn_end(&line->item);
}

static void line_idle(void *arg)
{
	line_lose(arg, 0);
}

static struct cm_line *line_new(int fd, const struct sockaddr_in *at, const struct cm_role *passive)
{
	struct cm_line *line = calloc(1, sizeof(*line));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = line };

	if (!line)
		return NULL;
	line->voice = cm_conn_new(NULL, CM_ENDED);
	if (!line->voice || epoll_ctl(cm_loop.line_fd, EPOLL_CTL_ADD, fd, &ev)) {
		free(line->voice);
		free(line);
		return NULL;
	}
	line->transport = &multiplexed;
	line->voice->line = line;
	line->fd = fd;
	line->moved_fd = -1;
	line->at = *at;
	line->passive = passive;
	LIST_INIT(&line->conns);
	TAILQ_INIT(&line->out);
	line->idle = (struct dap_timer){ .fn = line_idle, .arg = line, .inside = true };
	LIST_INSERT_HEAD(&cm_loop.lines, line, link);
	__atomic_add_fetch(&cm_loop.n_lines, 1, __ATOMIC_RELAXED);
	return line;
}

/* A farewell is worth a moment to peers that are slow to read. */
static void say_last_words(struct cm_line *line)
{
	struct pollfd room = { .fd = line->fd, .events = POLLOUT };

	cm_line_flush(line);
	while (!TAILQ_EMPTY(&line->out) && poll(&room, 1, LAST_WORDS_MS) == 1)
		cm_line_flush(line);
}

void cm_lines_drop(void)
{
	struct cm_line *line;

	while ((line = LIST_FIRST(&cm_loop.lines)) != NULL) {
		say_last_words(line);
		line_lose(line, 0);
	}
}

void cm_lines_forget(void)
{
	memset(table, 0, sizeof(table));
}

/* ---- in ---- */

/* Behind what is there of a message; 0 at the end. At most one descriptor waits for its message. */
static ssize_t receive(struct cm_line *line, uint8_t *to, size_t room)
{
	int fd;
	ssize_t n = cm_recv_fd(line->fd, to, room, &fd);

	if (fd < 0)
		return fd == -EPROTO ? fd : n;
	if (line->moved_fd >= 0) {
		close(fd);
		return -EPROTO;
	}
	line->moved_fd = fd;
	return n;
}

/* Out of memory: the line's own connection tells the peer. */
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
	if (!line->passive || line->n_out > UNREAD_MOST)
		return false;
	c = cm_conn_new(line->passive, CM_WAIT_REQ);
	if (!c)
		return refuse(line, m->id);
	c->id = m->id;
	c->peer = line->at;
	c->called = line->at.sin_addr;
	c->port = ntohs(line->at.sin_port);
	line_add(line, c);
	cm_conn_heard(c, m);
	return true;
}

static bool is_good(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM &&
	       dap_user_is_ours(fd);
}

/* The peer has moved the connection to a socket of its own. False: there is no such socket. */
static bool moved(struct cm_line *line, struct dap_cm_conn *c)
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

/* False: no manager says that. */
static bool message(struct cm_line *line, const uint8_t *bytes)
{
	struct dap_cm_conn *c;
	struct cm_msg m;

	if (cm_wire_get(bytes, CM_WIRE_SIZE, &m) != 1)
		return false;
	c = line_find(line, m.id);
	if (m.type == CM_MOVE)
		return !line->passive && moved(line, c);
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
			line_lose(line, (int)n);
		return n != -EAGAIN;
	}
	memcpy(bytes, line->in, len);
	len += (size_t)n;
	for (; len - at >= CM_WIRE_SIZE && line->fd >= 0; at += CM_WIRE_SIZE) {
		if (!message(line, bytes + at))
			line_lose(line, -EPROTO);
	}
	if (line->fd < 0)
		return true;
	line->in_len = (uint32_t)(len - at);
	memcpy(line->in, bytes + at, len - at);
	if (cm_wire_get(line->in, line->in_len, &m) < 0)
		line_lose(line, -EPROTO);
	return true;
}

/* ---- the one that calls ---- */

static struct cm_line *line_to(const struct sockaddr_in *at)
{
	struct cm_line *line;

	LIST_FOREACH(line, &cm_loop.lines, link) {
		if (!line->passive && !line->stale && line->at.sin_port == at->sin_port &&
		    line->at.sin_addr.s_addr == at->sin_addr.s_addr)
			break;
	}
	return line;
}

static int line_open(const struct sockaddr_in *at, struct cm_line **out)
{
	int fd = cm_near_connect(at);

	if (fd < 0)
		return fd;
	*out = line_new(fd, at, NULL);
	if (*out)
		return 0;
	close(fd);
	return -ENOMEM;
}

int cm_line_join(struct dap_cm_conn *c)
{
	struct cm_line *line = line_to(&c->peer);
	int err = 0;

	if (cm_limits.far || c->out_line)
		return cm_limits.far ? -ENOENT : -EAGAIN;
	if (!line)
		err = line_open(&c->peer, &line);
	if (!err)
		line_add(line, c);
	return err;
}

/* ---- the one that is called ---- */

static void make_room(void)
{
	struct cm_line *line, *oldest = NULL;
	unsigned int idle = 0;

	if (cm_loop.n_lines < PASSIVE_MOST)
		return;
	LIST_FOREACH(line, &cm_loop.lines, link) {
		if (!line->passive || line->n_conns)
			continue;
		idle++;
		oldest = line;		/* new ones come in front */
	}
	if (idle >= PASSIVE_MOST)
		line_lose(oldest, 0);
}

void cm_line_accepted(int fd, const struct sockaddr_in *at, const struct cm_role *passive)
{
	struct cm_line *line;

	make_room();
	line = dap_user_is_ours(fd) ? line_new(fd, at, passive) : NULL;
	if (!line) {
		close(fd);
		return;
	}
	cm_timer_set(&line->idle, idle_us(line));
	cm_line_read(line);		/* the first requests are usually there already */
}
