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
#include "hw_common/device.h"
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
		dap_log(DAP_LOG_EP, "a call of rdma-core or the kernel failed: %s", strerror(abs(ret)));
		return -EIO;
	}
}

int hw_errno(void)
{
	return errno ? hw_error(errno) : -EIO;
}

/*
 * libibverbs omits a device if memory, a descriptor or a library is missing for it. The kernel's
 * list tells these cases from a name that does not exist.
 */
int hw_why_not_listed(const char *device, char *why, size_t whylen)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s", hw_sysfs(), device);
	if (access(path, F_OK)) {
		snprintf(why, whylen, "there is no RDMA device %s: ibv_devices(1) lists them; "
			 "if it lists none, load the module mlx5_ib or efa",
			 device);
		return -ENODEV;
	}
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		snprintf(why, whylen, "no file descriptor is free: raise the limit with ulimit -n");
		return -EMFILE;
	}
	close(fd);
	snprintf(why, whylen, "libibverbs does not list %s: install the package "
		 "ibverbs-providers, or free memory", device);
	return -ENOMEM;
}

void hw_why_not_open(struct ibv_device *dev, int answer, char *why, size_t whylen)
{
	if (answer == EACCES || answer == EPERM)
		snprintf(why, whylen, "no permission to open /dev/infiniband/%s: add the user to its "
			 "group (often rdma), or run as root", dev->dev_name);
	else if (answer == EAGAIN)
		snprintf(why, whylen, "cannot open %s: it has failed, and its driver has not recovered it: "
			 "see dmesg, and try again later", dev->name);
	else
		snprintf(why, whylen, "cannot open %s: %s", dev->name,
			 answer ? strerror(answer) : "libibverbs gave no reason");
}
