/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A forked child has no manager's thread, and copies of its sockets would hide the parent's death
 * from the peers. So the child closes them, and what it inherited is of a generation that every
 * call leaves alone. It may open IAs of its own.
 */
#include <unistd.h>

#include "core/cm/private.h"

/* Keeps what the child inherited within sight of a leak checker. */
static struct cm_loop inherited;

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

/* Only close: taking a socket out of the epoll set would take it out of the parent's. */
static void close_only(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_sockets(void)
{
	struct dap_cm_conn *c;
	struct cm_line *line;
	struct cm_guest *g;
	struct cm_near *n;
	struct cm_port *p;
	struct cm_door *d;
	struct dap_cm *cm;

	LIST_FOREACH(cm, &cm_loop.cms, link) {
		TAILQ_FOREACH(c, &cm->conns, link)
			close_only(&c->fd);
	}
	TAILQ_FOREACH(c, &cm_loop.half_open, link)
		close_only(&c->fd);
	LIST_FOREACH(p, &cm_loop.ports, link)
		close_only(&p->gate.fd);
	LIST_FOREACH(n, &cm_loop.nears, link)
		close_only(&n->gate.fd);
	LIST_FOREACH(line, &cm_loop.lines, link) {
		close_only(&line->fd);
		close_only(&line->moved_fd);
	}
	LIST_FOREACH(d, &cm_loop.doors, link)
		close_only(&d->gate.fd);
	LIST_FOREACH(g, &cm_loop.guests, link)
		close_only(&g->fd);
	close_only(&cm_loop.epfd);
	close_only(&cm_loop.timerfd);
	close_only(&cm_loop.line_fd);
}

static void after_fork_child(void)
{
	if (cm_loop.users) {
		close_sockets();
		inherited = cm_loop;
		cm_loop = (struct cm_loop){
			.generation = inherited.generation + 1, .epfd = -1, .timerfd = -1,
			.line_fd = -1,
		};
		TAILQ_INIT(&cm_loop.half_open);
		TAILQ_INIT(&cm_loop.dirty);
		cm_lines_forget();
	}
	/* Initialised rather than unlocked: another thread may have been waiting for them. */
	pthread_mutex_init(&cm_loop.lock, NULL);
	pthread_cond_init(&cm_loop.quiet, NULL);
	pthread_mutex_init(&cm_life, NULL);
}

void cm_fork_init(void)
{
	static bool done;

	if (!done)
		pthread_atfork(before_fork, after_fork_parent, after_fork_child);
	done = true;
}
