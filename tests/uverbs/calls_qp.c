/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls for QPs. */
#include <string.h>

#include "tests/uverbs/calls.h"

uint8_t calls_path[44];

/* PRM, INIT2RTR_QP: the context is 0x18 bytes into the command, the address path 0x18 bytes into that. */
static void remember(const uint8_t *in, size_t inlen)
{
	if (inlen > 0x30 + sizeof(calls_path) && in[0] == 0x05 && in[1] == 0x03)
		memcpy(calls_path, in + 0x30, sizeof(calls_path));
}

int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	int err = calls_fails(__func__);

	remember(in, inlen);
	return err ? err : CALLS_REAL(mlx5dv_devx_obj_modify)(obj, in, inlen, out, outlen);
}
