/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* An IA on a device that libmlx5 drives through VFIO. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw_common/device.h"
#include "hw_common/near.h"
#include "hw_mlx5/ctl/vfio.h"

/* Every doorbell type gets the one shared page, which supports only 8-byte doorbells. */
static int vf_uar_alloc(struct m5_ctl *ctl, enum m5_uar_type type, struct m5_uar *uar)
{
	(void)type;
	return dv_uar_describe(dv_uar(ctl, false), false, uar);
}

static int vf_obj_create(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen,
			 struct m5_obj **obj)
{
	const struct m5_in_hdr *i = in;
	const struct m5_obj_out *o = out;
	int err = dv_obj_create(ctl, in, inlen, out, outlen, obj);

	if (err)
		return err;
	(*obj)->create = be16_to_cpu(i->opcode);
	(*obj)->number = be32_to_cpu(o->number) & 0xffffff;
	return 0;
}

static int vf_obj_destroy(struct m5_obj *obj)
{
	struct vf_device *d = vf_of(obj->ctl)->dev;
	uint16_t create = obj->create;
	uint32_t number = obj->number;
	int err;

	m5_events_unbind(&d->events, &obj->link);
	err = dv_obj_destroy(obj);
	if (!err)
		vf_events_forget(d, create, number);
	return err;
}

static int vf_eqn(struct m5_ctl *ctl, uint32_t *eqn)
{
	*eqn = vf_of(ctl)->dev->completions.eq.eqn;
	return 0;
}

static int vf_evch_bind(struct m5_evch *ch, struct m5_obj *cq, uint32_t cqn)
{
	m5_events_bind(&vf_of(ch->ctl)->dev->events, &cq->link, cqn, ch);
	return 0;
}

static int vf_async_fd(struct m5_ctl *ctl)
{
	return vf_of(ctl)->events.async_fd;
}

static int vf_async_read(struct m5_ctl *ctl, struct m5_event *ev)
{
	return m5_events_read(&vf_of(ctl)->events, ev);
}

static void vf_close(struct m5_ctl *ctl)
{
	struct m5_ctl_vfio *v = vf_of(ctl);

	vf_device_put(v);
	m5_events_close(&v->events);
	free(v);
}

static const struct m5_ctl_ops vf_ops = {
	.access = "vfio",
	.close = vf_close,
	DV_OPS,
	.obj_create = vf_obj_create,
	.obj_destroy = vf_obj_destroy,
	.uar_alloc = vf_uar_alloc,
	.eqn = vf_eqn,
	.evch_create = m5_evch_open,
	.evch_destroy = m5_evch_close,
	.evch_fd = m5_evch_fd,
	.evch_bind = vf_evch_bind,
	.evch_drain = m5_evch_drain,
	.async_fd = vf_async_fd,
	.async_read = vf_async_read,
	.port = vf_port,
	.timer = vf_timer,
};

static int usable(struct m5_ctl_vfio *v, char *why, size_t whylen)
{
	struct m5_dev_caps caps;
	int err = dv_new_enough(&v->dv.ctl, v->dev->pci, &caps, why, whylen);

	if (!err && !caps.ethernet) {
		snprintf(why, whylen, "the port of %s is InfiniBand, which is reached through the "
			 "kernel only: scripts/vfio unbind %s, or make it Ethernet with mlxconfig",
			 v->dev->pci, v->dev->pci);
		err = -EIO;
	}
	if (!err)
		err = dv_lockable(&v->dv.ctl, why, whylen);
	return err ? err : vf_port_open(v, why, whylen);
}

static int start(struct m5_ctl_vfio *v, const char *pci, char *why, size_t whylen)
{
	int err = m5_events_open(&v->events);

	if (err) {
		snprintf(why, whylen, "no file descriptor is free: raise the limit with ulimit -n");
		return err;
	}
	err = vf_device_get(v, pci, why, whylen);
	if (err)
		goto err_events;
	vf_identify(pci, &v->dv.ctl.ident);
	v->dv.ctl.node = hw_near_pci(pci);
	vf_firmware(v->dev, v->dv.ctl.ident.fw);
	err = usable(v, why, whylen);
	if (!err)
		return 0;
	vf_device_put(v);
err_events:
	m5_events_close(&v->events);
	return err;
}

static int vf_open(struct m5_ctl *ctl, const char *ia_name, const char *params, char *why,
		   size_t whylen)
{
	struct m5_ctl_vfio *v = vf_of(ctl);
	char pci[VF_PCI_LEN];
	int err;

	if (!vf_name(ia_name, pci))
		return -ENODEV;
	ctl->no_bf = true;
	snprintf(ctl->device, sizeof(ctl->device), "%s", pci);
	err = hw_device_only_port(ia_name, why, whylen);
	if (!err)
		err = m5_params_parse(params, &v->dv.params, why, whylen);
	return err ? err : start(v, pci, why, whylen);
}

const struct m5_access_kind m5_access_vfio = {
	.ops = &vf_ops, .size = sizeof(struct m5_ctl_vfio), .open = vf_open, .list = vf_list,
};
