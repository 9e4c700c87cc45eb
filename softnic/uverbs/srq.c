/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues, which are receive memory pools at the device. */
#include <errno.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

/* A WQE is a next segment and room for data segments; both have 16 bytes. */
enum { SEG = 16, STRIDE_MIN = 32, OFFSETS = 32 };

struct shape {
	unsigned int log_size, log_stride;
};

/* libmlx5 computes the layout of its queue by the same rule; the front does not report it. */
static int shape_of(const struct uv_device *dev, const struct ib_uverbs_create_srq *in,
		    struct shape *shape)
{
	uint32_t room;

	if (in->max_wr >= UINT32_C(1) << (uv_cap(dev, CAP_LOG_MAX_SRQ_SZ) & 31) ||
	    in->max_sge > uv_cap(dev, CAP_MAX_WQE_SZ_RQ) / SEG - 1)
		return -EINVAL;
	room = (1 + in->max_sge) * SEG;
	shape->log_size = uv_log2_above(in->max_wr + 1);
	shape->log_stride = uv_log2_above(room < STRIDE_MIN ? STRIDE_MIN : room);
	return 0;
}

static int check_driver(const struct mlx5_ib_create_srq *drv)
{
	if (drv->flags)
		return -EOPNOTSUPP;
	/* A page offset has 5 bits for 64 positions. */
	if (drv->buf_addr & 63 || (drv->buf_addr & 4095) / 64 >= OFFSETS || drv->db_addr & 7)
		return -EINVAL;
	return 0;
}

static int create(struct uv_ctx *ctx, const struct mlx5_ib_create_srq *drv,
		  const struct shape *shape, uint32_t pdn, uint32_t limit, uint32_t *rmpn)
{
	uint64_t bytes = UINT64_C(1) << (shape->log_size + shape->log_stride);
	size_t len;
	uint8_t *cmd = uv_create_alloc(drv->buf_addr, bytes, 12, 0, &len);
	uint8_t *wq;

	if (!cmd)
		return -ENOMEM;
	sn_set(cmd, PRM_UID, ctx->uid);
	wq = cmd + PRM_WQ;
	sn_set(cmd + PRM_RMPC, RMPC_STATE, PRM_RMP_READY);
	sn_set(wq, WQ_TYPE, PRM_WQ_LINKED_LIST);
	sn_set(wq, WQ_PAGE_OFFSET, (uint32_t)(drv->buf_addr & 4095) / 64);
	sn_set(wq, WQ_LWM, limit);
	sn_set(wq, WQ_PD, pdn);
	sn_set64(wq, WQ_DBR, drv->db_addr);
	sn_set(wq, WQ_LOG_STRIDE, shape->log_stride);
	sn_set(wq, WQ_LOG_SIZE, shape->log_size);
	return uv_create_free(ctx->dev, PRM_CREATE_RMP, cmd, len, rmpn);
}

static int create_srq(struct uv_req *req, const struct ib_uverbs_create_srq *in, uint32_t pdn,
		      struct ib_uverbs_create_srq_resp *resp)
{
	struct mlx5_ib_create_srq_resp drv_resp = { 0 };
	struct uv_obj *srq = req->made;
	struct mlx5_ib_create_srq drv;
	struct shape shape;
	int err;

	uv_copy_in(&drv, sizeof(drv), req->uhw_in, req->uhw_in_len);
	err = shape_of(req->dev, in, &shape);
	if (!err)
		err = check_driver(&drv);
	if (!err)
		err = uv_pin_queue(drv.buf_addr, UINT64_C(1) << (shape.log_size + shape.log_stride),
				   drv.db_addr, 0);
	if (!err)
		err = create(req->ctx, &drv, &shape, pdn, in->srq_limit, &srq->number);
	if (err)
		return err;
	srq->cap.max_recv_wr = (UINT32_C(1) << shape.log_size) - 1;
	srq->cap.max_recv_sge = (UINT32_C(1) << shape.log_stride) / SEG - 1;
	uv_source_add(srq, in->user_handle);
	*resp = (struct ib_uverbs_create_srq_resp){
		.srq_handle = srq->handle,
		.max_wr = srq->cap.max_recv_wr,
		.max_sge = srq->cap.max_recv_sge,
	};
	drv_resp.srqn = srq->number;
	return uv_answer(req, resp, sizeof(*resp), &drv_resp, sizeof(drv_resp));
}

