/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and links below the root that replaces /sys, and the part common to all RDMA devices. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softnic/run/run.h"
#include "softnic/vfio/names.h"

static int make_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		int err;

		*p = '\0';
		err = mkdir(path, 0700) && errno != EEXIST ? -errno : 0;
		*p = '/';
		if (err)
			return err;
	}
	return 0;
}

/* Builds the path dir/name and creates its directories. False: an error occurred. */
static bool make_path(struct run_sysfs *fs, const char *dir, const char *name, char path[PATH_MAX])
{
	if (!fs->err && snprintf(path, PATH_MAX, "%s/%s/%s", fs->root, dir, name) >= PATH_MAX)
		fs->err = -ENAMETOOLONG;
	if (!fs->err)
		fs->err = make_parents(path);
	return !fs->err;
}

void run_sysfs_put(struct run_sysfs *fs, const char *dir, const char *name, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	int fd;

	if (!make_path(fs, dir, name, path))
		return;
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0) {
		fs->err = -errno;
		return;
	}
	va_start(args, fmt);
	fs->err = vdprintf(fd, fmt, args) < 0 ? -errno : 0;
	va_end(args);
	if (close(fd) && !fs->err)
		fs->err = -errno;
}

void run_sysfs_link(struct run_sysfs *fs, const char *dir, const char *name, const char *fmt, ...)
{
	char path[PATH_MAX], target[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(target, sizeof(target), fmt, args);
	va_end(args);
	if (make_path(fs, dir, name, path) && symlink(target, path))
		fs->err = -errno;
}

void run_sysfs_put_all(struct run_sysfs *fs, const char *dir, const struct run_attribute *a, size_t n)
{
	for (size_t i = 0; i < n; i++)
		run_sysfs_put(fs, dir, a[i].name, "%s\n", a[i].value);
}

/*
 * A class lists its devices by links. The device itself is below its PCI function and links back to it;
 * some programs follow that link.
 */
static void link_class(struct run_sysfs *fs, const char *class, const char *device, const char *dir)
{
	run_sysfs_link(fs, dir, "device", "../..");
	run_sysfs_link(fs, class, device, "../../%s", dir);
}

void run_sysfs_device(struct run_sysfs *fs, const char *function, const char *device, unsigned int i,
		      const char *guid)
{
	char dir[RUN_DIR_SIZE], uverbs[20];

	snprintf(dir, sizeof(dir), "%s/infiniband/%s", function, device);
	run_sysfs_put(fs, dir, "node_guid", "%s\n", guid);
	run_sysfs_put(fs, dir, "sys_image_guid", "%s\n", guid);
	link_class(fs, "class/infiniband", device, dir);
	snprintf(uverbs, sizeof(uverbs), "uverbs%u", i);
	snprintf(dir, sizeof(dir), "%s/infiniband_verbs/%s", function, uverbs);
	run_sysfs_put(fs, dir, "ibdev", "%s\n", device);
	run_sysfs_put(fs, dir, "dev", "231:%u\n", 192 + i);
	run_sysfs_put(fs, dir, "abi_version", "1\n");
	link_class(fs, "class/infiniband_verbs", uverbs, dir);
}

void run_sysfs_function_name(unsigned int i, char dir[RUN_FUNCTION_SIZE])
{
	snprintf(dir, RUN_FUNCTION_SIZE, "devices/pci0000:00/" VF_PCI_NAME, (i + 1) & 0xff);
}
