/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Access to the software ConnectX: open and close. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hw_common/address.h"
#include "hw_common/device.h"
#include "hw_mlx5/ctl/read.h"
#include "hw_mlx5/ctl/soft.h"
#include "softnic/softnic.h"

#define SOFT_NAME "soft-mlx5-"
#define SOFT_DEVICES 2

static int soft_eqn(struct m5_ctl *ctl, uint32_t *eqn)
{
	*eqn = soft_of(ctl)->eq.eq.eqn;
	return 0;
}

/* With strict=1 driver errors abort the process. */
static void report_violations(struct m5_ctl_soft *s)
{
	static const char *const of_consumer[] = { "mkey.", "remote.", "dma.refused", NULL };
	struct softnic_violation v[32];
	size_t n = softnic_violations(s->ctl.soft, v, 32);

	if (hw_soft_report(s->ctl.device, v, n < 32 ? n : 32, of_consumer) && s->params.strict)
		abort();
}

static void soft_close(struct m5_ctl *ctl)
{
	struct m5_ctl_soft *s = soft_of(ctl);

	report_violations(s);
	soft_eq_close(s);
	softnic_close(ctl->soft);
	free(s);
}

static void soft_drive(struct m5_ctl *ctl)
{
	softnic_pump(ctl->soft);
}

static void soft_doorbell(struct m5_ctl *ctl, uint32_t page, uint32_t offset, uint64_t value)
{
	softnic_mmio_write(ctl->soft, page, offset, &value, sizeof(value));
}

static int soft_timer(struct m5_ctl *ctl, uint64_t *ticks)
{
	*ticks = softnic_timer(ctl->soft);
	return 0;
}

static const struct m5_ctl_ops soft_ops = {
	.access = "model",
	.close = soft_close,
	.cmd = soft_cmd,
	.obj_create = soft_obj_create,
	.obj_cmd = soft_obj_cmd,
	.obj_destroy = soft_obj_destroy,
	.pd_alloc = soft_pd_alloc,
	.pd_free = soft_pd_free,
	.mr_reg = soft_mr_reg,
	.mr_dereg = soft_mr_dereg,
	.umem_reg = soft_umem_reg,
	.umem_dereg = soft_umem_dereg,
	.uar_alloc = soft_uar_alloc,
	.uar_free = soft_uar_free,
	.eqn = soft_eqn,
	.evch_create = soft_evch_create,
	.evch_destroy = m5_evch_close,
	.evch_fd = m5_evch_fd,
	.evch_bind = soft_evch_bind,
	.evch_drain = m5_evch_drain,
	.async_fd = soft_async_fd,
	.async_read = soft_async_read,
	.port = soft_port,
	.timer = soft_timer,
	.is_local = soft_is_local,
	.drive = soft_drive,
	.doorbell = soft_doorbell,
};

/* A loopback address is one of this host alone, so the device needs no UDP port. */
static bool reaches_hosts(const struct m5_params *p)
{
	return p->has_ip && !dap_addr_is_loopback(&p->ip);
}

static int nic_open(struct m5_ctl_soft *s, unsigned int index)
{
	struct softnic_config config = {
		.flags = (s->params.silicon ? SOFTNIC_SCAN_UARS | SOFTNIC_THREAD_BACKOFF : 0) |
			 (s->params.adversarial ? SOFTNIC_ADVERSARIAL : 0),
		.index = index,
		.seed = s->params.seed,
		.host = { .irq = soft_irq, .ctx = s },
	};

	if (reaches_hosts(&s->params))
		m5_gid_of_ip(&s->params.ip, config.ip);
	return hw_soft_fails() ? -ENOMEM : softnic_open(&config, &s->ctl.soft);
}

/* Processes that share a line of dat.conf need a file each: %p is the process id. */
static int start_capture(struct m5_ctl_soft *s, char *why, size_t whylen)
{
	const char *pattern = s->params.pcap, *pid = strstr(pattern, "%p");
	char name[sizeof(s->params.pcap) + 16];
	int err;

	if (pid)
		snprintf(name, sizeof(name), "%.*s%d%s", (int)(pid - pattern), pattern, getpid(), pid + 2);
	else
		snprintf(name, sizeof(name), "%s", pattern);
	err = softnic_capture(s->ctl.soft, name);
	if (err)
		snprintf(why, whylen, "ia_params: pcap=%s: cannot write the file: %s", pattern,
			 err == -EBUSY ? "another adapter writes to it" : strerror(-err));
	return err && err != -ENOMEM ? -EINVAL : err;
}

static int apply_test_params(struct m5_ctl_soft *s, char *why, size_t whylen)
{
	const struct m5_params *p = &s->params;
	char reason[256] = "out of memory";
	int err = p->fault[0] ? softnic_fault_why(s->ctl.soft, p->fault, reason, sizeof(reason)) : 0;

	if (err) {
		snprintf(why, whylen, "ia_params: fault: %s", reason);
		return err;
	}
	return p->pcap[0] ? start_capture(s, why, whylen) : 0;
}

static int soft_start(struct m5_ctl_soft *s, unsigned int index, char *why, size_t whylen)
{
	int err = nic_open(s, index);

	if (err) {
		snprintf(why, whylen, "cannot start the software ConnectX: %s", err == -EMSGSIZE ?
			 "the MTU of the interface with the address of ip= is too small for RoCE" :
			 strerror(-err));
		return err;
	}
	err = apply_test_params(s, why, whylen);
	if (err)
		goto err_close;
	err = soft_eq_open(s);
	if (err) {
		snprintf(why, whylen, "cannot create an event queue: %s", strerror(-err));
		goto err_close;
	}
	return 0;

err_close:
	softnic_close(s->ctl.soft);
	return err;
}

static int soft_open(struct m5_ctl *ctl, const char *ia_name, const char *params, char *why,
		     size_t whylen)
{
	struct m5_ctl_soft *s = soft_of(ctl);
	unsigned int index;
	int err;

	if (!hw_soft_index(ia_name, SOFT_NAME, SOFT_DEVICES, &index))
		return -ENODEV;
	ctl->faults = softnic_fault_words();
	snprintf(ctl->device, sizeof(ctl->device), SOFT_NAME "%u", index);
	err = hw_device_only_port(ia_name, why, whylen);
	if (!err)
		err = m5_params_parse(params, &s->params, why, whylen);
	if (!err && s->params.has_ip)
		err = hw_address_here(&s->params.ip, why, whylen);
	return err ? err : soft_start(s, index, why, whylen);
}

static size_t soft_list(const struct m5_ctl_ops *ops, struct dapl_device *devs, size_t max)
{
	for (unsigned int i = 0; i < SOFT_DEVICES && i < max; i++) {
		m5_device_init(&devs[i], ops);
		snprintf(devs[i].name, sizeof(devs[i].name), SOFT_NAME "%u", i);
	}
	return SOFT_DEVICES;
}

const struct m5_access_kind m5_access_soft = {
	.ops = &soft_ops, .size = sizeof(struct m5_ctl_soft), .open = soft_open, .list = soft_list,
};
