/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DEVX: PRM commands from the program itself. As in the kernel, each opcode is allowed in one method
 * only, a command must name the object whose handle comes with it, and queues must lie in umems.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

enum role { MAKES = 1, MODIFIES, QUERIES, GENERAL };

/* An opcode that a method allows, and the opcode that creates its object. */
static const struct rule {
	uint16_t opcode;
	uint8_t role;
	uint16_t maker;			/* for MAKES, the opcode that destroys the object */
} rules[] = {
	{ PRM_CREATE_MKEY, MAKES, PRM_DESTROY_MKEY },
	{ PRM_CREATE_CQ, MAKES, PRM_DESTROY_CQ },
	{ PRM_CREATE_QP, MAKES, PRM_DESTROY_QP },
	{ PRM_CREATE_RMP, MAKES, PRM_DESTROY_RMP },
	{ PRM_ALLOC_PD, MAKES, PRM_DEALLOC_PD },
	{ PRM_QUERY_MKEY, QUERIES, PRM_CREATE_MKEY },
	{ PRM_QUERY_CQ, QUERIES, PRM_CREATE_CQ },
	{ PRM_QUERY_QP, QUERIES, PRM_CREATE_QP },
	{ PRM_QUERY_RMP, QUERIES, PRM_CREATE_RMP },
	{ PRM_MODIFY_CQ, MODIFIES, PRM_CREATE_CQ },
	{ PRM_MODIFY_RMP, MODIFIES, PRM_CREATE_RMP },
	{ PRM_RST2INIT_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_INIT2INIT_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_INIT2RTR_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_RTR2RTS_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_RTS2RTS_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_SQERR2RTS_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_2ERR_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_2RST_QP, MODIFIES, PRM_CREATE_QP },
	{ PRM_QUERY_HCA_CAP, GENERAL, 0 },
	{ PRM_QUERY_ADAPTER, GENERAL, 0 },
	{ PRM_QUERY_ISSI, GENERAL, 0 },
	{ PRM_QUERY_VPORT_STATE, GENERAL, 0 },
	{ PRM_QUERY_HCA_VPORT_CONTEXT, GENERAL, 0 },
	{ PRM_QUERY_NIC_VPORT_CONTEXT, GENERAL, 0 },
	{ PRM_QUERY_ROCE_ADDRESS, GENERAL, 0 },
	{ PRM_QUERY_LAG, GENERAL, 0 },
};

static const struct rule *rule_of(uint16_t opcode)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].opcode == opcode)
			return &rules[i];
	return NULL;
}

static uint16_t opcode_of(const struct ib_uverbs_attr *in)
{
	return (uint16_t)sn_get(uv_attr_in(in), PRM_OPCODE);
}

static bool has_header(const struct ib_uverbs_attr *in)
{
	return in && in->len >= PRM_SHORT && in->data;
}

static const struct rule *rule_for(const struct ib_uverbs_attr *in, enum role role)
{
	const struct rule *rule = has_header(in) ? rule_of(opcode_of(in)) : NULL;

	return rule && rule->role == role ? rule : NULL;
}

/* A program may not name physical memory: sets the bits that make queues and records lie in umems. */
static void require_umems(uint8_t *in, size_t len)
{
	uint16_t opcode = (uint16_t)sn_get(in, PRM_OPCODE);
	uint32_t mode;

	if (len < PRM_OBJECT_IN)
		return;
	switch (opcode) {
	case PRM_CREATE_MKEY:
		mode = sn_get(in + PRM_CTX, MKC_ACCESS_MODE);
		if (mode == PRM_ACCESS_MTT || mode == PRM_ACCESS_PA)
			sn_set(in, MKEY_UMEM_VALID, 1);
		break;
	case PRM_CREATE_CQ:
		sn_set(in + PRM_CTX, CQC_DBR_UMEM_VALID, 1);
		sn_set(in, CQ_UMEM_VALID, 1);
		break;
	case PRM_MODIFY_CQ:
		sn_set(in, CQ_UMEM_VALID, 1);
		break;
	case PRM_CREATE_QP:
		sn_set(in + PRM_QPC, QPC_DBR_UMEM_VALID, 1);
		sn_set(in, QP_WQ_UMEM_VALID, 1);
		break;
	case PRM_CREATE_RMP:
		sn_set(in + PRM_WQ, WQ_DBR_UMEM_VALID, 1);
		sn_set(in + PRM_WQ, WQ_UMEM_VALID, 1);
		break;
	default:
		break;
	}
}

int uv_devx_exec(struct uv_ctx *ctx, struct ib_uverbs_attr *in, void *out, size_t outlen)
{
	uint8_t *cmd;
	int err;

	if (!ctx->uid || outlen < 8)
		return -EINVAL;
	cmd = malloc(in->len);
	if (!cmd)
		return -ENOMEM;
	memcpy(cmd, uv_attr_in(in), in->len);
	sn_set(cmd, PRM_UID, ctx->uid);
	require_umems(cmd, in->len);
	err = softnic_cmd(ctx->dev->nic, cmd, in->len, out, outlen);
	free(cmd);
	if (err)
		return err;
	return sn_get(out, PRM_STATUS) ? -EREMOTEIO : 0;
}

