/* SPDX-License-Identifier: BSD-2-Clause */
/* The EFA as an adapter of the front. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_ioctl_verbs.h>

#include "softnic/uverbs/efa/front.h"

/* Called while the model is locked: see uv_irq(). */
static void on_completion(void *ctx, uint16_t cq)
{
	struct uv_device *dev = ctx;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&dev->ev_lock);
	uv_completion(dev, cq);
	pthread_mutex_unlock(&dev->ev_lock);
	pthread_setcancelstate(cancel, NULL);
}

/* libfabric 1.17 drops a packet of a known peer whose CQE lacks the address handle number. */
static int open_model(struct uv_device *dev)
{
	struct softnic_efa_config config = {
		.flags = SOFTNIC_EFA_SCAN | SOFTNIC_EFA_NAMED,
		.index = dev->index,
		.profile = getenv("SOFTNIC_EFA"),
		.host = { .cq_event = on_completion, .ctx = dev },
	};
	size_t size;
	int err = softnic_efa_open(&config, &dev->efa);

	if (err)
		return err;
	dev->bar_fd = softnic_efa_bar_fd(dev->efa, &size);
	dev->ports = dev->gids = 1;
	dev->infiniband = true;		/* GIDs of an EFA have no RoCE type */
	return 0;
}

static void close_model(struct uv_device *dev)
{
	softnic_efa_close(dev->efa);
}

static bool pump(struct uv_device *dev)
{
	return softnic_efa_pump(dev->efa);
}

static int fault(struct uv_device *dev, const char *script)
{
	return softnic_efa_fault(dev->efa, script);
}

static size_t violations(struct uv_device *dev, struct softnic_violation *v, size_t max)
{
	return softnic_efa_violations(dev->efa, v, max);
}

static int gid(struct uv_device *dev, unsigned int port, unsigned int index, struct uv_gid *g)
{
	struct softnic_efa_caps caps;

	(void)port;
	(void)index;
	softnic_efa_caps(dev->efa, &caps);
	*g = (struct uv_gid){ 0 };
	memcpy(g->raw, caps.gid, sizeof(g->raw));
	return 0;
}

static int destroy(struct uv_obj *obj)
{
	struct softnic_efa *efa = obj->ctx->dev->efa;
	uint16_t number = (uint16_t)obj->number;

	switch (obj->type) {
	case UV_PD: return softnic_efa_pd_dealloc(efa, number);
	case UV_MR: return softnic_efa_mr_dereg(efa, obj->number);
	case UV_CQ: return softnic_efa_cq_destroy(efa, number);
	case UV_QP: return softnic_efa_qp_destroy(efa, obj->number);
	case UV_AH: return softnic_efa_ah_destroy(efa, (uint16_t)obj->held[0]->number, number);
	default: return -EINVAL;
	}
}

const struct uv_kind uv_efa = {
	.adapter = UV_EFA,
	.driver = RDMA_DRIVER_EFA,
	.open = open_model,
	.close = close_model,
	.pump = pump,
	.fault = fault,
	.violations = violations,
	.gid = gid,
	.destroy = destroy,
};
