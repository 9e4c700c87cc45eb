/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two queries of rdma-core 59 and 60 that libefa 44.0 lacks: where the queues of a QP and a CQ
 * lie. They are answered with the model's own mapping of the same memory, in the structures of
 * efadv.h, as far as the caller's version of them goes.
 */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "softnic/uverbs/efa/front.h"

struct wq_attr {			/* efadv_wq_attr */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;
	uint32_t max_batch;
	uint16_t caps;			/* 65.0 */
	uint8_t reserved[2];
};
_Static_assert(sizeof(struct wq_attr) == 40, "efadv_wq_attr");

struct cq_attr {			/* efadv_cq_attr */
	uint64_t comp_mask;
	uint8_t *buffer;
	uint32_t entry_size, num_entries;
	uint32_t *doorbell;		/* 60.0 */
};
_Static_assert(sizeof(struct cq_attr) == 32, "efadv_cq_attr");

enum { MIN_CQ_ATTR = 24 };

#define EXPORT __attribute__((visibility("default")))
EXPORT int efadv_query_qp_wqs(struct ibv_qp *qp, struct wq_attr *sq, struct wq_attr *rq,
			      uint32_t inlen);
EXPORT int efadv_query_cq(struct ibv_cq *cq, struct cq_attr *attr, uint32_t inlen);

static struct uv_device *device_of(struct ibv_context *context)
{
	struct uv_device *dev;
	struct stat st;

	if (uv_real_fstat(context->cmd_fd, &st))
		return NULL;
	dev = uv_device_of(&st);
	return dev && !dev->detached && dev->kind == &uv_efa ? dev : NULL;
}

/* Copies an object's queues. 0 or a positive errno, as the calls of efadv return. */
static int queues_of(struct ibv_context *context, enum uv_type type, uint32_t handle, void *to,
		     size_t size)
{
	struct uv_device *dev = device_of(context);
	struct uv_ctx *ctx;
	struct uv_obj *obj;

	if (!dev)
		return EOPNOTSUPP;
	pthread_mutex_lock(&dev->lock);
	ctx = uv_ctx_of(dev, context->cmd_fd);
	obj = ctx ? uv_obj_find(ctx, type, handle) : NULL;
	if (obj)
		memcpy(to, obj->queues, size);
	pthread_mutex_unlock(&dev->lock);
	return obj ? 0 : EINVAL;
}

static void tell_wq(const struct softnic_efa_ring *r, uint32_t max_batch, struct wq_attr *attr,
		    uint32_t inlen)
{
	const struct wq_attr a = {
		.buffer = r->ring, .entry_size = r->entry_size, .num_entries = r->depth,
		.doorbell = (uint32_t *)r->doorbell, .max_batch = max_batch,
	};

	uv_copy_out(attr, inlen, &a, sizeof(a));
}

int efadv_query_qp_wqs(struct ibv_qp *qp, struct wq_attr *sq, struct wq_attr *rq, uint32_t inlen)
{
	struct softnic_efa_qp q;
	int err;

	if (inlen < offsetof(struct wq_attr, caps))
		return EINVAL;
	err = queues_of(qp->context, UV_QP, qp->handle, &q, sizeof(q));
	if (err)
		return err;
	tell_wq(&q.sq, q.max_batch, sq, inlen);
	tell_wq(&q.rq, q.rq.depth, rq, inlen);
	return 0;
}

int efadv_query_cq(struct ibv_cq *cq, struct cq_attr *attr, uint32_t inlen)
{
	struct uve_cq q;
	struct cq_attr a;
	int err;

	if (inlen < MIN_CQ_ATTR)
		return EINVAL;
	err = queues_of(cq->context, UV_CQ, cq->handle, &q, sizeof(q));
	if (err)
		return err;
	a = (struct cq_attr){
		.buffer = q.cq.ring, .entry_size = q.attr.entry_size, .num_entries = q.attr.entries,
		.doorbell = (uint32_t *)q.cq.doorbell,
	};
	uv_copy_out(attr, inlen, &a, sizeof(a));
	return 0;
}
