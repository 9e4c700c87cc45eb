/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "softnic/uverbs/front.h"

#define EX(name) (IB_USER_VERBS_CMD_FLAG_EXTENDED | IB_USER_VERBS_EX_CMD_##name)
#define CMD(name) IB_USER_VERBS_CMD_##name

/* Lengths below which the kernel refuses a command with ENOSPC, without looking into it. */
static const struct command {
	int (*run)(struct uv_req *req);
	uint32_t number;
	uint16_t in, out;
	const char *name;
} commands[] = {
	{ uv_get_context, CMD(GET_CONTEXT), 8, 8, "GET_CONTEXT" },
	{ uv_query_device, CMD(QUERY_DEVICE), 8, 176, "QUERY_DEVICE" },
	{ uv_query_device_ex, EX(QUERY_DEVICE), 8, 184, "EX_QUERY_DEVICE" },
	{ uv_query_port, CMD(QUERY_PORT), 16, 40, "QUERY_PORT" },
	{ uv_alloc_pd, CMD(ALLOC_PD), 8, 4, "ALLOC_PD" },
	{ uv_dealloc_pd, CMD(DEALLOC_PD), 4, 0, "DEALLOC_PD" },
	{ uv_create_ah, CMD(CREATE_AH), 56, 4, "CREATE_AH" },
	{ uv_destroy_ah, CMD(DESTROY_AH), 4, 0, "DESTROY_AH" },
	{ uv_reg_mr, CMD(REG_MR), 40, 12, "REG_MR" },
	{ uv_dereg_mr, CMD(DEREG_MR), 4, 0, "DEREG_MR" },
	{ uv_alloc_mw, CMD(ALLOC_MW), 16, 8, "ALLOC_MW" },
	{ uv_dealloc_mw, CMD(DEALLOC_MW), 4, 0, "DEALLOC_MW" },
	{ uv_create_channel, CMD(CREATE_COMP_CHANNEL), 8, 4, "CREATE_COMP_CHANNEL" },
	{ uv_create_cq, CMD(CREATE_CQ), 32, 8, "CREATE_CQ" },
	{ uv_create_cq_ex, EX(CREATE_CQ), 32, 16, "EX_CREATE_CQ" },
	{ uv_destroy_cq, CMD(DESTROY_CQ), 16, 8, "DESTROY_CQ" },
	{ uv_resize_cq, CMD(RESIZE_CQ), 16, 8, "RESIZE_CQ" },
	{ uv_modify_cq, EX(MODIFY_CQ), 16, 0, "EX_MODIFY_CQ" },
	{ uv_create_srq, CMD(CREATE_SRQ), 32, 16, "CREATE_SRQ" },
	{ uv_modify_srq, CMD(MODIFY_SRQ), 16, 0, "MODIFY_SRQ" },
	{ uv_query_srq, CMD(QUERY_SRQ), 16, 16, "QUERY_SRQ" },
	{ uv_destroy_srq, CMD(DESTROY_SRQ), 16, 4, "DESTROY_SRQ" },
	{ uv_create_qp, CMD(CREATE_QP), 56, 32, "CREATE_QP" },
	{ uv_create_qp_ex, EX(CREATE_QP), 56, 40, "EX_CREATE_QP" },
	{ uv_modify_qp, CMD(MODIFY_QP), 112, 0, "MODIFY_QP" },
	{ uv_modify_qp, EX(MODIFY_QP), 112, 0, "EX_MODIFY_QP" },
	{ uv_query_qp, CMD(QUERY_QP), 16, 128, "QUERY_QP" },
	{ uv_destroy_qp, CMD(DESTROY_QP), 16, 4, "DESTROY_QP" },
};

int uv_write(struct uv_req *req, uint32_t number)
{
	const struct command *cmd = NULL;
	int err;

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].number == number)
			cmd = &commands[i];
	if (!cmd)
		return -EOPNOTSUPP;
	if (req->in_len < cmd->in || req->out_len < cmd->out)
		return -ENOSPC;
	if (!req->ctx->async && cmd->run != uv_get_context)
		return -EINVAL;
	err = cmd->run(req);
	if (uv_asked("SOFTNIC_TRACE"))
		fprintf(stderr, "softnic: %s: %s\n", cmd->name, err ? strerror(-err) : "done");
	return err;
}
