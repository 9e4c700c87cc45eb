/* SPDX-License-Identifier: BSD-2-Clause */
/* File names: which ones belong to VFIO, and where paths of sysfs are redirected. */
#include <string.h>

#include "softnic/vfio/front.h"

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
