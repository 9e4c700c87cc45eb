/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions bound to vfio-pci, each alone in its IOMMU group. The front locks the files below dev/vfio
 * when it opens a group.
 */
#include <stdio.h>

#include "softnic/run/run.h"
#include "softnic/vfio/names.h"

static void write_group(struct run_sysfs *fs, unsigned int number, const char *function, const char *pci)
{
	char group[40], name[20];

	snprintf(group, sizeof(group), "kernel/iommu_groups/%u", number);
	run_sysfs_put(fs, group, "type", "DMA-FQ\n");
	run_sysfs_link(fs, function, "iommu_group", "../../../%s", group);
	snprintf(group, sizeof(group), "kernel/iommu_groups/%u/devices", number);
	run_sysfs_link(fs, group, pci, "../../../../%s", function);
	snprintf(name, sizeof(name), "%u", number);
	run_sysfs_put(fs, "dev/vfio", name, "%s\n", pci);
}

/* Writes the function as the bus and the driver list it. */
static void write_bus(struct run_sysfs *fs, const char *function, const char *pci)
{
	run_sysfs_link(fs, "bus/pci/devices", pci, "../../../%s", function);
	run_sysfs_link(fs, "bus/pci/drivers/vfio-pci", pci, "../../../../%s", function);
	run_sysfs_link(fs, function, "driver", "../../../bus/pci/drivers/vfio-pci");
	run_sysfs_put(fs, function, "driver_override", "vfio-pci\n");
}

void run_sysfs_vfio(struct run_sysfs *fs, unsigned int i, const struct run_adapters *adapters)
{
	char function[RUN_FUNCTION_SIZE], pci[VF_PCI_NAME_SIZE];

	(void)adapters;
	snprintf(pci, sizeof(pci), VF_PCI_NAME, (i + 1) & 0xff);
	run_sysfs_mlx5_function(fs, i, function);
	write_bus(fs, function, pci);
	write_group(fs, VF_GROUP + i, function, pci);
}
