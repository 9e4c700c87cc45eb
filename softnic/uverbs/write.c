/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that come by write(2): looked up in the table of the kind of device, lengths checked. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "softnic/uverbs/front.h"

int uv_write(struct uv_req *req, uint32_t number)
{
	const struct uv_command *cmd = req->dev->kind->commands;
	int err;

	while (cmd->run && cmd->number != number)
		cmd++;
	if (!cmd->run)
		return -EOPNOTSUPP;
	if (req->in_len < cmd->in || req->out_len < cmd->out)
		return -ENOSPC;
	if (!req->ctx->async && number != IB_USER_VERBS_CMD_GET_CONTEXT)
		return -EINVAL;
	err = cmd->run(req);
	if (pre_asked("SOFTNIC_TRACE"))
		fprintf(stderr, "softnic: %s: %s\n", cmd->name, err ? strerror(-err) : "done");
	return err;
}
