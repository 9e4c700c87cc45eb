/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds, asks and reads the pages of counters. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "perf/dat_top/top.h"

#define ANSWER_MS 500			/* how long a process may take to write its page */

/* A terminal and Prometheus get only printable ASCII. */
static void clean(char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			*text = '?';
	}
}

static void report_refusal(const char *name, const char *why)
{
	char text[NAME_MAX + 1];

	strcpy(text, name);
	clean(text);
	fprintf(stderr, "dat_top: ignored " DAP_PAGE_DIR "/%s: %s\n", text, why);
}

/* The name of another user's file says nothing about that user's processes, so it is not reported. */
static bool is_ours(int dir, const char *name)
{
	struct stat st;

	return !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) && st.st_uid == geteuid();
}

/* Returns the descriptor of a page whose process lives, and its content. -1: the file is no such page. */
static int open_live(int dir, const char *name, struct top_ia *ia, bool refusals)
{
	char why[64];
	int fd = dap_page_read(dir, name, &ia->page, why, sizeof(why));

	ia->pid = fd < 0 ? -1 : dap_page_owner(fd);
	if (!ia->pid)
		dap_page_remove(dir, name);
	if (ia->pid && fd >= 0 && !dap_page_reread(fd, &ia->page))
		snprintf(why, sizeof(why), "its content keeps changing");
	if (*why && refusals)
		report_refusal(name, why);
	if (fd >= 0 && (!ia->pid || *why)) {
		close(fd);
		fd = -1;
	}
	if (ia->pid < 0)
		ia->pid = ia->page.pid;
	return fd;
}

static int add(struct top *t, int dir, const char *name, bool refusals)
{
	struct top_ia ia = { .fd = -1 }, *more;
	unsigned int pid;

	if (!dap_page_is_name(name, &pid) || !is_ours(dir, name))
		return 0;
	ia.fd = open_live(dir, name, &ia, refusals);
	if (ia.fd < 0)
		return 0;
	more = realloc(t->ia, (t->n + 1) * sizeof(*more));
	if (!more) {
		close(ia.fd);
		return -ENOMEM;
	}
	strcpy(ia.name, name);
	clean(ia.page.ia);
	clean(ia.page.provider);
	clean(ia.page.command);
	more[t->n++] = ia;
	t->ia = more;
	return 0;
}

/* O_RDWR: if the process has just closed the FIFO, a write without a reader would be a SIGPIPE. */
static void ask(int dir, struct top_ia *ia)
{
	char path[NAME_MAX + 1 + sizeof(DAP_PAGE_ASK)];
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "%s" DAP_PAGE_ASK, ia->name);
	fd = openat(dir, path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISFIFO(st.st_mode) && st.st_uid == geteuid())
		ia->asked = write(fd, "", 1) == 1 || errno == EAGAIN;
	close(fd);
}

/* Returns true if all processes have answered. */
static bool take_answers(struct top *t)
{
	bool all = true;

	for (struct top_ia *ia = t->ia; ia < t->ia + t->n; ia++) {
		struct dap_page now;

		if (!ia->asked || ia->fresh)
			continue;
		if (dap_page_reread(ia->fd, &now) && now.updated != ia->page.updated) {
			memcpy(ia->page.value, now.value, sizeof(now.value));
			ia->page.updated = now.updated;
			ia->fresh = true;
		}
		all &= ia->fresh;
	}
	return all;
}

static void wait_for_answers(struct top *t)
{
	uint64_t now = dap_now_ns(), end = now + ANSWER_MS * UINT64_C(1000000);

	while (!take_answers(t) && (now = dap_now_ns()) < end)
		usleep(1000);
	for (struct top_ia *ia = t->ia; ia < t->ia + t->n; ia++) {
		if (!ia->fresh && now > ia->page.updated)
			ia->age = (double)(now - ia->page.updated) / 1e9;
	}
}

static int by_process(const void *a, const void *b)
{
	const struct top_ia *x = a, *y = b;

	return x->pid != y->pid ? (x->pid > y->pid) - (x->pid < y->pid) : strcmp(x->name, y->name);
}

int top_read(struct top *t, bool refusals)
{
	DIR *dir = opendir(DAP_PAGE_DIR);
	const struct dirent *e;
	int err = 0;

	*t = (struct top){ .n = 0 };
	if (!dir)
		return -errno;
	while (!err && (e = readdir(dir)))
		err = add(t, dirfd(dir), e->d_name, refusals);
	for (size_t i = 0; !err && i < t->n; i++)
		ask(dirfd(dir), &t->ia[i]);
	closedir(dir);
	if (err) {
		top_free(t);
		return err;
	}
	wait_for_answers(t);
	if (t->n)
		qsort(t->ia, t->n, sizeof(*t->ia), by_process);
	return 0;
}

void top_free(struct top *t)
{
	for (size_t i = 0; i < t->n; i++)
		close(t->ia[i].fd);
	free(t->ia);
	*t = (struct top){ .n = 0 };
}