/* The command's output is copied even if the device refused it, because it holds the reason. */
static int exec_attrs(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_attr *in,
		      uint16_t out_id)
{
	struct ib_uverbs_attr *out = uv_attr(hdr, out_id);

	if (!out || !out->data || out->len < PRM_SHORT)
		return -EINVAL;
	out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return uv_devx_exec(ctx, in, (void *)(uintptr_t)out->data, out->len);
}

int uv_devx_general(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *in = uv_attr(hdr, MLX5_IB_ATTR_DEVX_OTHER_CMD_IN);

	if (!rule_for(in, GENERAL))
		return -EINVAL;
	return exec_attrs(ctx, hdr, in, MLX5_IB_ATTR_DEVX_OTHER_CMD_OUT);
}

int uv_devx_obj_create(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, MLX5_IB_ATTR_DEVX_OBJ_CREATE_HANDLE);
	struct ib_uverbs_attr *in = uv_attr(hdr, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_IN);
	struct ib_uverbs_attr *out = uv_attr(hdr, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	const struct rule *rule = rule_for(in, MAKES);
	struct uv_obj *obj;
	int err;

	if (!rule || !handle)
		return -EINVAL;
	obj = uv_obj_new(ctx, UV_DEVX);
	if (!obj)
		return -ENOMEM;
	obj->opcode = rule->opcode;
	err = exec_attrs(ctx, hdr, in, MLX5_IB_ATTR_DEVX_OBJ_CREATE_CMD_OUT);
	if (err) {
		uv_obj_free(obj);
		return err;
	}
	obj->number = sn_get((const void *)(uintptr_t)out->data, PRM_NUMBER);
	handle->data = obj->handle;
	return 0;
}

int uv_devx_destroy(struct uv_obj *obj)
{
	const struct rule *rule = rule_of(obj->opcode);

	return rule ? uv_cmd_number(obj->ctx->dev, rule->maker, obj->number, NULL, 0) : -EINVAL;
}

/* Returns the opcode that creates an object of this type through DEVX. 0: none does. */
static uint16_t maker_of(const struct uv_obj *obj)
{
	switch (obj->type) {
	case UV_DEVX: return obj->opcode;
	case UV_CQ: return PRM_CREATE_CQ;
	case UV_QP: return PRM_CREATE_QP;
	case UV_SRQ: return PRM_CREATE_RMP;
	default: return 0;
	}
}

/* Does the command name the object that has this handle? */
static bool names(struct uv_ctx *ctx, uint32_t handle, const struct ib_uverbs_attr *in,
		  enum role role)
{
	const struct rule *rule = rule_for(in, role);
	struct uv_obj *obj = uv_obj_any(ctx, handle);

	return rule && obj && maker_of(obj) == rule->maker &&
		sn_get(uv_attr_in(in), PRM_NUMBER) == obj->number;
}

bool uv_devx_is_query(struct uv_ctx *ctx, uint32_t handle, const struct ib_uverbs_attr *in)
{
	return names(ctx, handle, in, QUERIES);
}

static int on_object(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr, enum role role,
		     uint16_t handle_id, uint16_t in_id, uint16_t out_id)
{
	struct ib_uverbs_attr *in = uv_attr(hdr, in_id);
	uint64_t handle;

	if (!uv_attr_number(hdr, handle_id, &handle))
		return -EINVAL;
	if (!uv_obj_any(ctx, (uint32_t)handle))
		return -ENOENT;
	if (!names(ctx, (uint32_t)handle, in, role))
		return -EINVAL;
	return exec_attrs(ctx, hdr, in, out_id);
}

int uv_devx_obj_modify(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	return on_object(ctx, hdr, MODIFIES, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_HANDLE,
			 MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_MODIFY_CMD_OUT);
}

int uv_devx_obj_query(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	return on_object(ctx, hdr, QUERIES, MLX5_IB_ATTR_DEVX_OBJ_QUERY_HANDLE,
			 MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_IN, MLX5_IB_ATTR_DEVX_OBJ_QUERY_CMD_OUT);
}

int uv_devx_obj_destroy(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	return uv_obj_end(ctx, UV_DEVX, hdr, MLX5_IB_ATTR_DEVX_OBJ_DESTROY_HANDLE);
}

/* The front has no static pages to select. */
int uv_devx_query_uar(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	(void)ctx;
	(void)hdr;
	return -EINVAL;
}

/* One event queue reports the completions of all CQs, so vector 0 is the only one. */
int uv_devx_query_eqn(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	uint32_t eqn = ctx->dev->eq.eqn;
	uint64_t vector;

	if (!uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, &vector) || vector)
		return -EINVAL;
	return uv_attr_put(hdr, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, &eqn, sizeof(eqn));
}
