/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code of both sides of a connection: it sends, receives and ends the connection.
 *
 * Orderly disconnection: the side that receives the second DISC resets its socket. By then every
 * message has arrived, so neither side keeps a port in TIME_WAIT.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "core/cm/conn.h"

void cm_conn_log(const struct dap_cm_conn *c, const char *what)
{
	char ip[DAP_ADDR_TEXT];

	dap_log(DAP_LOG_WARN, "%s port %u, qualifier 0x%llx: %s",
		dap_addr_text(&c->peer, ip), dap_addr_port(&c->peer), (unsigned long long)c->conn_qual, what);
}

void cm_conn_state(struct dap_cm_conn *c, enum cm_state state, uint64_t deadline_us)
{
	c->state = state;
	if (deadline_us)
		cm_timer_set(&c->timer, deadline_us);
	else
		cm_timer_clear(&c->timer);
}

/* ---- How a connection ends ---- */

static void leave_mux(struct dap_cm_conn *c)
{
	if (c->mux)
		c->mux->transport->leave(c);
}

/* In this state nothing but the REQ is queued, and out_off says how much of it has been sent. */
static bool request_is_unsent(const struct dap_cm_conn *c)
{
	return c->state == CM_WAIT_REP && c->out_mux && !c->out_off;
}

/* If the peer reads nothing, a REQ would stay in the queue of the mux, with its CUT, after its connection has
 * ended. */
void cm_conn_close(struct dap_cm_conn *c, bool reset)
{
	if (request_is_unsent(c))
		c->out_mux->transport->recall(c);
	else if (c->mux)
		cm_conn_send(c, CM_CUT, NULL);
	leave_mux(c);
	cm_close_fd(&c->fd, reset);
}

void cm_conn_free(struct dap_cm_conn *c)
{
	if (c->watched)
		cm_free_later(&c->item);
	else
		cm_free_at_turn_end(&c->item);
}

void cm_half_open_remove(struct dap_cm_conn *c)
{
	TAILQ_REMOVE(&cm_loop.half_open, c, link);
	c->half_open = false;
	cm_loop.half_opens--;
}

/* Messages queued on a mux are still sent. */
static void retire_conn(struct dap_cm_conn *c)
{
	if (c->retired)
		return;
	c->retired = true;
	cm_conn_state(c, CM_ENDED, 0);
	if (c->half_open)
		cm_half_open_remove(c);
	else if (c->cm)
		TAILQ_REMOVE(&c->cm->conns, c, link);
	if (!c->out_mux)
		cm_conn_free(c);
}

void cm_conn_drop(struct dap_cm_conn *c, bool reset)
{
	cm_conn_close(c, reset);
	c->owned = false;
	retire_conn(c);
}

/* A mux sends the connection's queued messages even after the connection has left it. A socket of its own
 * lingers until the peer closes it, for a limited time. */
void cm_conn_linger(struct dap_cm_conn *c)
{
	c->owned = false;
	leave_mux(c);
	if (c->fd < 0)
		retire_conn(c);
	else
		cm_conn_state(c, CM_LINGER, cm_limits.linger_us);
}

void cm_conn_end(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg)
{
	const struct dap_cm_ops *ops = c->cm->ops;
	bool report = c->owned;

	c->owned = false;
	c->cm->counts.ended[why]++;
	cm_conn_state(c, CM_ENDED, 0);
	if (report) {
		cm_call_begin();
		ops->ended(c->ctx, c, why, msg ? msg->pd : NULL, msg ? msg->pd_size : 0);
		cm_call_end();
	}
	if (!c->retired)
		cm_conn_linger(c);
}

void cm_conn_cut(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg, bool reset)
{
	cm_conn_close(c, reset);
	cm_conn_end(c, why, msg);
}

void cm_conn_fail(struct dap_cm_conn *c, enum dap_cm_end why)
{
	cm_conn_close(c, false);
	c->why = why;
	cm_conn_state(c, CM_FAILED, 1);
}

