/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All connections from this process to one listener's port, in another process of this host and
 * user, share one local stream socket, a mux. It carries the same messages as TCP; the id of a
 * message names its connection. Where TCP would close the connection's socket, a mux sends CUT.
 *
 * A malformed message closes the mux and every connection on it, because all of them belong to one
 * peer; an unexpected one closes only its own connection. The peer runs as the same user; nothing
 * else about it is trusted.
 *
 * Messages wait in the queues of their connections until the socket takes them, so a mux needs no
 * memory for them. The messages of one turn are sent together at its end.
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
#include "core/thread.h"
#include "core/user.h"

#define BUCKETS 4096u		/* number of buckets, a power of two */
#define CLOSE_WAIT_MS 100
#define OUT_AT_ONCE 64
#define IN_AT_ONCE 16		/* messages per read, because each may cost an adapter command */
/* limit of unread answers; a peer that exceeds it is disconnected */
#define UNREAD_MOST 4096

static struct cm_conn_list table[BUCKETS];

/* ---- Connections by id ---- */

static struct cm_conn_list *bucket(const struct cm_mux *mux, uint64_t id)
{
	uint64_t key = (id ^ (uintptr_t)mux) * UINT64_C(0x9e3779b97f4a7c15);

	return &table[key >> 32 & (BUCKETS - 1)];
}

static struct dap_cm_conn *mux_find(const struct cm_mux *mux, uint64_t id)
{
	struct dap_cm_conn *c;

	LIST_FOREACH(c, bucket(mux, id), hash_link) {
		if (c->mux == mux && c->id == id)
			break;
	}
	return c;
}

static void mux_add(struct cm_mux *mux, struct dap_cm_conn *c)
{
	LIST_INSERT_HEAD(bucket(mux, c->id), c, hash_link);
	LIST_INSERT_HEAD(&mux->conns, c, mux_link);
	c->mux = mux;
	if (!mux->n_conns++)
		cm_timer_clear(&mux->idle);
}

/* The connecting side closes an idle mux first: otherwise a new request could cross the close. */
static uint64_t idle_us(const struct cm_mux *mux)
{
	return mux->passive ? cm_limits.request_us : cm_limits.idle_us;
}

void cm_mux_leave(struct dap_cm_conn *c)
{
	struct cm_mux *mux = c->mux;

	if (!mux)
		return;
	LIST_REMOVE(c, hash_link);
	LIST_REMOVE(c, mux_link);
	c->mux = NULL;
	if (!--mux->n_conns && mux->fd >= 0)
		cm_timer_set(&mux->idle, idle_us(mux));
}

/* ---- Sending ---- */

/* Takes the connection off the mux's list of senders: its queue has been sent, or can no longer be sent. */
static void unqueue_conn(struct cm_mux *mux, struct dap_cm_conn *c)
{
	TAILQ_REMOVE(&mux->out, c, out_link);
	mux->n_out--;
	c->out_mux = NULL;
	c->out_off = c->out_len;
	if (c->retired)
		cm_conn_free(c);
}

static void unqueue_all_conns(struct cm_mux *mux)
{
	while (!TAILQ_EMPTY(&mux->out))
		unqueue_conn(mux, TAILQ_FIRST(&mux->out));
}

/* The peer has closed the mux, so it has read none of these messages: a request may be repeated. */
static void fail_queued_conns(struct cm_mux *mux)
{
	struct dap_cm_conn *c;

	TAILQ_FOREACH(c, &mux->out, out_link)
		c->send_err = -ECONNRESET;
	unqueue_all_conns(mux);
}

static void consume_sent(struct cm_mux *mux, size_t n)
{
	while (n) {
		struct dap_cm_conn *c = TAILQ_FIRST(&mux->out);
		size_t left = c->out_len - c->out_off;

		if (n < left) {
			c->out_off += (uint32_t)n;
			return;
		}
		n -= left;
		unqueue_conn(mux, c);
	}
}

