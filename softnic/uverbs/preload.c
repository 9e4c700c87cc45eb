/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C library's names that rdma-core reaches the kernel by. Anything that does not concern our
 * device goes straight on. mmap, read and poll need no place here: the descriptor that a program
 * gets is the BAR's own memfd, and events come through pipes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include "softnic/uverbs/front.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int open(const char *path, int flags, ...);
EXPORT int open64(const char *path, int flags, ...);
EXPORT int stat(const char *restrict path, struct stat *restrict st);
EXPORT int stat64(const char *restrict path, struct stat64 *restrict st);
EXPORT int fstat(int fd, struct stat *st);
EXPORT int fstat64(int fd, struct stat64 *st);
EXPORT int access(const char *path, int mode);
EXPORT int close(int fd);
EXPORT int ioctl(int fd, unsigned long request, ...);
EXPORT int socket(int domain, int type, int protocol);
EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock);

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure under two names");

/* N of /dev/infiniband/uverbsN when it is one of ours, else -1. */
static int device_path(const char *path)
{
	static const char prefix[] = "/dev/infiniband/uverbs";
	unsigned int index;
	char end;

	if (!path || strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	if (sscanf(path + sizeof(prefix) - 1, "%2u%c", &index, &end) != 1)
		return -1;
	return index < pre_device_count() ? (int)index : -1;
}

static int fail(int err)
{
	errno = -err;
	return -1;
}

/*
 * libibverbs asks where sysfs is, other programs know. What they would read of the machine's RDMA
 * devices is in the directory that SYSFS_PATH names.
 */
static const char *sysfs_path(const char *path, char moved[PATH_MAX])
{
	static const char sys[] = "/sys", class[] = "/sys/class/infiniband";
	const char *root;

	if (!path || strncmp(path, class, sizeof(class) - 1) != 0 || !pre_device_count())
		return path;
	root = getenv("SYSFS_PATH");
	if (!root || (size_t)snprintf(moved, PATH_MAX, "%s%s", root, path + sizeof(sys) - 1) >= PATH_MAX)
		return path;
	return moved;
}

static int do_open(const char *path, int flags, mode_t mode)
{
	int index = device_path(path);
	char moved[PATH_MAX];
	int fd;

	if (index < 0)
		return pre_real()->open(sysfs_path(path, moved), flags, mode);
	fd = uv_open_device((unsigned int)index);
	return fd < 0 ? fail(fd) : fd;
}

int open(const char *path, int flags, ...)
{
	PRE_OPEN_MODE(mode, flags)
	return do_open(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
	PRE_OPEN_MODE(mode, flags)
	return do_open(path, flags | O_LARGEFILE, mode);
}

static void as_cdev(struct stat *st, unsigned int index)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(UV_MAJOR, UV_MINOR + index);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	int index = device_path(path);
	char moved[PATH_MAX];

	if (index < 0)
		return pre_real()->stat(sysfs_path(path, moved), st);
	memset(st, 0, sizeof(*st));
	as_cdev(st, (unsigned int)index);
	return 0;
}

int stat64(const char *restrict path, struct stat64 *restrict st)
{
	return stat(path, (struct stat *)st);
}

int fstat(int fd, struct stat *st)
{
	int err = pre_real()->fstat(fd, st);
	struct uv_device *dev = err ? NULL : uv_device_of(st);

	if (dev)
		as_cdev(st, dev->index);
	return err;
}

int fstat64(int fd, struct stat64 *st)
{
	return fstat(fd, (struct stat *)st);
}

int access(const char *path, int mode)
{
	char moved[PATH_MAX];

	return device_path(path) < 0 ? pre_real()->access(sysfs_path(path, moved), mode) : 0;
}

/* The last thing that a context's memory may rely on: no DMA after this. */
int close(int fd)
{
	struct uv_device *dev;
	struct uv_ctx *ctx;
	struct stat st;
	int err;

	if (!uv_any_device() || pre_real()->fstat(fd, &st))
		return pre_real()->close(fd);
	dev = uv_device_of(&st);
	if (dev && !dev->detached) {
		pthread_mutex_lock(&dev->lock);
		ctx = uv_ctx_of(dev, fd);
		if (ctx && uv_ctx_ends_with(ctx, fd))
			uv_ctx_close(ctx);
		pthread_mutex_unlock(&dev->lock);
	}
	err = pre_real()->close(fd);
	if (S_ISFIFO(st.st_mode))
		uv_closed(&st);
	return err;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct uv_device *dev;
	struct uv_ctx *ctx;
	struct stat st;
	va_list args;
	void *arg;
	int err;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (request != RDMA_VERBS_IOCTL || pre_real()->fstat(fd, &st))
		return pre_real()->ioctl(fd, request, arg);
	dev = uv_device_of(&st);
	if (!dev)
		return pre_real()->ioctl(fd, request, arg);
	if (dev->detached)
		return fail(-EIO);
	pthread_mutex_lock(&dev->lock);
	ctx = uv_ctx_of(dev, fd);
	err = ctx ? uv_ioctl(ctx, arg) : -EBADF;
	pthread_mutex_unlock(&dev->lock);
	return err ? fail(err) : 0;
}

/* Where the host has RDMA devices of its own, netlink would name them and not ours. */
int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA && pre_device_count())
		return fail(-EPROTONOSUPPORT);
	return pre_real()->socket(domain, type, protocol);
}

/*
 * libmlx5 releases a spin lock after each post and each poll: there the device gets a share of
 * the caller's time. Where it does not (MLX5_SINGLE_THREADED), the device's thread does it all.
 */
int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	int err = pre_real()->pthread_spin_unlock(lock);

	uv_pump();
	return err;
}

__attribute__((destructor)) static void at_exit(void)
{
	uv_report();
}
