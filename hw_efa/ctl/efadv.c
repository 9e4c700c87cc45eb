/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* The machine's EFAs: listed, opened, and in words why one of them can not be opened and what to do. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "hw_common/device.h"
#include "hw_efa/ctl/efadv.h"

static int find_queries(struct edv_queries *q, char *why, size_t whylen)
{
	union {
		void *found;
		__typeof__(q->wqs) wqs;
		__typeof__(q->cq) cq;
	} wqs = { dlsym(RTLD_DEFAULT, "efadv_query_qp_wqs") },
	  cq = { dlsym(RTLD_DEFAULT, "efadv_query_cq") };

	if (!wqs.found || !cq.found) {
		snprintf(why, whylen, "libefa has no %s: install rdma-core 59 or newer (60 to sleep "
			 "in waits), as AWS's EFA installer does",
			 wqs.found ? "efadv_query_cq" : "efadv_query_qp_wqs");
		return -EOPNOTSUPP;
	}
	*q = (struct edv_queries){ wqs.wqs, cq.cq };
	return 0;
}

/* The kernel tells no kind of these nodes, nor of a few others; libefa knows which are its. */
static bool may_be_efa(const struct ibv_device *dev)
{
	return dev->node_type == IBV_NODE_UNSPECIFIED;
}

static bool is_efa(struct ibv_context *ctx)
{
	struct efadv_device_attr attr;

	return efadv_query_device(ctx, &attr, sizeof(attr)) != EOPNOTSUPP;
}

static int context_of(struct edv *dv, struct ibv_device *dev, char *why, size_t whylen)
{
	int err = -ENODEV, answer;

	errno = 0;
	dv->ctx = ibv_open_device(dev);
	if (!dv->ctx) {
		answer = errno;
		hw_why_not_open(dev, answer, why, whylen);
		return answer ? hw_error(answer) : -EIO;
	}
	hw_fork_handle();
	if (is_efa(dv->ctx))
		err = find_queries(&dv->query, why, whylen);
	else
		snprintf(why, whylen, "%s is no adapter that this provider drives", dev->name);
	if (err)
		ibv_close_device(dv->ctx);
	return err;
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
	if (listed && may_be_efa(list[i])) {
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

static int edv_events_open(struct edv *dv)
{
	int err;

	dv->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (dv->poll_fd < 0)
		return hw_errno();
	err = hw_nonblocking(dv->ctx->async_fd);
	if (!err)
		err = hw_watch(dv->poll_fd, dv->ctx->async_fd);
	if (err)
		close(dv->poll_fd);
	return err;
}

static int listen_to(struct edv *dv, char *why, size_t whylen)
{
	int err = edv_events_open(dv);

	if (!err)
		return 0;
	snprintf(why, whylen, "%s gives no event channel: %s", dv->ctx->device->name,
		 strerror(-err));
	edv_context_close(dv->ctx);
	return err;
}

static int edv_device_open(struct edv *dv, const char *ia_name, char *why, size_t whylen)
{
	char device[64];
	uint8_t port;
	int err;

	err = hw_device_split(ia_name, device, sizeof(device), &port, why, whylen);
	if (err)
		return err;
	snprintf(dv->ctl.device, sizeof(dv->ctl.device), "%s-%u", device, port);
	err = open_listed(dv, device, port, why, whylen);
	return err ? err : listen_to(dv, why, whylen);
}

static int edv_open(const char *ia_name, const char *params, struct efa_ctl **ctl, char *why,
		    size_t whylen)
{
	struct edv *dv = calloc(1, sizeof(*dv));
	int err;

	(void)params;
	if (!dv)
		return -ENOMEM;
	dv->ctl.ops = &edv_ops;
	err = edv_device_open(dv, ia_name, why, whylen);
	if (err)
		goto err_free;
	err = edv_caps_read(dv, why, whylen);
	if (err)
		goto err_close;
	*ctl = &dv->ctl;
	return 0;

err_close:
	edv_device_close(dv);
err_free:
	free(dv);
	return err;
}

/* False: it is no EFA. */
static bool list_device(struct ibv_device *device, struct dapl_device *entry)
{
	struct edv dv = { .ctx = NULL, .poll_fd = -1 };
	int err;

	*entry = (struct dapl_device){ .access = "efadv" };
	snprintf(entry->name, sizeof(entry->name), "%.58s-%u", device->name, EDV_PORT);
	hw_enter();
	err = context_of(&dv, device, entry->why, sizeof(entry->why));
	hw_leave();
	if (err)
		return err != -ENODEV;
	edv_caps_read(&dv, entry->why, sizeof(entry->why));
	edv_context_close(dv.ctx);
	return true;
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
		if (!may_be_efa(list[i]) || !list_device(list[i], &entry))
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
