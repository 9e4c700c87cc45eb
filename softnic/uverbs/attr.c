/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of an ioctl, and the structures that they point to. */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

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

#define METHOD(object, method) (uint32_t)(object) << 16 | (method)
#define CORE(object, method) METHOD(UVERBS_OBJECT_##object, UVERBS_METHOD_##method)
#define MLX5(object, method, last) \
	METHOD(MLX5_IB_OBJECT_##object, MLX5_IB_METHOD_##method), 0, UP_TO(MLX5_IB_ATTR_##last)
#define UP_TO(last) (last) % DRIVER_IDS + 1

enum { DRIVER_IDS = 1 << UVERBS_ID_NS_SHIFT };	/* the first id of a driver's attributes */

/* The attributes of each method: the number of the core's, and of those of the driver. */
static const struct attrs {
	uint32_t method;
	uint16_t core, driver;
} attrs[] = {
	{ CORE(DEVICE, INVOKE_WRITE), UP_TO(UVERBS_ATTR_WRITE_CMD), UP_TO(UVERBS_ATTR_UHW_OUT) },
	{ CORE(DEVICE, QUERY_CONTEXT), UP_TO(UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT),
	  UP_TO(MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX) },
	{ CORE(DEVICE, QUERY_GID_TABLE), UP_TO(UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES), 0 },
	{ CORE(DEVICE, QUERY_GID_ENTRY), UP_TO(UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY), 0 },
	{ CORE(CQ, CQ_CREATE), UP_TO(UVERBS_ATTR_CREATE_CQ_EVENT_FD), UP_TO(UVERBS_ATTR_UHW_OUT) },
	{ CORE(QP, QP_CREATE), UP_TO(UVERBS_ATTR_CREATE_QP_RESP_QP_NUM), UP_TO(UVERBS_ATTR_UHW_OUT) },
	{ CORE(SRQ, SRQ_CREATE), UP_TO(UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM), UP_TO(UVERBS_ATTR_UHW_OUT) },
	{ CORE(MR, QUERY_MR), UP_TO(UVERBS_ATTR_QUERY_MR_RESP_IOVA), 0 },
	{ CORE(ASYNC_EVENT, ASYNC_EVENT_ALLOC), UP_TO(UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE), 0 },
	{ METHOD(UVERBS_OBJECT_PD, MLX5_IB_METHOD_PD_QUERY), 0, UP_TO(MLX5_IB_ATTR_QUERY_PD_RESP_PDN) },
	{ MLX5(DEVX, DEVX_OTHER, DEVX_OTHER_CMD_OUT) },
	{ MLX5(DEVX, DEVX_QUERY_UAR, DEVX_QUERY_UAR_DEV_IDX) },
	{ MLX5(DEVX, DEVX_QUERY_EQN, DEVX_QUERY_EQN_DEV_EQN) },
	{ MLX5(DEVX, DEVX_SUBSCRIBE_EVENT, DEVX_SUBSCRIBE_EVENT_COOKIE) },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_CREATE, DEVX_OBJ_CREATE_CMD_OUT) },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_DESTROY, DEVX_OBJ_DESTROY_HANDLE) },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_MODIFY, DEVX_OBJ_MODIFY_CMD_OUT) },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_QUERY, DEVX_OBJ_QUERY_CMD_OUT) },
	{ MLX5(DEVX_OBJ, DEVX_OBJ_ASYNC_QUERY, DEVX_OBJ_QUERY_ASYNC_OUT_LEN) },
	{ MLX5(DEVX_UMEM, DEVX_UMEM_REG, DEVX_UMEM_REG_DMABUF_FD) },
	{ MLX5(DEVX_UMEM, DEVX_UMEM_DEREG, DEVX_UMEM_DEREG_HANDLE) },
	{ MLX5(DEVX_ASYNC_CMD_FD, DEVX_ASYNC_CMD_FD_ALLOC, DEVX_ASYNC_CMD_FD_ALLOC_HANDLE) },
	{ MLX5(DEVX_ASYNC_EVENT_FD, DEVX_ASYNC_EVENT_FD_ALLOC, DEVX_ASYNC_EVENT_FD_ALLOC_FLAGS) },
	{ MLX5(UAR, UAR_OBJ_ALLOC, UAR_OBJ_ALLOC_PAGE_ID) },
	{ MLX5(UAR, UAR_OBJ_DESTROY, UAR_OBJ_DESTROY_HANDLE) },
};

static const struct attrs *attrs_of(uint32_t method)
{
	for (size_t i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
		if (attrs[i].method == method)
			return &attrs[i];
	return NULL;
}

static bool has_attr(const struct attrs *m, uint16_t id)
{
	return id < DRIVER_IDS ? id < m->core : id - DRIVER_IDS < m->driver;
}

/* Linux does the same in uverbs_set_attr. */
int uv_attrs_check(struct ib_uverbs_ioctl_hdr *hdr, uint32_t method)
{
	const struct attrs *m = attrs_of(method);

	if (!m)
		return -EPROTONOSUPPORT;
	for (unsigned int i = 0; i < hdr->num_attrs; i++) {
		const struct ib_uverbs_attr *a = &hdr->attrs[i];

		if (has_attr(m, a->attr_id) && uv_attr(hdr, a->attr_id) != a)
			return -EINVAL;
		if (!has_attr(m, a->attr_id) && a->flags & UVERBS_ATTR_F_MANDATORY)
			return -EPROTONOSUPPORT;
	}
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
