/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of counters of an open IA: core/page.h. An IA works without it, so a failure is only logged.
 *
 * The file gets its name when it is complete and locked. So a reader never takes a new page for that of
 * a dead process.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/barrier.h"
#include "core/clock.h"
#include "core/cm/cm.h"
#include "core/ia.h"
#include "core/page.h"

#define IA_IN_NAME 64			/* bytes of the IA's name in that of the file */

/* ---- values ---- */

/* Only the manager's thread writes, or the thread that opens the IA. */
static void write_values(struct dap_ia *ia)
{
	struct dap_page *page = core_ia(ia)->page, now = { 0 };

	dap_totals_read(ia, &now);
	__atomic_store_n(&page->seq, page->seq + 1, __ATOMIC_RELAXED);
	dap_wmb_seq_before_values();
	memcpy(page->value, now.value, sizeof(now.value));
	page->updated = dap_now_ns();
	__atomic_store_n(&page->seq, page->seq + 1, __ATOMIC_RELEASE);
}

static void on_ask(void *ia)
{
	char many[64];

	while (read(core_ia(ia)->page_ask_fd, many, sizeof(many)) == sizeof(many))
		;
	write_values(ia);
}

/* ---- pages of dead processes ---- */

static pthread_once_t cleaned = PTHREAD_ONCE_INIT;

static void clean_one(int dir, const char *name)
{
	struct dap_page page;
	unsigned int pid;
	char why[64];
	int fd;

	/* Another provider of this process may have made a page, see core/page_read.c. */
	if (!dap_page_is_name(name, &pid) || pid == (unsigned int)getpid())
		return;
	fd = dap_page_read(dir, name, &page, why, sizeof(why));
	if (fd < 0)
		return;
	if (!dap_page_owner(fd))
		dap_page_remove(dir, name);
	close(fd);
}

/* Before the first page of this process. */
static void clean(void)
{
	DIR *dir = opendir(DAP_PAGE_DIR);
	const struct dirent *e;

	while (dir && (e = readdir(dir)))
		clean_one(dirfd(dir), e->d_name);
	if (dir)
		closedir(dir);
}

/* ---- the file ---- */

static void describe_process(const struct dap_ia *ia, struct dap_page *page)
{
	*page = (struct dap_page){
		.magic = DAP_PAGE_MAGIC, .version = DAP_PAGE_VERSION, .ncounters = DAP_PAGE_NCOUNTERS,
		.pid = (int32_t)getpid(),
	};
	snprintf(page->ia, sizeof(page->ia), "%s", ia->name);
	snprintf(page->provider, sizeof(page->provider), "dapl_direct.%s",
		 ia->obj.api == DAP_API_20 ? "2.0" : "1.2");
	snprintf(page->command, sizeof(page->command), "%s", program_invocation_short_name);
}

static void make_name(const struct dap_ia *ia, char *path, size_t len)
{
	uint32_t random = 0;
	char name[IA_IN_NAME + 1];

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)dap_now_ns();
	snprintf(name, sizeof(name), "%.*s", IA_IN_NAME, ia->name);
	for (char *c = name; *c; c++) {
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			*c = '_';
	}
	snprintf(path, len, DAP_PAGE_DIR "/" DAP_PAGE_PREFIX "%u.%08x.%s", (unsigned int)getpid(), random,
		 name);
}

/* The memory is reserved: a write to a page for which the file system has no room is a SIGBUS. */
static int make_file(struct dap_page **page)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open(DAP_PAGE_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), err;
	void *at;

	if (fd < 0)
		return -errno;
	err = fchmod(fd, 0600) ? errno : posix_fallocate(fd, 0, DAP_PAGE_SIZE);
	if (!err && fcntl(fd, F_SETLK, &lock))
		err = errno;
	at = err ? MAP_FAILED : mmap(NULL, DAP_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!err && at == MAP_FAILED)
		err = errno;
	if (err) {
		close(fd);
		return -err;
	}
	*page = at;
	return fd;
}

static int make_fifo(const char *path)
{
	int fd, err;

	if (mkfifo(path, 0600))
		return -errno;
	fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	err = -errno;
	if (fd >= 0 && !fchmod(fd, 0600))
		return fd;
	if (fd >= 0) {
		err = -errno;
		close(fd);
	}
	unlink(path);
	return err;
}

/* Gives the file its name, and makes the FIFO. */
static int publish(struct core_ia *own)
{
	char ask[sizeof(own->page_path) + sizeof(DAP_PAGE_ASK)], self[48];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", own->page_fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, own->page_path, AT_SYMLINK_FOLLOW))
		return -errno;
	snprintf(ask, sizeof(ask), "%s" DAP_PAGE_ASK, own->page_path);
	own->page_ask_fd = make_fifo(ask);
	if (own->page_ask_fd < 0)
		return own->page_ask_fd;
	return dap_cm_watch(own->pub.cm, own->page_ask_fd, on_ask, own);
}

void dap_page_open(struct dap_ia *ia)
{
	struct core_ia *own = core_ia(ia);
	int err = 0;

	own->page_ask_fd = -1;
	pthread_once(&cleaned, clean);
	make_name(ia, own->page_path, sizeof(own->page_path));
	own->page_fd = make_file(&own->page);
	if (own->page_fd < 0) {
		err = own->page_fd;
	} else {
		describe_process(ia, own->page);
		write_values(ia);
		err = publish(own);
	}
	if (!err)
		return;
	dap_log(DAP_LOG_WARN, "%s: dat_top cannot see its counters: cannot make %s: %s", ia->name,
		own->page_path, dap_reason(err));
}

/* To be called after the manager has stopped watching the FIFO. */
void dap_page_close(struct dap_ia *ia)
{
	struct core_ia *own = core_ia(ia);

	if (!own->page)
		return;
	dap_page_remove(AT_FDCWD, own->page_path);
	munmap(own->page, DAP_PAGE_SIZE);
	close(own->page_fd);
	if (own->page_ask_fd >= 0)
		close(own->page_ask_fd);
	own->page = NULL;
}
