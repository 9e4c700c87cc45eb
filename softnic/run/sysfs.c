/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and links below the root that stands for /sys; what RDMA devices of all kinds have there. */
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

int run_sysfs_put(const char *root, const char *name, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list args;
	int fd, err;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, name) >= sizeof(path))
		return -ENAMETOOLONG;
	err = make_parents(path);
	if (err)
		return err;
	fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	va_start(args, fmt);
	err = vdprintf(fd, fmt, args) < 0 ? -errno : 0;
	va_end(args);
	if (close(fd) && !err)
		err = -errno;
	return err;
}

int run_sysfs_link(const char *root, const char *name, const char *target)
{
	char path[PATH_MAX];
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, name) >= sizeof(path))
		return -ENAMETOOLONG;
	err = make_parents(path);
	if (err)
		return err;
	return symlink(target, path) ? -errno : 0;
}

int run_sysfs_put_all(const char *root, const char *dir, const struct run_attribute *a, size_t n)
{
	char name[192];
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		snprintf(name, sizeof(name), "%s/%s", dir, a[i].name);
		err = run_sysfs_put(root, name, "%s\n", a[i].value);
	}
	return err;
}

/*
 * A class lists its devices by links; the device itself lies below its PCI function, to which it
 * links back. Some programs climb there.
 */
int run_sysfs_link_class(const char *root, const char *class, const char *device, const char *dir)
{
	char name[192], target[224];
	int err;

	snprintf(name, sizeof(name), "%s/device", dir);
	err = run_sysfs_link(root, name, "../..");
	if (err)
		return err;
	snprintf(name, sizeof(name), "class/%s/%s", class, device);
	snprintf(target, sizeof(target), "../../%s", dir);
	return run_sysfs_link(root, name, target);
}

int run_sysfs_uverbs(const char *root, const char *function, unsigned int i, const char *ibdev)
{
	char dir[128], name[192], device[20];
	int err;

	snprintf(device, sizeof(device), "uverbs%u", i);
	snprintf(dir, sizeof(dir), "%s/infiniband_verbs/%s", function, device);
	snprintf(name, sizeof(name), "%s/ibdev", dir);
	err = run_sysfs_put(root, name, "%s\n", ibdev);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s/dev", dir);
	err = run_sysfs_put(root, name, "231:%u\n", 192 + i);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s/abi_version", dir);
	err = run_sysfs_put(root, name, "1\n");
	return err ? err : run_sysfs_link_class(root, "infiniband_verbs", device, dir);
}

void run_sysfs_function_name(unsigned int i, char dir[RUN_FUNCTION_SIZE])
{
	snprintf(dir, RUN_FUNCTION_SIZE, "devices/pci0000:00/" VF_PCI_NAME, (i + 1) & 0xff);
}