/*
 * The deadline may have passed while this process was stopped, or while the thread that reads the mux did
 * not run. So the peer's answer may have arrived. Returns true if it has ended the state.
 */
static bool answer_has_come(struct dap_cm_conn *c)
{
	enum { READS = 256 };
	const enum cm_state was = c->state;

	if (was != CM_WAIT_REP && was != CM_WAIT_GO && was != CM_WAIT_RTU)
		return false;
	if (!c->mux)
		cm_conn_read(c);
	for (int i = 0; i < READS && c->state == was && c->mux; i++) {
		if (!c->mux->transport->read(c->mux))
			break;
	}
	return c->state != was;
}

static void conn_timeout(void *arg)
{
	struct dap_cm_conn *c = arg;

	if (c->state == CM_FAILED)
		cm_conn_end(c, c->why, NULL);
	else if (c->state == CM_CLOSING)
		cm_conn_end(c, DAP_CM_DISCONNECTED, NULL);
	else if (c->state == CM_LINGER)
		cm_conn_drop(c, true);
	else if (!answer_has_come(c))
		c->role->timeout(c);
}

void cm_conn_lost(struct dap_cm_conn *c, int err)
{
	bool reset = err == -EPROTO;

	if (reset)
		cm_conn_log(c, "protocol error: unexpected message, connection closed");
	if (c->state == CM_LINGER)
		cm_conn_drop(c, true);
	else if (c->state == CM_CLOSING)
		cm_conn_cut(c, DAP_CM_DISCONNECTED, NULL, reset);
	else if (!c->role->lost(c, err))
		cm_conn_cut(c, DAP_CM_BROKEN, NULL, reset);
}

/* ---- Sending and receiving bytes ---- */

/* ENOBUFS and ENOMEM: the kernel is short of memory for the messages of a local socket, and no error is
 * reported later. */
void cm_conn_flush(struct dap_cm_conn *c)
{
	if (c->mux)
		c->mux->transport->flush(c);
	while (c->fd >= 0 && c->out_off < c->out_len) {
		ssize_t n = send(c->fd, c->out + c->out_off, c->out_len - c->out_off,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0)
			c->out_off += (uint32_t)n;
		else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)
			break;
		else if (errno != EINTR) {
			c->send_err = -errno;
			c->out_off = c->out_len;
		}
	}
	if (c->wants_out != (c->out_off < c->out_len) && c->fd >= 0) {
		c->wants_out = !c->wants_out;
		cm_poll_change(c->fd, EPOLLIN | EPOLLRDHUP | (c->wants_out ? EPOLLOUT : 0),
			       &c->item);
	}
}

void cm_conn_count(struct dap_cm_conn *c, enum cm_type type, enum cm_reason reason, bool out)
{
	struct dap_cm_counts *n = c->cm ? &c->cm->counts : NULL;

	if (!n)
		return;
	switch (type) {
	case CM_REQ: ++*(out ? &n->req_tx : &n->req_rx); break;
	case CM_REP: ++*(out ? &n->rep_tx : &n->rep_rx); break;
	case CM_RTU: ++*(out ? &n->rtu_tx : &n->rtu_rx); break;
	case CM_GO: ++*(out ? &n->go_tx : &n->go_rx); break;
	case CM_DISC: ++*(out ? &n->disc_tx : &n->disc_rx); break;
	case CM_BREAK: case CM_CUT: case CM_MOVE: case CM_LOOK: break;
	default:
		++*(out ? &n->rej_tx : &n->rej_rx);
		if (reason == CM_REASON_CONSUMER)
			++*(out ? &n->user_rej_tx : &n->user_rej_rx);
	}
}

