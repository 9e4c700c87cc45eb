/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Commands through DEVX: the kernel fills in the uid and lets pass what concerns own objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/dap.h"
#include "hw_mlx5/m5_ctl_uverbs.h"

int uv_error(int ret)
{
	switch (abs(ret)) {
	case 0:
		return 0;
	case ENOMEM:
	case EMFILE:
	case ENFILE:
	case EPERM:
	case EACCES:
	case EBUSY:
	case EAGAIN:
	case EFAULT:
		return -abs(ret);
	default:
		dap_log(DAP_LOG_EP, "the kernel's answer was: %s", strerror(abs(ret)));
		return -EIO;
	}
}

int uv_errno(void)
{
	return errno ? uv_error(errno) : -EIO;
}

/*
 * Kernels differ in whether they hand back what the device said when it refused. Where they do, that
 * is worth more than the errno made of it.
 */
static int outcome(int ret, const void *out)
{
	const struct m5_out_hdr *o = out;

	if (o->status)
		return -EREMOTEIO;
	return uv_error(ret);
}

int uv_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen)
{
	return outcome(mlx5dv_devx_general_cmd(uv_of(ctl)->ctx, in, inlen, out, outlen), out);
}

int uv_obj_create(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen,
		  struct m5_obj **obj)
{
	const struct m5_in_hdr *i = in;
	struct m5_obj *new = calloc(1, sizeof(*new));
	int err;

	if (!new)
		return -ENOMEM;
	new->ctl = ctl;
	errno = 0;
	new->devx = mlx5dv_devx_obj_create(uv_of(ctl)->ctx, in, inlen, out, outlen);
	if (!new->devx) {
		err = outcome(uv_errno(), out);
		goto err_free;
	}
	err = uv_events_of(uv_of(ctl), new->devx, be16_to_cpu(i->opcode));
	if (err)
		goto err_destroy;
	*obj = new;
	return 0;

err_destroy:
	mlx5dv_devx_obj_destroy(new->devx);
err_free:
	free(new);
	return err;
}

static bool is_query(uint16_t opcode)
{
	return opcode == M5_CMD_QUERY_QP || opcode == M5_CMD_QUERY_CQ ||
	       opcode == M5_CMD_QUERY_RMP;
}

int uv_obj_cmd(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	const struct m5_in_hdr *i = in;

	if (is_query(be16_to_cpu(i->opcode)))
		return outcome(mlx5dv_devx_obj_query(obj->devx, in, inlen, out, outlen), out);
	return outcome(mlx5dv_devx_obj_modify(obj->devx, in, inlen, out, outlen), out);
}

int uv_obj_destroy(struct m5_obj *obj)
{
	int err = mlx5dv_devx_obj_destroy(obj->devx);

	/* libmlx5 keeps its memory when the kernel refuses; the object goes with the context. */
	if (err)
		dap_log(DAP_LOG_ERR, "an object of the device can not be destroyed: error %d", err);
	free(obj);
	return uv_error(err);
}
