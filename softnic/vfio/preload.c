/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C library's functions through which a program reaches VFIO and sysfs, in addition to those of
 * softnic/preload. mmap, read and poll are not replaced: the descriptor of a device is its BAR's memfd,
 * and interrupts are the program's eventfds.
 */
#include <errno.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "softnic/vfio/front.h"

#define GROUP_PATH "/dev/vfio/"

EXPORT FILE *fopen(const char *restrict path, const char *restrict mode);
EXPORT_AS(fopen) FILE *fopen64(const char *restrict path, const char *restrict mode);
EXPORT int stat(const char *restrict path, struct stat *restrict st);
EXPORT int lstat(const char *restrict path, struct stat *restrict st);
EXPORT int lstat64(const char *restrict path, struct stat64 *restrict st);
EXPORT int access(const char *path, int mode);
EXPORT ssize_t readlink(const char *restrict path, char *restrict target, size_t size);
EXPORT char *realpath(const char *restrict path, char *restrict resolved);
EXPORT DIR *opendir(const char *path);
EXPORT int close(int fd);
EXPORT ssize_t pread(int fd, void *buf, size_t n, off_t off);
EXPORT_AS(pread) ssize_t pread64(int fd, void *buf, size_t n, off64_t off);
EXPORT ssize_t pwrite(int fd, const void *buf, size_t n, off_t off);
EXPORT_AS(pwrite) ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t off);
/* Called by programs built with _FORTIFY_SOURCE. */
EXPORT ssize_t __readlink_chk(const char *restrict path, char *restrict target, size_t size, size_t room);
EXPORT char *__realpath_chk(const char *restrict path, char *restrict resolved, size_t room);
EXPORT ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t room);
EXPORT_AS(__pread_chk) ssize_t __pread64_chk(int fd, void *buf, size_t n, off64_t off, size_t room);

static bool is_container(const char *path)
{
	return path && !strcmp(path, "/dev/vfio/vfio");
}

const char *front_path(const char *path, char moved[PATH_MAX])
{
	static const char *const trees[] = {
		"/sys/bus/pci/devices", "/sys/bus/pci/drivers/vfio-pci", "/sys/kernel/iommu_groups",
		"/sys/class/infiniband", "/dev/vfio", NULL,
	};

	return pre_moved(path, trees, moved);
}

/*
 * A child has copies of the descriptors, which keep the device busy. But it has no device thread, and
 * must not use its parent's device. So in the child these descriptors are files without ioctls.
 */
static void in_child(void)
{
	vf_devices_forget();
	vf_files_forget();
	vf_unlock();
}

static pid_t owner;			/* the process that opened the files */

static int watch_forks(void)
{
	static bool watched;
	int err;

	if (watched)
		return 0;
	err = pre_open_model_once();
	if (!err)
		err = -pthread_atfork(vf_lock, vf_unlock, in_child);
	watched = !err;
	return err;
}

bool front_open(const char *path, int flags, int *ret)
{
	int index = pre_device_of(path, GROUP_PATH, VF_GROUP);
	char moved[PATH_MAX];

	if (index < 0 && !(is_container(path) && pre_device_count()))
		return false;
	*ret = -EACCES;
	if ((flags & O_ACCMODE) != O_RDWR)
		return true;
	vf_lock();
	owner = getpid();
	*ret = watch_forks();
	if (!*ret)
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

static int as_cdev(const char *path, struct stat *st, int err)
{
	int index = pre_device_of(path, GROUP_PATH, VF_GROUP);

	if (err || (index < 0 && !is_container(path)))
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

/* The result is a path below the root that replaces /sys. */
char *realpath(const char *restrict path, char *restrict resolved)
{
	char moved[PATH_MAX];

	return pre_real()->realpath(front_path(path, moved), resolved);
}

ssize_t __readlink_chk(const char *restrict path, char *restrict target, size_t size, size_t room)
{
	if (size > room)
		__builtin_trap();
	return readlink(path, target, size);
}

char *__realpath_chk(const char *restrict path, char *restrict resolved, size_t room)
{
	if (room < PATH_MAX)
		__builtin_trap();
	return realpath(path, resolved);
}

DIR *opendir(const char *path)
{
	char moved[PATH_MAX];

	return pre_real()->opendir(front_path(path, moved));
}

/* A child of vfork() shares the memory of the front, but closes descriptors of its own. */
int close(int fd)
{
	int cancel;

	if (vf_is_file(fd) && owner == getpid()) {
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		vf_lock();
		vf_file_closed(fd);
		vf_unlock();
		pthread_setcancelstate(cancel, NULL);
	}
	return pre_real()->close(fd);
}

bool front_ioctl(int fd, unsigned long request, void *arg, int *ret)
{
	struct vf_file *f;

	if (_IOC_TYPE(request) != VFIO_TYPE || !vf_any_file())
		return false;
	vf_lock();
	f = vf_file_of(fd);
	if (f)
		*ret = f->obj->kind->ioctl(f->obj, fd, request, arg);
	vf_unlock();
	return f;
}

#define CONFIG_OFFSET(off) ((uint64_t)(off) & ((UINT64_C(1) << VF_REGION_SHIFT) - 1))

static uint64_t region_of(off_t off)
{
	return (uint64_t)off >> VF_REGION_SHIFT;
}

/*
 * Finds the device that fd has at this offset, behind the region of its memory. Returns it with the
 * front's lock taken; or NULL, without the lock.
 */
static struct vf_device *lock_device(int fd, off_t off)
{
	struct vf_file *f;

	if (region_of(off) == VFIO_PCI_BAR0_REGION_INDEX || !vf_any_file())
		return NULL;
	vf_lock();
	f = vf_file_of(fd);
	if (f && f->obj->kind == &vf_device_kind)
		return (struct vf_device *)f->obj;
	vf_unlock();
	return NULL;
}

static ssize_t unlock_device(ssize_t done)
{
	vf_unlock();
	if (done >= 0)
		return done;
	errno = (int)-done;
	return -1;
}

ssize_t pread(int fd, void *buf, size_t n, off_t off)
{
	struct vf_device *dev = lock_device(fd, off);

	if (!dev)
		return pre_real()->pread(fd, buf, n, off);
	return unlock_device(region_of(off) != VFIO_PCI_CONFIG_REGION_INDEX ? -EINVAL :
			     vf_config_read(&dev->config, buf, n, CONFIG_OFFSET(off)));
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t off)
{
	struct vf_device *dev = lock_device(fd, off);

	if (!dev)
		return pre_real()->pwrite(fd, buf, n, off);
	return unlock_device(region_of(off) != VFIO_PCI_CONFIG_REGION_INDEX ? -EINVAL :
			     vf_config_write(&dev->config, buf, n, CONFIG_OFFSET(off)));
}

ssize_t __pread_chk(int fd, void *buf, size_t n, off_t off, size_t room)
{
	if (n > room)
		__builtin_trap();
	return pread(fd, buf, n, off);
}

/* Devices that were closed have been reported already. */
__attribute__((destructor)) static void at_exit(void)
{
	vf_devices_report();
}
