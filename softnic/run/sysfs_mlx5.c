/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel shows of a ConnectX: the function, the RDMA device and its ports. */
#include <stdio.h>

#include "softnic/run/run.h"

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
