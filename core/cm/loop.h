/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.c, loop.c and acceptor.c. One loop serves all IAs of the process: one thread, one epoll
 * set, one timerfd, one lock. The lock protects everything in core/cm unless noted; the thread
 * drops it only to sleep and to call core. A fork replaces the whole state, so struct cm_loop also
 * has the lists of the upper layers.
 *
 * Between processes of one host all connections to a listener share one mux (mux.c). Muxes are
 * read by the threads that wait or poll for events (drive.c), or by the manager's thread if there
 * are none. One thread at a time owns the loop: it reads, runs timers, and calls core.
 *
 * An item may be closed while the thread still holds an event for it. So it leaves the epoll set
 * at once, and cm_free_later() frees it after that batch of events. Items that were never in the
 * thread's epoll set are freed when the owner's turn ends.
 */
#ifndef DAP_CM_LOOP_H
#define DAP_CM_LOOP_H

#include <sys/queue.h>
#include <sys/un.h>

#include "core/cm/cm.h"

struct cm_item {
	void (*ready)(struct cm_item *item, uint32_t events);
	struct cm_item *next_dead;
};

TAILQ_HEAD(cm_conns, dap_cm_conn);
LIST_HEAD(cm_locals, cm_local);

struct dap_cm {
	const struct dap_cm_ops *ops;
	union dap_addr address;
	bool everywhere;		/* the adapter listens on all addresses of the host */
	unsigned int generation;
	struct dap_cm_counts counts;
	struct cm_conns conns;
	LIST_HEAD(, dap_cm_listener) listeners;
	LIST_HEAD(, cm_watch) watches;
	LIST_ENTRY(dap_cm) link;
};

#define CM_IDS 32u		/* getrandom(2) never returns fewer than these 256 bytes */

struct cm_loop {
	pthread_mutex_t lock;
	pthread_cond_t returned;	/* a callback has returned, or a turn has ended */
	pthread_t thread;
	int cancel;			/* the cancel state of the thread between cm_enter and cm_leave */
	unsigned int users;		/* number of IAs; the thread runs while there are any */
	unsigned int generation;	/* incremented in a forked child */
	int epfd, timerfd;
	uint64_t wakes;			/* expiry of the timerfd; UINT64_MAX: not set */
	bool stop, calling;
	uint64_t calls;
	bool owned;			/* a thread owns the loop */
	pthread_t owner;
	void (*turn_ends)(void);	/* flushes the queues filled in the turn */
	bool (*spare_fd)(void);		/* closes the oldest half-open connection; false: none */
	struct dap_timer *timers;
	struct cm_item *free_later, *free_at_turn_end;
	int mux_fd;			/* epoll set of the muxes, which is itself in epfd */
	LIST_HEAD(, cm_mux) muxes;
	TAILQ_HEAD(, cm_mux) dirty;	/* muxes with data to send at the end of the turn */
	/* number of muxes; atomic, written under the lock, as is driven */
	unsigned int n_muxes;
	bool driven;			/* consumers read the muxes, not the thread */
	bool ticking, waiter;		/* the tick is set; a consumer sleeps on mux_fd */
	unsigned int other_waiters;	/* number of consumers that sleep without mux_fd */
	unsigned int polls, seen;
	struct dap_timer tick;
	LIST_HEAD(, dap_cm) cms;
	LIST_HEAD(, cm_port) ports;
	struct cm_locals locals, handoffs;
	LIST_HEAD(, cm_pending) pending;
	unsigned int n_pending;
	struct cm_conns half_open;	/* half-open connections, the oldest first */
	unsigned int half_opens;
	/* Accepted connection that is in no list yet, while another's callback may run: if that forks, the
	 * child closes its socket from here. */
	struct dap_cm_conn *entering;
	uint64_t ids[CM_IDS];		/* random ids, taken from the end */
	unsigned int n_ids;
};
extern struct cm_loop cm_loop;

