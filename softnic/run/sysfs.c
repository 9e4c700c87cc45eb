/* SPDX-License-Identifier: BSD-2-Clause */
/* Files and links below the root that stands for /sys; the RDMA devices of ConnectX adapters. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
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

/* What programs read of a device. GIDs are not here: each process's device has its own. */
static const struct run_attribute pci[] = {
	{ "vendor", "0x15b3" },
	{ "device", "0x101d" },
	{ "subsystem_vendor", "0x15b3" },
	{ "subsystem_device", "0x0001" },
	{ "revision", "0x00" },
	{ "class", "0x020000" },
	{ "numa_node", "-1" },
	{ "modalias", "pci:v000015B3d0000101Dsv000015B3sd00000001bc02sc00i00" },
	{ "current_link_speed", "16.0 GT/s PCIe" },
	{ "current_link_width", "16" },
}, ib[] = {
	{ "node_type", "1: CA" },
	{ "fw_ver", "22.36.1010" },
	{ "hca_type", "MT4125" },
	{ "hw_rev", "0" },
	{ "board_id", "SOFTNIC0001" },
}, port[] = {
	{ "state", "4: ACTIVE" },
	{ "phys_state", "5: LinkUp" },
	{ "rate", "100 Gb/sec (4X EDR)" },
	{ "pkeys/0", "0xffff" },
}, ethernet[] = {
	{ "link_layer", "Ethernet" },
	{ "lid", "0x0" },
	{ "sm_lid", "0x0" },
	{ "gid_attrs/types/0", "RoCE v2" },
}, infiniband[] = {
	{ "link_layer", "InfiniBand" },
	{ "sm_lid", "0x1" },
	{ "pkeys/1", "0x8001" },
	{ "gid_attrs/types/0", "IB/RoCE v1" },
};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

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

static int write_guids(const char *root, const char *dir, unsigned int i)
{
	static const char *const guids[] = { "node_guid", "sys_image_guid" };
	char name[192];
	int err = 0;

	for (size_t g = 0; g < 2 && !err; g++) {
		snprintf(name, sizeof(name), "%s/%s", dir, guids[g]);
		err = run_sysfs_put(root, name, "5c0f:f1ce:ff00:%04x\n", i);
	}
	return err;
}

static int write_port(const char *root, const char *device, unsigned int i, unsigned int number,
		      bool is_infiniband)
{
	char dir[160], name[192];
	int err;

	snprintf(dir, sizeof(dir), "%s/ports/%u", device, number);
	err = run_sysfs_put_all(root, dir, port, COUNT(port));
	if (err)
		return err;
	if (is_infiniband)
		return run_sysfs_put_all(root, dir, infiniband, COUNT(infiniband));
	err = run_sysfs_put_all(root, dir, ethernet, COUNT(ethernet));
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s/gid_attrs/ndevs/0", dir);
	return run_sysfs_put(root, name, "enp%us0np%u\n", i + 1, number - 1);
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

static int write_device(const char *root, const char *function, const char *device, unsigned int i,
			const struct run_adapters *adapters)
{
	char dir[128];
	int err;

	snprintf(dir, sizeof(dir), "%s/infiniband/%s", function, device);
	err = run_sysfs_put_all(root, dir, ib, COUNT(ib));
	if (!err)
		err = write_guids(root, dir, i);
	for (unsigned int n = 1; n <= adapters->ports && !err; n++)
		err = write_port(root, dir, i, n, adapters->infiniband);
	return err ? err : run_sysfs_link_class(root, "infiniband", device, dir);
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

int run_sysfs_function(const char *root, unsigned int i, char dir[RUN_FUNCTION_SIZE])
{
	run_sysfs_function_name(i, dir);
	return run_sysfs_put_all(root, dir, pci, COUNT(pci));
}

int run_sysfs_write(const char *root, const struct run_adapters *adapters)
{
	int err = run_sysfs_put(root, "class/infiniband_verbs/abi_version", "6\n");

	for (unsigned int i = 0; i < adapters->devices && !err; i++) {
		char function[RUN_FUNCTION_SIZE], device[20];

		snprintf(device, sizeof(device), "mlx5_%u", i);
		err = run_sysfs_function(root, i, function);
		if (!err)
			err = write_device(root, function, device, i, adapters);
		if (!err)
			err = run_sysfs_uverbs(root, function, i, device);
	}
	return err;
}
