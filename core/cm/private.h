/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the TCP connection manager. One loop serves all IAs of the process: one thread, one epoll
 * set, one timerfd, one lock. Everything below is under that lock unless it says otherwise; the
 * thread gives it up only to sleep and to call core.
 *
 * Between processes of one host all connections to a listener go over one line (mux.c). Lines are
 * read by whoever waits or polls for events (drive.c), and by the thread where nobody does. One at
 * a time has the turn: it reads, runs timers, and calls core.
 *
 * An item that is closed while the thread may have an event for it in hand is buried: it is taken
 * out of the epoll set at once, and its memory is freed when the thread has worked off that batch.
 * What lies in no epoll set of the thread's is spent instead: it is freed at the end of the turn.
 */
#ifndef DAP_CM_INT_H
#define DAP_CM_INT_H

#include <sys/queue.h>

#include "core/cm/cm.h"
#include "core/cm/sock.h"
#include "core/cm/wire.h"

struct cm_item {
	void (*ready)(struct cm_item *item, uint32_t events);
	struct cm_item *next_dead;
};

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
	CM_FAREWELL,		/* core has done with it: the queue goes out, the peer closes */
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
	bool near, by_tcp;		/* active: the way it goes, and the one to try next */
	bool refused;			/* active: by nobody listening, last time */
	bool deaf;			/* whatever still arrives is thrown away */
	bool wants_out, buried;
	bool watched;			/* has been in the thread's epoll set */
	struct cm_line *line;		/* that it goes over, instead of a socket of its own */
	struct cm_line *out_line;	/* that its queue goes out by, even once it has left the line */
	LIST_ENTRY(dap_cm_conn) line_link, hash_link;
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

/* What the two sides of a connection do differently. */
struct cm_role {
	void (*connected)(struct dap_cm_conn *c);	/* its socket is, or cannot be; active only */
	/* False: no message of this state. */
	bool (*message)(struct dap_cm_conn *c, const struct cm_msg *m);
	void (*timeout)(struct dap_cm_conn *c);
	/* See cm_conn_lost(). False: the connection is broken. */
	bool (*lost)(struct dap_cm_conn *c, int err);
};

TAILQ_HEAD(cm_conns, dap_cm_conn);
LIST_HEAD(cm_conn_list, dap_cm_conn);

/* What a connection asks of the stream that it shares with others. */
struct cm_transport {
	void (*flush)(struct dap_cm_conn *c);
	void (*leave)(struct dap_cm_conn *c);	/* see cm_line_leave() */
};

struct cm_line {
	struct cm_item item;
	const struct cm_transport *transport;
	int fd;				/* -1 once it is closed */
	const struct cm_role *passive;	/* of connections that the peer asks for; NULL: this process has called */
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
	struct dap_cm_conn *voice;	/* says what is about no connection that is there */
	LIST_ENTRY(cm_line) link;
	TAILQ_ENTRY(cm_line) dirty_link;
};

struct dap_cm_listener {
	struct dap_cm *cm;
	struct cm_port *port;
	struct cm_door *door;		/* or NULL */
	struct cm_near *near;		/* or NULL */
	uint64_t conn_qual;
	void *ctx;
	LIST_ENTRY(dap_cm_listener) link, link_cm;
};

struct cm_gate {			/* one listening socket */
	struct cm_item item;
	int fd;
	void (*enter)(struct cm_gate *gate, int fd);	/* whose fd is from now on */
	struct dap_timer pause;		/* accept again, after the descriptors had run out */
};

struct cm_port {			/* for peers */
	struct cm_gate gate;
	uint16_t port;
	struct in_addr at;
	LIST_HEAD(, dap_cm_listener) listeners;
	LIST_ENTRY(cm_port) link;
};

struct cm_near {			/* for peers of this host */
	struct cm_gate gate;
	uint16_t port;
	struct sockaddr_in at;		/* what they called */
	unsigned int users;		/* listeners */
	LIST_ENTRY(cm_near) link;
};

struct cm_door {			/* for requests that other processes hand off */
	struct cm_gate gate;
	uint64_t conn_qual;
	unsigned int users;		/* listeners */
	LIST_ENTRY(cm_door) link;
};

