/* SPDX-License-Identifier: BSD-2-Clause */
/* File names: which ones belong to VFIO, and where paths of sysfs are redirected. */
#include <stdio.h>
#include <string.h>

#include "softnic/vfio/front.h"

int vf_group_path(const char *path)
{
	static const char prefix[] = "/dev/vfio/";
	unsigned int n;
	char end;

	if (!path || strncmp(path, prefix, sizeof(prefix) - 1) != 0)
		return -1;
	if (sscanf(path + sizeof(prefix) - 1, "%u%c", &n, &end) != 1)
		return -1;
	return n >= VF_GROUP && n < VF_GROUP + pre_device_count() ? (int)(n - VF_GROUP) : -1;
}

bool vf_container_path(const char *path)
{
	return path && !strcmp(path, "/dev/vfio/vfio");
}

const char *front_path(const char *path, char moved[PATH_MAX])
{
	static const char *const trees[] = {
		"/sys/bus/pci/devices", "/sys/bus/pci/drivers/vfio-pci", "/sys/kernel/iommu_groups",
		"/sys/class/infiniband", "/dev/vfio", NULL,
	};

	return pre_moved(path, trees, moved);
}
