/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that are bound to vfio-pci: each alone in its IOMMU group, by which it is opened. The
 * files below dev/vfio are what the front locks when it opens a group.
 */
#include <stdio.h>

#include "softnic/run/run.h"
#include "softnic/vfio/names.h"

static int write_group(const char *root, unsigned int group, const char *function, const char *pci)
{
	char name[128], target[128];
	int err;

	snprintf(name, sizeof(name), "kernel/iommu_groups/%u/type", group);
	err = run_sysfs_put(root, name, "DMA-FQ\n");
	if (err)
		return err;
	snprintf(name, sizeof(name), "kernel/iommu_groups/%u/devices/%s", group, pci);
	snprintf(target, sizeof(target), "../../../../%s", function);
	err = run_sysfs_link(root, name, target);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s/iommu_group", function);
	snprintf(target, sizeof(target), "../../../kernel/iommu_groups/%u", group);
	err = run_sysfs_link(root, name, target);
	if (err)
		return err;
	snprintf(name, sizeof(name), "dev/vfio/%u", group);
	return run_sysfs_put(root, name, "%s\n", pci);
}

/* As the bus and the driver list it. */
static int write_bus(const char *root, const char *function, const char *pci)
{
	char name[128], target[128];
	int err;

	snprintf(name, sizeof(name), "bus/pci/devices/%s", pci);
	snprintf(target, sizeof(target), "../../../%s", function);
	err = run_sysfs_link(root, name, target);
	if (err)
		return err;
	snprintf(name, sizeof(name), "bus/pci/drivers/vfio-pci/%s", pci);
	snprintf(target, sizeof(target), "../../../../%s", function);
	err = run_sysfs_link(root, name, target);
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s/driver", function);
	err = run_sysfs_link(root, name, "../../../bus/pci/drivers/vfio-pci");
	if (err)
		return err;
	snprintf(name, sizeof(name), "%s/driver_override", function);
	return run_sysfs_put(root, name, "vfio-pci\n");
}

int run_sysfs_write_vfio(const char *root, const struct run_adapters *adapters)
{
	const struct run_adapters none = { 0 };
	int err = run_sysfs_write(root, &none);

	if (!err)
		err = run_sysfs_put(root, "dev/vfio/vfio", "%s", "");
	for (unsigned int i = 0; i < adapters->devices && !err; i++) {
		char function[RUN_FUNCTION_SIZE], pci[VF_PCI_NAME_SIZE];

		snprintf(pci, sizeof(pci), VF_PCI_NAME, (i + 1) & 0xff);
		err = run_sysfs_function(root, i, function);
		if (!err)
			err = write_bus(root, function, pci);
		if (!err)
			err = write_group(root, VF_GROUP + i, function, pci);
	}
	return err;
}
