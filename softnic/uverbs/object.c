/* SPDX-License-Identifier: BSD-2-Clause */
/* Objects with a handle, and the references between them. All calls need the device's lock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/uverbs/front.h"

static int grow_table(struct uv_device *dev)
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

/* Returns the free handle that has been unused for longest. 0: no memory. */
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
	if (grow_table(dev))
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

struct uv_obj *uv_obj_any(struct uv_ctx *ctx, uint32_t handle)
{
	struct uv_obj *obj = handle < ctx->dev->nobj ? ctx->dev->obj[handle] : NULL;

	return obj && obj->ctx == ctx ? obj : NULL;
}

int uv_obj_find(struct uv_ctx *ctx, enum uv_type type, uint32_t handle, struct uv_obj **obj)
{
	*obj = uv_obj_any(ctx, handle);
	if (!*obj)
		return -ENOENT;
	return (*obj)->type == type ? 0 : -EINVAL;
}

void uv_obj_hold(struct uv_obj *obj, unsigned int slot, struct uv_obj *held)
{
	obj->held[slot] = held;
	if (held)
		held->users++;
}

int uv_obj_hold_handle(struct uv_obj *obj, unsigned int slot, enum uv_type type, uint32_t handle)
{
	struct uv_obj *held;
	int err = uv_obj_find(obj->ctx, type, handle, &held);

	if (!err)
		uv_obj_hold(obj, slot, held);
	return err;
}

static void release_held(struct uv_obj *obj)
{
	for (size_t i = 0; i < sizeof(obj->held) / sizeof(obj->held[0]); i++)
		if (obj->held[i])
			obj->held[i]->users--;
	memset(obj->held, 0, sizeof(obj->held));
}

static void end_events(struct uv_obj *obj)
{
	if (obj->end_events)
		obj->end_events(obj);
	obj->end_events = NULL;
}

void uv_obj_free(struct uv_obj *obj)
{
	release_held(obj);
	/* the creation of a CQ has failed after it got its channel */
	end_events(obj);
	obj->ctx->dev->obj[obj->handle] = NULL;
	free(obj->queues);
	free(obj);
}

int uv_obj_destroy(struct uv_obj *obj)
{
	int err;

	if (obj->users)
		return -EBUSY;
	err = obj->ctx->dev->kind->destroy(obj);
	if (!err)
		end_events(obj);
	return err;
}

int uv_obj_end(struct uv_ctx *ctx, enum uv_type type, struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	struct uv_obj *obj;
	uint64_t handle;
	int err;

	if (!uv_attr_number(hdr, id, &handle))
		return -EINVAL;
	err = uv_obj_find(ctx, type, (uint32_t)handle, &obj);
	if (!err)
		err = uv_obj_destroy(obj);
	if (!err)
		uv_obj_free(obj);
	return err;
}

/* Order in which the objects of a dead context are destroyed: users before the objects they use. */
static unsigned int turn_of(const struct uv_obj *obj)
{
	switch (obj->type) {
	case UV_AH:
	case UV_QP: return 0;
	case UV_SRQ:
	case UV_MW: return 1;
	case UV_MR: return 2;
	case UV_CQ: return 3;
	case UV_PD: return 4;
	case UV_UMEM: return 5;
	case UV_UAR: return 6;
	case UV_DEVX: break;
	}
	switch (obj->opcode) {
	case PRM_CREATE_QP: return 0;
	case PRM_CREATE_RMP: return 1;
	case PRM_CREATE_MKEY: return 2;
	case PRM_CREATE_CQ: return 3;
	default: return 4;
	}
}

/* The device refuses to destroy an object that an object of another context uses. An address handle has
 * no users. */
static void purge_object(struct uv_obj *obj)
{
	struct uv_device *dev = obj->ctx->dev;
	int err = dev->kind->destroy(obj);

	end_events(obj);
	if (!err || obj->type == UV_AH) {
		uv_obj_free(obj);
		return;
	}
	release_held(obj);
	obj->ctx = &dev->left;
}

int uv_obj_hand_over(struct uv_obj *obj, struct ib_uverbs_attr *handle, int err)
{
	if (!err) {
		handle->data = obj->handle;
		return 0;
	}
	purge_object(obj);
	return err;
}

static void purge_objects(struct uv_ctx *ctx)
{
	for (unsigned int turn = 0; turn <= 6; turn++) {
		for (uint32_t h = 1; h < ctx->dev->nobj; h++) {
			struct uv_obj *obj = ctx->dev->obj[h];

			if (obj && obj->ctx == ctx && turn_of(obj) == turn)
				purge_object(obj);
		}
	}
}

void uv_obj_purge(struct uv_ctx *ctx)
{
	purge_objects(ctx);
	purge_objects(&ctx->dev->left);
}
