/* SPDX-License-Identifier: BSD-2-Clause */
/* The objects that programs know by handle, and what holds what. Under the device's lock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/uverbs/front.h"

static int grow(struct uv_device *dev)
{
	uint32_t n = dev->nobj ? dev->nobj * 2 : 64;
	struct uv_obj **obj = realloc(dev->obj, n * sizeof(struct uv_obj *));

	if (!obj)
		return -ENOMEM;
	memset(obj + dev->nobj, 0, (n - dev->nobj) * sizeof(struct uv_obj *));
	dev->obj = obj;
	dev->nobj = n;
	return 0;
}

/* A free handle, those longest unused first. 0: no memory. */
static uint32_t free_handle(struct uv_device *dev)
{
	uint32_t start = dev->nobj;

	for (uint32_t i = 1; i < dev->nobj; i++) {
		uint32_t h = 1 + (dev->obj_hint + i) % (dev->nobj - 1);

		if (!dev->obj[h]) {
			dev->obj_hint = h - 1;
			return h;
		}
	}
	if (grow(dev))
		return 0;
	return start ? start : 1;
}

struct uv_obj *uv_obj_new(struct uv_ctx *ctx, enum uv_type type)
{
	struct uv_obj *obj = calloc(1, sizeof(*obj));

	if (!obj)
		return NULL;
	obj->handle = free_handle(ctx->dev);
	if (!obj->handle) {
		free(obj);
		return NULL;
	}
	obj->type = type;
	obj->ctx = ctx;
	ctx->dev->obj[obj->handle] = obj;
	return obj;
}

struct uv_obj *uv_obj_find(struct uv_ctx *ctx, enum uv_type type, uint32_t handle)
{
	struct uv_obj *obj = handle < ctx->dev->nobj ? ctx->dev->obj[handle] : NULL;

	return obj && obj->type == type && obj->ctx == ctx ? obj : NULL;
}

void uv_obj_hold(struct uv_obj *obj, unsigned int slot, struct uv_obj *held)
{
	obj->held[slot] = held;
	if (held)
		held->users++;
}

void uv_obj_free(struct uv_obj *obj)
{
	for (unsigned int i = 0; i < 3; i++)
		if (obj->held[i])
			obj->held[i]->users--;
	obj->ctx->dev->obj[obj->handle] = NULL;
	free(obj);
}

static int device_destroy(struct uv_obj *obj)
{
	struct uv_device *dev = obj->ctx->dev;

	switch (obj->type) {
	case UV_PD: return uv_cmd_number(dev, PRM_DEALLOC_PD, obj->number, NULL, 0);
	case UV_MR:
	case UV_MW: return uv_cmd_number(dev, PRM_DESTROY_MKEY, obj->number, NULL, 0);
	case UV_CQ: return uv_cmd_number(dev, PRM_DESTROY_CQ, obj->number, NULL, 0);
	case UV_QP: return uv_cmd_number(dev, PRM_DESTROY_QP, obj->number, NULL, 0);
	case UV_UAR: return uv_cmd_number(dev, PRM_DEALLOC_UAR, obj->number, NULL, 0);
	case UV_AH: return 0;
	}
	return -EINVAL;
}

int uv_obj_destroy(struct uv_obj *obj)
{
	int err;

	if (obj->users)
		return -EBUSY;
	err = device_destroy(obj);
	if (err)
		return err;
	if (obj->type == UV_CQ || obj->type == UV_QP)
		uv_source_remove(obj);
	return 0;
}

/* What a dead context has left, users before what they use. A refusal leaves it to the device. */
void uv_obj_purge(struct uv_ctx *ctx)
{
	static const enum uv_type order[] = { UV_AH, UV_QP, UV_MW, UV_MR, UV_CQ, UV_PD, UV_UAR };

	for (size_t t = 0; t < sizeof(order) / sizeof(order[0]); t++) {
		for (uint32_t h = 1; h < ctx->dev->nobj; h++) {
			struct uv_obj *obj = ctx->dev->obj[h];

			if (!obj || obj->ctx != ctx || obj->type != order[t])
				continue;
			device_destroy(obj);
			if (obj->type == UV_CQ || obj->type == UV_QP)
				uv_source_remove(obj);
			uv_obj_free(obj);
		}
	}
}
