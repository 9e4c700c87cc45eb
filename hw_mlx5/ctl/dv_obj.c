/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Commands by mlx5dv. The kernel fills in the uid and allows commands only on own objects. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/dap.h"
#include "hw_mlx5/ctl/dv.h"

/*
 * Some kernels return the device's status of a refused command. Use this status if there is one: it says
 * more than the errno that the kernel derives from it.
 */
static int command_result(int ret, const void *out)
{
	const struct m5_out_hdr *o = out;

	if (o->status)
		return -EREMOTEIO;
	return hw_error(ret);
}

int dv_begin(struct m5_ctl *ctl, struct dv_call *call)
{
	struct dv_watch *watch = dv_of(ctl)->watch;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &call->mask);
	hw_enter();
	call->calls = watch ? &watch->calls[__atomic_load_n(&watch->turn, __ATOMIC_SEQ_CST) % 2] : NULL;
	if (watch)
		__atomic_fetch_add(call->calls, 1, __ATOMIC_SEQ_CST);
	if (!watch || !__atomic_load_n(&watch->dead, __ATOMIC_SEQ_CST)) {
		errno = 0;
		return 0;
	}
	dv_end(call);
	return -EIO;
}

void dv_end(const struct dv_call *call)
{
	int err = errno;

	if (call->calls)
		__atomic_fetch_sub(call->calls, 1, __ATOMIC_SEQ_CST);
	hw_leave();
	pthread_sigmask(SIG_SETMASK, &call->mask, NULL);
	errno = err;
}

int dv_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct dv_call call;
	int err = dv_begin(ctl, &call);

	if (err)
		return err;
	err = command_result(mlx5dv_devx_general_cmd(dv_of(ctl)->ctx, in, inlen, out, outlen), out);
	dv_end(&call);
	return err;
}

int dv_obj_create(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen,
		  struct m5_obj **obj)
{
	struct m5_obj *new = calloc(1, sizeof(*new));
	struct dv_call call;
	int err;

	if (!new)
		return -ENOMEM;
	new->ctl = ctl;
	err = dv_begin(ctl, &call);
	if (err)
		goto err_free;
	new->devx = mlx5dv_devx_obj_create(dv_of(ctl)->ctx, in, inlen, out, outlen);
	if (!new->devx)
		err = command_result(hw_errno(), out);
	dv_end(&call);
	if (err)
		goto err_free;
	*obj = new;
	return 0;

err_free:
	free(new);
	return err;
}

int dv_obj_cmd(struct m5_obj *obj, const void *in, size_t inlen, void *out, size_t outlen)
{
	const struct m5_in_hdr *i = in;
	struct dv_call call;
	int err = dv_begin(obj->ctl, &call);

	if (err)
		return err;
	if (be16_to_cpu(i->opcode) == M5_CMD_QUERY_RMP)
		err = command_result(mlx5dv_devx_obj_query(obj->devx, in, inlen, out, outlen), out);
	else
		err = command_result(mlx5dv_devx_obj_modify(obj->devx, in, inlen, out, outlen), out);
	dv_end(&call);
	return err;
}

int dv_obj_destroy(struct m5_obj *obj)
{
	struct dv_call call;
	int err = dv_begin(obj->ctl, &call);

	if (!err) {
		err = mlx5dv_devx_obj_destroy(obj->devx);
		dv_end(&call);
	}
	/* If the device refuses, libmlx5 keeps its memory of the object until the context
	 * closes. */
	if (err)
		dap_log(DAP_LOG_ERR, "%s: cannot destroy an object of the device: %s; it stays until the "
			"last IA of the device is closed", obj->ctl->device, strerror(-hw_error(err)));
	free(obj);
	return hw_error(err);
}
