/* SPDX-License-Identifier: BSD-2-Clause */
/* conn.c: one connection. Its two roles and the mux are in higher layers. */
#ifndef DAP_CM_CONN_H
#define DAP_CM_CONN_H

#include "core/cm/loop.h"
#include "core/cm/wire.h"

enum cm_state {
	/* states of the active side */
	CM_RETRY,		/* no listener yet; waits for the next attempt */
	CM_CONNECTING,		/* TCP connect(2) */
	CM_WAIT_REP,
	CM_REPLIED,		/* core has the path; it must send the RTU */
	CM_WAIT_GO,
	CM_FAILED,		/* only ended() remains to be called */
	/* states of the passive side */
	CM_WAIT_REQ,		/* half-open: the REQ has not arrived yet */
	CM_WAIT_ACCEPT,		/* core has the request */
	CM_GONE,		/* the peer has closed; core does not know yet */
	CM_WAIT_RTU,
	CM_READY,		/* RTU received; core must send the GO */
	/* states of both sides */
	CM_LIVE,
	CM_CLOSING,		/* DISC sent; core waits for ended() */
	CM_LINGER,		/* core has released it: sends the queue until the peer closes */
	CM_ENDED,
};

/* At most two answers and a DISC are queued at once; behind them there is room for a CUT. */
#define CM_OUT_MSGS 3u

struct dap_cm_conn {
	struct cm_item item;
	const struct cm_role *role;	/* NULL: the err_conn of a mux */
	enum cm_state state;
	enum dap_cm_end why;		/* reason in state CM_FAILED */
	int fd;				/* -1: no socket */
	unsigned int generation;
	struct dap_cm *cm;		/* NULL until the REQ has named a listener */
	void *ctx;
	bool owned;			/* core still expects a call of ended() */
	bool half_open;			/* the connection is on cm_loop.half_open */
	/* active side: this attempt uses the local socket; the next attempts use TCP */
	bool local, by_tcp;
	bool discard_rx;		/* ignore everything that still arrives */
	bool wants_out;
	bool retired;			/* closed and on no list; freed once its queue is sent */
	bool watched;			/* the socket has been in the thread's epoll set */
	/* the mux that carries the connection, which then has no socket of its own */
	struct cm_mux *mux;
	/* the mux that sends the queue, even after the connection has left the mux */
	struct cm_mux *out_mux;
	LIST_ENTRY(dap_cm_conn) mux_link, hash_link;
	TAILQ_ENTRY(dap_cm_conn) out_link;
	uint16_t port;			/* passive side: the listening port */
	TAILQ_ENTRY(dap_cm_conn) link;	/* entry in cm->conns or cm_loop.half_open */
	struct dap_timer timer;		/* timer for the deadline of its state */
	uint64_t id, conn_qual;
	uint64_t deadline;		/* active side: the caller's deadline, in us; 0: none */
	uint64_t tried;			/* active side: time of the last retry, in us */
	uint32_t retry_us;
	int failed;			/* active side: errno of the last attempt, or 0 */
	int send_err;			/* -errno of a failed send; recv(2) would report only the
					 * end of the stream */
	union dap_addr peer;
	union dap_addr called;		/* passive side: our address to which the peer connected */
	uint32_t in_len, out_off, out_len;
	/* The space for a CUT also serves as the buffer of received bytes: only a connection on a
	 * mux sends CUT, and the mux has the buffer of its received bytes. */
	uint8_t out[(CM_OUT_MSGS + 1) * CM_WIRE_SIZE];
};

/* The part of a message that has been read from its own socket. */
static inline uint8_t *cm_conn_in(struct dap_cm_conn *c)
{
	return c->out + CM_OUT_MSGS * CM_WIRE_SIZE;
}

LIST_HEAD(cm_conn_list, dap_cm_conn);

/* The two sides of a connection. */
struct cm_role {
	void (*connected)(struct dap_cm_conn *c);	/* connect(2) has completed; active only */
	/* Returns false if this state does not expect the message. */
	bool (*message)(struct dap_cm_conn *c, const struct cm_msg *m);
	void (*timeout)(struct dap_cm_conn *c);
	/* See cm_conn_lost(). Returns false if the connection ends as broken. */
	bool (*lost)(struct dap_cm_conn *c, int err);
};

