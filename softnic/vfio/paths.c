/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of files: which are of VFIO, and where those of sysfs have moved to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/vfio/front.h"

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (!path[n] || path[n] == '/');
}

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

const char *vf_moved(const char *path, char moved[PATH_MAX])
{
	static const char *const trees[] = {
		"/sys/bus/pci/devices", "/sys/bus/pci/drivers/vfio-pci", "/sys/kernel/iommu_groups",
		"/sys/class/infiniband", "/sys/class/infiniband_verbs", "/dev/vfio",
	};
	const char *root = path ? getenv("SYSFS_PATH") : NULL;

	if (!root)
		return path;
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		const char *rest = strncmp(path, "/sys", 4) == 0 ? path + 4 : path;

		if (!is_below(path, trees[i]))
			continue;
		if ((size_t)snprintf(moved, PATH_MAX, "%s%s", root, rest) >= PATH_MAX)
			return path;
		return moved;
	}
	return path;
}