int uv_create_srq(struct uv_req *req)
{
	struct ib_uverbs_create_srq_resp resp;
	struct ib_uverbs_create_srq in;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	return create_srq(req, &in, req->obj->number, &resp);
}

static int put_srq(struct ib_uverbs_ioctl_hdr *hdr, const struct ib_uverbs_create_srq_resp *resp)
{
	int err = uv_attr_put(hdr, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, &resp->max_wr,
			      sizeof(resp->max_wr));

	return err ? err : uv_attr_put(hdr, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, &resp->max_sge,
				       sizeof(resp->max_sge));
}

/* libibverbs uses this method for an imported context. */
int uv_create_srq_ioctl(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, UVERBS_ATTR_CREATE_SRQ_HANDLE);
	struct uv_req req = uv_attr_req(ctx, hdr);
	struct ib_uverbs_create_srq_resp resp;
	struct ib_uverbs_create_srq in;
	struct uv_obj *srq;
	int err;

	if (!handle || !uv_create_srq_attrs(hdr, &in))
		return -EINVAL;
	srq = req.made = uv_obj_new(ctx, UV_SRQ);
	if (!srq)
		return -ENOMEM;
	req.out = &resp;
	req.out_len = sizeof(resp);
	err = uv_obj_hold_handle(srq, UV_HELD_PD, UV_PD, in.pd_handle);
	if (!err)
		err = create_srq(&req, &in, srq->held[UV_HELD_PD]->number, &resp);
	if (err) {
		uv_obj_free(srq);
		return err;
	}
	err = uv_source_tells(srq, hdr, UVERBS_ATTR_CREATE_SRQ_EVENT_FD);
	if (!err)
		err = put_srq(hdr, &resp);
	return uv_obj_hand_over(srq, handle, err);
}

/* Only the limit can be changed, not the size. */
int uv_modify_srq(struct uv_req *req)
{
	uint8_t cmd[PRM_OBJECT_IN] = { 0 }, out[PRM_SHORT];
	struct ib_uverbs_modify_srq in;
	struct uv_obj *srq = req->obj;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (in.attr_mask & ~(uint32_t)IBV_SRQ_LIMIT)
		return -EINVAL;
	if (!(in.attr_mask & IBV_SRQ_LIMIT))
		return 0;
	if (in.srq_limit > srq->cap.max_recv_wr)
		return -EINVAL;
	sn_set(cmd, PRM_OPCODE, PRM_MODIFY_RMP);
	sn_set(cmd, PRM_NUMBER, srq->number);
	sn_set(cmd, RMP_STATE, PRM_RMP_READY);
	sn_set(cmd, RMP_SELECT_LWM, 1);
	sn_set(cmd + PRM_RMPC, RMPC_STATE, PRM_RMP_READY);
	sn_set(cmd + PRM_WQ, WQ_LWM, in.srq_limit);
	return uv_cmd(req->dev, cmd, sizeof(cmd), out, sizeof(out));
}

int uv_query_srq(struct uv_req *req)
{
	struct ib_uverbs_query_srq_resp resp = { 0 };
	struct uv_obj *srq = req->obj;
	uint8_t out[PRM_OBJECT_IN];
	int err = uv_cmd_number(req->dev, PRM_QUERY_RMP, srq->number, out, sizeof(out));

	if (err)
		return err;
	resp.max_wr = srq->cap.max_recv_wr;
	resp.max_sge = srq->cap.max_recv_sge;
	resp.srq_limit = sn_get(out + PRM_WQ, WQ_LWM);
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}
