/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The accepting side. Until a peer has sent a whole REQ it costs a socket and one struct. Such
 * half-open connections have a deadline. Beyond a total number, or a number for one source, or if
 * no descriptor is left, the newest replaces the oldest, so that a flood does not keep others out.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/cm/private.h"

/* ---- Half-open connections ---- */

/* All addresses of one IPv6 /64 count as one source, because one host may use all of them. */
static bool same_source(const union dap_addr *a, const union dap_addr *b)
{
	if (dap_addr_is_v6(a) && dap_addr_is_v6(b))
		return !memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, 8);
	return dap_addr_same(a, b);
}

/* The connection to drop before one more from this source can stay, or NULL. */
static struct dap_cm_conn *half_open_victim(const union dap_addr *from)
{
	struct dap_cm_conn *c, *oldest = NULL;
	unsigned int same = 0;

	if (cm_loop.half_opens < cm_limits.half_open_source)
		return NULL;
	TAILQ_FOREACH(c, &cm_loop.half_open, link) {
		if (!same_source(&c->peer, from))
			continue;
		if (!same++)
			oldest = c;
	}
	if (same < cm_limits.half_open_source)
		oldest = cm_loop.half_opens < cm_limits.half_open ? NULL :
								    TAILQ_FIRST(&cm_loop.half_open);
	return oldest;
}

static void half_open_add(struct dap_cm_conn *c)
{
	struct dap_cm_conn *oldest = half_open_victim(&c->peer);

	if (oldest) {
		cm_conn_log(oldest, "dropped: too many connections without a request");
		cm_conn_drop(oldest, true);
	}
	c->half_open = true;
	c->cm = NULL;
	TAILQ_INSERT_TAIL(&cm_loop.half_open, c, link);
	cm_loop.half_opens++;
}

/* The caller accepts again, and calls again if no descriptor has become free. */
bool cm_half_open_spare(void)
{
	struct dap_cm_conn *oldest = TAILQ_FIRST(&cm_loop.half_open);

	if (!oldest)
		return false;
	cm_conn_read(oldest);
	if (oldest == TAILQ_FIRST(&cm_loop.half_open)) {
		cm_conn_log(oldest, "dropped: no descriptor is left for a new connection");
		cm_conn_drop(oldest, true);
	}
	return true;
}

void cm_passive_accepted(uint16_t port, int fd, const union dap_addr *from,
			 const union dap_addr *called)
{
	struct dap_cm_conn *c = cm_conn_new(&cm_passive, CM_WAIT_REQ), *oldest;

	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->peer = *from;
	c->called = *called;
	c->port = port;
	/* The REQ of the oldest may have arrived unread, if many requests came at once. */
	cm_loop.entering = c;
	oldest = half_open_victim(from);
	if (oldest)
		cm_conn_read(oldest);
	cm_loop.entering = NULL;
	half_open_add(c);
	if (cm_conn_watch(c, fd, EPOLLIN | EPOLLRDHUP)) {
		cm_conn_drop(c, true);
		return;
	}
	cm_conn_state(c, CM_WAIT_REQ, cm_limits.request_us);
	cm_conn_read(c);		/* the REQ is usually there already */
}

/* ---- Requests ---- */

/* Returns a listener of the adapter with the called address, else one that listens everywhere. If
 * any is set, returns any listener as the last choice. */
static struct dap_cm_listener *listener_find(uint16_t port, uint64_t conn_qual,
					     const union dap_addr *called, bool any)
{
	struct dap_cm_listener *l, *other = NULL;
	const struct cm_port *p;

	LIST_FOREACH(p, &cm_loop.ports, link) {
		if (p->port != port)
			continue;
		LIST_FOREACH(l, &p->listeners, link) {
			if (l->conn_qual != conn_qual)
				continue;
			if (dap_addr_same(&l->cm->address, called))
				return l;
			if (any || l->cm->everywhere)
				other = l;
		}
	}
	return other;
}

/* A refused connection with a socket counts as half-open again until the peer closes it. */
static void passive_refuse(struct dap_cm_conn *c, const struct cm_msg *rej)
{
	cm_conn_send(c, CM_REJ, rej);
	if (!c->mux && !c->half_open) {
		TAILQ_REMOVE(&c->cm->conns, c, link);
		half_open_add(c);
	}
	c->discard_rx = true;
	cm_conn_linger(c);
}

/* Passes the request to core, which refuses it at once or answers it later. */
static void present_request(struct dap_cm_conn *c, const struct dap_cm_listener *l, const struct cm_msg *m)
{
	struct dap_cm_request r = {
		.path = &m->path, .from = c->peer, .conn_qual = m->conn_qual,
		.private_data = m->pd, .private_data_size = m->pd_size,
	};
	void *ctx = l->ctx;
	int err;

	c->cm = l->cm;
	TAILQ_INSERT_TAIL(&c->cm->conns, c, link);
	cm_conn_count(c, CM_REQ, CM_REASON_NONE, false);
	cm_conn_state(c, CM_WAIT_ACCEPT, 0);
	cm_call_begin();
	err = c->cm->ops->request(ctx, c, &r);
	cm_call_end();
	if (err && !c->retired)
		passive_refuse(c, &(struct cm_msg){ .reason = CM_REASON_REFUSED });
}

