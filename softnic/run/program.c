/* SPDX-License-Identifier: BSD-2-Clause */
/* Detects, before the program runs, why a preload would silently fail. */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "softnic/run/run.h"

static bool find_in_path(const char *command, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");

	if (strchr(command, '/'))
		return (size_t)snprintf(path, PATH_MAX, "%s", command) < PATH_MAX;
	for (const char *p = dirs ? dirs : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");

		if ((size_t)snprintf(path, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? p : ".",
				     command) < PATH_MAX && !access(path, X_OK))
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

/* Does the program use a dynamic loader? The answer is yes for files other than ELF, such as
 * scripts. */
static bool is_dynamic(int fd)
{
	Elf64_Ehdr h;
	Elf64_Phdr p;

	if (pread(fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64)
		return true;
	for (unsigned int i = 0; i < h.e_phnum; i++) {
		off_t at = (off_t)(h.e_phoff + (Elf64_Off)i * h.e_phentsize);

		if (pread(fd, &p, sizeof(p), at) == (ssize_t)sizeof(p) && p.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static bool is_foreign(int fd)
{
	unsigned char ident[EI_NIDENT];

	return pread(fd, ident, sizeof(ident), 0) == (ssize_t)sizeof(ident) &&
		memcmp(ident, ELFMAG, SELFMAG) == 0 && ident[EI_CLASS] != ELFCLASS64;
}

/* Would exec raise privileges, so that the loader ignores LD_PRELOAD? */
static bool raises_privileges(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return true;
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getgid())
		return true;
	return geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0;
}

int run_program_check(const char *command)
{
	char path[PATH_MAX];
	int status = STATUS_CANNOT_RUN;
	int fd;

	if (!find_in_path(command, path)) {
		fprintf(stderr, "softnic-run: %s: command not found in PATH\n", command);
		return STATUS_NOT_FOUND;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;		/* a file that cannot be read may still be executable */
	if (raises_privileges(fd))
		fprintf(stderr, "softnic-run: %s is setuid, setgid or has file capabilities: the loader "
			"ignores preloaded libraries; run a copy of it without these\n",
			path);
	else if (is_foreign(fd))
		fprintf(stderr, "softnic-run: %s is not a 64-bit program, but the preloaded library is; "
			"use a 64-bit build of it\n", path);
	else if (!is_dynamic(fd))
		fprintf(stderr, "softnic-run: %s is statically linked: no library can be preloaded "
			"into it; use a dynamically linked build of it\n", path);
	else
		status = 0;
	close(fd);
	return status;
}

static int library_beside(const char *front, char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char tail[40];

	if (n < 0)
		return -errno;
	path[n] = '\0';
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return -ENOENT;
		*slash = '\0';
	}
	snprintf(tail, sizeof(tail), "/lib/softnic-%s.so", front);
	if (strlen(path) + strlen(tail) >= PATH_MAX)
		return -ENAMETOOLONG;
	strcat(path, tail);
	return access(path, R_OK) ? -errno : 0;
}

/* Finds the front in the loader's search path for this program: its run path names a multiarch
 * directory. */
static int in_search_path(const char *front, char path[PATH_MAX])
{
	Dl_serinfo size, *dirs = NULL;
	void *self = dlopen(NULL, RTLD_NOW);
	int err = -ENOENT;

	if (!self || dlinfo(self, RTLD_DI_SERINFOSIZE, &size))
		goto close_self;
	dirs = malloc(size.dls_size);
	if (!dirs || dlinfo(self, RTLD_DI_SERINFOSIZE, dirs) || dlinfo(self, RTLD_DI_SERINFO, dirs))
		goto close_self;
	for (unsigned int i = 0; err && i < dirs->dls_cnt; i++) {
		int n = snprintf(path, PATH_MAX, "%s/softnic-%s.so", dirs->dls_serpath[i].dls_name, front);

		if (n < PATH_MAX && !access(path, R_OK))
			err = 0;
	}
close_self:
	free(dirs);
	if (self)
		dlclose(self);
	return err;
}

int run_library_path(const char *front, char path[PATH_MAX])
{
	return library_beside(front, path) ? in_search_path(front, path) : 0;
}
