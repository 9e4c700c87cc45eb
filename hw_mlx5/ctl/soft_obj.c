/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Commands to the software ConnectX, and the objects they create. */
#include <errno.h>
#include <stdlib.h>

#include "hw_mlx5/cmd.h"
#include "hw_mlx5/ctl/soft.h"
#include "softnic/softnic.h"

int soft_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen)
{
	const struct m5_out_hdr *o = out;
	int err;

	if (hw_soft_fails())
		return -EIO;
	err = softnic_cmd(ctl->soft, in, inlen, out, outlen);
	if (err)
		return err;
	return o->status ? -EREMOTEIO : 0;
}

static uint16_t destroyer(uint16_t create)
{
	switch (create) {
	case M5_CMD_CREATE_MKEY:
		return M5_CMD_DESTROY_MKEY;
	case M5_CMD_CREATE_CQ:
		return M5_CMD_DESTROY_CQ;
	case M5_CMD_CREATE_QP:
		return M5_CMD_DESTROY_QP;
	case M5_CMD_CREATE_RMP:
		return M5_CMD_DESTROY_RMP;
	default:
		return 0;
	}
}

int soft_obj_create(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen,
		    struct m5_obj **obj)
{
	const struct m5_in_hdr *i = in;
	const struct m5_obj_out *o = out;
	struct m5_obj *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	new->ctl = ctl;
	new->destroy = destroyer(be16_to_cpu(i->opcode));
	err = new->destroy ? soft_cmd(ctl, in, inlen, out, outlen) : -EOPNOTSUPP;
	if (err) {
		free(new);
		return err;
	}
	new->number = be32_to_cpu(o->number) & 0xffffff;
	*obj = new;
	return 0;
}

int soft_obj_cmd(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	return soft_cmd(obj->ctl, in, inlen, out, outlen);
}

int soft_undo(struct m5_ctl *ctl, uint16_t opcode, uint32_t number)
{
	struct m5_obj_in in = { .hdr.opcode = cpu_to_be16(opcode), .number = cpu_to_be32(number) };
	struct m5_obj_out out = { 0 };
	int err = softnic_cmd(ctl->soft, &in, sizeof(in), &out, sizeof(out));

	if (!err && out.hdr.status)
		err = -EREMOTEIO;
	return err ? m5_cmd_error(ctl, err, &in, &out) : 0;
}

int soft_obj_destroy(struct m5_obj *obj)
{
	int err;

	m5_events_unbind(&soft_of(obj->ctl)->events, &obj->link);
	err = soft_undo(obj->ctl, obj->destroy, obj->number);
	free(obj);
	return err;
}