static ssize_t send_queued(struct cm_mux *mux)
{
	struct iovec iov[OUT_AT_ONCE];
	struct msghdr m = { .msg_iov = iov };
	struct dap_cm_conn *c;

	TAILQ_FOREACH(c, &mux->out, out_link) {
		if (m.msg_iovlen == OUT_AT_ONCE)
			break;
		iov[m.msg_iovlen++] = (struct iovec){ c->out + c->out_off, c->out_len - c->out_off };
	}
	return sendmsg(mux->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void set_wants_out(struct cm_mux *mux, bool wants)
{
	struct epoll_event ev = { .events = EPOLLIN | (wants ? EPOLLOUT : 0), .data.ptr = mux };

	if (mux->wants_out == wants)
		return;
	mux->wants_out = wants;
	epoll_ctl(cm_loop.mux_fd, EPOLL_CTL_MOD, mux->fd, &ev);
}

/* ENOBUFS and ENOMEM: the kernel is short of memory, perhaps only for this process. The socket may be
 * writable meanwhile, so a timer repeats the call. The next read reports errors of the socket. */
void cm_mux_flush(struct cm_mux *mux)
{
	bool full = false;

	while (!TAILQ_EMPTY(&mux->out)) {
		ssize_t n = send_queued(mux);

		if (n > 0) {
			consume_sent(mux, (size_t)n);
		} else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
			full = errno == EAGAIN;
			if (!full)
				cm_timer_set(&mux->again, cm_limits.pause_us);
			break;
		} else if (errno != EINTR) {
			fail_queued_conns(mux);
		}
	}
	set_wants_out(mux, full);
}

static void mux_flush_again(void *arg)
{
	cm_mux_flush(arg);
}

void cm_mux_flush_all(void)
{
	struct cm_mux *mux;

	while ((mux = TAILQ_FIRST(&cm_loop.dirty)) != NULL) {
		TAILQ_REMOVE(&cm_loop.dirty, mux, dirty_link);
		mux->dirty = false;
		cm_mux_flush(mux);
	}
}

static void queue_conn(struct dap_cm_conn *c)
{
	struct cm_mux *mux = c->mux;

	if (mux->fd < 0) {		/* closed: its other connections are about to end, too */
		c->out_off = c->out_len;
		return;
	}
	if (!c->out_mux) {
		c->out_mux = mux;
		mux->n_out++;
		TAILQ_INSERT_TAIL(&mux->out, c, out_link);
	}
	if (mux->wants_out)
		return;
	if (!cm_loop.owned || !pthread_equal(cm_loop.owner, pthread_self())) {
		cm_mux_flush(mux);
	} else if (!mux->dirty) {
		TAILQ_INSERT_TAIL(&cm_loop.dirty, mux, dirty_link);
		mux->dirty = true;
	}
}

static void recall_conn(struct dap_cm_conn *c)
{
	unqueue_conn(c->out_mux, c);
}

static const struct cm_transport multiplexed = {
	.flush = queue_conn,
	.recall = recall_conn,
	.leave = cm_mux_leave,
	.read = cm_mux_read,
};

/* ---- Opening and closing a mux ---- */

static void mux_close(struct cm_mux *mux)
{
	cm_timer_clear(&mux->idle);
	cm_timer_clear(&mux->again);
	epoll_ctl(cm_loop.mux_fd, EPOLL_CTL_DEL, mux->fd, NULL);
	close(mux->fd);
	mux->fd = -1;
	if (mux->moved_fd >= 0)
		close(mux->moved_fd);
	mux->moved_fd = -1;
	if (mux->dirty)
		TAILQ_REMOVE(&cm_loop.dirty, mux, dirty_link);
	mux->dirty = false;
	LIST_REMOVE(mux, link);
	__atomic_sub_fetch(&cm_loop.n_muxes, 1, __ATOMIC_RELAXED);
	unqueue_all_conns(mux);
}

/* Closes the mux; its connections are lost. The caller owns the loop. */
static void mux_lose(struct cm_mux *mux, int err)
{
	struct dap_cm_conn *c;
	char ip[DAP_ADDR_TEXT];

	if (mux->fd < 0)
		return;
	if (err == -EPROTO)
		dap_log(DAP_LOG_WARN, "%s port %u: malformed message from a local process; channel closed",
			dap_addr_text(&mux->at, ip), dap_addr_port(&mux->at));
	mux_close(mux);
	while ((c = LIST_FIRST(&mux->conns)) != NULL) {
		cm_mux_leave(c);
		cm_conn_lost(c, err ? err : c->send_err);
	}
	cm_free_at_turn_end(&mux->err_conn->item);
	cm_free_at_turn_end(&mux->item);
}

/* A peer that has not read the last messages yet still gets them: it may be stopped. */
static void mux_idle(void *arg)
{
	struct cm_mux *mux = arg;

	if (TAILQ_EMPTY(&mux->out))
		mux_lose(mux, 0);
	else
		cm_timer_set(&mux->idle, idle_us(mux));
}

static struct cm_mux *mux_new(int fd, const union dap_addr *at, const struct cm_role *passive)
{
	struct cm_mux *mux = calloc(1, sizeof(*mux));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = mux };

	if (!mux)
		return NULL;
	mux->err_conn = cm_conn_new(NULL, CM_ENDED);
	if (!mux->err_conn || epoll_ctl(cm_loop.mux_fd, EPOLL_CTL_ADD, fd, &ev)) {
		free(mux->err_conn);
		free(mux);
		return NULL;
	}
	mux->transport = &multiplexed;
	mux->err_conn->mux = mux;
	mux->fd = fd;
	mux->moved_fd = -1;
	mux->at = *at;
	mux->passive = passive;
	LIST_INIT(&mux->conns);
	TAILQ_INIT(&mux->out);
	mux->idle = (struct dap_timer){ .fn = mux_idle, .arg = mux, .inside = true };
	mux->again = (struct dap_timer){ .fn = mux_flush_again, .arg = mux, .inside = true };
	LIST_INSERT_HEAD(&cm_loop.muxes, mux, link);
	__atomic_add_fetch(&cm_loop.n_muxes, 1, __ATOMIC_RELAXED);
	return mux;
}

