/* SPDX-License-Identifier: BSD-2-Clause */
/* The active side: retries until there is a listener, then REQ, REP, RTU, GO. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/cm/mux.h"
#include "core/cm/sock.h"
#include "core/probe.h"

#define RETRY_FIRST_US 2000
#define RETRY_MOST_US 250000

/* The time until the caller's deadline, but at most limit. 0: no limit. */
static uint64_t time_left(const struct dap_cm_conn *c, uint64_t limit)
{
	uint64_t now = cm_now(), left;

	if (!c->deadline)
		return limit;
	left = c->deadline > now ? c->deadline - now : 1;
	return limit && limit < left ? limit : left;
}

/* The REQ was built once, at the start of c->out; every attempt sends it again. */
static void send_req(struct dap_cm_conn *c)
{
	c->out_off = 0;
	c->out_len = CM_WIRE_SIZE;
	c->in_len = 0;
	c->send_err = 0;
	c->wants_out = false;
	cm_conn_state(c, CM_WAIT_REP, time_left(c, 0));
	cm_conn_count(c, CM_REQ, CM_REASON_NONE, true);
	cm_conn_flush(c);
}

/*
 * connect(2) reports EADDRNOTAVAIL if no TCP port is free, which passes, and if the host has no address
 * from which it could reach the peer, as without IPv6. A datagram socket needs no TCP port.
 */
