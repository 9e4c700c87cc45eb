/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/dap.h"
#include "hw_common/verbs.h"

int hw_error(int ret)
{
	switch (abs(ret)) {
	case 0:
		return 0;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EPERM:
	case EACCES:
	case EBUSY:
	case EAGAIN:
	case EFAULT:
		return -abs(ret);
	default:
		dap_log(DAP_LOG_EP, "the kernel's answer was: %s", strerror(abs(ret)));
		return -EIO;
	}
}

int hw_errno(void)
{
	return errno ? hw_error(errno) : -EIO;
}

bool hw_name_split(const char *ia_name, char *device, size_t len, uint8_t *port)
{
	const char *dash = strrchr(ia_name, '-');
	unsigned long n;
	char *end;

	if (!dash || dash == ia_name || (size_t)(dash - ia_name) >= len ||
	    dash[1] < '0' || dash[1] > '9')
		return false;
	n = strtoul(dash + 1, &end, 10);
	if (*end || n < 1 || n > UINT8_MAX)
		return false;
	memcpy(device, ia_name, (size_t)(dash - ia_name));
	device[dash - ia_name] = 0;
	*port = (uint8_t)n;
	return true;
}

/*
 * libibverbs passes over devices that it has no memory or descriptor to look at, and those that it
 * has no library for: the kernel's own list tells these cases from a name that does not exist.
 */
int hw_why_not_listed(const char *device, char *why, size_t whylen)
{
	const char *sysfs = secure_getenv("SYSFS_PATH");
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s", sysfs ? sysfs : "/sys", device);
	if (access(path, F_OK)) {
		snprintf(why, whylen, "there is no RDMA device %s: ibv_devices(1) names those there "
			 "are; where it names none, is the module mlx5_ib or efa loaded?",
			 device);
		return -ENODEV;
	}
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(why, whylen, "no file descriptor is left: raise the limit with ulimit -n");
		return -EMFILE;
	}
	close(fd);
	snprintf(why, whylen, "libibverbs does not know %s: is the package ibverbs-providers "
		 "installed, and memory left?", device);
	return -ENOMEM;
}

void hw_why_not_open(struct ibv_device *dev, int answer, char *why, size_t whylen)
{
	if (answer == EACCES || answer == EPERM)
		snprintf(why, whylen, "no right to open /dev/infiniband/%s: give its group (often "
			 "rdma) to the user, or run as root", dev->dev_name);
	else
		snprintf(why, whylen, "%s does not open: %s", dev->name,
			 answer ? strerror(answer) : "libibverbs does not say why");
}
