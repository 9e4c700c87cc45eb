/* SPDX-License-Identifier: BSD-2-Clause */
/* The suite runs under softnic-run --vfio. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/vfio_ctl/vfio_ctl.h"

__attribute__((constructor)) static void start_again(int argc, char **argv)
{
	static const char *const options[] = { "--vfio", "--devices", "2", NULL };

	setenv("DAPL_TEST_IA", VFIO_IA, 1);
	setenv("DAPL_TEST_CHILD_IA", VFIO_CHILD_IA, 1);
	setenv("RIG_PARAMS", "gid=auto", 1);
	th_again_with(options, argc, argv);
}

static bool ends_with(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n >= m && !strcmp(path + n - m, end);
}

/* What the driver asks the machine: links of the device, and rights. Named by how the path ends. */
ssize_t readlink(const char *path, char *target, size_t size)
{
	static ssize_t (*real)(const char *, char *, size_t);

	if (!real)
		real = (ssize_t (*)(const char *, char *, size_t))dlsym(RTLD_NEXT, "readlink");
	if ((ends_with(path, "/driver") && calls_fails_named("driver")) ||
	    (ends_with(path, "/iommu_group") && calls_fails_named("iommu_group")))
		return -1;
	return real(path, target, size);
}

int access(const char *path, int mode)
{
	static int (*real)(const char *, int);

	if (!real)
		real = (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
	if ((ends_with(path, "/vfio/vfio") && calls_fails_named("container")) ||
	    (ends_with(path, "/vfio/11") && calls_fails_named("group")))
		return -1;
	return real(path, mode);
}

int vfio_fault(const char *script)
{
	int (*fault)(unsigned int, const char *) =
		(int (*)(unsigned int, const char *))dlsym(RTLD_DEFAULT, "softnic_front_fault");

	return fault ? fault(0, script) : -1;
}

/*
 * What libmlx5 asks of vfio passes here, too: pages of the host that the device may reach. It fails by
 * name alone, since libmlx5 44.0 frees a mailbox twice that could not grow while it booted the device.
 */
int ioctl(int fd, unsigned long request, ...)
{
	static int (*real)(int, unsigned long, ...);
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	if (!real)
		real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
	if (request == VFIO_IOMMU_MAP_DMA && calls_fails_named("VFIO_IOMMU_MAP_DMA"))
		return -1;
	return real(fd, request, arg);
}