static bool has_no_source(const union dap_addr *peer)
{
	int fd = socket(peer->sa.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool none = fd >= 0 && connect(fd, &peer->sa, dap_addr_len(peer)) && errno == EADDRNOTAVAIL;

	if (fd >= 0)
		close(fd);
	return none;
}

/* Returns 0 or -errno of a system call. */
static int attempt_tcp(struct dap_cm_conn *c)
{
	int fd = socket(c->peer.sa.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err = 0;

	if (fd < 0)
		return -errno;
	cm_sock_options(fd);
	if (connect(fd, &c->peer.sa, dap_addr_len(&c->peer)) && errno != EINPROGRESS)
		err = -errno;
	else
		err = cm_conn_watch(c, fd, EPOLLOUT);
	if (err) {
		close(fd);
		return err == -EADDRNOTAVAIL && has_no_source(&c->peer) ? -ENETUNREACH : err;
	}
	c->fd = fd;
	cm_conn_state(c, CM_CONNECTING, time_left(c, 0));
	return 0;
}

static int try_connect(struct dap_cm_conn *c)
{
	int err = c->by_tcp ? -ENOENT : cm_mux_join(c);

	c->local = !err;
	if (c->local)
		send_req(c);
	return err == -ENOENT ? attempt_tcp(c) : err;
}

/* The attempt failed with this errno: schedules another one, or fails the connection. Any
 * thread. */
static void active_retry(struct dap_cm_conn *c, int err)
{
	uint64_t wait = c->retry_us;

	c->by_tcp = c->local;		/* use TCP: the owner of the local name may not be the owner
					 * of the port */
	cm_mux_leave(c);
	cm_close_fd(&c->fd, false);
	c->failed = err;
	switch (err) {
	case ECONNREFUSED: case ECONNRESET: case ETIMEDOUT:
	case EADDRNOTAVAIL: case EAGAIN: case EINTR:	/* temporary shortages */
	case EMFILE: case ENFILE: case ENOBUFS: case ENOMEM: case ENOSPC:
		break;
	default:
		cm_conn_fail(c, DAP_CM_UNREACHABLE);
		return;
	}
	c->cm->counts.retries++;
	DAP_PROBE2(retransmit, c->ctx, DAP_PROBE_REQUEST);
	if (c->retry_us < RETRY_MOST_US)
		c->retry_us *= 2;
	cm_conn_state(c, CM_RETRY, time_left(c, wait));
}

static bool has_no_listener(const struct dap_cm_conn *c)
{
	return c->failed == ECONNREFUSED || c->failed == ECONNRESET;
}

static const char *why_retried(const struct dap_cm_conn *c)
{
	if (has_no_listener(c))
		return "no process listens on this qualifier";
	if (c->failed == ETIMEDOUT)
		return "no answer within the timeout";
	return "no local port or descriptor is free: raise ulimit -n or sysctl net.ipv4.ip_local_port_range";
}

/* If the listener refused the previous attempt and the deadline ends this one early, report the
 * refusal: a busy peer may only be slow to answer. */
static bool was_refused(const struct dap_cm_conn *c)
{
	return has_no_listener(c) &&
	       (c->state == CM_CONNECTING ||
		(c->state == CM_WAIT_REP && cm_now() - c->tried < cm_limits.young_us));
}

static void active_timeout(struct dap_cm_conn *c)
{
	int err;

	if (was_refused(c)) {
		cm_conn_log(c, why_retried(c));
		cm_conn_cut(c, DAP_CM_NON_PEER_REJECTED, NULL, false);
	} else if (c->state != CM_RETRY) {
		cm_conn_log(c, "no answer within the timeout");
		cm_conn_cut(c, DAP_CM_TIMED_OUT, NULL, false);
	} else if (c->deadline && cm_now() >= c->deadline) {
		cm_conn_log(c, why_retried(c));
		cm_conn_end(c, has_no_listener(c) ? DAP_CM_NON_PEER_REJECTED : DAP_CM_TIMED_OUT, NULL);
	} else {
		c->tried = cm_now();
		err = try_connect(c);
		if (err)
			active_retry(c, -err);
	}
}

/* TCP can connect a socket to itself if the port is in the ephemeral range. */
static bool is_self_connected(int fd)
{
	union dap_addr a, b;

	return cm_sock_ends(fd, &a, &b) && dap_addr_same(&a, &b) &&
	       dap_addr_port(&a) == dap_addr_port(&b);
}

static void active_connected(struct dap_cm_conn *c)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	else if (!err && is_self_connected(c->fd))
		err = ECONNREFUSED;
	if (err) {
		active_retry(c, err);
		return;
	}
	if (cm_sock_connected(c->fd) && !c->cm->everywhere && !cm_limits.tcp)
		cm_conn_log(c, "using TCP to a listener on this host: it may belong to another user, whose "
			    "software adapters cannot be reached");
	cm_poll_change(c->fd, EPOLLIN | EPOLLRDHUP, &c->item);
	send_req(c);
}

static void got_rej(struct dap_cm_conn *c, const struct cm_msg *m)
{
	struct cm_mux *mux = c->mux;

	cm_mux_leave(c);
	switch (m->reason) {
	case CM_REASON_NO_LISTENER:
		if (mux)
			mux->stale = true;
		active_retry(c, ECONNREFUSED);
		break;
	case CM_REASON_CONSUMER:
		cm_conn_cut(c, DAP_CM_REJECTED, m, true);
		break;
	default:
		cm_conn_log(c, m->reason == CM_REASON_VERSION ?
			    "the peer uses another protocol version" :
			    "the peer refused the request: its queue is full");
		cm_conn_cut(c, DAP_CM_NON_PEER_REJECTED, NULL, true);
	}
}

static bool active_message(struct dap_cm_conn *c, const struct cm_msg *m)
{
	if (c->state == CM_WAIT_REP && c->out_off < c->out_len)
		return false;		/* an answer to a request that is not sent yet */
	if (m->type == CM_REJ && c->state == CM_WAIT_REP) {
		got_rej(c, m);
	} else if (m->type == CM_REP && c->state == CM_WAIT_REP) {
		cm_conn_state(c, CM_REPLIED, time_left(c, cm_limits.answer_us));
		cm_call_begin();
		c->cm->ops->reply(c->ctx, c, &m->path, m->pd, m->pd_size);
		cm_call_end();
	} else if (m->type == CM_GO && c->state == CM_WAIT_GO) {
		cm_conn_state(c, CM_LIVE, 0);
		cm_call_begin();
		c->cm->ops->established(c->ctx, c);
		cm_call_end();
	} else {
		return false;
	}
	return true;
}

static bool active_lost(struct dap_cm_conn *c, int err)
{
	if (c->state != CM_WAIT_REP)
		return false;
	switch (err) {
	case -ECONNRESET:		/* the listener closed before it read the request */
	case -ETIMEDOUT: case -EHOSTUNREACH: case -ENETUNREACH:	/* TCP's probes were not answered */
		active_retry(c, -err);
		break;
	default:
		cm_conn_cut(c, DAP_CM_NON_PEER_REJECTED, NULL, err == -EPROTO);
	}
	return true;
}

static const struct cm_role active = {
	.connected = active_connected,
	.message = active_message,
	.timeout = active_timeout,
	.lost = active_lost,
};

int dap_cm_rtu(struct dap_cm_conn *c)
{
	int err = 0;

	if (!cm_enter(c->generation))
		return -ECHILD;
	if (c->state == CM_REPLIED) {
		cm_conn_state(c, CM_WAIT_GO, time_left(c, cm_limits.answer_us));
		cm_conn_send(c, CM_RTU, NULL);
	} else {
		err = -ENOTCONN;
	}
	cm_leave();
	return err;
}

/* One getrandom(2) fills a batch of ids; after fork() the child discards its parent's. */
static int draw_id(uint64_t *id)
{
	if (!cm_loop.n_ids) {
		ssize_t n = getrandom(cm_loop.ids, sizeof(cm_loop.ids), 0);

		if (n != (ssize_t)sizeof(cm_loop.ids))
			return n < 0 ? -errno : -EIO;
		cm_loop.n_ids = CM_IDS;
	}
	*id = cm_loop.ids[--cm_loop.n_ids];
	return 0;
}

static int prepare_connect(struct dap_cm_conn *c, const union dap_addr *to, uint64_t conn_qual,
			   const struct dap_path *path, const void *pd, uint32_t pd_size)
{
	struct cm_msg req = { .type = CM_REQ, .conn_qual = conn_qual, .path = *path };
	int err = draw_id(&c->id);

	if (err)
		return err;
	c->conn_qual = conn_qual;
	c->retry_us = RETRY_FIRST_US;
	c->peer = *to;
	dap_addr_set_port(&c->peer, cm_port_of(conn_qual));
	req.id = c->id;
	req.pd_size = pd_size;
	if (pd_size)
		memcpy(req.pd, pd, pd_size);
	cm_wire_put(&req, c->out);
	return 0;
}

/* Shortages are returned to the caller at once; other errors become events. */
static bool is_shortage(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS;
}

static int start_connect(struct dap_cm *cm, struct dap_cm_conn *c)
{
	int err;

	c->cm = cm;
	TAILQ_INSERT_TAIL(&cm->conns, c, link);
	err = try_connect(c);
	if (is_shortage(err)) {
		cm_conn_drop(c, false);
		return err;
	}
	c->owned = true;
	if (err)
		active_retry(c, -err);
	return 0;
}

int dap_cm_connect(struct dap_cm *cm, const union dap_addr *to, uint64_t conn_qual,
		   uint32_t timeout_us, const struct dap_path *path, const void *pd,
		   uint32_t pd_size, void *ctx, struct dap_cm_conn **conn)
{
	struct dap_cm_conn *c;
	int err = -EMSGSIZE;

	if (pd_size > DAP_MAX_PRIVATE_DATA)
		return err;
	if (!cm_enter(cm->generation))
		return -ECHILD;
	c = cm_conn_new(&active, CM_RETRY);
	err = c ? prepare_connect(c, to, conn_qual, path, pd, pd_size) : -ENOMEM;
	if (err) {
		free(c);
		goto leave;
	}
	c->ctx = ctx;
	if (timeout_us != UINT32_MAX)
		c->deadline = cm_now() + timeout_us;
	err = start_connect(cm, c);
	if (!err)
		*conn = c;
leave:
	cm_leave();
	return err;
}
