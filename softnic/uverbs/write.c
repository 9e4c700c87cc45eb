/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands of the write(2) interface: looks them up, checks lengths, finds and creates their objects. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "softnic/uverbs/efa/front.h"
#include "softnic/uverbs/front.h"

#define CMD(NAME) #NAME, IB_USER_VERBS_CMD_##NAME
#define EX(NAME) "EX_" #NAME, IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##NAME
#define NAMES(type, command, handle) UV_##type, offsetof(struct ib_uverbs_##command, handle)
#define NONE 0, 0
#define BOTH(run) { run, run }

static const struct command {
	const char *name;
	uint32_t number;
	uint16_t in, out;		/* shorter input or output is refused with ENOSPC, as in the kernel */
	/* type of the object that the command names, and the offset of its handle in the command */
	uint8_t names, at;
	uint8_t makes;			/* type of the object that the command creates */
	/* NULL: this adapter does not have the command */
	uv_command *run[UV_ADAPTERS];
} commands[] = {
	{ CMD(GET_CONTEXT), 8, 8, NONE, 0, { uv_get_context, uve_get_context } },
	{ CMD(QUERY_DEVICE), 8, 176, NONE, 0, { uv_query_device, uve_query_device } },
	{ EX(QUERY_DEVICE), 8, 184, NONE, 0, { uv_query_device, uve_query_device } },
	{ CMD(QUERY_PORT), 16, 40, NONE, 0, { uv_query_port, uve_query_port } },
	{ CMD(ALLOC_PD), 8, 4, NONE, UV_PD, { uv_alloc_pd, uve_alloc_pd } },
	{ CMD(DEALLOC_PD), 4, 0, NAMES(PD, dealloc_pd, pd_handle), 0, BOTH(uv_destroy) },
	{ CMD(CREATE_AH), 56, 4, NAMES(PD, create_ah, pd_handle), UV_AH, { uv_create_ah, uve_create_ah } },
	{ CMD(DESTROY_AH), 4, 0, NAMES(AH, destroy_ah, ah_handle), 0, BOTH(uv_destroy) },
	{ CMD(REG_MR), 40, 12, NAMES(PD, reg_mr, pd_handle), UV_MR, { uv_reg_mr, uve_reg_mr } },
	{ CMD(DEREG_MR), 4, 0, NAMES(MR, dereg_mr, mr_handle), 0, BOTH(uv_destroy) },
	{ CMD(REREG_MR), 48, 8, NAMES(MR, rereg_mr, mr_handle), 0, { uv_rereg_mr } },
	{ CMD(ALLOC_MW), 16, 8, NAMES(PD, alloc_mw, pd_handle), UV_MW, { uv_alloc_mw } },
	{ CMD(DEALLOC_MW), 4, 0, NAMES(MW, dealloc_mw, mw_handle), 0, { uv_destroy } },
	{ CMD(CREATE_COMP_CHANNEL), 8, 4, NONE, 0, BOTH(uv_create_channel) },
	{ CMD(CREATE_CQ), 32, 8, NONE, UV_CQ, { uv_create_cq, uve_create_cq } },
	{ EX(CREATE_CQ), 32, 16, NONE, UV_CQ, { uv_create_cq, uve_create_cq } },
	{ CMD(DESTROY_CQ), 16, 8, NAMES(CQ, destroy_cq, cq_handle), 0, BOTH(uv_destroy) },
	{ CMD(RESIZE_CQ), 16, 8, NAMES(CQ, resize_cq, cq_handle), 0, { uv_resize_cq } },
	{ EX(MODIFY_CQ), 16, 0, NAMES(CQ, ex_modify_cq, cq_handle), 0, { uv_modify_cq } },
	{ CMD(CREATE_SRQ), 32, 16, NAMES(PD, create_srq, pd_handle), UV_SRQ, { uv_create_srq } },
	{ CMD(MODIFY_SRQ), 16, 0, NAMES(SRQ, modify_srq, srq_handle), 0, { uv_modify_srq } },
	{ CMD(QUERY_SRQ), 16, 16, NAMES(SRQ, query_srq, srq_handle), 0, { uv_query_srq } },
	{ CMD(DESTROY_SRQ), 16, 4, NAMES(SRQ, destroy_srq, srq_handle), 0, { uv_destroy } },
	{ CMD(CREATE_QP), 56, 32, NONE, UV_QP, { uv_create_qp, uve_create_qp } },
	{ EX(CREATE_QP), 56, 40, NONE, UV_QP, { uv_create_qp, uve_create_qp } },
	{ CMD(MODIFY_QP), 112, 0, NAMES(QP, modify_qp, qp_handle), 0, { uv_modify_qp, uve_modify_qp } },
	{ EX(MODIFY_QP), 112, 0, NAMES(QP, modify_qp, qp_handle), 0, { uv_modify_qp, uve_modify_qp } },
	{ CMD(QUERY_QP), 16, 128, NAMES(QP, query_qp, qp_handle), 0, { uv_query_qp, uve_query_qp } },
	{ CMD(DESTROY_QP), 16, 4, NAMES(QP, destroy_qp, qp_handle), 0, BOTH(uv_destroy) },
};

static const struct command *find_command(uint32_t number, enum uv_adapter adapter)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].number == number && commands[i].run[adapter])
			return &commands[i];
	return NULL;
}

/* The created object holds a reference to the named one. */
static int run_command(struct uv_req *req, const struct command *cmd)
{
	uint32_t handle;
	int err;

	if (cmd->names) {
		memcpy(&handle, (const uint8_t *)req->in + cmd->at, sizeof(handle));
		err = uv_obj_find(req->ctx, cmd->names, handle, &req->obj);
		if (err)
			return err;
	}
	if (cmd->makes) {
		req->made = uv_obj_new(req->ctx, cmd->makes);
		if (!req->made)
			return -ENOMEM;
		uv_obj_hold(req->made, 0, req->obj);
	}
	err = cmd->run[req->dev->kind->adapter](req);
	if (err && req->made)
		uv_obj_free(req->made);
	return err;
}

int uv_write(struct uv_req *req, uint32_t number)
{
	const struct command *cmd = find_command(number, req->dev->kind->adapter);
	int err;

	if (!cmd)
		return -EOPNOTSUPP;
	if (req->in_len < cmd->in || req->out_len < cmd->out)
		return -ENOSPC;
	if (!req->ctx->async != (number == IB_USER_VERBS_CMD_GET_CONTEXT))
		return -EINVAL;
	req->extended = number & IB_USER_VERBS_CMD_FLAG_EXTENDED;
	err = run_command(req, cmd);
	if (pre_asked("SOFTNIC_TRACE"))
		fprintf(stderr, "softnic: %s: %s\n", cmd->name, err ? strerror(-err) : "done");
	return err;
}
