/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The machine's RDMA devices, and in words why one of them can not be opened and what to do. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw_mlx5/m5_ctl_uverbs.h"

bool uv_name_split(const char *ia_name, char *device, size_t len, uint8_t *port)
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

/* What a driver, or firmware, without user contexts answers. */
static bool lacks_devx(struct ibv_device *dev, int answer)
{
	struct ibv_context *plain;

	if (answer != EINVAL && answer != EOPNOTSUPP)
		return false;
	plain = ibv_open_device(dev);
	if (plain)
		ibv_close_device(plain);
	return plain;
}

static void why_not_open(struct ibv_device *dev, int answer, char *why, size_t whylen)
{
	if (answer == EACCES || answer == EPERM)
		snprintf(why, whylen, "no right to open /dev/infiniband/%s: give its group (often "
			 "rdma) to the user, or run as root", dev->dev_name);
	else if (lacks_devx(dev, answer))
		snprintf(why, whylen, "%s has no DEVX: it needs Linux 4.20 or newer and firmware "
			 "with user contexts; update both", dev->name);
	else
		snprintf(why, whylen, "%s does not open: %s", dev->name, strerror(answer));
}

static int context_of(struct ibv_device *dev, struct ibv_context **ctx, char *why, size_t whylen)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *new;
	int answer;

	if (!mlx5dv_is_supported(dev)) {
		snprintf(why, whylen, "%s is no ConnectX; this provider drives no other adapter",
			 dev->name);
		return -EIO;
	}
	errno = 0;
	new = mlx5dv_open_device(dev, &attr);
	if (!new) {
		answer = errno;
		why_not_open(dev, answer, why, whylen);
		return answer ? dv_error(answer) : -EIO;
	}
	dv_fork_handle();
	*ctx = new;
	return 0;
}

/*
 * libibverbs passes over devices that it has no memory or descriptor to look at, and those that it
 * has no library for: the kernel's own list tells these cases from a name that does not exist.
 */
static int not_listed(const char *device, char *why, size_t whylen)
{
	const char *sysfs = secure_getenv("SYSFS_PATH");
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/class/infiniband/%s", sysfs ? sysfs : "/sys", device);
	if (access(path, F_OK)) {
		snprintf(why, whylen, "there is no RDMA device %s: ibv_devices(1) names those there "
			 "are; where it names none, is the module mlx5_ib loaded?", device);
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

int uv_context(const char *device, struct ibv_context **ctx, char *why, size_t whylen)
{
	struct ibv_device **list;
	int n = 0, err = -ENODEV;

	dv_enter();
	list = ibv_get_device_list(&n);
	for (int i = 0; list && i < n && err == -ENODEV; i++)
		if (!strcmp(list[i]->name, device))
			err = context_of(list[i], ctx, why, whylen);
	if (list)
		ibv_free_device_list(list);
	dv_leave();
	return err == -ENODEV ? not_listed(device, why, whylen) : err;
}

void uv_context_close(struct ibv_context *ctx)
{
	dv_enter();
	ibv_close_device(ctx);
	dv_leave();
}

static bool has_port(struct m5_ctl_uverbs *u)
{
	struct ibv_device_attr attr;

	return ibv_query_device(u->dv.ctx, &attr) || u->port_num <= attr.phys_port_cnt;
}

static int port_carries(struct m5_ctl_uverbs *u, char *why, size_t whylen)
{
	const char *name = u->dv.ctx->device->name;
	struct m5_port port;
	int err;

	if (!has_port(u)) {
		snprintf(why, whylen, "%s has no port %u", name, u->port_num);
		return -ENODEV;
	}
	err = uv_port_facts(u, &port);
	if (err == -ENETDOWN)
		snprintf(why, whylen, "port %u of %s has no RoCE v2 address: bring its network "
			 "interface up and give it an IP address", u->port_num, name);
	else if (err == -ENETUNREACH)
		snprintf(why, whylen, "port %u of %s is not in partition 0x%x: name another with "
			 "pkey= in ia_params", u->port_num, name, u->dv.params.pkey);
	else if (err)
		snprintf(why, whylen, "port %u of %s does not tell its address: %s", u->port_num,
			 name, strerror(-err));
	if (err)
		return dv_error(err);
	if (port.up)
		return 0;
	snprintf(why, whylen, "port %u of %s is down: connect it, %s", u->port_num, name,
		 port.ethernet ? "and set its network interface up (ip link)"
			       : "and have a subnet manager (opensm) run");
	return -EIO;
}

int uv_usable(struct m5_ctl_uverbs *u, char *why, size_t whylen)
{
	struct m5_dev_caps caps;
	int err = dv_new_enough(&u->dv.ctl, u->dv.ctx->device->name, &caps, why, whylen);

	if (!err)
		err = port_carries(u, why, whylen);
	return err ? err : dv_lockable(&u->dv.ctl, why, whylen);
}

static void entry(struct m5_ctl_device *dev, const char *device, unsigned int port)
{
	*dev = (struct m5_ctl_device){ .access = "devx" };
	snprintf(dev->name, sizeof(dev->name), "%.58s-%u", device, port);
}

/* A port per entry; one entry for a device that does not say how many it has. */
static size_t list_device(struct ibv_device *device, struct m5_ctl_device *devs, size_t max)
{
	struct m5_params params;
	struct ibv_device_attr attr = { .phys_port_cnt = 0 };
	struct m5_ctl_uverbs u = { .dv.ctl.ops = &uv_ops };
	struct m5_ctl_device first;
	size_t n = 0;
	int err;

	entry(&first, device->name, 1);
	dv_enter();
	err = context_of(device, &u.dv.ctx, first.why, sizeof(first.why));
	dv_leave();
	if (err) {
		if (max)
			devs[0] = first;
		return 1;
	}
	(void)m5_params_parse(NULL, &params, NULL, 0);
	u.dv.params = params;
	(void)ibv_query_device(u.dv.ctx, &attr);
	do {
		u.port_num = (uint8_t)(n + 1);
		if (n < max) {
			entry(&devs[n], device->name, u.port_num);
			uv_usable(&u, devs[n].why, sizeof(devs[n].why));
		}
	} while (++n < attr.phys_port_cnt);
	uv_context_close(u.dv.ctx);
	return n;
}

size_t uv_list(struct m5_ctl_device *devs, size_t max)
{
	struct ibv_device **list;
	size_t found = 0;
	int n = 0;

	dv_enter();
	list = ibv_get_device_list(&n);
	dv_leave();
	if (!list)
		return 0;
	for (int i = 0; i < n; i++) {
		size_t room = found < max ? max - found : 0;

		found += list_device(list[i], room ? devs + found : NULL, room);
	}
	ibv_free_device_list(list);
	return found;
}