void cm_conn_send(struct dap_cm_conn *c, enum cm_type type, const struct cm_msg *rest)
{
	size_t most = (CM_OUT_MSGS + (type == CM_CUT ? 1u : 0u)) * CM_WIRE_SIZE;
	struct cm_msg m = { 0 };

	if (rest)
		m = *rest;
	m.type = type;
	m.id = c->id;
	cm_conn_count(c, type, m.reason, true);
	if (c->out_off) {
		memmove(c->out, c->out + c->out_off, c->out_len - c->out_off);
		c->out_len -= c->out_off;
		c->out_off = 0;
	}
	if (c->out_len + CM_WIRE_SIZE > most)
		return;
	cm_wire_put(&m, c->out + c->out_len);
	c->out_len += CM_WIRE_SIZE;
	cm_conn_flush(c);
}

static void got_disc(struct dap_cm_conn *c)
{
	switch (c->state) {
	case CM_CLOSING:
		leave_mux(c);		/* after both DISCs the peer needs no CUT */
		cm_conn_cut(c, DAP_CM_DISCONNECTED, NULL, true);
		break;
	case CM_LINGER:
		cm_conn_drop(c, true);
		break;
	case CM_WAIT_ACCEPT:
		cm_conn_send(c, CM_DISC, NULL);
		cm_conn_lost(c, 0);
		break;
	case CM_REPLIED: case CM_WAIT_GO: case CM_WAIT_RTU: case CM_READY: case CM_LIVE:
		cm_conn_send(c, CM_DISC, NULL);
		cm_conn_end(c, DAP_CM_DISCONNECTED, NULL);
		break;
	default:
		cm_conn_lost(c, -EPROTO);
	}
}

/* The text is untrusted: replace control characters before logging. */
static void got_break(struct dap_cm_conn *c, const struct cm_msg *m)
{
	char why[DAP_MAX_PRIVATE_DATA + 1], ip[DAP_ADDR_TEXT];
	uint32_t n = 0;

	for (; n < m->pd_size; n++)
		why[n] = m->pd[n] >= ' ' && m->pd[n] < 127 ? (char)m->pd[n] : '?';
	why[n] = '\0';
	dap_log(DAP_LOG_EP | DAP_LOG_CM, "%s port %u: the peer's endpoint broke the connection: %s",
		dap_addr_text(&c->peer, ip), dap_addr_port(&c->peer), why);
	cm_conn_lost(c, 0);
}

static void got_look(struct dap_cm_conn *c)
{
	cm_call_begin();
	c->cm->ops->look(c->ctx, c);
	cm_call_end();
}

void cm_conn_message(struct dap_cm_conn *c, const struct cm_msg *m)
{
	bool known;

	cm_conn_count(c, m->type, m->reason, false);
	if (c->state != CM_WAIT_REQ && m->id != c->id)
		known = false;
	else if (m->type == CM_DISC)
		return got_disc(c);
	else if (c->state == CM_CLOSING || c->state == CM_LINGER)
		known = true;			/* the peer's DISC crossed ours */
	else if (m->type == CM_BREAK && c->state != CM_WAIT_REQ)
		return got_break(c, m);
	else if (m->type == CM_LOOK && c->state == CM_LIVE)
		return got_look(c);
	else
		known = c->role->message(c, m);
	if (!known)
		cm_conn_lost(c, -EPROTO);
}

static void got_bytes(struct dap_cm_conn *c)
{
	struct cm_msg m;
	int got;

	if (c->discard_rx) {
		c->in_len = 0;
		return;
	}
	got = cm_wire_get(cm_conn_in(c), c->in_len, &m);
	if (!got)
		return;
	c->in_len = 0;
	if (got > 0)
		cm_conn_message(c, &m);
	else
		cm_conn_lost(c, c->state == CM_WAIT_REQ ? got : -EPROTO);
}