/* The functions of a mux that a connection calls. */
struct cm_transport {
	void (*flush)(struct dap_cm_conn *c);
	void (*recall)(struct dap_cm_conn *c);	/* sends nothing of the queue */
	void (*leave)(struct dap_cm_conn *c);	/* see cm_mux_leave() */
	bool (*read)(struct cm_mux *mux);	/* see cm_mux_read() */
};

struct cm_mux {
	struct cm_item item;
	const struct cm_transport *transport;
	int fd;				/* -1: closed */
	/* role of the connections that the peer requests; NULL: this process connected */
	const struct cm_role *passive;
	bool stale;			/* the listener is closed: the mux takes no new connections */
	bool wants_out, dirty;
	/* a descriptor that arrived before its message was complete; -1: none; -EMFILE: this process had
	 * no room for it */
	int moved_fd;
	union dap_addr at;		/* the listener's address */
	unsigned int n_conns, n_out;
	struct cm_conn_list conns;
	/* connections with queued data; the first may be partly sent */
	struct cm_conns out;
	struct dap_timer idle;
	struct dap_timer again;		/* timer until the queue is sent again */
	uint32_t in_len;
	uint8_t in[CM_WIRE_SIZE];	/* bytes of an incomplete message */
	struct dap_cm_conn *err_conn;	/* sends CUT for ids without a connection */
	LIST_ENTRY(cm_mux) link;
	TAILQ_ENTRY(cm_mux) dirty_link;
};

struct dap_cm_conn *cm_conn_new(const struct cm_role *role, enum cm_state state);
void cm_conn_read(struct dap_cm_conn *c);
/* Queues the message and sends what the socket takes. Errors are reported by epoll later. */
void cm_conn_send(struct dap_cm_conn *c, enum cm_type type, const struct cm_msg *rest);
void cm_conn_flush(struct dap_cm_conn *c);
/* Counts a message of a connection whose manager is known. */
void cm_conn_count(struct dap_cm_conn *c, enum cm_type type, enum cm_reason reason, bool out);
/* Changes the state. deadline_us is from now on; 0: no deadline. */
void cm_conn_state(struct dap_cm_conn *c, enum cm_state state, uint64_t deadline_us);
/* Closes the socket, or sends CUT and leaves the mux. The peer is notified either way. */
void cm_conn_close(struct dap_cm_conn *c, bool reset);
/* Handles one received message. */
void cm_conn_message(struct dap_cm_conn *c, const struct cm_msg *m);
/* The socket or mux has failed or closed. err: -errno, or 0 at the end of the stream;
 * -EPROTONOSUPPORT: the first message has another version. */
void cm_conn_lost(struct dap_cm_conn *c, int err);
/* Frees a retired connection once nothing can refer to it. */
void cm_conn_free(struct dap_cm_conn *c);
/* Adds the socket to the thread's epoll set. */
int cm_conn_watch(struct dap_cm_conn *c, int fd, uint32_t events);
/* Closes and retires the connection without a callback. */
void cm_conn_drop(struct dap_cm_conn *c, bool reset);
/* Keeps a connection that core has released until its last message is sent. */
void cm_conn_linger(struct dap_cm_conn *c);
/* Called in the manager's thread. If core owns the connection, reports its end to core. Then the
 * connection lingers, or, if its socket is closed, is retired. */
void cm_conn_end(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg);
/* Closes the socket, then does the same as cm_conn_end(). */
void cm_conn_cut(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg, bool reset);
/* Closes the connection; its timer then calls cm_conn_end(). Any thread. */
void cm_conn_fail(struct dap_cm_conn *c, enum dap_cm_end why);
void cm_half_open_remove(struct dap_cm_conn *c);
/* Logs a line about the peer. */
void cm_conn_log(const struct dap_cm_conn *c, const char *what);

#endif
