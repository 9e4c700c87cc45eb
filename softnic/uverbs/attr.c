/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of an ioctl, and the structures that they point to. */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

void uv_copy_in(void *dst, size_t size, const void *src, size_t len)
{
	size_t n = len < size ? len : size;

	if (n)
		memcpy(dst, src, n);
	memset((uint8_t *)dst + n, 0, size - n);
}

void uv_copy_out(void *dst, size_t len, const void *src, size_t size)
{
	size_t n = len < size ? len : size;

	if (n)
		memcpy(dst, src, n);
}

int uv_answer(struct uv_req *req, const void *resp, size_t size, const void *drv, size_t drv_size)
{
	uv_copy_out(req->out, req->out_len, resp, size);
	uv_copy_out(req->uhw_out, req->uhw_out_len, drv, drv_size);
	return 0;
}

struct ib_uverbs_attr *uv_attr(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	for (unsigned int i = 0; i < hdr->num_attrs; i++)
		if (hdr->attrs[i].attr_id == id)
			return &hdr->attrs[i];
	return NULL;
}

const void *uv_attr_in(const struct ib_uverbs_attr *a)
{
	return a->len > sizeof(a->data) ? (const void *)(uintptr_t)a->data : &a->data;
}

bool uv_attr_number(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, uint64_t *v)
{
	struct ib_uverbs_attr *a = uv_attr(hdr, id);

	if (!a || a->len > sizeof(a->data))
		return false;
	*v = a->data;
	return true;
}

int uv_attr_put(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id, const void *src, size_t size)
{
	struct ib_uverbs_attr *a = uv_attr(hdr, id);

	if (!a)
		return 0;
	if (!a->data)
		return -EFAULT;
	if (a->len < size)
		return -ENOSPC;
	memcpy((void *)(uintptr_t)a->data, src, size);
	a->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	return 0;
}

struct uv_req uv_attr_req(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *in = uv_attr(hdr, UVERBS_ATTR_UHW_IN);
	struct ib_uverbs_attr *out = uv_attr(hdr, UVERBS_ATTR_UHW_OUT);
	struct uv_req req = { .ctx = ctx, .dev = ctx->dev };

	if (in) {
		req.uhw_in = uv_attr_in(in);
		req.uhw_in_len = req.uhw_in ? in->len : 0;
	}
	if (out) {
		req.uhw_out = (void *)(uintptr_t)out->data;
		req.uhw_out_len = out->data ? out->len : 0;
		out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	}
	return req;
}
