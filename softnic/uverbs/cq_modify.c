/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: resize and moderation. */
#include <errno.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#include "softnic/uverbs/front.h"

/* The device continues in the new buffer; libmlx5 copies the CQEs left in the old one. */
static int resize(struct uv_obj *cq, const struct mlx5_ib_resize_cq *drv, uint32_t entries)
{
	unsigned int log = (unsigned int)__builtin_ctz(entries);
	size_t len;
	uint8_t *cmd = uv_create_alloc(drv->buf_addr, (uint64_t)drv->cqe_size << log, 12, 0, &len);
	uint8_t out[PRM_SHORT], *cqc;
	int err;

	if (!cmd)
		return -ENOMEM;
	cqc = cmd + PRM_CTX;
	sn_set(cmd, PRM_OPCODE, PRM_MODIFY_CQ);
	sn_set(cmd, PRM_OP_MOD, PRM_CQ_RESIZE);
	sn_set(cmd, PRM_NUMBER, cq->number);
	sn_set(cmd, CQ_SELECT, CQ_SELECT_SIZE | CQ_SELECT_OFFSET | CQ_SELECT_PAGE_SIZE);
	sn_set(cqc, CQC_CQE_SZ, drv->cqe_size == 128);
	sn_set(cqc, CQC_PAGE_OFFSET, (uint32_t)(drv->buf_addr & 4095) / 64);
	sn_set(cqc, CQC_LOG_SIZE, log);
	err = uv_cmd(cq->ctx->dev, cmd, len, out, sizeof(out));
	free(cmd);
	return err;
}

int uv_resize_cq(struct uv_req *req)
{
	struct ib_uverbs_resize_cq_resp resp = { 0 };
	struct ib_uverbs_resize_cq in;
	struct mlx5_ib_resize_cq drv;
	struct uv_obj *cq = req->obj;
	uint32_t entries;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	uv_copy_in(&drv, sizeof(drv), req->uhw_in, req->uhw_in_len);
	if (!in.cqe || in.cqe > (UINT32_C(1) << (uv_cap(req->dev, CAP_LOG_MAX_CQ_SZ) & 31)) - 1)
		return -EINVAL;
	if (drv.cqe_size != cq->cqe_size || drv.buf_addr & 63 || drv.reserved0 || drv.reserved1)
		return -EINVAL;
	entries = UINT32_C(1) << uv_log2_above(in.cqe + 1);
	err = uv_pin(drv.buf_addr, (uint64_t)drv.cqe_size * entries, IBV_ACCESS_LOCAL_WRITE);
	if (!err)
		err = resize(cq, &drv, entries);
	if (err)
		return err;
	resp.cqe = entries - 1;
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

int uv_modify_cq(struct uv_req *req)
{
	uint8_t cmd[PRM_OBJECT_IN] = { 0 }, out[PRM_SHORT];
	struct ib_uverbs_ex_modify_cq in;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (in.attr_mask != IBV_CQ_ATTR_MODERATE || in.reserved || in.attr.cq_period > PRM_CQ_PERIOD_MAX)
		return -EINVAL;
	sn_set(cmd, PRM_OPCODE, PRM_MODIFY_CQ);
	sn_set(cmd, PRM_OP_MOD, PRM_CQ_MODERATE);
	sn_set(cmd, PRM_NUMBER, req->obj->number);
	sn_set(cmd, CQ_SELECT, CQ_SELECT_PERIOD | CQ_SELECT_COUNT);
	sn_set(cmd + PRM_CTX, CQC_PERIOD, in.attr.cq_period);
	sn_set(cmd + PRM_CTX, CQC_MAX_COUNT, in.attr.cq_count);
	return uv_cmd(req->dev, cmd, sizeof(cmd), out, sizeof(out));
}