/* A slow peer gets a moment to read the last messages, and a kernel without memory one to take them. */
static void flush_before_close(struct cm_mux *mux)
{
	struct pollfd room = { .fd = mux->fd, .events = POLLOUT };
	int ms = 0;

	cm_mux_flush(mux);
	while (!TAILQ_EMPTY(&mux->out) && ms < CLOSE_WAIT_MS && poll(&room, 1, CLOSE_WAIT_MS) == 1) {
		if (!mux->wants_out) {
			dap_thread_sleep_us(1000);
			ms++;
		}
		cm_mux_flush(mux);
	}
}

void cm_mux_drop_all(void)
{
	struct cm_mux *mux;

	while ((mux = LIST_FIRST(&cm_loop.muxes)) != NULL) {
		flush_before_close(mux);
		mux_lose(mux, 0);
	}
}

void cm_mux_forget_all(void)
{
	memset(table, 0, sizeof(table));
}

/* ---- Receiving ---- */

/* Reads the bytes that follow those of an incomplete message. Returns 0 at the end of the stream.
 * At most one descriptor waits for its message. */
static ssize_t mux_receive(struct cm_mux *mux, uint8_t *to, size_t room)
{
	int fd;
	ssize_t n = cm_recv_fd(mux->fd, to, room, &fd);

	if (fd == -ENOENT || fd == -EPROTO)
		return fd == -EPROTO ? fd : n;
	if (mux->moved_fd != -1) {
		if (fd >= 0)
			close(fd);
		return -EPROTO;
	}
	mux->moved_fd = fd;
	return n;
}

/* Out of memory: err_conn refuses the request. */
static bool refuse_request(struct cm_mux *mux, uint64_t id)
{
	struct dap_cm_conn *err_conn = mux->err_conn;

	if (err_conn->out_mux)
		cm_mux_flush(mux);
	if (mux->fd < 0 || err_conn->out_mux)
		return false;
	err_conn->id = id;
	cm_conn_send(err_conn, CM_CUT, NULL);
	return true;
}

/* Messages of a connection that has ended may still arrive; they are ignored. */
static bool message_without_conn(struct cm_mux *mux, const struct cm_msg *m)
{
	struct dap_cm_conn *c;

	if (m->type != CM_REQ)
		return true;
	if (!mux->passive || mux->n_out > UNREAD_MOST)
		return false;
	c = cm_conn_new(mux->passive, CM_WAIT_REQ);
	if (!c)
		return refuse_request(mux, m->id);
	c->id = m->id;
	c->peer = mux->at;
	c->called = mux->at;
	c->port = dap_addr_port(&mux->at);
	mux_add(mux, c);
	cm_conn_message(c, m);
	return true;
}

static bool is_moved_socket(int fd)
{
	int domain = 0, type = 0;
	socklen_t len = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX &&
	       !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM &&
	       dap_user_is_ours(fd);
}

/* The peer moved the connection to a socket of its own, which it sent with the message. Returns
 * false if no socket came. If this process has no descriptor left, or has not sent the request yet,
 * only this connection is lost. */
