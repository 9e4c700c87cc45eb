/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's view of a ConnectX: the function, the RDMA device and its ports. */
#include <stdio.h>

#include "softnic/run/run.h"

/* Attributes that programs read. The GIDs are missing: they differ between processes, since each
 * process has its own device. */
static const struct run_attribute pci[] = {
	{ "vendor", "0x15b3" },
	{ "device", "0x101d" },
	{ "subsystem_vendor", "0x15b3" },
	{ "subsystem_device", "0x0001" },
	{ "revision", "0x00" },
	{ "class", "0x020000" },
	{ "numa_node", "0" },
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
static void write_port(struct run_sysfs *fs, const char *dir, unsigned int i, unsigned int number,
		       bool is_infiniband, bool has_ip)
{
	run_sysfs_put_all(fs, dir, port, COUNT(port));
	if (is_infiniband) {
		run_sysfs_put_all(fs, dir, infiniband, COUNT(infiniband));
		return;
	}
	run_sysfs_put_all(fs, dir, ethernet, COUNT(ethernet));
	run_sysfs_put(fs, dir, "gid_attrs/ndevs/0", "enp%us0np%u\n", i + 1, number - 1);
	if (!has_ip)
		return;
	run_sysfs_put(fs, dir, "gid_attrs/types/1", "RoCE v2\n");
	run_sysfs_put(fs, dir, "gid_attrs/ndevs/1", "enp%us0np%u\n", i + 1, number - 1);
}

void run_sysfs_mlx5_function(struct run_sysfs *fs, unsigned int i, char dir[RUN_FUNCTION_SIZE])
{
	run_sysfs_function_name(i, dir);
	run_sysfs_put_all(fs, dir, pci, COUNT(pci));
}

void run_sysfs_mlx5(struct run_sysfs *fs, unsigned int i, const struct run_adapters *adapters)
{
	char function[RUN_FUNCTION_SIZE], device[20], guid[20], dir[RUN_DIR_SIZE];

	snprintf(device, sizeof(device), "mlx5_%u", i);
	snprintf(guid, sizeof(guid), "5c0f:f1ce:ff00:%04x", i & 0xffff);
	run_sysfs_mlx5_function(fs, i, function);
	run_sysfs_device(fs, function, device, i, guid);
	snprintf(dir, sizeof(dir), "%s/infiniband/%s", function, device);
	run_sysfs_put_all(fs, dir, ib, COUNT(ib));
	for (unsigned int n = 1; n <= adapters->ports; n++) {
		snprintf(dir, sizeof(dir), "%s/infiniband/%s/ports/%u", function, device, n);
		write_port(fs, dir, i, n, adapters->infiniband, adapters->ip);
	}
}
