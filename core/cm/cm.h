/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TCP connection manager. Each connection has one socket, open for as long as the connection
 * lives, so that the peer's death is detected at once. Within a host all connections between two
 * processes may share one socket (mux.c). The manager has no notion of endpoints: it carries two
 * struct dap_path and private data, and reports events.
 *
 * active                         passive
 *   REQ(path, private data)  ->    request()        core: CR event
 *   reply()  <-  REP(path, pd)     dap_cm_accept    core: QP to RTS on both sides
 *   RTU  ->                        ready()          core: ESTABLISHED on the passive connect EVD
 *   established()  <-  GO          dap_cm_go        core: active ESTABLISHED; only now may it post
 *
 * All IAs of a process share one thread, which sleeps when idle. Callbacks come from it or from
 * dap_cm_drive, one at a time, with none of the manager's locks held. Functions return 0 or -errno
 * and never wait for the peer. They may be called with any lock of core held, except dap_cm_open,
 * dap_cm_close, dap_cm_sync and dap_cm_timer_close, which wait for a callback to return, and
 * dap_cm_drive, which calls callbacks. In a forked child they do nothing.
 */
#ifndef DAP_CM_H
#define DAP_CM_H

#include "core/dap.h"

struct dap_cm_conn;
struct dap_cm_listener;

enum dap_cm_end {
	DAP_CM_REJECTED,	/* the peer's consumer rejected; private data may be present */
	DAP_CM_NON_PEER_REJECTED, /* no listener before the timeout, queue full, other version */
	DAP_CM_UNREACHABLE,	/* no route or host down */
	DAP_CM_TIMED_OUT,
	DAP_CM_DISCONNECTED,	/* orderly disconnection by either side */
	DAP_CM_BROKEN,		/* the socket was lost, or the peer violated the protocol */
};

struct dap_cm_request {
	const struct dap_path *path;
	union dap_addr from;
	uint64_t conn_qual;
	const void *private_data;
	uint32_t private_data_size;
};

struct dap_cm_ops {
	/* Passive: core owns conn until accept, reject or release. A non-zero return refuses the
	 * request (NON_PEER_REJECTED at the peer), and core does not own conn. */
	int (*request)(void *listener_ctx, struct dap_cm_conn *conn,
		       const struct dap_cm_request *r);
	void (*reply)(void *conn_ctx, struct dap_cm_conn *conn, const struct dap_path *path,
		      const void *pd, uint32_t size);
	void (*ready)(void *conn_ctx, struct dap_cm_conn *conn);
	void (*established)(void *conn_ctx, struct dap_cm_conn *conn);
	/* Called once for each conn that core connected or accepted, however it ended, unless
	 * core released it before; conn is freed when this returns. A passive conn that ends
	 * before accept is not reported: accept then fails with -ECONNRESET. */
	void (*ended)(void *conn_ctx, struct dap_cm_conn *conn, enum dap_cm_end why, const void *pd,
		      uint32_t size);
	/* The peer asked for progress: poll the CQ and acknowledge. */
	void (*look)(void *conn_ctx, struct dap_cm_conn *conn);
};

/* Since the manager was opened: messages sent and received by type, consumer rejections also
 * separately, and connections by how they ended. */
struct dap_cm_counts {
	uint64_t req_tx, req_rx, rep_tx, rep_rx, rtu_tx, rtu_rx, go_tx, go_rx, rej_tx, rej_rx;
	uint64_t disc_tx, disc_rx, user_rej_tx, user_rej_rx, retries;
	uint64_t ended[DAP_CM_BROKEN + 1];
};
void dap_cm_count(struct dap_cm *cm, struct dap_cm_counts *counts);

/*
 * local: the IA's address, or INADDR_ANY if it is unknown. Listeners accept connections to this
 * address only. If everywhere is set or the address is unknown, they accept them on every address
 * of the host.
 */
int dap_cm_open(const struct dap_cm_ops *ops, const union dap_addr *local, bool everywhere,
		struct dap_cm **cm);