static bool message_move(struct cm_mux *mux, struct dap_cm_conn *c)
{
	int fd = mux->moved_fd;

	mux->moved_fd = -1;
	if (fd == -1)
		return false;
	if (fd >= 0 && !is_moved_socket(fd)) {
		close(fd);
		return false;
	}
	if (c)
		cm_mux_leave(c);
	if (fd < 0 || !c || c->state != CM_WAIT_REP || c->out_mux ||
	    cm_conn_watch(c, fd, EPOLLIN | EPOLLRDHUP)) {
		if (fd >= 0)
			close(fd);
		if (c)
			cm_conn_lost(c, 0);
		return true;
	}
	c->fd = fd;
	return true;
}

/* Returns false for a message that no connection manager sends. */
static bool handle_message(struct cm_mux *mux, const uint8_t *bytes)
{
	struct dap_cm_conn *c;
	struct cm_msg m;

	if (cm_wire_get(bytes, CM_WIRE_SIZE, &m) != 1)
		return false;
	c = mux_find(mux, m.id);
	if (m.type == CM_MOVE)
		return !mux->passive && message_move(mux, c);
	if (!c)
		return message_without_conn(mux, &m);
	if (m.type == CM_REQ)
		return false;
	if (m.type == CM_CUT) {
		cm_mux_leave(c);
		cm_conn_lost(c, 0);
	} else {
		cm_conn_message(c, &m);
	}
	return true;
}

bool cm_mux_read(struct cm_mux *mux)
{
	/* used only by the thread that owns the loop */
	static uint8_t bytes[IN_AT_ONCE * CM_WIRE_SIZE];
	size_t len = mux->in_len, at = 0;
	ssize_t n;
	struct cm_msg m;

	if (mux->fd < 0)
		return false;
	n = mux_receive(mux, bytes + len, sizeof(bytes) - len);
	if (n <= 0) {
		if (n != -EAGAIN)
			mux_lose(mux, (int)n);
		return n != -EAGAIN;
	}
	memcpy(bytes, mux->in, len);
	len += (size_t)n;
	for (; len - at >= CM_WIRE_SIZE && mux->fd >= 0; at += CM_WIRE_SIZE) {
		if (!handle_message(mux, bytes + at))
			mux_lose(mux, -EPROTO);
	}
	if (mux->fd < 0)
		return true;
	mux->in_len = (uint32_t)(len - at);
	memcpy(mux->in, bytes + at, len - at);
	if (cm_wire_get(mux->in, mux->in_len, &m) < 0)
		mux_lose(mux, -EPROTO);
	return true;
}

/* ---- the connecting side ---- */

static struct cm_mux *mux_to(const union dap_addr *at)
{
	struct cm_mux *mux;

	LIST_FOREACH(mux, &cm_loop.muxes, link) {
		if (!mux->passive && !mux->stale && dap_addr_same(&mux->at, at) &&
		    dap_addr_port(&mux->at) == dap_addr_port(at))
			break;
	}
	return mux;
}

static int mux_open(const union dap_addr *at, struct cm_mux **out)
{
	int fd = cm_local_connect(at);

	if (fd < 0)
		return fd;
	*out = mux_new(fd, at, NULL);
	if (*out)
		return 0;
	close(fd);
	return -ENOMEM;
}

int cm_mux_join(struct dap_cm_conn *c)
{
	struct cm_mux *mux = mux_to(&c->peer);
	int err = 0;

	if (cm_limits.tcp)
		return -ENOENT;
	if (!mux)
		err = mux_open(&c->peer, &mux);
	if (!err)
		mux_add(mux, c);
	return err;
}

/* ---- the accepting side ---- */

static void close_oldest_idle(void)
{
	struct cm_mux *mux, *oldest = NULL;
	unsigned int idle = 0;

	if (cm_loop.n_muxes < cm_limits.idle_muxes)
		return;
	LIST_FOREACH(mux, &cm_loop.muxes, link) {
		if (!mux->passive || mux->n_conns)
			continue;
		idle++;
		oldest = mux;		/* new muxes are at the head */
	}
	if (idle >= cm_limits.idle_muxes)
		mux_lose(oldest, 0);
}

void cm_mux_accepted(int fd, const union dap_addr *at, const struct cm_role *passive)
{
	struct cm_mux *mux;

	close_oldest_idle();
	mux = dap_user_is_ours(fd) ? mux_new(fd, at, passive) : NULL;
	if (!mux) {
		close(fd);
		return;
	}
	cm_timer_set(&mux->idle, idle_us(mux));
	cm_mux_read(mux);		/* the first requests are usually there already */
}