struct cm_guest {			/* one that came in by a door */
	struct cm_item item;
	int fd;
	uint64_t conn_qual;
	struct dap_timer timer;
	LIST_ENTRY(cm_guest) link;
};

struct cm_handed {			/* what it brought */
	int fd;
	struct sockaddr_in own, peer;
	struct cm_msg req;
	const uint8_t *rest;		/* bytes of the next message */
	uint32_t rest_len;
};

struct cm_watch {
	struct cm_item item;
	struct dap_cm *cm;
	int fd;
	void (*fn)(void *arg);
	void *arg;
	LIST_ENTRY(cm_watch) link;
};

struct dap_cm {
	const struct dap_cm_ops *ops;
	struct sockaddr_in local;
	bool everywhere;		/* listens on all addresses of the host */
	unsigned int generation;
	struct dap_cm_counts counts;
	struct cm_conns conns;
	LIST_HEAD(, dap_cm_listener) listeners;
	LIST_HEAD(, cm_watch) watches;
	LIST_ENTRY(dap_cm) link;
};

#define CM_IDS 32u		/* 256 bytes: getrandom(2) gives so many in one piece */

struct cm_loop {
	pthread_mutex_t lock;
	pthread_cond_t quiet;		/* a callback has returned */
	pthread_t thread;
	unsigned int users;		/* IAs; the thread lives while there are any */
	unsigned int generation;	/* another in each forked child */
	int epfd, timerfd;
	uint64_t wakes;			/* when the timerfd goes off; UINT64_MAX: it does not */
	bool stop, calling;
	uint64_t calls;
	bool turn;			/* somebody has it: */
	pthread_t turner;
	void (*turn_ends)(void);	/* sends what the turn has left in queues */
	struct dap_timer *timers;
	struct cm_item *dead, *spent;
	int line_fd;			/* epoll: the lines; itself in epfd */
	LIST_HEAD(, cm_line) lines;
	TAILQ_HEAD(, cm_line) dirty;	/* lines with something to send at the end of the turn */
	unsigned int n_lines;		/* atomic, written under the lock; as the next one */
	bool driven;			/* by callers: the thread does not look at the lines */
	bool ticking, sleeper;		/* it sees to it that they still do; one sleeps on line_fd */
	unsigned int rivals;		/* that sleep without it */
	unsigned int drives, seen;
	struct dap_timer tick;
	LIST_HEAD(, dap_cm) cms;
	LIST_HEAD(, cm_port) ports;
	LIST_HEAD(, cm_near) nears;
	LIST_HEAD(, cm_door) doors;
	LIST_HEAD(, cm_guest) guests;
	unsigned int n_guests;
	struct cm_conns half_open;	/* oldest first */
	unsigned int half_opens;
	uint64_t ids[CM_IDS];		/* random, drawn from the end */
	unsigned int n_ids;
};
extern struct cm_loop cm_loop;

/* Variables so that a test need not wait. */
struct cm_limits {
	unsigned int half_open, half_open_source;	/* beyond these the oldest makes room */
	uint64_t request_us;		/* from accept(2) to a whole REQ */
	uint64_t answer_us;		/* REP to RTU, RTU to GO */
	uint64_t farewell_us;
	uint64_t young_us;		/* for an answer after a refusal, which holds until then */
	uint64_t pause_us;		/* no accept(2) after EMFILE */
	uint64_t idle_us;		/* a line without connections, from this side */
	bool far;			/* by TCP within the host, too */
};
extern struct cm_limits cm_limits;

/* ---- loop.c ---- */
uint64_t cm_now(void);			/* us; any lock */
/* The lock, unless what is of that generation was inherited by a fork: false, and no lock. */
bool cm_enter(unsigned int generation);
void cm_leave(void);
/* Around a call of core from the manager's thread: gives up the lock. */
void cm_call_begin(void);
void cm_call_end(void);
int cm_poll_add(int fd, uint32_t events, struct cm_item *item);
void cm_poll_change(int fd, uint32_t events, struct cm_item *item);
/* Out of the set and closed; *fd becomes -1. reset: drop what is queued, no TIME_WAIT. */
void cm_close_fd(int *fd, bool reset);
void cm_bury(struct cm_item *item);
void cm_spend(struct cm_item *item);
/* try: false where somebody else has the turn. The lock is held. */
bool cm_turn_begin(bool try);
void cm_turn_end(void);
void cm_timer_set(struct dap_timer *t, uint64_t delay_us);
void cm_timer_clear(struct dap_timer *t);
/* The epoll set and the timers, without the thread. */
int cm_loop_open(void);
void cm_loop_close(void);
int cm_loop_run(void);			/* starts the thread */
/* Until the thread has ended; gives up the lock meanwhile. */
void cm_loop_join(void);

