/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TCP connection manager: one socket per connection, kept open for as long as the connection
 * lives, so that the peer's death is known at once; within a host all connections between two
 * processes may share one (mux.c). It knows nothing of endpoints: it carries two struct dap_path
 * and private data, and reports what happened.
 *
 * active                         passive
 *   REQ(path, private data)  ->    request()        core: CR event
 *   reply()  <-  REP(path, pd)     dap_cm_accept    core: QP to RTS on both sides
 *   RTU  ->                        ready()          core: ESTABLISHED on the passive connect EVD
 *   established()  <-  GO          dap_cm_go        core: active ESTABLISHED; only now may it post
 *
 * All IAs of a process share one thread, which sleeps when nothing happens. Callbacks come from it
 * or from dap_cm_drive, none of the manager's locks held, never two at a time. Functions return 0 or
 * -errno and never block on the peer. They may be called with any lock of core held, except
 * dap_cm_open, dap_cm_close, dap_cm_sync and dap_cm_timer_close, which wait for a callback to
 * return, and dap_cm_drive, which makes some. In a forked child all of them do nothing.
 */
#ifndef DAP_CM_H
#define DAP_CM_H

#include "core/dap.h"

enum dap_cm_end {
	DAP_CM_REJECTED,	/* the peer's consumer said no (private data may come with it) */
	DAP_CM_NON_PEER_REJECTED, /* nobody listens until the timeout, queue full, bad version */
	DAP_CM_UNREACHABLE,	/* no route, host down */
	DAP_CM_TIMED_OUT,
	DAP_CM_DISCONNECTED,	/* the peer or we disconnected in an orderly way */
	DAP_CM_BROKEN,		/* socket lost, protocol violated */
};

struct dap_cm_request {
	const struct dap_path *path;
	struct sockaddr_in from;
	uint64_t conn_qual;
	const void *private_data;
	uint32_t private_data_size;
};

struct dap_cm_ops {
	/* Passive: conn is core's until accept, reject or release. Non-zero return refuses
	 * (NON_PEER_REJECTED at the peer) and the conn is not core's. */
	int (*request)(void *listener_ctx, struct dap_cm_conn *conn,
		       const struct dap_cm_request *r);
	void (*reply)(void *conn_ctx, struct dap_cm_conn *conn, const struct dap_path *path,
		      const void *pd, uint32_t size);
	void (*ready)(void *conn_ctx, struct dap_cm_conn *conn);
	void (*established)(void *conn_ctx, struct dap_cm_conn *conn);
	/* Exactly once for each conn that core connected or accepted, whatever ended it, unless
	 * core released it first; the conn is gone when it returns. Passive conns that die before
	 * accept tell nobody: accept then fails with -ECONNRESET. */
	void (*ended)(void *conn_ctx, struct dap_cm_conn *conn, enum dap_cm_end why, const void *pd,
		      uint32_t size);
	/* The peer waits for what only this end's software does. */
	void (*look)(void *conn_ctx, struct dap_cm_conn *conn);
};

/* Messages of each type that went out and came in, rejections by the consumer among them once
 * more, and connections by how they ended: since the manager was opened. */
struct dap_cm_counts {
	uint64_t req_tx, req_rx, rep_tx, rep_rx, rtu_tx, rtu_rx, go_tx, go_rx, rej_tx, rej_rx;
	uint64_t disc_tx, disc_rx, user_rej_tx, user_rej_rx, retries;
	uint64_t ended[DAP_CM_BROKEN + 1];
};
void dap_cm_count(struct dap_cm *cm, struct dap_cm_counts *counts);

/*
 * local: the IA's address; INADDR_ANY: unknown. Listeners take connections on this address alone, or, if
 * everywhere is set or the address is unknown, on each address of the host.
 */
int dap_cm_open(const struct dap_cm_ops *ops, const struct sockaddr_in *local, bool everywhere,
		struct dap_cm **cm);
/* Connections still there are cut. No callback after it returns. */
void dap_cm_close(struct dap_cm *cm);
/* Every callback that was running when it was called has returned when it does: with a release or
 * unlisten before it, what their context points to may be freed. Nothing from within a callback. */
void dap_cm_sync(struct dap_cm *cm);
/* By who waits or polls for what callbacks bring: does what has come from peers of this host, instead
 * of the manager's thread. False where there was nothing, or somebody else is at it. */
bool dap_cm_drive(struct dap_cm *cm);
/* Around a sleep of such a caller: a descriptor that becomes readable when there is something for
 * dap_cm_drive, or -1: another one sees to it. end gets what begin returned. */
int dap_cm_sleep_begin(struct dap_cm *cm);
void dap_cm_sleep_end(struct dap_cm *cm, int fd);
/* Calls fn from the manager's thread whenever fd is readable (device events), until dap_cm_close. */
int dap_cm_watch(struct dap_cm *cm, int fd, void (*fn)(void *arg), void *arg);
/* dap_cm_timer, dap_cm_timer_close: see core/dap.h, since backends use them, too. */

/* conn_qual -> TCP port: see sock.c. -EADDRINUSE when taken, -EMFILE, -ENOMEM. any: picks a
 * free one and stores it, -EADDRNOTAVAIL when there is none. */
int dap_cm_listen(struct dap_cm *cm, uint64_t *conn_qual, bool any, void *ctx,
		  struct dap_cm_listener **l);
/* No request() for it begins after this returns; requests already handed over live on. The
 * listener is dead. */
void dap_cm_unlisten(struct dap_cm_listener *l);

/* timeout_us 0xffffffff: for ever. Retries while nobody listens yet, within the timeout. */
int dap_cm_connect(struct dap_cm *cm, const struct sockaddr_in *to, uint64_t conn_qual,
		   uint32_t timeout_us, const struct dap_path *path, const void *pd,
		   uint32_t pd_size, void *ctx, struct dap_cm_conn **conn);
/* Active, within reply(): the QP is in RTS, tell the peer. */
int dap_cm_rtu(struct dap_cm_conn *conn);
/* Passive, answer to request(). -ECONNRESET when the peer has gone meanwhile. */
int dap_cm_accept(struct dap_cm_conn *conn, const struct dap_path *path, const void *pd,
		  uint32_t pd_size, void *ctx);
int dap_cm_reject(struct dap_cm_conn *conn, const void *pd, uint32_t pd_size);
/* Passive, instead of an answer: to whoever listens to conn_qual on this host, in this process or in
 * another one, which gets a request() of its own. The conn is released, unless there is an error:
 * -ENOENT, nobody of our user is known to listen; -EAGAIN, it is busy; -EMFILE. */
int dap_cm_handoff(struct dap_cm_conn *conn, uint64_t conn_qual, const struct dap_path *path,
		   const void *pd, uint32_t pd_size);
/* Passive, within ready(): the active side may go. */
int dap_cm_go(struct dap_cm_conn *conn);
/* Orderly: the peer's ended(DISCONNECTED), then ours. abrupt: ours at once. */
int dap_cm_disconnect(struct dap_cm_conn *conn, bool abrupt);
/* The peer's look(), soon; nothing where there is no connection any more, or one is on its way. */
void dap_cm_look(struct dap_cm_conn *conn);
/* The QP broke: the peer's ended(BROKEN); ours is not called. The conn is released. why: for the
 * peer's log, or NULL. */
void dap_cm_break(struct dap_cm_conn *conn, const char *why);
/* Core drops the conn: no callback about it begins after this returns (one may be running: see
 * dap_cm_sync), and the pointer is dead. A farewell under way still reaches the peer. */
void dap_cm_release(struct dap_cm_conn *conn);

#endif