/* Handles one message; epoll reports again if there is more. */
void cm_conn_read(struct dap_cm_conn *c)
{
	while (c->fd >= 0) {
		ssize_t n = recv(c->fd, cm_conn_in(c) + c->in_len, CM_WIRE_SIZE - c->in_len,
				 MSG_DONTWAIT);

		if (n > 0) {
			c->in_len += (uint32_t)n;
			return got_bytes(c);
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (!n)
			cm_conn_lost(c, c->send_err);
		else if (errno != EAGAIN)
			cm_conn_lost(c, -errno);
		return;
	}
}

static void conn_ready(struct cm_item *item, uint32_t events)
{
	struct dap_cm_conn *c = (struct dap_cm_conn *)item;

	if (c->fd < 0)
		return;
	if (c->state == CM_CONNECTING) {
		c->role->connected(c);
		return;
	}
	if (events & EPOLLOUT)
		cm_conn_flush(c);
	if (events & ~(uint32_t)EPOLLOUT)
		cm_conn_read(c);
}

int cm_conn_watch(struct dap_cm_conn *c, int fd, uint32_t events)
{
	int err = cm_poll_add(fd, events, &c->item);

	c->watched |= !err;
	return err;
}

struct dap_cm_conn *cm_conn_new(const struct cm_role *role, enum cm_state state)
{
	struct dap_cm_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->item.ready = conn_ready;
	c->timer = (struct dap_timer){ .fn = conn_timeout, .arg = c, .inside = true };
	c->generation = cm_loop.generation;
	c->role = role;
	c->state = state;
	c->fd = -1;
	return c;
}

/* ---- Calls of core, for either side ---- */

int dap_cm_disconnect(struct dap_cm_conn *c, bool abrupt)
{
	int err = 0;

	if (!cm_enter(c->generation))
		return -ECHILD;
	switch (c->state) {
	case CM_RETRY: case CM_CONNECTING: case CM_FAILED:
		cm_conn_fail(c, DAP_CM_DISCONNECTED);
		break;
	case CM_WAIT_REP: case CM_REPLIED: case CM_WAIT_GO: case CM_WAIT_RTU: case CM_READY:
	case CM_LIVE:
		if (request_is_unsent(c)) {
			cm_conn_fail(c, DAP_CM_DISCONNECTED);
			break;
		}
		cm_conn_send(c, CM_DISC, NULL);
		cm_conn_state(c, CM_CLOSING, abrupt ? 1 : cm_limits.linger_us);
		break;
	case CM_CLOSING:
		if (abrupt)
			cm_conn_state(c, CM_CLOSING, 1);
		break;
	default:
		err = -ENOTCONN;
	}
	cm_leave();
	return err;
}

/* Queues a LOOK only if the queue is empty: otherwise a LOOK may be queued already, and the DISC
 * must still fit. */
void dap_cm_look(struct dap_cm_conn *c)
{
	if (!cm_enter(c->generation))
		return;
	if (c->state == CM_LIVE && c->out_off == c->out_len)
		cm_conn_send(c, CM_LOOK, NULL);
	cm_leave();
}

void dap_cm_break(struct dap_cm_conn *c, const char *why)
{
	struct cm_msg m = { 0 };

	if (!cm_enter(c->generation))
		return;
	/* With a BREAK behind it, cm_conn_close() could not tell whether the REQ has been sent. */
	if (why && c->state != CM_WAIT_REP && (c->fd >= 0 || c->mux)) {
		m.pd_size = (uint32_t)strnlen(why, sizeof(m.pd));
		memcpy(m.pd, why, m.pd_size);
		cm_conn_send(c, CM_BREAK, &m);
	}
	if (c->state != CM_ENDED)
		cm_conn_drop(c, false);
	cm_leave();
}

void dap_cm_release(struct dap_cm_conn *c)
{
	if (!cm_enter(c->generation))
		return;
	if (c->state == CM_CLOSING)
		cm_conn_linger(c);
	else if (c->state != CM_ENDED)
		cm_conn_drop(c, false);
	cm_leave();
}
