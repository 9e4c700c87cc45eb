/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "softnic/run/run.h"

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

static int put(const char *root, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int put(const char *root, const char *name, const char *fmt, ...)
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

/* What rdma-core reads of a device. GIDs are not here: each process's device has its own. */
static const struct attribute {
	const char *name, *value;
} attributes[] = {
	{ "node_type", "1: CA" },
	{ "fw_ver", "22.36.1010" },
	{ "hca_type", "MT4125" },
	{ "hw_rev", "0" },
	{ "board_id", "SOFTNIC0001" },
	{ "device/vendor", "0x15b3" },
	{ "device/device", "0x101d" },
	{ "device/subsystem_vendor", "0x15b3" },
	{ "device/subsystem_device", "0x0001" },
	{ "device/revision", "0x00" },
	{ "device/numa_node", "-1" },
	{ "device/modalias", "pci:v000015B3d0000101Dsv000015B3sd00000001bc02sc00i00" },
	{ "ports/1/state", "4: ACTIVE" },
	{ "ports/1/phys_state", "5: LinkUp" },
	{ "ports/1/link_layer", "Ethernet" },
	{ "ports/1/lid", "0x0" },
	{ "ports/1/sm_lid", "0x0" },
	{ "ports/1/rate", "100 Gb/sec (4X EDR)" },
	{ "ports/1/pkeys/0", "0xffff" },
};

static int write_device(const char *root, unsigned int i)
{
	char name[128];
	int err = 0;

	for (size_t a = 0; a < sizeof(attributes) / sizeof(attributes[0]) && !err; a++) {
		snprintf(name, sizeof(name), "class/infiniband/mlx5_%u/%s", i, attributes[a].name);
		err = put(root, name, "%s\n", attributes[a].value);
	}
	if (!err) {
		snprintf(name, sizeof(name), "class/infiniband/mlx5_%u/node_guid", i);
		err = put(root, name, "5c0f:f1ce:ff00:%04x\n", i);
	}
	if (!err) {
		snprintf(name, sizeof(name), "class/infiniband/mlx5_%u/sys_image_guid", i);
		err = put(root, name, "5c0f:f1ce:ff00:%04x\n", i);
	}
	return err;
}

static int write_uverbs(const char *root, unsigned int i)
{
	char name[128];
	int err;

	snprintf(name, sizeof(name), "class/infiniband_verbs/uverbs%u/ibdev", i);
	err = put(root, name, "mlx5_%u\n", i);
	if (err)
		return err;
	snprintf(name, sizeof(name), "class/infiniband_verbs/uverbs%u/dev", i);
	err = put(root, name, "231:%u\n", 192 + i);
	if (err)
		return err;
	snprintf(name, sizeof(name), "class/infiniband_verbs/uverbs%u/abi_version", i);
	return put(root, name, "1\n");
}

int run_sysfs_write(const char *root, unsigned int devices)
{
	int err = put(root, "class/infiniband_verbs/abi_version", "6\n");

	for (unsigned int i = 0; i < devices && !err; i++) {
		err = write_device(root, i);
		if (!err)
			err = write_uverbs(root, i);
	}
	return err;
}
