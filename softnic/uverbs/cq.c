/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

/* Both forms of the command say the same; only the extended one has flags. */
struct cq_args {
	struct ib_uverbs_ex_create_cq core;
	struct mlx5_ib_create_cq drv;
};

static unsigned int log2_above(uint32_t n)
{
	return n < 2 ? 0 : 32u - (unsigned int)__builtin_clz(n - 1);
}

static int check(const struct uv_req *req, const struct cq_args *args)
{
	const struct mlx5_ib_create_cq *drv = &args->drv;

	if (!args->core.cqe || args->core.comp_vector || args->core.comp_mask ||
	    args->core.flags & ~(uint32_t)IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN)
		return -EINVAL;
	if (args->core.cqe > INT32_MAX - 1 ||
	    log2_above(args->core.cqe + 1) > uv_cap(req->dev, CAP_LOG_MAX_CQ_SZ))
		return -EINVAL;
	if ((drv->cqe_size != 64 && drv->cqe_size != 128) || drv->buf_addr & 63 || drv->db_addr & 7)
		return -EINVAL;
	if (drv->cqe_comp_en || drv->flags != MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX)
		return -EOPNOTSUPP;
	return 0;
}

static int create(struct uv_device *dev, const struct cq_args *args, uint32_t *cqn)
{
	unsigned int log = log2_above(args->core.cqe + 1);
	uint64_t bytes = (uint64_t)args->drv.cqe_size << log;
	size_t npages = uv_pages(args->drv.buf_addr, bytes, 12), len;
	uint8_t *cmd = uv_create_alloc(npages, &len);
	uint8_t *cqc;
	int err;

	if (!cmd)
		return -ENOMEM;
	cqc = cmd + PRM_CTX;
	sn_set(cqc, CQC_CQE_SZ, args->drv.cqe_size == 128);
	sn_set(cqc, CQC_OI, !!(args->core.flags & IB_UVERBS_CQ_FLAGS_IGNORE_OVERRUN));
	sn_set(cqc, CQC_PAGE_OFFSET, (uint32_t)(args->drv.buf_addr & 4095) / 64);
	sn_set(cqc, CQC_LOG_SIZE, log);
	sn_set(cqc, CQC_UAR_PAGE, args->drv.uar_page_index);
	sn_set(cqc, CQC_EQN, dev->eq.eqn);
	sn_set64(cqc, CQC_DBR, args->drv.db_addr);
	uv_fill_pages(cmd + PRM_OBJECT_IN, args->drv.buf_addr, npages, 12, 0);
	err = uv_create(dev, PRM_CREATE_CQ, cmd, len, cqn);
	free(cmd);
	return err;
}

static int create_cq(struct uv_req *req, const struct cq_args *args,
		     struct ib_uverbs_create_cq_resp *resp)
{
	struct mlx5_ib_create_cq_resp drv = { 0 };
	struct uv_chan *chan = NULL;
	struct uv_obj *cq;
	int err = check(req, args);

	if (err)
		return err;
	if (args->core.comp_channel >= 0) {
		chan = uv_chan_find(req->dev, UV_CHAN_COMP, args->core.comp_channel);
		if (!chan)
			return -EINVAL;
	}
	cq = uv_obj_new(req->ctx, UV_CQ);
	if (!cq)
		return -ENOMEM;
	err = create(req->dev, args, &cq->number);
	if (err) {
		uv_obj_free(cq);
		return err;
	}
	cq->user_handle = args->core.user_handle;
	cq->cqe_size = args->drv.cqe_size;
	cq->chan = chan;
	if (chan)
		chan->refs++;
	uv_source_add(cq);
	resp->cq_handle = cq->handle;
	resp->cqe = (UINT32_C(1) << log2_above(args->core.cqe + 1)) - 1;
	drv.cqn = cq->number;
	uv_copy_out(req->uhw_out, req->uhw_out_len, &drv, sizeof(drv));
	return 0;
}

int uv_create_cq(struct uv_req *req)
{
	struct ib_uverbs_create_cq_resp resp = { 0 };
	struct cq_args args;
	int err;

	uv_create_cq_args(req, false, &args.core);
	uv_copy_in(&args.drv, sizeof(args.drv), req->uhw_in, req->uhw_in_len);
	err = create_cq(req, &args, &resp);
	if (!err)
		uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	return err;
}

int uv_create_cq_ex(struct uv_req *req)
{
	struct ib_uverbs_ex_create_cq_resp resp = { .response_length = sizeof(resp) };
	struct cq_args args;
	int err;

	uv_create_cq_args(req, true, &args.core);
	uv_copy_in(&args.drv, sizeof(args.drv), req->uhw_in, req->uhw_in_len);
	err = create_cq(req, &args, &resp.base);
	if (!err)
		uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	return err;
}

/* In an imported context libibverbs has no other way. */
int uv_create_cq_ioctl(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, UVERBS_ATTR_CREATE_CQ_HANDLE);
	struct uv_req req = uv_attr_req(ctx, hdr);
	struct ib_uverbs_create_cq_resp resp;
	struct cq_args args;
	struct uv_obj *cq;
	int err;

	if (!handle)
		return -EINVAL;
	uv_create_cq_attrs(hdr, &args.core);
	uv_copy_in(&args.drv, sizeof(args.drv), req.uhw_in, req.uhw_in_len);
	err = create_cq(&req, &args, &resp);
	if (err)
		return err;
	cq = uv_obj_any(ctx, resp.cq_handle);
	err = uv_source_tells(cq, hdr, UVERBS_ATTR_CREATE_CQ_EVENT_FD);
	if (!err)
		err = uv_attr_put(hdr, UVERBS_ATTR_CREATE_CQ_RESP_CQE, &resp.cqe, sizeof(resp.cqe));
	if (err) {
		uv_obj_destroy(cq);
		uv_obj_free(cq);
		return err;
	}
	handle->data = resp.cq_handle;
	return 0;
}

/* libibverbs waits until as many events are acknowledged as were read: unread ones do not count. */
int uv_destroy_cq(struct uv_req *req)
{
	struct ib_uverbs_destroy_cq_resp resp;
	struct ib_uverbs_destroy_cq in;
	struct uv_obj *cq;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	err = uv_obj_find(req->ctx, UV_CQ, in.cq_handle, &cq);
	if (!err)
		err = uv_obj_destroy(cq);
	if (err)
		return err;
	resp.comp_events_reported = cq->comp_events;
	resp.async_events_reported = cq->async_events;
	uv_obj_free(cq);
	uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	return 0;
}

int uv_create_channel(struct uv_req *req)
{
	struct ib_uverbs_create_comp_channel_resp resp;
	struct uv_chan *chan;
	int err, fd;

	err = uv_chan_new(req->dev, UV_CHAN_COMP, &fd, &chan);
	if (err)
		return err;
	resp.fd = (uint32_t)fd;
	uv_copy_out(req->out, req->out_len, &resp, sizeof(resp));
	return 0;
}
