/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opens and closes the connection manager for an IA, and watches descriptors for it.
 *
 * A forked child has no manager thread, and its copies of the sockets would hide the parent's
 * death from the peers. So the child closes the copies. Inherited objects belong to an old
 * generation, and every call ignores them. The child may open IAs of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "core/thread.h"

struct cm_watch {
	struct cm_item item;
	int fd;
	void (*fn)(void *arg);
	void *arg;
	LIST_ENTRY(cm_watch) link;
};

/* Taken around cm_loop.lock by open and close: they wait for the manager's thread to start or end, and that
 * thread takes cm_loop.lock. A thread that holds cm_life must not wait for a callback: see before_fork(). */
static pthread_mutex_t cm_life = PTHREAD_MUTEX_INITIALIZER;

/* ---- Fork ---- */

/* Keeps the memory that a child inherits reachable, so that leak checkers do not report it. */
static struct cm_loop inherited;

/* Fork handlers of devices may have run before this one. They hold the locks of the devices, for which a
 * callback may wait. */
static void before_fork(void)
{
	pthread_mutex_lock(&cm_life);
	pthread_mutex_lock(&cm_loop.lock);
}

static void after_fork_parent(void)
{
	pthread_mutex_unlock(&cm_loop.lock);
	pthread_mutex_unlock(&cm_life);
}

