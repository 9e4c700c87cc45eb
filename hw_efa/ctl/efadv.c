/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Lists and opens the machine's EFAs. Messages say why one cannot be opened, and what to do. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "hw_common/device.h"
#include "hw_common/near.h"
#include "hw_efa/ctl/efadv.h"

static int context_of(struct edv *dv, struct ibv_device *dev, char *why, size_t whylen)
{
	int answer;

	errno = 0;
	dv->ctx = ibv_open_device(dev);
	if (dv->ctx) {
		hw_fork_handle();
		return 0;
	}
	answer = errno;
	hw_why_not_open(dev, answer, why, whylen);
	return hw_error(answer ? answer : EIO);
}

static int open_listed(struct edv *dv, const char *device, unsigned int port, char *why,
		       size_t whylen)
{
	struct ibv_device **list;
	int n = 0, i = 0, err = -ENODEV;
	bool listed;

	hw_enter();
	list = ibv_get_device_list(&n);
	while (list && i < n && strcmp(list[i]->name, device))
		i++;
	listed = list && i < n;
	/* The kernel reports no node type for EFAs and some others; libefa recognizes EFAs. */
	if (listed && list[i]->node_type == IBV_NODE_UNSPECIFIED) {
		if (port == EDV_PORT)
			err = context_of(dv, list[i], why, whylen);
		else
			snprintf(why, whylen, "%s has no port %u: ibv_devinfo(1) lists its ports",
				 device, port);
	}
	if (list)
		ibv_free_device_list(list);
	hw_leave();
	return listed ? err : hw_why_not_listed(device, why, whylen);
}

static int watch_events(struct edv *dv, char *why, size_t whylen)
{
	int err;

	dv->ctl.async_fd = epoll_create1(EPOLL_CLOEXEC);
	err = dv->ctl.async_fd < 0 ? hw_errno() : hw_nonblocking(dv->ctx->async_fd);
	if (!err)
		err = hw_watch(dv->ctl.async_fd, dv->ctx->async_fd);
	if (err)
		snprintf(why, whylen, "cannot create an event channel on %s: %s",
			 dv->ctx->device->name, strerror(-err));
	return err;
}

static int edv_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		    size_t whylen)
{
	struct edv *dv = calloc(1, sizeof(*dv));
	char device[64];
	uint8_t port;
	int err;

	(void)params;
	if (!dv)
		return -ENOMEM;
	dv->ctl.ops = &edv_ops;
	dv->ctl.async_fd = -1;
	err = hw_device_split(ia_name, device, sizeof(device), &port, why, whylen);
	if (!err)
		err = open_listed(dv, device, port, why, whylen);
	if (!err)
		err = watch_events(dv, why, whylen);
	if (!err)
		err = edv_caps_read(dv, why, whylen);
	if (err) {
		edv_ops.close(&dv->ctl);
		return err;
	}
	dv->ctl.node = hw_near_rdma(device);
	snprintf(dv->ctl.device, sizeof(dv->ctl.device), "%s-%u", device, port);
	*ctl = &dv->ctl;
	return 0;
}

static bool list_device(const char *device, struct dapl_device *entry)
{
	struct efa_ctl *ctl;
	int err;

	*entry = (struct dapl_device){ .access = "efadv", .why = "out of memory" };
	snprintf(entry->name, sizeof(entry->name), "%.58s-%u", device, EDV_PORT);
	err = edv_open(entry->name, NULL, &ctl, entry->why, sizeof(entry->why));
	if (!err) {
		ctl->ops->close(ctl);
		entry->why[0] = '\0';
	}
	return err != -ENODEV;
}

static size_t edv_list(struct dapl_device *devs, size_t max)
{
	struct dapl_device entry;
	struct ibv_device **list;
	size_t found = 0;
	int n = 0;

	hw_enter();
	list = ibv_get_device_list(&n);
	hw_leave();
	for (int i = 0; list && i < n; i++) {
		if (!list_device(list[i]->name, &entry))
			continue;
		if (found < max)
			devs[found] = entry;
		found++;
	}
	if (list)
		ibv_free_device_list(list);
	return found;
}

const struct efa_access_kind efa_access_efadv = { .open = edv_open, .list = edv_list };
