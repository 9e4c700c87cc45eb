/* SPDX-License-Identifier: BSD-2-Clause */
/* conn.c: a connection. Its two sides and the stream that it may share with others are above it. */
#ifndef DAP_CM_CONN_H
#define DAP_CM_CONN_H

#include "core/cm/loop.h"
#include "core/cm/wire.h"

enum cm_state {
	/* active */
	CM_RETRY,		/* nobody listened; waits to try again */
	CM_CONNECTING,		/* TCP */
	CM_WAIT_REP,
	CM_REPLIED,		/* core has the path and owes the RTU */
	CM_WAIT_GO,
	CM_FAILED,		/* only ended() is still to be called */
	/* passive */
	CM_WAIT_REQ,		/* half-open */
	CM_WAIT_ACCEPT,		/* core has the request */
	CM_GONE,		/* the peer left meanwhile; core does not know yet */
	CM_WAIT_RTU,
	CM_READY,		/* core owes the GO */
	/* both */
	CM_LIVE,
	CM_CLOSING,		/* DISC is out, core waits for ended() */
	CM_LINGER,		/* core has done with it: the queue goes out, the peer closes */
	CM_ENDED,
};

/* The most that can be queued at once: two answers and a DISC on top of them; behind them a CUT. */
#define CM_OUT_MSGS 3u

struct dap_cm_conn {
	struct cm_item item;
	const struct cm_role *role;	/* NULL: the voice of a line */
	enum cm_state state;
	enum dap_cm_end why;		/* CM_FAILED */
	int fd;				/* -1 without a socket */
	unsigned int generation;
	struct dap_cm *cm;		/* NULL until its request named a listener */
	void *ctx;
	bool owned;			/* core is to be told how it ended */
	bool half_open;			/* on the list of those */
	bool local, by_tcp;		/* active: the way it goes, and the one to try next */
	bool refused;			/* active: by nobody listening, last time */
	bool discard_rx;		/* whatever still arrives is thrown away */
	bool wants_out;
	bool retired;			/* closed, off its list; freed when its queue has gone */
	bool watched;			/* has been in the thread's epoll set */
	struct cm_mux *mux;		/* that it goes over, instead of a socket of its own */
	struct cm_mux *out_mux;		/* that its queue goes out by, even once it has left the line */
	LIST_ENTRY(dap_cm_conn) mux_link, hash_link;
	TAILQ_ENTRY(dap_cm_conn) out_link;
	uint16_t port;			/* passive: that it came in by */
	TAILQ_ENTRY(dap_cm_conn) link;	/* of cm->conns, or of the half-open */
	struct dap_timer timer;		/* deadline of the state it is in */
	uint64_t id, conn_qual;
	uint64_t deadline;		/* active: the caller's, us; 0 is none */
	uint64_t tried;			/* active: when it was tried again, us */
	uint32_t retry_us;
	int send_err;			/* -errno that a send has met: recv tells of an end only */
	struct sockaddr_in peer;
	struct in_addr called;		/* passive: which of our addresses */
	uint32_t in_len, out_off, out_len;
	/* A CUT goes where its socket's bytes are read: who has been on a line till the end reads none. */
	uint8_t out[(CM_OUT_MSGS + 1) * CM_WIRE_SIZE];
};

/* What has been read of a message from its own socket. */
static inline uint8_t *cm_conn_in(struct dap_cm_conn *c)
{
	return c->out + CM_OUT_MSGS * CM_WIRE_SIZE;
}

LIST_HEAD(cm_conn_list, dap_cm_conn);

/* What the two sides of a connection do differently. */
struct cm_role {
	void (*connected)(struct dap_cm_conn *c);	/* connect(2) has ended; active only */
	/* Returns false if this state does not expect the message. */
	bool (*message)(struct dap_cm_conn *c, const struct cm_msg *m);
	void (*timeout)(struct dap_cm_conn *c);
	/* See cm_conn_lost(). Returns false if the connection is to end as broken. */
	bool (*lost)(struct dap_cm_conn *c, int err);
};

/* The operations of the stream that a connection shares with others. */
struct cm_transport {
	void (*flush)(struct dap_cm_conn *c);
	void (*leave)(struct dap_cm_conn *c);	/* see cm_mux_leave() */
};

struct cm_mux {
	struct cm_item item;
	const struct cm_transport *transport;
	int fd;				/* -1 once it is closed */
	const struct cm_role *passive;	/* of what the peer asks for; NULL: this process has called */
	bool stale;			/* whom it leads to listens no more: for no new connection */
	bool wants_out, dirty;
	int moved_fd;			/* came along with a message that is not whole yet, or -1 */
	struct sockaddr_in at;		/* what was called */
	unsigned int n_conns, n_out;
	struct cm_conn_list conns;
	struct cm_conns out;		/* with something to send: the first perhaps the rest of a message */
	struct dap_timer idle;
	uint32_t in_len;
	uint8_t in[CM_WIRE_SIZE];	/* the beginning of a message */
	struct dap_cm_conn *err_conn;	/* says what is about no connection that is there */
	LIST_ENTRY(cm_mux) link;
	TAILQ_ENTRY(cm_mux) dirty_link;
};

struct dap_cm_conn *cm_conn_new(const struct cm_role *role, enum cm_state state);
void cm_conn_read(struct dap_cm_conn *c);
/* Queues and sends what the socket takes. What the socket refuses, its event will tell. */
void cm_conn_send(struct dap_cm_conn *c, enum cm_type type, const struct cm_msg *rest);
void cm_conn_flush(struct dap_cm_conn *c);
/* A message of the connection, whose manager is known. */
void cm_conn_count(struct dap_cm_conn *c, enum cm_type type, enum cm_reason reason, bool out);
/* deadline_us from now; 0 is none. */
void cm_conn_state(struct dap_cm_conn *c, enum cm_state state, uint64_t deadline_us);
/* The socket, or its part in the line: the peer hears of it. */
void cm_conn_close(struct dap_cm_conn *c, bool reset);
/* A message of the connection, from whatever it came by. */
void cm_conn_message(struct dap_cm_conn *c, const struct cm_msg *m);
/* The way to the peer is of no use any more, and closed where it is a line: err, or 0 at its end;
 * -EPROTONOSUPPORT: the first message is of another version. */
void cm_conn_lost(struct dap_cm_conn *c, int err);
/* Frees a retired connection once nothing can refer to it any more. */
void cm_conn_free(struct dap_cm_conn *c);
/* The socket gets into the thread's epoll set. */
int cm_conn_watch(struct dap_cm_conn *c, int fd, uint32_t events);
/* Closes and retires it without a callback. */
void cm_conn_drop(struct dap_cm_conn *c, bool reset);
/* Core has done with it, its last message has not yet arrived. */
void cm_conn_linger(struct dap_cm_conn *c);
/* From the manager's thread: reports the end to core if core owns it, then says farewell, or retires it
 * if its socket has been closed. */
void cm_conn_end(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg);
/* The same, and the socket is closed first. */
void cm_conn_cut(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg, bool reset);
/* Closes the connection; its timer then calls cm_conn_end(). Any thread may call this. */
void cm_conn_fail(struct dap_cm_conn *c, enum dap_cm_end why);
void cm_half_open_remove(struct dap_cm_conn *c);
/* A line of the log about the peer. */
void cm_conn_log(const struct dap_cm_conn *c, const char *what);

#endif
