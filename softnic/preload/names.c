/* SPDX-License-Identifier: BSD-2-Clause */
/* C library functions that both fronts replace. Calls that concern no software device go to the C
 * library. */
#include <errno.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <string.h>

#include "softnic/preload/preload.h"

EXPORT int open(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...);
EXPORT int stat64(const char *restrict path, struct stat64 *restrict st);
EXPORT int ioctl(int fd, unsigned long request, ...);
EXPORT int socket(int domain, int type, int protocol);
/* Called by programs built with _FORTIFY_SOURCE. */
EXPORT int __open_2(const char *path, int flags);
EXPORT_AS(__open_2) int __open64_2(const char *path, int flags);

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure under two names");

static int result(int ret)
{
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

static int do_open(const char *path, int flags, va_list args)
{
	char moved[PATH_MAX];
	mode_t mode = 0;
	int fd, cancel;
	bool ours;

	/* A thread that was cancelled in the front would keep its locks, and those of the model. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ours = front_open(path, flags, &fd);
	pthread_setcancelstate(cancel, NULL);
	if (ours)
		return result(fd);
	/* Only a call that may create a file has the mode argument. */
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(args, mode_t);
	return pre_real()->open(front_path(path, moved), flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = do_open(path, flags, args);
	va_end(args);
	return fd;
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = do_open(path, flags | O_LARGEFILE, args);
	va_end(args);
	return fd;
}

int __open_2(const char *path, int flags)
{
	if (__OPEN_NEEDS_MODE(flags))
		__builtin_trap();
	return open(path, flags);
}

int stat64(const char *restrict path, struct stat64 *restrict st)
{
	return stat(path, (struct stat *)st);
}

/* No cancellation point, as in the C library. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;
	int ret, cancel;
	bool ours;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ours = front_ioctl(fd, request, arg, &ret);
	pthread_setcancelstate(cancel, NULL);
	return ours ? result(ret) : pre_real()->ioctl(fd, request, arg);
}

/* Netlink is refused: on a host with RDMA devices it would list those instead of the software devices. */
int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && pre_device_count())
		return result(-EPROTONOSUPPORT);
	return pre_real()->socket(domain, type, protocol);
}

const char *pre_moved(const char *path, const char *const *trees, char moved[PATH_MAX])
{
	const char *root = path ? getenv("SYSFS_PATH") : NULL;

	for (size_t i = 0; root && trees[i]; i++) {
		const char *rest = strncmp(path, "/sys", 4) == 0 ? path + 4 : path;

		if (strncmp(path, trees[i], strlen(trees[i])) != 0)
			continue;
		return snprintf(moved, PATH_MAX, "%s%s", root, rest) < PATH_MAX ? moved : path;
	}
	return path;
}