static void got_req(struct dap_cm_conn *c, const struct cm_msg *m)
{
	struct dap_cm_listener *l;

	c->id = m->id;
	c->conn_qual = m->conn_qual;
	l = listener_find(c->port, m->conn_qual, &c->called, false);
	if (!l) {
		passive_refuse(c, &(struct cm_msg){ .reason = CM_REASON_NO_LISTENER });
		return;
	}
	if (c->half_open)
		cm_half_open_remove(c);
	present_request(c, l, m);
}

/* If the listener has gone meanwhile, closes the socket, as the end of its process would have. */
void cm_passive_handed(const struct cm_handed *h)
{
	uint16_t port = cm_port_of(h->req.conn_qual);
	struct dap_cm_listener *l = listener_find(port, h->req.conn_qual, &h->own, true);
	struct dap_cm_conn *c = l ? cm_conn_new(&cm_passive, CM_WAIT_ACCEPT) : NULL;

	if (!c || cm_conn_watch(c, h->fd, EPOLLIN | EPOLLRDHUP)) {
		close(h->fd);
		free(c);
		return;
	}
	c->fd = h->fd;
	c->peer = h->peer;
	c->called = h->own;
	c->port = port;
	c->id = h->req.id;
	c->conn_qual = h->req.conn_qual;
	memcpy(cm_conn_in(c), h->rest, h->rest_len);
	c->in_len = h->rest_len;
	present_request(c, l, &h->req);
	cm_conn_read(c);
}

static bool passive_message(struct dap_cm_conn *c, const struct cm_msg *m)
{
	if (m->type == CM_REQ && c->state == CM_WAIT_REQ) {
		got_req(c, m);
	} else if (m->type == CM_RTU && c->state == CM_WAIT_RTU) {
		cm_conn_state(c, CM_READY, cm_limits.answer_us);
		cm_call_begin();
		c->cm->ops->ready(c->ctx, c);
		cm_call_end();
	} else {
		return false;
	}
	return true;
}

static void passive_timeout(struct dap_cm_conn *c)
{
	if (c->state == CM_WAIT_REQ)
		cm_conn_drop(c, true);
	else
		cm_conn_cut(c, DAP_CM_TIMED_OUT, NULL, false);
}

static bool passive_lost(struct dap_cm_conn *c, int err)
{
	if (c->state == CM_WAIT_REQ && err == -EPROTONOSUPPORT) {
		passive_refuse(c, &(struct cm_msg){ .reason = CM_REASON_VERSION });
	} else if (c->state == CM_WAIT_REQ) {
		cm_conn_drop(c, true);
	} else if (c->state == CM_WAIT_ACCEPT) {
		cm_conn_close(c, err == -EPROTO);
		cm_conn_state(c, CM_GONE, 0);
	} else {
		return false;
	}
	return true;
}

const struct cm_role cm_passive = {
	.message = passive_message,
	.timeout = passive_timeout,
	.lost = passive_lost,
};

int dap_cm_accept(struct dap_cm_conn *c, const struct dap_path *path, const void *pd,
		  uint32_t pd_size, void *ctx)
{
	struct cm_msg rep = { .path = *path, .pd_size = pd_size };
	int err = 0;

	if (pd_size > sizeof(rep.pd))
		return -EMSGSIZE;
	if (pd_size)
		memcpy(rep.pd, pd, pd_size);
	if (!cm_enter(c->generation))
		return -ECHILD;
	if (c->state == CM_WAIT_ACCEPT) {
		c->ctx = ctx;
		c->owned = true;
		cm_conn_state(c, CM_WAIT_RTU, cm_limits.answer_us);
		cm_conn_send(c, CM_REP, &rep);
	} else {
		cm_conn_drop(c, false);
		err = -ECONNRESET;
	}
	cm_leave();
	return err;
}

int dap_cm_reject(struct dap_cm_conn *c, const void *pd, uint32_t pd_size)
{
	struct cm_msg rej = { .reason = CM_REASON_CONSUMER, .pd_size = pd_size };

	if (pd_size > sizeof(rej.pd))
		return -EMSGSIZE;
	if (pd_size)
		memcpy(rej.pd, pd, pd_size);
	if (!cm_enter(c->generation))
		return -ECHILD;
	if (c->state == CM_WAIT_ACCEPT)
		passive_refuse(c, &rej);
	else
		cm_conn_drop(c, false);
	cm_leave();
	return 0;
}

int dap_cm_go(struct dap_cm_conn *c)
{
	int err = 0;

	if (!cm_enter(c->generation))
		return -ECHILD;
	if (c->state == CM_READY) {
		cm_conn_state(c, CM_LIVE, 0);
		cm_conn_send(c, CM_GO, NULL);
	} else {
		err = -ENOTCONN;
	}
	cm_leave();
	return err;
}
