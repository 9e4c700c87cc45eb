/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* A device's refusal of a command, as text and as errno. */
#include <errno.h>
#include <string.h>

#include "core/dap.h"
#include "hw_mlx5/cmd.h"

static const struct {
	uint16_t opcode;
	const char *name;
} cmd_names[] = {
	{ M5_CMD_QUERY_HCA_CAP, "QUERY_HCA_CAP" },
	{ M5_CMD_CREATE_MKEY, "CREATE_MKEY" },
	{ M5_CMD_DESTROY_MKEY, "DESTROY_MKEY" },
	{ M5_CMD_CREATE_EQ, "CREATE_EQ" },
	{ M5_CMD_QUERY_EQ, "QUERY_EQ" },
	{ M5_CMD_DESTROY_EQ, "DESTROY_EQ" },
	{ M5_CMD_CREATE_CQ, "CREATE_CQ" },
	{ M5_CMD_DESTROY_CQ, "DESTROY_CQ" },
	{ M5_CMD_MODIFY_CQ, "MODIFY_CQ" },
	{ M5_CMD_CREATE_QP, "CREATE_QP" },
	{ M5_CMD_DESTROY_QP, "DESTROY_QP" },
	{ M5_CMD_RST2INIT_QP, "RST2INIT_QP" },
	{ M5_CMD_INIT2RTR_QP, "INIT2RTR_QP" },
	{ M5_CMD_RTR2RTS_QP, "RTR2RTS_QP" },
	{ M5_CMD_2ERR_QP, "2ERR_QP" },
	{ M5_CMD_QUERY_VPORT_STATE, "QUERY_VPORT_STATE" },
	{ M5_CMD_ACCESS_REG, "ACCESS_REG" },
	{ M5_CMD_QUERY_NIC_VPORT_CONTEXT, "QUERY_NIC_VPORT_CONTEXT" },
	{ M5_CMD_QUERY_ROCE_ADDRESS, "QUERY_ROCE_ADDRESS" },
	{ M5_CMD_SET_ROCE_ADDRESS, "SET_ROCE_ADDRESS" },
	{ M5_CMD_ALLOC_PD, "ALLOC_PD" },
	{ M5_CMD_DEALLOC_PD, "DEALLOC_PD" },
	{ M5_CMD_ALLOC_UAR, "ALLOC_UAR" },
	{ M5_CMD_DEALLOC_UAR, "DEALLOC_UAR" },
	{ M5_CMD_CREATE_RMP, "CREATE_RMP" },
	{ M5_CMD_MODIFY_RMP, "MODIFY_RMP" },
	{ M5_CMD_DESTROY_RMP, "DESTROY_RMP" },
	{ M5_CMD_QUERY_RMP, "QUERY_RMP" },
	{ M5_CMD_CREATE_UMEM, "CREATE_UMEM" },
	{ M5_CMD_DESTROY_UMEM, "DESTROY_UMEM" },
};

/* Commands carry no unchecked consumer arguments, so "bad" and "wrong" mean errors of this
 * driver. */
static const struct status {
	uint8_t status;
	int err;
	const char *name;
} statuses[] = {
	{ 0x00, -EIO, "OK" },
	{ 0x01, -EIO, "internal error" },
	{ 0x02, -EOPNOTSUPP, "unknown command" },
	{ 0x03, -EIO, "bad parameter" },
	{ 0x04, -EIO, "bad system state" },
	{ 0x05, -EIO, "bad or missing object" },
	{ 0x06, -EBUSY, "object in use" },
	{ 0x08, -ENOMEM, "limit exceeded" },
	{ 0x09, -EIO, "object in the wrong state" },
	{ 0x0a, -EIO, "bad index" },
	{ 0x0f, -ENOMEM, "out of resources" },
	{ 0x10, -EIO, "QP in the wrong state" },
	{ 0x30, -EIO, "bad packet" },
	{ 0x40, -ENOMEM, "too many outstanding CQEs" },
	{ 0x50, -EIO, "bad input length" },
	{ 0x51, -EIO, "bad output length" },
};

static const char *cmd_name(unsigned int opcode)
{
	for (size_t i = 0; i < sizeof(cmd_names) / sizeof(cmd_names[0]); i++)
		if (cmd_names[i].opcode == opcode)
			return cmd_names[i].name;
	return "unknown command";
}

static const struct status *status_find(unsigned int status)
{
	static const struct status unknown = { .err = -EIO, .name = "unknown status" };

	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (statuses[i].status == status)
			return &statuses[i];
	return &unknown;
}

int m5_cmd_error(const struct m5_ctl *ctl, int err, const void *in, const void *out)
{
	const struct m5_in_hdr *i = in;
	const struct m5_out_hdr *o = out;
	unsigned int opcode = be16_to_cpu(i->opcode);
	const struct status *status;

	if (err != -EREMOTEIO) {
		dap_log(DAP_LOG_ERR, "%s: command %s (0x%x) was not executed: %s", ctl->device,
			cmd_name(opcode), opcode, strerror(-err));
		return err;
	}
	status = status_find(o->status);
	dap_log(DAP_LOG_ERR, "%s: the device refused command %s (0x%x): %s (status 0x%x, syndrome 0x%x)",
		ctl->device, cmd_name(opcode), opcode, status->name, o->status, be32_to_cpu(o->syndrome));
	return status->err;
}
