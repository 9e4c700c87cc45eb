/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

static int check(const struct uv_device *dev, const struct ib_uverbs_ex_create_cq *core,
		 const struct mlx5_ib_create_cq *drv)
{
	if (!core->cqe || core->comp_vector || core->comp_mask)
		return -EINVAL;
	if (core->flags & ~(uint32_t)(IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN |
				      IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION))
		return -EOPNOTSUPP;
	if (core->cqe > INT32_MAX - 1 || uv_log2_above(core->cqe + 1) > uv_cap(dev, CAP_LOG_MAX_CQ_SZ))
		return -EINVAL;
	if ((drv->cqe_size != 64 && drv->cqe_size != 128) || drv->buf_addr & 63 || drv->db_addr & 7)
		return -EINVAL;
	if (drv->cqe_comp_en || drv->flags != MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX)
		return -EOPNOTSUPP;
	return 0;
}

static int create(struct uv_ctx *ctx, const struct ib_uverbs_ex_create_cq *core,
		  const struct mlx5_ib_create_cq *drv, uint32_t *cqn)
{
	unsigned int log = uv_log2_above(core->cqe + 1);
	size_t len;
	uint8_t *cmd = uv_create_alloc(drv->buf_addr, (uint64_t)drv->cqe_size << log, 12, 0, &len);
	uint8_t *cqc;

	if (!cmd)
		return -ENOMEM;
	sn_set(cmd, PRM_UID, ctx->uid);
	cqc = cmd + PRM_CTX;
	sn_set(cqc, CQC_CQE_SZ, drv->cqe_size == 128);
	sn_set(cqc, CQC_OI, !!(core->flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN));
	sn_set(cqc, CQC_PAGE_OFFSET, (uint32_t)(drv->buf_addr & 4095) / 64);
	sn_set(cqc, CQC_LOG_SIZE, log);
	sn_set(cqc, CQC_UAR_PAGE, drv->uar_page_index);
	sn_set(cqc, CQC_EQN, ctx->dev->eq.eqn);
	sn_set64(cqc, CQC_DBR, drv->db_addr);
	return uv_create_free(ctx->dev, PRM_CREATE_CQ, cmd, len, cqn);
}

static int create_cq(struct uv_req *req, const struct ib_uverbs_ex_create_cq *core)
{
	struct mlx5_ib_create_cq_resp resp = { 0 };
	struct uv_obj *cq = req->made;
	struct mlx5_ib_create_cq drv;
	int err;

	uv_copy_in(&drv, sizeof(drv), req->uhw_in, req->uhw_in_len);
	err = check(req->dev, core, &drv);
	if (!err)
		err = uv_pin_queue(drv.buf_addr, (uint64_t)drv.cqe_size << uv_log2_above(core->cqe + 1),
				   drv.db_addr, IBV_ACCESS_LOCAL_WRITE);
	if (!err)
		err = uv_source_channel(cq, core->comp_channel);
	if (!err)
		err = create(req->ctx, core, &drv, &cq->number);
	if (err)
		return err;
	cq->cqe_size = drv.cqe_size;
	resp.cqn = cq->number;
	return uv_cq_ready(req, core, (UINT32_C(1) << uv_log2_above(core->cqe + 1)) - 1, &resp, sizeof(resp));
}

int uv_create_cq(struct uv_req *req)
{
	struct ib_uverbs_ex_create_cq core;

	uv_create_cq_args(req, &core);
	return create_cq(req, &core);
}

/* libibverbs uses this method for an imported context. */
int uv_create_cq_ioctl(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, UVERBS_ATTR_CREATE_CQ_HANDLE);
	struct ib_uverbs_create_cq_resp resp;
	struct uv_req req = uv_attr_req(ctx, hdr);
	struct ib_uverbs_ex_create_cq core;
	struct uv_obj *cq;
	int err;

	if (!handle)
		return -EINVAL;
	cq = req.made = uv_obj_new(ctx, UV_CQ);
	if (!cq)
		return -ENOMEM;
	req.out = &resp;
	req.out_len = sizeof(resp);
	uv_create_cq_attrs(hdr, &core);
	err = create_cq(&req, &core);
	if (err) {
		uv_obj_free(cq);
		return err;
	}
	err = uv_source_tells(cq, hdr, UVERBS_ATTR_CREATE_CQ_EVENT_FD);
	if (!err)
		err = uv_attr_put(hdr, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &resp.cqe, sizeof(resp.cqe));
	return uv_obj_hand_over(cq, handle, err);
}
