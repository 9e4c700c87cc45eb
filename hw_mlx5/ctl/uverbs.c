/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Opens and closes a device through the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hw_common/device.h"
#include "hw_common/near.h"
#include "hw_mlx5/ctl/read.h"
#include "hw_mlx5/ctl/uverbs.h"

/*
 * libmlx5 shares one uncached page between all users of that type. Old kernels do not have it, and
 * a machine that cannot map write-combined has no BlueFlame: then use the other type with 8-byte
 * doorbells.
 */
static int uv_uar_alloc(struct m5_ctl *ctl, enum m5_uar_type type, struct m5_uar *uar)
{
	bool bf = type == M5_UAR_BF;
	struct mlx5dv_devx_uar *new = dv_uar(ctl, bf);

	if (!new && errno == EOPNOTSUPP) {
		new = dv_uar(ctl, !bf);
		bf = false;
	}
	return dv_uar_describe(new, bf, uar);
}

static int uv_obj_destroy(struct m5_obj *obj)
{
	uv_events_end(uv_of(obj->ctl), obj);
	return dv_obj_destroy(obj);
}

static int uv_obj_create(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen,
		  struct m5_obj **obj)
{
	const struct m5_in_hdr *i = in;
	struct m5_obj *new;
	int err = dv_obj_create(ctl, in, inlen, out, outlen, &new);

	if (err)
		return err;
	err = uv_events_of(uv_of(ctl), new, be16_to_cpu(i->opcode));
	if (err)
		uv_obj_destroy(new);
	else
		*obj = new;
	return err;
}

/* The kernel maps the timer, so this is a load from the adapter. */
static int uv_timer(struct m5_ctl *ctl, uint64_t *ticks)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	if (ibv_query_rt_values_ex(dv_of(ctl)->ctx, &values) ||
	    !(values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK))
		return -EOPNOTSUPP;
	*ticks = (uint64_t)values.raw_clock.tv_nsec;	/* libmlx5 stores all ticks here */
	return 0;
}

static void uv_close(struct m5_ctl *ctl)
{
	struct m5_ctl_uverbs *u = uv_of(ctl);

	uv_events_close(u);
	uv_context_close(u->dv.ctx);
	free(u);
}

static const struct m5_ctl_ops uv_ops = {
	.access = "devx",
	.close = uv_close,
	DV_OPS,
	.obj_create = uv_obj_create,
	.obj_destroy = uv_obj_destroy,
	.uar_alloc = uv_uar_alloc,
	.eqn = uv_eqn,
	.evch_create = uv_evch_create,
	.evch_destroy = uv_evch_destroy,
	.evch_fd = uv_evch_fd,
	.evch_bind = uv_evch_bind,
	.evch_drain = uv_evch_drain,
	.async_fd = uv_async_fd,
	.async_read = uv_async_read,
	.port = uv_port,
	.timer = uv_timer,
	.next_hop = uv_next_hop,
};

static void identify(struct m5_ctl_uverbs *u)
{
	struct m5_ident *id = &u->dv.ctl.ident;
	struct ibv_device_attr attr = { .fw_ver = "" };

	if (ibv_query_device(u->dv.ctx, &attr))
		return;
	id->hw = (uint16_t)attr.hw_ver;
	sscanf(attr.fw_ver, "%hu.%hu.%hu", &id->fw[0], &id->fw[1], &id->fw[2]);
	m5_model(attr.vendor_part_id, id);
}

/* Checks the parameters only if the name is one of our devices: it may belong to another
 * backend. */
static int uv_open(struct m5_ctl *ctl, const char *ia_name, const char *params, char *why,
		   size_t whylen)
{
	struct m5_ctl_uverbs *u = uv_of(ctl);
	char device[64];
	int err;

	err = hw_device_split(ia_name, device, sizeof(device), &u->port_num, why, whylen);
	if (err)
		return err;
	snprintf(ctl->device, sizeof(ctl->device), "%s-%u", device, u->port_num);
	err = uv_context(device, &u->dv.ctx, why, whylen);
	if (err)
		return err;
	err = m5_params_parse(params, &u->dv.params, why, whylen);
	if (!err)
		err = uv_usable(u, why, whylen);
	if (err)
		goto err_close;
	err = uv_events_open(u);
	if (err) {
		snprintf(why, whylen, "cannot create an event channel on %s: %s", device, strerror(-err));
		goto err_close;
	}
	identify(u);
	uv_counter_set_read(u);
	ctl->node = hw_near_rdma(device);
	pthread_mutex_init(&u->obj_lock, NULL);
	pthread_mutex_init(&u->hop_lock, NULL);
	return 0;

err_close:
	uv_context_close(u->dv.ctx);
	return err;
}

const struct m5_access_kind m5_access_uverbs = {
	.ops = &uv_ops, .size = sizeof(struct m5_ctl_uverbs), .open = uv_open, .list = uv_list,
};
