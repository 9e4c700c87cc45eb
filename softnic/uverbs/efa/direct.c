/* SPDX-License-Identifier: BSD-2-Clause */
/* Gives softnic-efadv.so access to the device of a context, so that it can emulate a newer
 * libefa. */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "softnic/uverbs/efa/front.h"

/* Flags for the next CREATE_QP or CREATE_CQ of this thread that the structures of 44.0 lack. */
static __thread unsigned int next;

static struct uv_device *device_of(struct ibv_context *context)
{
	struct uv_device *dev;
	struct stat st;

	if (pre_real()->fstat(context->cmd_fd, &st))
		return NULL;
	dev = uv_device_of(&st);
	return dev && !uv_detached(dev) && dev->efa ? dev : NULL;
}

static int queues(struct ibv_context *context, bool cq, uint32_t handle, void *to, size_t size)
{
	struct uv_device *dev = device_of(context);
	struct uv_ctx *ctx;
	struct uv_obj *obj;
	int err;

	if (!dev)
		return EOPNOTSUPP;
	pthread_mutex_lock(&dev->lock);
	ctx = uv_ctx_of(dev, context->cmd_fd);
	err = ctx ? uv_obj_find(ctx, cq ? UV_CQ : UV_QP, handle, &obj) : -EINVAL;
	if (!err)
		memcpy(to, obj->queues, size);
	pthread_mutex_unlock(&dev->lock);
	return -err;
}

static int caps(struct ibv_context *context, struct softnic_efa_caps *to)
{
	struct uv_device *dev = device_of(context);

	if (!dev)
		return EOPNOTSUPP;
	softnic_efa_caps(dev->efa, to);
	return 0;
}

static void wish(unsigned int wishes)
{
	next = wishes;
}

bool uve_wished(enum uve_wish w)
{
	return next & w;
}

const struct uve_direct softnic_front_efa = { queues, caps, wish };
