/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C library's names by which a program comes to VFIO and to what sysfs says of PCI functions, beside
 * those of softnic/preload. mmap needs no place here: the descriptor of a device is its BAR's own
 * memfd. Nor do read and poll: interrupts are the program's eventfds.
 */
#include <errno.h>
#include <sys/sysmacros.h>

#include "softnic/vfio/front.h"

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode);
EXPORT FILE *fopen64(const char *restrict path, const char *restrict mode);
EXPORT int stat(const char *restrict path, struct stat *restrict st);
EXPORT int lstat(const char *restrict path, struct stat *restrict st);
EXPORT int lstat64(const char *restrict path, struct stat64 *restrict st);
EXPORT int access(const char *path, int mode);
EXPORT ssize_t readlink(const char *restrict path, char *restrict target, size_t size);
EXPORT char *realpath(const char *restrict path, char *restrict resolved);
EXPORT DIR *opendir(const char *path);
EXPORT int close(int fd);
EXPORT ssize_t pread(int fd, void *buf, size_t n, off_t off);
EXPORT ssize_t pread64(int fd, void *buf, size_t n, off64_t off);
EXPORT ssize_t pwrite(int fd, const void *buf, size_t n, off_t off);
EXPORT ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off);
/* What a program is compiled to that knows the size of its buffer. */
EXPORT ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t room);
EXPORT ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t off, size_t room);

bool front_open(const char *path, int flags, int *ret)
{
	int index = vf_group_path(path);
	char moved[PATH_MAX];

	if (index < 0 && !(vf_container_path(path) && pre_device_count()))
		return false;
	*ret = -EACCES;
	if ((flags & O_ACCMODE) != O_RDWR)
		return true;
	vf_lock();
	*ret = index < 0 ? vf_container_open() :
		vf_group_open(front_path(path, moved), (unsigned int)index, flags);
	vf_unlock();
	return true;
}

FILE *fopen(const char *restrict path, const char *restrict mode)
{
	char moved[PATH_MAX];

	return pre_real()->fopen(front_path(path, moved), mode);
}

FILE *fopen64(const char *restrict path, const char *restrict mode)
{
	return fopen(path, mode);
}

static int as_cdev(const char *path, struct stat *st, int err)
{
	int index = vf_group_path(path);

	if (err || (index < 0 && !vf_container_path(path)))
		return err;
	st->st_mode = S_IFCHR | 0666;
	st->st_rdev = makedev(10, 196 + (unsigned int)(index + 1));
	return 0;
}

int stat(const char *restrict path, struct stat *restrict st)
{
	char moved[PATH_MAX];

	return as_cdev(path, st, pre_real()->stat(front_path(path, moved), st));
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	char moved[PATH_MAX];

	return as_cdev(path, st, pre_real()->lstat(front_path(path, moved), st));
}

int lstat64(const char *restrict path, struct stat64 *restrict st)
{
	return lstat(path, (struct stat *)st);
}

int access(const char *path, int mode)
{
	char moved[PATH_MAX];

	return pre_real()->access(front_path(path, moved), mode);
}

ssize_t readlink(const char *restrict path, char *restrict target, size_t size)
{
	char moved[PATH_MAX];

	return pre_real()->readlink(front_path(path, moved), target, size);
}

/* The answer is a path of the tree that stands for /sys. */
char *realpath(const char *restrict path, char *restrict resolved)
{
	char moved[PATH_MAX];

	return pre_real()->realpath(front_path(path, moved), resolved);
}

DIR *opendir(const char *path)
{
	char moved[PATH_MAX];

	return pre_real()->opendir(front_path(path, moved));
}

int close(int fd)
{
	if (vf_is_file(fd)) {
		vf_lock();
		vf_file_closed(fd);
		vf_unlock();
	}
	return pre_real()->close(fd);
}

/* With the front's lock. */
static struct vf_file *file_of(int fd)
{
	struct stat st;

	return vf_any_file() && !pre_real()->fstat(fd, &st) ? vf_file_of(fd, &st) : NULL;
}

static int dispatch(const struct vf_file *f, int fd, unsigned long request, void *arg)
{
	switch (f->kind) {
	case VF_FILE_CONTAINER:
		return vf_container_ioctl(f->container, request, arg);
	case VF_FILE_GROUP:
		return vf_group_ioctl(f->group, fd, request, arg);
	default:
		return vf_device_ioctl(f->device, request, arg);
	}
}

bool front_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	struct vf_file *f;

	if (_IOC_TYPE(request) != VFIO_TYPE || !vf_any_file())
		return false;
	vf_lock();
	f = file_of(fd);
	if (f)
		*ret = dispatch(f, fd, request, arg);
	vf_unlock();
	return f;
}

/* The config space of fd, when that is what an offset so high is about. */
static bool is_config(off_t off)
{
	return (uint64_t)off >> 40 == VFIO_PCI_CONFIG_REGION_INDEX && vf_any_file();
}

ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
	ssize_t done = -1;
	struct vf_file *f;

	if (!is_config(off))
		return pre_real()->pread(fd, buf, n, off);
	vf_lock();
	f = file_of(fd);
	if (f && f->kind == VF_FILE_DEVICE)
		done = vf_config_read(f->device, buf, n, (uint64_t)off & ((UINT64_C(1) << 40) - 1));
	vf_unlock();
	return done < 0 ? pre_real()->pread(fd, buf, n, off) : done;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
	ssize_t done = -1;
	struct vf_file *f;

	if (!is_config(off))
		return pre_real()->pwrite(fd, buf, n, off);
	vf_lock();
	f = file_of(fd);
	if (f && f->kind == VF_FILE_DEVICE)
		done = vf_config_write(f->device, buf, n, (uint64_t)off & ((UINT64_C(1) << 40) - 1));
	vf_unlock();
	return done < 0 ? pre_real()->pwrite(fd, buf, n, off) : done;
}

ssize_t pread64(int fd, void *buf, size_t n, off64_t off)
{
	return pread(fd, buf, n, off);
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off)
{
	return pwrite(fd, buf, n, off);
}

ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t room)
{
	if (n > room)
		__builtin_trap();
	return pread(fd, buf, n, off);
}

ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t off, size_t room)
{
	return __pread_chk(fd, buf, n, off, room);
}

/* Of devices that are still open; the others have been reported when they were closed. */
__attribute__((destructor)) static void at_exit(void)
{
	struct vf_group *g;

	for (g = vf_group_first(); g; g = LIST_NEXT(g, link))
		if (g->dev)
			vf_device_report(g->dev);
}