/* Variables, so that a test can shorten them. */
struct cm_limits {
	unsigned int half_open, half_open_source;	/* limits; beyond them the oldest is dropped */
	unsigned int idle_muxes;	/* accepted muxes without a connection; the same holds */
	uint64_t request_us;		/* time from accept(2) to a whole REQ */
	uint64_t answer_us;		/* time from REP to RTU, and from RTU to GO */
	uint64_t linger_us;
	uint64_t young_us;		/* a refusal not older than this is reported instead of a
					 * timeout */
	uint64_t pause_us;		/* pause after accept(2) has failed */
	uint64_t idle_us;		/* idle time before the connecting side closes a mux */
	bool tcp;			/* use TCP within the host, too */
};
extern struct cm_limits cm_limits;

/* ---- heap.c: pairing heap of timers, the earliest at the root ---- */
struct dap_timer *cm_heap_add(struct dap_timer *root, struct dap_timer *t);
struct dap_timer *cm_heap_remove(struct dap_timer *root, struct dap_timer *t);

/* ---- loop.c ---- */
uint64_t cm_now(void);			/* returns the time in us; needs no lock */
/* Takes the lock, and keeps the thread from being cancelled until cm_leave. Returns false, without
 * either, if this generation was inherited by a fork. */
bool cm_enter(unsigned int generation);
void cm_leave(void);
/* Called before and after a callback: begin drops the lock, end takes it again. */
void cm_call_begin(void);
void cm_call_end(void);
int cm_poll_add(int fd, uint32_t events, struct cm_item *item);
void cm_poll_change(int fd, uint32_t events, struct cm_item *item);
/* Removes the descriptor from the epoll set and closes it; *fd becomes -1. reset: drop queued data,
 * no TIME_WAIT. */
void cm_close_fd(int *fd, bool reset);
void cm_free_later(struct cm_item *item);
void cm_free_at_turn_end(struct cm_item *item);
/* Waits until the loop has no owner, and owns it. try: returns false instead. The lock is held. */
bool cm_turn_begin(bool try);
void cm_turn_end(void);
void cm_timer_set(struct dap_timer *t, uint64_t delay_us);
void cm_timer_clear(struct dap_timer *t);
/* Open and close the epoll set and the timers, but not the thread. */
int cm_loop_open(void);
void cm_loop_close(void);
int cm_loop_run(void);			/* starts the thread */
/* Stops the thread and waits for its end; drops the lock meanwhile. */
void cm_loop_join(void);

/* ---- acceptor.c ---- */
struct cm_acceptor {			/* one listening socket */
	struct cm_item item;
	int fd;
	void (*enter)(struct cm_acceptor *acceptor, int fd);	/* takes over fd */
	struct dap_timer pause;		/* timer until accept(2) is retried */
	bool fails;			/* accept(2) has failed, and has been logged */
};

struct cm_local {			/* a local listening socket, shared by the process's listeners */
	struct cm_acceptor acceptor;
	struct sockaddr_un name;
	unsigned int users;		/* number of listeners that share it */
	uint64_t conn_qual;		/* qualifier of a handoff listener */
	union dap_addr at;		/* for a mux's listener: the address that peers use */
	LIST_ENTRY(cm_local) link;
};

/* The caller has set a->enter; the other fields are zero. share: the socket may share its port with sockets
 * that have SO_REUSEPORT; afterwards it does not have that option itself. */
int cm_acceptor_open(struct cm_acceptor *a, const struct sockaddr *at, socklen_t len, int type, bool share);
/* Closes the socket. Later frees the struct whose first member is the acceptor. */
void cm_acceptor_close(struct cm_acceptor *a);
/* Finds the socket with this name on the list, or opens one. */
int cm_local_get(struct cm_locals *list, const struct sockaddr_un *name, socklen_t len, int type,
		 void (*enter)(struct cm_acceptor *acceptor, int fd), struct cm_local **out);
void cm_local_put(struct cm_local *l);	/* l may be NULL */

#endif
