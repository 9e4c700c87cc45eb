/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The temporary directory. If SIGKILL ends softnic-run, the directory stays. The next softnic-run finds
 * its lock free, and removes it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softnic/run/run.h"

static const char prefix[] = "softnic-run.";

static const char *tmp(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir == '/' ? dir : "/tmp";
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static void remove_tree(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static int lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void remove_stale(void)
{
	DIR *d = opendir(tmp());
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[PATH_MAX];
		struct stat st;
		int fd;

		if (strncmp(e->d_name, prefix, sizeof(prefix) - 1) != 0)
			continue;
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", tmp(), e->d_name) >= sizeof(path))
			continue;
		if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
			continue;
		fd = lock(path);
		if (fd < 0)
			continue;
		remove_tree(path);
		close(fd);
	}
	if (d)
		closedir(d);
}

int run_dir_make(struct run_dir *dir)
{
	remove_stale();
	if ((size_t)snprintf(dir->path, sizeof(dir->path), "%s/%sXXXXXX", tmp(), prefix) >=
	    sizeof(dir->path))
		return -ENAMETOOLONG;
	for (int tries = 0; tries < 100; tries++) {
		struct stat a, b;

		if (!mkdtemp(dir->path))
			return -errno;
		dir->lock = lock(dir->path);
		if (dir->lock < 0 && errno != ENOENT && errno != EWOULDBLOCK) {
			int err = -errno;

			rmdir(dir->path);
			return err;
		}
		/* Between its creation and the lock, another softnic-run may have removed it as
		 * stale. */
		if (dir->lock >= 0 && !fstat(dir->lock, &a) && !stat(dir->path, &b) &&
		    a.st_ino == b.st_ino)
			return 0;
		if (dir->lock >= 0)
			close(dir->lock);
		memcpy(dir->path + strlen(dir->path) - 6, "XXXXXX", 6);
	}
	return -EBUSY;
}

void run_dir_remove(struct run_dir *dir)
{
	remove_tree(dir->path);
	close(dir->lock);
}
