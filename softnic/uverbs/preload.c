/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C library's functions through which rdma-core reaches the kernel, in addition to those of
 * softnic/preload. mmap and poll are not replaced: the program's descriptor is the BAR's memfd, and events
 * come through pipes.
 */
#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "softnic/uverbs/front.h"

#define UVERBS "/dev/infiniband/uverbs"

EXPORT int stat(const char *restrict path, struct stat *restrict st);
EXPORT int fstat(int fd, struct stat *st);
EXPORT int fstat64(int fd, struct stat64 *st);
EXPORT int access(const char *path, int mode);
EXPORT int close(int fd);
EXPORT ssize_t read(int fd, void *buf, size_t n);
/* Called by programs built with _FORTIFY_SOURCE. */
EXPORT ssize_t __read_chk(int fd, void *buf, size_t n, size_t room);
EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock);

/*
 * libibverbs gets the location of sysfs from SYSFS_PATH; other programs assume /sys. Their reads of the
 * machine's RDMA devices are redirected to that directory.
 */
const char *front_path(const char *path, char moved[PATH_MAX])
{
	static const char *const trees[] = { "/sys/class/infiniband", NULL };

	return pre_device_count() ? pre_moved(path, trees, moved) : path;
}

bool front_open(const char *path, int flags, int *ret)
{
	int index = pre_device_of(path, UVERBS, 0);

	(void)flags;
	if (index >= 0)
		*ret = uv_open_device((unsigned int)index, getenv("SOFTNIC_EFA") ? &uv_efa : &uv_mlx5);
	return index >= 0;
}

static void as_cdev(struct stat *st, unsigned int index)
{
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(UV_MAJOR, UV_MINOR + index);
}

int stat(const char *restrict path, struct stat *restrict st)
{
	int index = pre_device_of(path, UVERBS, 0);
	char moved[PATH_MAX];

	if (index < 0)
		return pre_real()->stat(front_path(path, moved), st);
	memset(st, 0, sizeof(*st));
	as_cdev(st, (unsigned int)index);
	return 0;
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

	return pre_device_of(path, UVERBS, 0) < 0 ? pre_real()->access(front_path(path, moved), mode) : 0;
}

/*
 * The program may free memory after close() returns, so the device must not access it after that.
 */
static int close_known(int fd, const struct stat *st)
{
	struct uv_device *dev = uv_device_of(st);
	struct uv_ctx *ctx;
	int err;

	if (dev && !uv_detached(dev)) {
		pthread_mutex_lock(&dev->lock);
		ctx = uv_ctx_of(dev, fd);
		if (ctx && uv_ctx_ends_with(ctx, fd))
			uv_ctx_close(ctx);
		pthread_mutex_unlock(&dev->lock);
	}
	err = pre_real()->close(fd);
	if (S_ISFIFO(st->st_mode))
		uv_closed(st);
	return err;
}

int close(int fd)
{
	struct stat st;
	int err, cancel;

	if (!uv_any_device() || pre_real()->fstat(fd, &st))
		return pre_real()->close(fd);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	err = close_known(fd, &st);
	pthread_setcancelstate(cancel, NULL);
	return err;
}

/* A read of a DEVX channel returns one event, where a read of its pipe would return all that fit. */
ssize_t read(int fd, void *buf, size_t n)
{
	struct stat st;
	int err = 0;

	if (uv_devx_any() && !pre_real()->fstat(fd, &st) && S_ISFIFO(st.st_mode))
		err = uv_before_read(&st, &n);
	if (!err)
		return pre_real()->read(fd, buf, n);
	errno = -err;
	return -1;
}

ssize_t __read_chk(int fd, void *buf, size_t n, size_t room)
{
	if (n > room)
		__builtin_trap();
	return read(fd, buf, n);
}

bool front_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	struct uv_device *dev;
	struct uv_ctx *ctx;
	struct stat st;

	if (request != RDMA_VERBS_IOCTL || pre_real()->fstat(fd, &st))
		return false;
	dev = uv_device_of(&st);
	if (!dev)
		return false;
	*ret = -EIO;
	if (uv_detached(dev))
		return true;
	pthread_mutex_lock(&dev->lock);
	ctx = uv_ctx_of(dev, fd);
	*ret = ctx ? uv_ioctl(ctx, arg) : -EBADF;
	pthread_mutex_unlock(&dev->lock);
	return true;
}

/*
 * libmlx5 releases a spin lock after each post and each poll. This front replaces that call: there the
 * caller drives the device. Without locks (MLX5_SINGLE_THREADED) only the device's thread drives it.
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
