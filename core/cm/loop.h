/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * heap.c, loop.c and acceptor.c. One loop serves all IAs of the process: one thread, one epoll set,
 * one timerfd, one lock. Everything in core/cm is under that lock unless it says otherwise; the
 * thread gives it up only to sleep and to call core. A fork replaces the whole state at once, so
 * struct cm_loop has the lists of the upper layers, too.
 *
 * Between processes of one host all connections to a listener go over one line (mux.c). Lines are
 * read by the threads that wait or poll for events (drive.c), and by the manager's thread when there
 * are none. One thread at a time has the turn: it reads, runs timers, and calls core.
 *
 * An item can be closed while the thread still has an event for it in hand. So it leaves the epoll set
 * at once, and cm_free_later() frees it when the thread has handled that batch. Items that were never
 * in the thread's epoll set are freed at the end of the turn.
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
	struct sockaddr_in address;
	bool everywhere;		/* listens on all addresses of the host */
	unsigned int generation;
	struct dap_cm_counts counts;
	struct cm_conns conns;
	LIST_HEAD(, dap_cm_listener) listeners;
	LIST_HEAD(, cm_watch) watches;
	LIST_ENTRY(dap_cm) link;
};

#define CM_IDS 32u		/* 256 bytes: getrandom(2) never returns less of those */

struct cm_loop {
	pthread_mutex_t lock;
	pthread_cond_t returned;	/* a callback has returned */
	pthread_t thread;
	unsigned int users;		/* IAs; the thread lives while there are any */
	unsigned int generation;	/* another in each forked child */
	int epfd, timerfd;
	uint64_t wakes;			/* when the timerfd goes off; UINT64_MAX: it does not */
	bool stop, calling;
	uint64_t calls;
	bool owned;			/* somebody has it: */
	pthread_t owner;
	void (*turn_ends)(void);	/* flushes the queues that the turn has filled */
	struct dap_timer *timers;
	struct cm_item *free_later, *free_at_turn_end;
	int mux_fd;			/* epoll: the lines; itself in epfd */
	LIST_HEAD(, cm_mux) muxes;
	TAILQ_HEAD(, cm_mux) dirty;	/* lines with something to send at the end of the turn */
	unsigned int n_muxes;		/* atomic, written under the lock; as the next one */
	bool driven;			/* by callers: the thread does not look at the lines */
	bool ticking, waiter;		/* it sees to it that they still do; one sleeps on mux_fd */
	unsigned int other_waiters;	/* that sleep without it */
	unsigned int polls, seen;
	struct dap_timer tick;
	LIST_HEAD(, dap_cm) cms;
	LIST_HEAD(, cm_port) ports;
	struct cm_locals locals, handoffs;
	LIST_HEAD(, cm_pending) pending;
	unsigned int n_pending;
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
	uint64_t linger_us;
	uint64_t young_us;		/* for an answer after a refusal, which holds until then */
	uint64_t pause_us;		/* no accept(2) after EMFILE */
	uint64_t idle_us;		/* a line without connections, from this side */
	bool tcp;			/* by TCP within the host, too */
};
extern struct cm_limits cm_limits;

/* ---- heap.c: pairing heap of timers, the earliest at the root ---- */
struct dap_timer *cm_heap_add(struct dap_timer *root, struct dap_timer *t);
struct dap_timer *cm_heap_remove(struct dap_timer *root, struct dap_timer *t);

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
void cm_free_later(struct cm_item *item);
void cm_free_at_turn_end(struct cm_item *item);
/* try: false where somebody else has the turn. The lock is held. */
bool cm_turn_begin(bool try);
void cm_turn_end(void);
void cm_timer_set(struct dap_timer *t, uint64_t delay_us);
void cm_timer_clear(struct dap_timer *t);
/* The epoll set and the timers, without the thread. */
int cm_loop_open(void);
void cm_loop_close(void);
int cm_loop_run(void);			/* starts the thread */
/* Stops the thread and waits until it has ended, without the lock meanwhile. */
void cm_loop_join(void);

/* ---- acceptor.c ---- */
struct cm_acceptor {			/* one listening socket */
	struct cm_item item;
	int fd;
	void (*enter)(struct cm_acceptor *acceptor, int fd);	/* whose fd is from now on */
	struct dap_timer pause;		/* accept again, after the descriptors had run out */
};

struct cm_local {			/* one by a name of this host, for all listeners of the process */
	struct cm_acceptor acceptor;
	struct sockaddr_un name;
	unsigned int users;		/* listeners */
	uint64_t conn_qual;		/* of a door */
	struct sockaddr_in at;		/* of a near one: what peers call */
	LIST_ENTRY(cm_local) link;
};

/* enter is set, the rest zero. */
int cm_acceptor_open(struct cm_acceptor *a, const struct sockaddr *at, socklen_t len, int type);
/* And frees the struct that it is the first member of, later. */
void cm_acceptor_close(struct cm_acceptor *a);
/* Finds the socket with this name on the list, or opens it. */
int cm_local_get(struct cm_locals *list, const struct sockaddr_un *name, socklen_t len, int type,
		 void (*enter)(struct cm_acceptor *acceptor, int fd), struct cm_local **out);
void cm_local_put(struct cm_local *l);	/* or NULL */

#endif