/* ---- heap.c: pairing heap of timers, the earliest at the root ---- */
struct dap_timer *cm_heap_add(struct dap_timer *root, struct dap_timer *t);
struct dap_timer *cm_heap_remove(struct dap_timer *root, struct dap_timer *t);

/* ---- conn.c ---- */
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
void cm_conn_heard(struct dap_cm_conn *c, const struct cm_msg *m);
/* The way to the peer is of no use any more, and closed where it is a line: err, or 0 at its end;
 * -EPROTONOSUPPORT: the first message is of another version. */
void cm_conn_lost(struct dap_cm_conn *c, int err);
/* Frees one that is buried. */
void cm_conn_free(struct dap_cm_conn *c);
/* The socket gets into the thread's epoll set. */
int cm_conn_watch(struct dap_cm_conn *c, int fd, uint32_t events);
/* Closes and buries it, telling nobody. */
void cm_conn_drop(struct dap_cm_conn *c, bool reset);
/* Core has done with it, its last message has not yet arrived. */
void cm_conn_farewell(struct dap_cm_conn *c);
/* From the manager's thread: tells core if it is to be told, then says farewell, or buries it if
 * its socket has been closed. */
void cm_conn_end(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg);
/* The same, and the socket is closed first. */
void cm_conn_cut(struct dap_cm_conn *c, enum dap_cm_end why, const struct cm_msg *msg, bool reset);
/* Closes it; the manager's thread calls cm_conn_end. Any thread. */
void cm_conn_fail(struct dap_cm_conn *c, enum dap_cm_end why);
void cm_half_open_remove(struct dap_cm_conn *c);
/* A line of the log about the peer. */
void cm_conn_log(const struct dap_cm_conn *c, const char *what);

/* ---- passive.c ---- */
extern const struct cm_role cm_passive;
void cm_passive_accepted(uint16_t port, int fd, const struct sockaddr_in *from,
			 const struct sockaddr_in *called);
/* The fd is taken. */
void cm_passive_handed(const struct cm_handed *h);

/* ---- gate.c ---- */
/* enter is set, the rest zero. */
int cm_gate_open(struct cm_gate *g, const struct sockaddr *at, socklen_t len, int type);
/* And buries what it is the beginning of. */
void cm_gate_close(struct cm_gate *g);

/* ---- handoff.c ---- */
/* One for each qualifier, whoever listens to it in this process. */
int cm_door_get(uint64_t conn_qual, struct cm_door **door);
void cm_door_put(struct cm_door *door);
void cm_guests_drop(void);

/* ---- mux.c ---- */
/* Puts the connection on the line to its peer: -errno, -ENOENT where TCP has to do. */
int cm_line_join(struct dap_cm_conn *c);
/* A line that somebody has called; the fd is taken. The role is that of the connections asked for. */
void cm_line_accepted(int fd, const struct sockaddr_in *at, const struct cm_role *passive);
/* The line knows it no more; what is queued still goes out. Its timer runs where it was the last. */
void cm_line_leave(struct dap_cm_conn *c);
void cm_lines_drop(void);
/* What the child inherited of them. */
void cm_lines_forget(void);
void cm_line_flush(struct cm_line *line);
/* All that wait for the end of the turn. */
void cm_lines_flush(void);
/* False where nothing had come. With the turn. */
bool cm_line_read(struct cm_line *line);

/* ---- drive.c ---- */
int cm_drive_start(void);
void cm_drive_stop(void);

/* ---- listen.c ---- */
void cm_listener_close(struct dap_cm_listener *l);

#endif
