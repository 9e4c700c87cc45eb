/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines: what connections between two processes of one host and user go over. One local stream
 * socket (near.c) carries the messages of all that this process has to one listener's port, in
 * the form that they have everywhere; the id says whose a message is. Where TCP would close a socket,
 * a line says CUT.
 *
 * What is no message ends the line and all that goes over it, as both are of one peer; a message
 * that does not belong where it is ends its connection alone. The process at the other end is of our
 * user; that is all that it is believed.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/cm/private.h"
#include "core/user.h"

#define BUCKETS 4096u		/* a power of two */
#define LAST_WORDS_MS 100
#define PASSIVE_MOST 1024u	/* lines that may be there without a connection */

static struct cm_conn_list table[BUCKETS];

/* ---- whose a message is ---- */

static struct cm_conn_list *bucket(const struct cm_line *line, uint64_t id)
{
	uint64_t key = (id ^ (uintptr_t)line) * UINT64_C(0x9e3779b97f4a7c15);

	return &table[key >> 32 & (BUCKETS - 1)];
}

struct dap_cm_conn *cm_line_find(const struct cm_line *line, uint64_t id)
{
	struct dap_cm_conn *c;

	LIST_FOREACH(c, bucket(line, id), hash_link) {
		if (c->line == line && c->id == id)
			break;
	}
	return c;
}

void cm_line_add(struct cm_line *line, struct dap_cm_conn *c)
{
	LIST_INSERT_HEAD(bucket(line, c->id), c, hash_link);
	LIST_INSERT_HEAD(&line->conns, c, line_link);
	c->line = line;
	if (!line->n_conns++)
		cm_timer_clear(&line->idle);
}

/* The caller hangs up first: a request that crosses it would have to be made again. */
static uint64_t idle_us(const struct cm_line *line)
{
	return line->active ? cm_limits.idle_us : cm_limits.request_us;
}

void cm_line_leave(struct dap_cm_conn *c)
{
	struct cm_line *line = c->line;

	if (!line)
		return;
	LIST_REMOVE(c, hash_link);
	LIST_REMOVE(c, line_link);
	c->line = NULL;
	if (!--line->n_conns && line->fd >= 0)
		cm_timer_set(&line->idle, idle_us(line));
}

/* ---- life ---- */

static void line_close(struct cm_line *line)
{
	cm_timer_clear(&line->idle);
	epoll_ctl(cm_loop.line_fd, EPOLL_CTL_DEL, line->fd, NULL);
	close(line->fd);
	line->fd = -1;
	if (line->moved_fd >= 0)
		close(line->moved_fd);
	line->moved_fd = -1;
	if (line->dirty)
		TAILQ_REMOVE(&cm_loop.dirty, line, dirty_link);
	line->dirty = false;
	LIST_REMOVE(line, link);
	__atomic_sub_fetch(&cm_loop.n_lines, 1, __ATOMIC_RELAXED);
	cm_line_unqueue_all(line);
}

void cm_line_lose(struct cm_line *line, int err)
{
	struct dap_cm_conn *c;

	if (line->fd < 0)
		return;
	if (err == -EPROTO)
		dap_log(DAP_LOG_WARN, "a process of this host is cut off: it says what no manager does");
	line_close(line);
	while ((c = LIST_FIRST(&line->conns)) != NULL) {
		cm_line_leave(c);
		cm_conn_lost(c, err);
	}
	cm_spend(&line->voice->item);
	cm_spend(&line->item);
}

static void line_idle(void *arg)
{
	cm_line_lose(arg, 0);
}

static struct cm_line *line_new(int fd, const struct sockaddr_in *at, bool active)
{
	struct cm_line *line = calloc(1, sizeof(*line));
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = line };

	if (!line)
		return NULL;
	line->voice = cm_conn_new(CM_ENDED);
	if (!line->voice || epoll_ctl(cm_loop.line_fd, EPOLL_CTL_ADD, fd, &ev)) {
		free(line->voice);
		free(line);
		return NULL;
	}
	line->voice->line = line;
	line->fd = fd;
	line->moved_fd = -1;
	line->at = *at;
	line->active = active;
	LIST_INIT(&line->conns);
	TAILQ_INIT(&line->out);
	line->idle = (struct dap_timer){ .fn = line_idle, .arg = line, .inside = true };
	LIST_INSERT_HEAD(&cm_loop.lines, line, link);
	__atomic_add_fetch(&cm_loop.n_lines, 1, __ATOMIC_RELAXED);
	return line;
}

/* A farewell is worth a moment to peers that are slow to read. */
static void say_last_words(struct cm_line *line)
{
	struct pollfd room = { .fd = line->fd, .events = POLLOUT };

	cm_line_flush(line);
	while (!TAILQ_EMPTY(&line->out) && poll(&room, 1, LAST_WORDS_MS) == 1)
		cm_line_flush(line);
}

void cm_lines_drop(void)
{
	struct cm_line *line;

	while ((line = LIST_FIRST(&cm_loop.lines)) != NULL) {
		say_last_words(line);
		cm_line_lose(line, 0);
	}
}

void cm_lines_forget(void)
{
	memset(table, 0, sizeof(table));
}

/* ---- the one that calls ---- */

static struct cm_line *line_to(const struct sockaddr_in *at)
{
	struct cm_line *line;

	LIST_FOREACH(line, &cm_loop.lines, link) {
		if (line->active && !line->stale && line->at.sin_port == at->sin_port &&
		    line->at.sin_addr.s_addr == at->sin_addr.s_addr)
			break;
	}
	return line;
}

static int line_open(const struct sockaddr_in *at, struct cm_line **out)
{
	int fd = cm_near_connect(at);

	if (fd < 0)
		return fd;
	*out = line_new(fd, at, true);
	if (*out)
		return 0;
	close(fd);
	return -ENOMEM;
}

int cm_line_join(struct dap_cm_conn *c)
{
	struct cm_line *line = line_to(&c->peer);
	int err = 0;

	if (cm_limits.far || c->out_line)
		return cm_limits.far ? -ENOENT : -EAGAIN;
	if (!line)
		err = line_open(&c->peer, &line);
	if (!err)
		cm_line_add(line, c);
	return err;
}

/* ---- the one that is called ---- */

static void make_room(void)
{
	struct cm_line *line, *oldest = NULL;
	unsigned int idle = 0;

	if (cm_loop.n_lines < PASSIVE_MOST)
		return;
	LIST_FOREACH(line, &cm_loop.lines, link) {
		if (line->active || line->n_conns)
			continue;
		idle++;
		oldest = line;		/* new ones come in front */
	}
	if (idle >= PASSIVE_MOST)
		cm_line_lose(oldest, 0);
}

void cm_line_accepted(int fd, const struct sockaddr_in *at)
{
	struct cm_line *line;

	make_room();
	line = dap_user_is_ours(fd) ? line_new(fd, at, false) : NULL;
	if (!line) {
		close(fd);
		return;
	}
	cm_timer_set(&line->idle, idle_us(line));
	cm_line_read(line);		/* the first requests are usually there already */
}
