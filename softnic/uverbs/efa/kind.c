/* SPDX-License-Identifier: BSD-2-Clause */
/* The EFA as one of the adapters that stand behind the front. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/uverbs/efa/front.h"

static void on_completion(void *ctx, uint16_t cq)
{
	struct uv_device *dev = ctx;

	pthread_mutex_lock(&dev->ev_lock);
	uv_completion(dev, cq);
	pthread_mutex_unlock(&dev->ev_lock);
}

/* libfabric 1.17 drops a packet of a known peer that comes without the number of its address handle. */
static int open_model(struct uv_device *dev)
{
	struct softnic_efa_config config = {
		.flags = SOFTNIC_EFA_SCAN | SOFTNIC_EFA_THREAD_BACKOFF | SOFTNIC_EFA_NAMED,
		.index = dev->index,
		.profile = getenv("SOFTNIC_EFA"),
		.host = { .cq_event = on_completion, .ctx = dev },
	};
	size_t size;
	int err = softnic_efa_open(&config, &dev->efa);

	if (err)
		return err;
	dev->bar_fd = softnic_efa_bar_fd(dev->efa, &size);
	dev->ports = 1;
	dev->infiniband = true;		/* its GIDs are neither of RoCE's types */
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

static unsigned int gid_count(const struct uv_device *dev)
{
	return dev->ports;
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

static int methods(struct uv_ctx *ctx, uint32_t method, struct ib_uverbs_ioctl_hdr *hdr)
{
	(void)ctx;
	(void)method;
	(void)hdr;
	return -EPROTONOSUPPORT;
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

#define EX(name) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##name)
#define CMD(name) IB_USER_VERBS_CMD_##name

static const struct uv_command commands[] = {
	{ uve_get_context, CMD(GET_CONTEXT), 8, 8, "GET_CONTEXT" },
	{ uve_query_device, CMD(QUERY_DEVICE), 8, 176, "QUERY_DEVICE" },
	{ uve_query_device_ex, EX(QUERY_DEVICE), 8, 184, "EX_QUERY_DEVICE" },
	{ uve_query_port, CMD(QUERY_PORT), 16, 40, "QUERY_PORT" },
	{ uve_alloc_pd, CMD(ALLOC_PD), 8, 4, "ALLOC_PD" },
	{ uv_dealloc_pd, CMD(DEALLOC_PD), 4, 0, "DEALLOC_PD" },
	{ uve_create_ah, CMD(CREATE_AH), 56, 4, "CREATE_AH" },
	{ uv_destroy_ah, CMD(DESTROY_AH), 4, 0, "DESTROY_AH" },
	{ uve_reg_mr, CMD(REG_MR), 40, 12, "REG_MR" },
	{ uv_dereg_mr, CMD(DEREG_MR), 4, 0, "DEREG_MR" },
	{ uv_create_channel, CMD(CREATE_COMP_CHANNEL), 8, 4, "CREATE_COMP_CHANNEL" },
	{ uve_create_cq, CMD(CREATE_CQ), 32, 8, "CREATE_CQ" },
	{ uve_create_cq_ex, EX(CREATE_CQ), 32, 16, "EX_CREATE_CQ" },
	{ uv_destroy_cq, CMD(DESTROY_CQ), 16, 8, "DESTROY_CQ" },
	{ uve_create_qp, CMD(CREATE_QP), 56, 32, "CREATE_QP" },
	{ uve_create_qp_ex, EX(CREATE_QP), 56, 40, "EX_CREATE_QP" },
	{ uve_modify_qp, CMD(MODIFY_QP), 112, 0, "MODIFY_QP" },
	{ uve_modify_qp, EX(MODIFY_QP), 112, 0, "EX_MODIFY_QP" },
	{ uve_query_qp, CMD(QUERY_QP), 16, 128, "QUERY_QP" },
	{ uv_destroy_qp, CMD(DESTROY_QP), 16, 4, "DESTROY_QP" },
	{ 0 },
};

const struct uv_kind uv_efa = {
	.name = "EFA",
	.open = open_model,
	.close = close_model,
	.pump = pump,
	.fault = fault,
	.violations = violations,
	.commands = commands,
	.ioctl = methods,
	.gid = gid,
	.gid_count = gid_count,
	.destroy = destroy,
};