/* Only close(2): EPOLL_CTL_DEL would remove the socket from the parent's epoll set, too. */
static void close_inherited(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_sockets(void)
{
	struct dap_cm_conn *c;
	struct cm_mux *mux;
	struct cm_pending *g;
	struct cm_local *l;
	struct cm_port *p;
	struct dap_cm *cm;

	LIST_FOREACH(cm, &cm_loop.cms, link) {
		TAILQ_FOREACH(c, &cm->conns, link)
			close_inherited(&c->fd);
	}
	TAILQ_FOREACH(c, &cm_loop.half_open, link)
		close_inherited(&c->fd);
	if (cm_loop.entering)
		close_inherited(&cm_loop.entering->fd);
	LIST_FOREACH(p, &cm_loop.ports, link)
		close_inherited(&p->acceptor.fd);
	LIST_FOREACH(l, &cm_loop.locals, link)
		close_inherited(&l->acceptor.fd);
	LIST_FOREACH(mux, &cm_loop.muxes, link) {
		close_inherited(&mux->fd);
		close_inherited(&mux->moved_fd);
	}
	LIST_FOREACH(l, &cm_loop.handoffs, link)
		close_inherited(&l->acceptor.fd);
	LIST_FOREACH(g, &cm_loop.pending, link)
		close_inherited(&g->fd);
	close_inherited(&cm_loop.epfd);
	close_inherited(&cm_loop.timerfd);
	close_inherited(&cm_loop.mux_fd);
}

static void after_fork_child(void)
{
	if (cm_loop.users) {
		close_sockets();
		inherited = cm_loop;
		cm_loop = (struct cm_loop){
			.generation = inherited.generation + 1, .epfd = -1, .timerfd = -1,
			.mux_fd = -1,
		};
		TAILQ_INIT(&cm_loop.half_open);
		TAILQ_INIT(&cm_loop.dirty);
		cm_mux_forget_all();
	}
	/* Initialize the locks instead of unlocking them: another thread of the parent may have
	 * been waiting for them. */
	pthread_mutex_init(&cm_loop.lock, NULL);
	pthread_cond_init(&cm_loop.returned, NULL);
	pthread_mutex_init(&cm_life, NULL);
}

static void fork_init(void)
{
	static bool done;

	if (!done)
		pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	done = true;
}

/* ---- The manager's thread ---- */

static int start_loop(void)
{
	int err;

	fork_init();
	cm_loop.turn_ends = cm_mux_flush_all;
	cm_loop.spare_fd = cm_half_open_spare;
	err = cm_loop_open();
	if (err)
		return err;
	err = cm_drive_start();
	if (err)
		goto err_close_loop;
	err = cm_loop_run();
	if (!err)
		return 0;
	cm_drive_stop();
err_close_loop:
	cm_loop_close();
	return err;
}

static void stop_loop(void)
{
	pthread_mutex_lock(&cm_loop.lock);
	while (!TAILQ_EMPTY(&cm_loop.half_open))
		cm_conn_drop(TAILQ_FIRST(&cm_loop.half_open), true);
	cm_pending_drop_all();
	cm_loop_join();
	cm_turn_begin(false);
	cm_mux_drop_all();
	cm_drive_stop();
	cm_turn_end();
	cm_loop_close();
	pthread_mutex_unlock(&cm_loop.lock);
}

/* ---- Open and close ---- */

int dap_cm_open(const struct dap_cm_ops *ops, const union dap_addr *local, bool everywhere,
		struct dap_cm **out)
{
	const bool unknown = dap_addr_is_any(local);
	struct dap_cm *cm = calloc(1, sizeof(*cm));
	int err = 0;

	if (!cm)
		return -ENOMEM;
	cm->ops = ops;
	cm->address = *local;
	cm->everywhere = everywhere || unknown;
	if (unknown)
		cm->address = dap_addr_v4(INADDR_LOOPBACK);
	TAILQ_INIT(&cm->conns);
	pthread_mutex_lock(&cm_life);
	if (!cm_loop.users)
		err = start_loop();
	if (err)
		goto err_unlock;
	pthread_mutex_lock(&cm_loop.lock);
	cm_loop.users++;
	cm->generation = cm_loop.generation;
	LIST_INSERT_HEAD(&cm_loop.cms, cm, link);
	pthread_mutex_unlock(&cm_loop.lock);
	pthread_mutex_unlock(&cm_life);
	*out = cm;
	return 0;

err_unlock:
	pthread_mutex_unlock(&cm_life);
	free(cm);
	return err;
}

void dap_cm_pin(void)
{
	pthread_mutex_lock(&cm_loop.lock);
	dap_thread_pin(cm_loop.thread);
	pthread_mutex_unlock(&cm_loop.lock);
}

static void watch_close(struct cm_watch *w)
{
	epoll_ctl(cm_loop.epfd, EPOLL_CTL_DEL, w->fd, NULL);
	w->fd = -1;
	LIST_REMOVE(w, link);
	cm_free_later(&w->item);
}

void dap_cm_close(struct dap_cm *cm)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!cm_enter(cm->generation))
		goto restore;
	while (!LIST_EMPTY(&cm->listeners))
		cm_listener_close(LIST_FIRST(&cm->listeners));
	while (!TAILQ_EMPTY(&cm->conns))
		cm_conn_drop(TAILQ_FIRST(&cm->conns), false);
	while (!LIST_EMPTY(&cm->watches))
		watch_close(LIST_FIRST(&cm->watches));
	cm_leave();
	dap_cm_sync(cm);
	pthread_mutex_lock(&cm_life);
	pthread_mutex_lock(&cm_loop.lock);
	LIST_REMOVE(cm, link);
	cm_loop.users--;
	pthread_mutex_unlock(&cm_loop.lock);
	if (!cm_loop.users)
		stop_loop();
	free(cm);
	pthread_mutex_unlock(&cm_life);
restore:
	pthread_setcancelstate(cancel, NULL);
}

void dap_cm_count(struct dap_cm *cm, struct dap_cm_counts *counts)
{
	*counts = (struct dap_cm_counts){ 0 };
	if (!cm_enter(cm->generation))
		return;
	*counts = cm->counts;
	cm_leave();
}

/* ---- Watched descriptors ---- */

static void watch_ready(struct cm_item *item, uint32_t events)
{
	struct cm_watch *w = (struct cm_watch *)item;

	(void)events;
	if (w->fd < 0)
		return;
	cm_call_begin();
	w->fn(w->arg);
	cm_call_end();
}

int dap_cm_watch(struct dap_cm *cm, int fd, void (*fn)(void *arg), void *arg)
{
	struct cm_watch *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	*w = (struct cm_watch){
		.item.ready = watch_ready, .fd = fd, .fn = fn, .arg = arg,
	};
	if (!cm_enter(cm->generation)) {
		free(w);
		return -ECHILD;
	}
	err = cm_poll_add(fd, EPOLLIN, &w->item);
	if (err)
		free(w);
	else
		LIST_INSERT_HEAD(&cm->watches, w, link);
	cm_leave();
	return err;
}
