/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The machine's RDMA devices, and why one cannot be opened, with a remedy. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hw_common/address.h"
#include "hw_mlx5/ctl/uverbs.h"

/* Returns true if driver or firmware lacks user contexts: the device opens only without DEVX. */
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
	if (lacks_devx(dev, answer))
		snprintf(why, whylen, "%s has no DEVX: it needs Linux 4.20 or newer and firmware "
			 "with user contexts; update both", dev->name);
	else
		hw_why_not_open(dev, answer, why, whylen);
}

static int context_of(struct ibv_device *dev, struct ibv_context **ctx, char *why, size_t whylen)
{
	struct mlx5dv_context_attr attr = { .flags = MLX5DV_CONTEXT_FLAGS_DEVX };
	struct ibv_context *new;
	int answer;

	if (!mlx5dv_is_supported(dev)) {
		snprintf(why, whylen, "%s is not a ConnectX that libmlx5 supports: dat_info(1) lists the "
			 "adapters that this provider supports", dev->name);
		return -ENODEV;
	}
	errno = 0;
	new = mlx5dv_open_device(dev, &attr);
	if (!new) {
		answer = errno;
		why_not_open(dev, answer, why, whylen);
		return answer ? hw_error(answer) : -EIO;
	}
	hw_fork_handle();
	*ctx = new;
	return 0;
}

int uv_context(const char *device, struct ibv_context **ctx, char *why, size_t whylen)
{
	struct ibv_device **list;
	int n = 0, i = 0, err = -ENODEV;

	hw_enter();
	list = ibv_get_device_list(&n);
	while (list && i < n && strcmp(list[i]->name, device))
		i++;
	if (list && i < n)
		err = context_of(list[i], ctx, why, whylen);
	if (list)
		ibv_free_device_list(list);
	hw_leave();
	return !list || i == n ? hw_why_not_listed(device, why, whylen) : err;
}

void uv_context_close(struct ibv_context *ctx)
{
	hw_enter();
	ibv_close_device(ctx);
	hw_leave();
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
		snprintf(why, whylen, "%s has no port %u: ibv_devinfo(1) lists its ports", name, u->port_num);
		return -ENODEV;
	}
	err = uv_port_facts(u, &port);
	if (err == -ENETDOWN && u->dv.params.gid_index >= 0)
		snprintf(why, whylen, "entry %d of the GID table of port %u of %s has no RoCE v2 address: "
			 "choose another with gid_index= in ia_params, or let the provider choose",
			 u->dv.params.gid_index, u->port_num, name);
	else if (err == -ENETDOWN)
		snprintf(why, whylen, "port %u of %s has no RoCE v2 address: bring its network "
			 "interface up and give it an IP address", u->port_num, name);
	else if (err == -ENETUNREACH)
		snprintf(why, whylen, "port %u of %s is not in partition 0x%x: choose another with "
			 "pkey= in ia_params", u->port_num, name, u->dv.params.pkey);
	else if (err)
		snprintf(why, whylen, "cannot query the address of port %u of %s: %s", u->port_num,
			 name, strerror(-err));
	if (err)
		return hw_error(err);
	if (u->dv.params.has_ip) {
		err = hw_address_here(&u->dv.params.ip, why, whylen);
		if (err)
			return err;
	}
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

static void entry(struct dapl_device *dev, const struct m5_ctl_ops *ops, const char *device,
		  unsigned int port)
{
	m5_device_init(dev, ops);
	snprintf(dev->name, sizeof(dev->name), "%.58s-%u", device, port);
}

/* Lists one entry per port; one entry for a device that does not report its ports; none for other
 * devices. */
static size_t list_device(struct ibv_device *device, const struct m5_ctl_ops *ops,
			  struct dapl_device *devs, size_t max)
{
	struct ibv_device_attr attr = { .phys_port_cnt = 0 };
	struct m5_ctl_uverbs u = { .dv.ctl.ops = ops };
	struct dapl_device first;
	size_t n = 0;
	int err;

	entry(&first, ops, device->name, 1);
	hw_enter();
	err = context_of(device, &u.dv.ctx, first.why, sizeof(first.why));
	hw_leave();
	if (err == -ENODEV)
		return 0;
	if (err) {
		if (max)
			devs[0] = first;
		return 1;
	}
	snprintf(u.dv.ctl.device, sizeof(u.dv.ctl.device), "%s", device->name);
	(void)m5_params_parse(NULL, &u.dv.params, NULL, 0);
	(void)ibv_query_device(u.dv.ctx, &attr);
	do {
		u.port_num = (uint8_t)(n + 1);
		if (n < max) {
			entry(&devs[n], ops, device->name, u.port_num);
			uv_usable(&u, devs[n].why, sizeof(devs[n].why));
		}
	} while (++n < attr.phys_port_cnt);
	uv_context_close(u.dv.ctx);
	return n;
}

size_t uv_list(const struct m5_ctl_ops *ops, struct dapl_device *devs, size_t max)
{
	struct ibv_device **list;
	size_t found = 0;
	int n = 0;

	hw_enter();
	list = ibv_get_device_list(&n);
	hw_leave();
	if (!list)
		return 0;
	for (int i = 0; i < n; i++) {
		size_t room = found < max ? max - found : 0;

		found += list_device(list[i], ops, room ? devs + found : NULL, room);
	}
	ibv_free_device_list(list);
	return found;
}
