/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel shows of an EFA: an RDMA device of no known kind, whose PCI id names its age. */
#include <stdio.h>

#include "softnic/efa/sne.h"
#include "softnic/run/run.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct run_attribute pci[] = {
	{ "vendor", "0x1d0f" },
	{ "subsystem_vendor", "0x1d0f" },
	{ "revision", "0x00" },
	{ "class", "0x020000" },
	{ "numa_node", "-1" },
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

/* No libefa of Debian 12 binds a later one than efa2. */
static unsigned int device_id(const char *profile)
{
	struct softnic_efa_caps caps;

	if (sne_profile(&caps, profile))
		return 0;
	return caps.device_id < 0xefa2 ? caps.device_id : 0xefa2;
}

static int write_function(const char *root, const char *dir, unsigned int id)
{
	char name[192];
	int err = run_sysfs_put_all(root, dir, pci, COUNT(pci));

	snprintf(name, sizeof(name), "%s/device", dir);
	if (!err)
		err = run_sysfs_put(root, name, "0x%04x\n", id);
	snprintf(name, sizeof(name), "%s/subsystem_device", dir);
	if (!err)
		err = run_sysfs_put(root, name, "0x%04x\n", id);
	snprintf(name, sizeof(name), "%s/modalias", dir);
	if (!err)
		err = run_sysfs_put(root, name,
				    "pci:v00001D0Fd0000%04Xsv00001D0Fsd0000%04Xbc02sc00i00\n", id,
				    id);
	return err;
}

/* libfabric asks who drives the function. */
static int link_driver(const char *root, const char *dir)
{
	char name[192];
	int err = run_sysfs_put(root, "bus/pci/drivers/efa/bind", "\n");

	snprintf(name, sizeof(name), "%s/driver", dir);
	return err ? err : run_sysfs_link(root, name, "../../../bus/pci/drivers/efa");
}

static int write_device(const char *root, const char *function, const char *device, unsigned int i)
{
	static const char *const guids[] = { "node_guid", "sys_image_guid" };
	char dir[128], name[192];
	int err;

	snprintf(dir, sizeof(dir), "%s/infiniband/%s", function, device);
	err = run_sysfs_put_all(root, dir, ib, COUNT(ib));
	for (size_t g = 0; g < COUNT(guids) && !err; g++) {
		snprintf(name, sizeof(name), "%s/%s", dir, guids[g]);
		err = run_sysfs_put(root, name, "0000:0000:0efa:%04x\n", i + 1);
	}
	snprintf(name, sizeof(name), "%s/ports/1", dir);
	if (!err)
		err = run_sysfs_put_all(root, name, port, COUNT(port));
	return err ? err : run_sysfs_link_class(root, "infiniband", device, dir);
}

int run_sysfs_write_efa(const char *root, const struct run_adapters *adapters)
{
	int err = run_sysfs_put(root, "class/infiniband_verbs/abi_version", "6\n");

	for (unsigned int i = 0; i < adapters->devices && !err; i++) {
		char function[RUN_FUNCTION_SIZE], device[20];

		snprintf(device, sizeof(device), "efa_%u", i);
		run_sysfs_function_name(i, function);
		err = write_function(root, function, device_id(adapters->efa));
		if (!err)
			err = link_driver(root, function);
		if (!err)
			err = write_device(root, function, device, i);
		if (!err)
			err = run_sysfs_uverbs(root, function, i, device);
	}
	return err;
}
