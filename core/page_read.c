/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Readers of pages of counters: dat_top(1), and a provider that removes the pages of dead processes. A
 * page is read and not mapped: if another process truncates a mapped file, an access raises SIGBUS.
 *
 * The lock of a page belongs to its process. A process that opens its own page and closes it again loses
 * the lock, so it must not read its own pages.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/page.h"

#define TRIES 100

bool dap_page_is_name(const char *name, unsigned int *pid)
{
	unsigned int random;
	size_t len = strlen(name);
	int at = 0;

	if (len > sizeof(DAP_PAGE_ASK) && !strcmp(name + len - (sizeof(DAP_PAGE_ASK) - 1), DAP_PAGE_ASK))
		return false;
	return sscanf(name, DAP_PAGE_PREFIX "%10u.%8x.%n", pid, &random, &at) == 2 && at > 0;
}

static bool is_stopped(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static const char *refusal_of_file(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is no regular file";
	if (st->st_uid != geteuid())
		return "it belongs to another user";
	if (st->st_mode & 077)
		return "other users have access to it";
	if (st->st_size != DAP_PAGE_SIZE)
		return "it has the wrong size";
	return NULL;
}

static const char *refusal_of_page(const struct dap_page *page)
{
	if (page->magic != DAP_PAGE_MAGIC)
		return "it is no page of counters";
	if (page->version != DAP_PAGE_VERSION || page->ncounters != DAP_PAGE_NCOUNTERS)
		return "another release of dapl-direct made it";
	if (!is_stopped(page->ia, sizeof(page->ia)) || !is_stopped(page->command, sizeof(page->command)) ||
	    !is_stopped(page->provider, sizeof(page->provider)))
		return "a name in it does not end";
	return NULL;
}

bool dap_page_reread(int fd, struct dap_page *page)
{
	const off_t at = offsetof(struct dap_page, seq);
	uint32_t seq;

	for (int i = 0; i < TRIES; i++) {
		if (pread(fd, page, sizeof(*page), 0) != sizeof(*page) ||
		    pread(fd, &seq, sizeof(seq), at) != sizeof(seq))
			return false;
		if (seq == page->seq && !(seq & 1))
			return !refusal_of_page(page);
		usleep(10);
	}
	return false;
}

/* O_NONBLOCK: a FIFO of this name does not wait for its other end. */
int dap_page_read(int dir, const char *name, struct dap_page *page, char *why, size_t whylen)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	const char *refusal = NULL;
	struct stat st;

	*why = '\0';
	if (fd < 0 && errno == ENOENT)
		return -1;
	if (fd < 0 || fstat(fd, &st))
		refusal = errno == ELOOP ? "it is a symbolic link" : strerror(errno);
	else
		refusal = refusal_of_file(&st);
	if (!refusal && pread(fd, page, sizeof(*page), 0) != sizeof(*page))
		refusal = "it cannot be read";
	if (!refusal)
		refusal = refusal_of_page(page);
	if (!refusal)
		return fd;
	snprintf(why, whylen, "%s", refusal);
	if (fd >= 0)
		close(fd);
	return -1;
}

pid_t dap_page_owner(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_GETLK, &lock))
		return -1;
	if (lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}

void dap_page_remove(int dir, const char *name)
{
	char ask[NAME_MAX + 1];

	snprintf(ask, sizeof(ask), "%s" DAP_PAGE_ASK, name);
	unlinkat(dir, ask, 0);
	unlinkat(dir, name, 0);
}
