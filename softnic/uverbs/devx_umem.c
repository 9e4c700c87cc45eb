/* SPDX-License-Identifier: BSD-2-Clause */
/* DEVX umems: pinned memory for queues and doorbell records, with a number for use in commands. */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

enum {
	ACCESS_WRITES = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	ACCESS_KNOWN = ACCESS_WRITES | IBV_ACCESS_REMOTE_READ,
};

struct range {
	uint64_t addr, len, access, pages;
};

static int read_range(struct ib_uverbs_ioctl_hdr *hdr, struct range *r)
{
	if (!uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, &r->addr) ||
	    !uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, &r->len) ||
	    !uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, &r->access))
		return -EINVAL;
	if (!uv_attr_number(hdr, MLX5_IB_ATTR_DEVX_UMEM_REG_PGSZ_BITMAP, &r->pages))
		r->pages = ~UINT64_C(4095);
	if (uv_attr(hdr, MLX5_IB_ATTR_DEVX_UMEM_REG_DMABUF_FD))
		return -EOPNOTSUPP;
	if (r->access & ~(uint64_t)ACCESS_KNOWN)
		return -EINVAL;
	return uv_pin(r->addr, r->len, r->access);
}

/*
 * Returns the largest page size in the bitmap that is not longer than the umem and divides address
 * and length; else 4 KiB. 0: the bitmap has no size from 4 KiB to the smallest power of two that the umem
 * fits into. The kernel does the same. But here memory that is contiguous for the program is also
 * contiguous for the device, as in a huge page or behind an IOMMU.
 */
static unsigned int page_shift(const struct range *r)
{
	unsigned int best = 12, most = r->len > 4096 ? 64u - (unsigned int)__builtin_clzll(r->len - 1) : 12;

	if (!(r->pages >> 12 << 12 & ((UINT64_C(2) << most) - 1)))
		return 0;
	for (unsigned int shift = 13; shift < 32 && UINT64_C(1) << shift <= r->len; shift++)
		if (r->pages >> shift & 1 && !((r->addr | r->len) & ((UINT64_C(1) << shift) - 1)))
			best = shift;
	return best;
}

static int create(struct uv_ctx *ctx, const struct range *r, uint32_t *id)
{
	unsigned int shift = page_shift(r);
	size_t npages = uv_pages(r->addr, r->len, shift);
	size_t len = PRM_CTX + UMEM_MTT + npages * 8;
	uint8_t *cmd, *umem;

	if (!shift)
		return -EINVAL;
	cmd = calloc(1, len);
	if (!cmd)
		return -ENOMEM;
	umem = cmd + PRM_CTX;
	sn_set(cmd, PRM_UID, ctx->uid);
	sn_set(umem, UMEM_LOG_PAGE_SIZE, shift - 12);
	sn_set(umem, UMEM_PAGE_OFFSET, (uint32_t)(r->addr & ((UINT64_C(1) << shift) - 1)));
	sn_set64(umem, UMEM_NUM_MTT, npages);
	uv_fill_pages(umem + UMEM_MTT, r->addr, npages, shift,
		      MTT_READ | (r->access & ACCESS_WRITES ? MTT_WRITE : 0));
	return uv_create_free(ctx->dev, PRM_CREATE_UMEM, cmd, len, id);
}

int uv_umem_reg(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE);
	struct uv_obj *umem;
	struct range r;
	int err;

	if (!ctx->uid || !handle)
		return -EINVAL;
	err = read_range(hdr, &r);
	if (err)
		return err;
	umem = uv_obj_new(ctx, UV_UMEM);
	if (!umem)
		return -ENOMEM;
	err = create(ctx, &r, &umem->number);
	if (err) {
		uv_obj_free(umem);
		return err;
	}
	err = uv_attr_put(hdr, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, &umem->number,
			  sizeof(umem->number));
	return uv_obj_hand_over(umem, handle, err);
}

int uv_umem_dereg(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	return uv_obj_end(ctx, UV_UMEM, hdr, MLX5_IB_ATTR_DEVX_UMEM_DEREG_HANDLE);
}
