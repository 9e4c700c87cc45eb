/* SPDX-License-Identifier: BSD-2-Clause */
/* Duplicates of a descriptor. Calls that make them, such as dup(), do not pass through the fronts. */
#include "softnic/preload/preload.h"

int pre_other_fd(int fd, bool (*is_duplicate)(const void *ctx, int other), const void *ctx)
{
	DIR *dir = pre_real()->opendir("/proc/self/fd");
	struct dirent *entry;
	int found = -1;

	while (dir && found < 0 && (entry = readdir(dir))) {
		int other = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && other != fd && is_duplicate(ctx, other))
			found = other;
	}
	if (dir)
		closedir(dir);
	return found;
}