/* Pins the manager's thread to the CPU of dap_thread_own_cpu. A manager is open. */
void dap_cm_pin(void);
/* Closes the remaining connections at once. No callback runs after it returns. */
void dap_cm_close(struct dap_cm *cm);
/* Waits for the callback that is running, if any. After a release or unlisten and this call, the
 * caller may free what the context points to. Returns at once when called from a callback. */
void dap_cm_sync(struct dap_cm *cm);
/* For callers that wait or poll for events: handles what arrived from peers of this host,
 * instead of the manager's thread. Returns false if nothing had arrived, or if another
 * thread is handling it. */
bool dap_cm_drive(struct dap_cm *cm);
/* Called before and after such a caller sleeps. begin returns a descriptor that is readable when
 * dap_cm_drive has work, or -1 if another waiter has it. end gets what begin returned. */
int dap_cm_sleep_begin(struct dap_cm *cm);
void dap_cm_sleep_end(struct dap_cm *cm, int fd);
/* Calls fn from the manager's thread whenever fd is readable (device events), until dap_cm_close. */
int dap_cm_watch(struct dap_cm *cm, int fd, void (*fn)(void *arg), void *arg);
/* dap_cm_timer and dap_cm_timer_close are in core/dap.h, since backends use them, too. */

/* sock.c maps conn_qual to a TCP port. Returns -EADDRINUSE if it is taken, -EMFILE, -ENOMEM.
 * any: picks a free qualifier and stores it; -EADDRNOTAVAIL if there is none. */
int dap_cm_listen(struct dap_cm *cm, uint64_t *conn_qual, bool any, void *ctx,
		  struct dap_cm_listener **l);
/* No request() for it begins after this returns; requests already reported remain. Frees the
 * listener. */
void dap_cm_unlisten(struct dap_cm_listener *l);

/* timeout_us 0xffffffff: no timeout. Without a listener the attempt is repeated until then. */
int dap_cm_connect(struct dap_cm *cm, const union dap_addr *to, uint64_t conn_qual,
		   uint32_t timeout_us, const struct dap_path *path, const void *pd,
		   uint32_t pd_size, void *ctx, struct dap_cm_conn **conn);
/* Active side, within reply(): the QP is in RTS. Sends the RTU. */
int dap_cm_rtu(struct dap_cm_conn *conn);
/* Passive side: answers request(). Returns -ECONNRESET if the peer has already disconnected. */
int dap_cm_accept(struct dap_cm_conn *conn, const struct dap_path *path, const void *pd,
		  uint32_t pd_size, void *ctx);
int dap_cm_reject(struct dap_cm_conn *conn, const void *pd, uint32_t pd_size);
/* Passive, instead of an answer: passes the request to the listener for conn_qual on this host,
 * in any process, which gets its own request(). Releases conn on success. -ENOENT: no listener
 * of the same user is known; -EAGAIN: the listener is busy; -EMFILE. */
int dap_cm_handoff(struct dap_cm_conn *conn, uint64_t conn_qual, const struct dap_path *path,
		   const void *pd, uint32_t pd_size);
/* Passive side, within ready(): from now on the active side may post. */
int dap_cm_go(struct dap_cm_conn *conn);
/* Disconnects. ended(DISCONNECTED) is called first at the peer, then here; with abrupt it is called
 * here at once. */
int dap_cm_disconnect(struct dap_cm_conn *conn, bool abrupt);
/* Sends a LOOK, at which the peer calls look(). Does nothing if the connection has ended or a LOOK
 * is already queued. */
void dap_cm_look(struct dap_cm_conn *conn);
/* The QP broke: ended(BROKEN) is called at the peer, but not here. Releases conn. why: text for the
 * peer's log, or NULL. */
void dap_cm_break(struct dap_cm_conn *conn, const char *why);
/* Core drops conn: no callback for it begins after this returns, though one may be running (see
 * dap_cm_sync). conn is freed. A queued DISC still reaches the peer. */
void dap_cm_release(struct dap_cm_conn *conn);

#endif
