/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's view of an EFA: an RDMA device of an unspecified type, whose PCI id gives its generation. */
#include <stdio.h>

#include "softnic/efa/nic.h"
#include "softnic/run/run.h"

static const struct run_attribute pci[] = {
	{ "vendor", "0x1d0f" },
	{ "subsystem_vendor", "0x1d0f" },
	{ "revision", "0x00" },
	{ "class", "0x020000" },
	{ "numa_node", "0" },
	{ "current_link_speed", "16.0 GT/s PCIe" },
	{ "current_link_width", "16" },
}, ib[] = {
	{ "node_type", "7: unspecified" },
	{ "fw_ver", "0.0.0.1" },
	{ "hw_rev", "0" },
}, port[] = {
	{ "state", "4: ACTIVE" },
	{ "phys_state", "5: LinkUp" },
	{ "rate", "100 Gb/sec (4X EDR)" },
	{ "link_layer", "Unspecified" },
	{ "lid", "0x0" },
	{ "sm_lid", "0x0" },
	{ "pkeys/0", "0xffff" },
	{ "gid_attrs/types/0", "IB/RoCE v1" },
};

/* The PCI id of the device. libefa of Debian 12 supports no id later than efa2. */
static unsigned int device_id(const char *profile)
{
	struct softnic_efa_caps caps;

	if (sne_profile(&caps, profile))
		return 0;
	return caps.device_id < 0xefa2 ? caps.device_id : 0xefa2;
}

static void write_function(struct run_sysfs *fs, const char *dir, unsigned int id)
{
	run_sysfs_put_all(fs, dir, pci, COUNT(pci));
	run_sysfs_put(fs, dir, "device", "0x%04x\n", id);
	run_sysfs_put(fs, dir, "subsystem_device", "0x%04x\n", id);
	run_sysfs_put(fs, dir, "modalias", "pci:v00001D0Fd0000%04Xsv00001D0Fsd0000%04Xbc02sc00i00\n", id, id);
	/* libfabric checks the name of the function's driver. */
	run_sysfs_put(fs, "bus/pci/drivers/efa", "bind", "\n");
	run_sysfs_link(fs, dir, "driver", "../../../bus/pci/drivers/efa");
}

void run_sysfs_efa(struct run_sysfs *fs, unsigned int i, const struct run_adapters *adapters)
{
	char function[RUN_FUNCTION_SIZE], device[20], guid[20], dir[RUN_DIR_SIZE];

	snprintf(device, sizeof(device), "efa_%u", i);
	snprintf(guid, sizeof(guid), "0000:0000:0efa:%04x", (i + 1) & 0xffff);
	run_sysfs_function_name(i, function);
	write_function(fs, function, device_id(adapters->efa));
	run_sysfs_device(fs, function, device, i, guid);
	snprintf(dir, sizeof(dir), "%s/infiniband/%s", function, device);
	run_sysfs_put_all(fs, dir, ib, COUNT(ib));
	snprintf(dir, sizeof(dir), "%s/infiniband/%s/ports/1", function, device);
	run_sysfs_put_all(fs, dir, port, COUNT(port));
}
