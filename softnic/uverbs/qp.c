/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: creation, query, destruction. RC and UD. */
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "softnic/uverbs/front.h"

/* Flags of the provider's part of CREATE_QP. */
enum {
	QP_FLAGS = MLX5_QP_FLAG_UAR_PAGE_INDEX | MLX5_QP_FLAG_BFREG_INDEX |
		MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_ALLOW_SCATTER_CQE,
	SQ_SHIFT = 6,
	SEG = 16,			/* bytes of a data segment */
};

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static int check(const struct uv_device *dev, const struct ib_uverbs_ex_create_qp *core,
		 const struct mlx5_ib_create_qp *drv)
{
	uint32_t max = UINT32_C(1) << (uv_cap(dev, CAP_LOG_MAX_QP_SZ) & 31);

	if (core->comp_mask || core->create_flags || core->source_qpn)
		return -EOPNOTSUPP;
	if ((core->qp_type != IBV_QPT_RC && core->qp_type != IBV_QPT_UD) || drv->flags & ~(uint32_t)QP_FLAGS)
		return -EOPNOTSUPP;
	if (!(drv->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX) || drv->ece_options)
		return -EOPNOTSUPP;
	if (!drv->sq_wqe_count && !drv->rq_wqe_count && !core->is_srq)
		return -EINVAL;
	if (drv->sq_wqe_count && (!power_of_two(drv->sq_wqe_count) || drv->sq_wqe_count > max))
		return -EINVAL;
	if (drv->rq_wqe_count && (!power_of_two(drv->rq_wqe_count) || drv->rq_wqe_count > max ||
				  drv->rq_wqe_shift < 4 || drv->rq_wqe_shift > 11))
		return -EINVAL;
	if (drv->buf_addr & 63 || drv->db_addr & 7)
		return -EINVAL;
	return core->is_srq && drv->rq_wqe_count ? -EINVAL : 0;
}

static void fill_queues(uint8_t *qpc, const struct uv_obj *qp, const struct mlx5_ib_create_qp *drv)
{
	const struct uv_obj *srq = qp->held[UV_HELD_SRQ];

	if (drv->rq_wqe_count) {
		sn_set(qpc, QPC_LOG_RQ_SIZE, (uint32_t)__builtin_ctz(drv->rq_wqe_count));
		sn_set(qpc, QPC_LOG_RQ_STRIDE, drv->rq_wqe_shift - 4);
	}
	sn_set(qpc, QPC_RQ_TYPE, srq ? PRM_RQ_SRQ : drv->rq_wqe_count ? PRM_RQ_NORMAL :
	       PRM_RQ_ZERO);
	if (srq)
		sn_set(qpc, QPC_RMPN, srq->number);
	if (drv->sq_wqe_count)
		sn_set(qpc, QPC_LOG_SQ_SIZE, (uint32_t)__builtin_ctz(drv->sq_wqe_count));
	else
		sn_set(qpc, QPC_NO_SQ, 1);
}

/* Scatter to CQE, as the kernel allows it: for requests only if all of them are signaled. */
static void fill_scatter(uint8_t *qpc, const struct uv_obj *qp, const struct mlx5_ib_create_qp *drv)
{
	if (!(drv->flags & MLX5_QP_FLAG_SCATTER_CQE) || qp->cap.qp_type != IBV_QPT_RC)
		return;
	sn_set(qpc, QPC_CS_RES, qp->held[UV_HELD_RECV_CQ]->cqe_size == 128 ? 2 : 1);
	if (qp->cap.sq_sig_all || drv->flags & MLX5_QP_FLAG_ALLOW_SCATTER_CQE)
		sn_set(qpc, QPC_CS_REQ, qp->held[UV_HELD_SEND_CQ]->cqe_size == 128 ? 0x22 : 0x11);
}

/* Returns the timestamp format as mlx5_ib does: free-running (0) if the device reports no formats,
 * else its default (1). */
static uint32_t ts_format(const struct uv_device *dev)
{
	uint32_t cap = dev->infiniband ? uv_cap(dev, CAP_SQ_TS_FORMAT)
				       : sn_get(dev->roce, CAP_ROCE_TS_FORMAT);

	return cap != 0;
}

static uint64_t queue_bytes(const struct mlx5_ib_create_qp *drv)
{
	uint64_t rq = drv->rq_wqe_count ? (uint64_t)drv->rq_wqe_count << drv->rq_wqe_shift : 0;

	return rq + ((uint64_t)drv->sq_wqe_count << SQ_SHIFT);
}

/* Creates the QP at the device. One buffer holds both queues, the receive queue first; its pages
 * follow the context. */
static int create(struct uv_device *dev, struct uv_obj *qp, const struct mlx5_ib_create_qp *drv)
{
	size_t len;
	uint8_t *cmd = uv_create_alloc(drv->buf_addr, queue_bytes(drv), 12, 0, &len);
	uint8_t *qpc;

	if (!cmd)
		return -ENOMEM;
	sn_set(cmd, PRM_UID, qp->ctx->uid);
	qpc = cmd + PRM_QPC;
	sn_set(qpc, QPC_ST, qp->cap.qp_type == IBV_QPT_UD ? PRM_ST_UD : PRM_ST_RC);
	sn_set(qpc, QPC_PM_STATE, PRM_PM_MIGRATED);
	sn_set(qpc, QPC_TS_FORMAT, ts_format(dev));
	sn_set(qpc, QPC_PD, qp->held[UV_HELD_PD]->number);
	fill_queues(qpc, qp, drv);
	fill_scatter(qpc, qp, drv);
	sn_set(qpc, QPC_UAR_PAGE, drv->bfreg_index);
	sn_set(qpc, QPC_USER_INDEX, drv->uidx);
	sn_set(qpc, QPC_CQN_SND, qp->held[UV_HELD_SEND_CQ]->number);
	sn_set(qpc, QPC_CQN_RCV, qp->held[UV_HELD_RECV_CQ]->number);
	sn_set(qpc, QPC_PAGE_OFFSET, (uint32_t)(drv->buf_addr & 4095) / 64);
	sn_set64(qpc, QPC_DBR, drv->db_addr);
	return uv_create_free(dev, PRM_CREATE_QP, cmd, len, &qp->number);
}

/* Creates a QP. qp->cap holds the program's arguments. */
static int create_qp(struct uv_req *req)
{
	struct mlx5_ib_create_qp_resp resp = { 0 };
	struct mlx5_ib_create_qp drv;
	struct uv_obj *qp = req->made;
	int err;

	uv_copy_in(&drv, sizeof(drv), req->uhw_in, req->uhw_in_len);
	err = check(req->dev, &qp->cap, &drv);
	if (!err)
		err = uv_pin_queue(drv.buf_addr, queue_bytes(&drv), drv.db_addr, 0);
	if (!err)
		err = uv_qp_hold(qp);
	if (!err)
		err = create(req->dev, qp, &drv);
	if (err)
		return err;
	uv_qp_ready(req, qp->number, &resp, sizeof(resp));
	/* max_send_wr is left as it is: libmlx5 computes the size of the send queue itself. */
	qp->cap.max_recv_wr = drv.rq_wqe_count;
	qp->cap.max_recv_sge = drv.rq_wqe_count ? (UINT32_C(1) << drv.rq_wqe_shift) / SEG : 0;
	return 0;
}

int uv_create_qp(struct uv_req *req)
{
	uv_create_qp_args(req, &req->made->cap);
	return create_qp(req);
}

static int put_qp(struct ib_uverbs_ioctl_hdr *hdr, const struct ib_uverbs_create_qp_resp *resp)
{
	struct ib_uverbs_qp_cap cap = {
		.max_send_wr = resp->max_send_wr,
		.max_recv_wr = resp->max_recv_wr,
		.max_send_sge = resp->max_send_sge,
		.max_recv_sge = resp->max_recv_sge,
		.max_inline_data = resp->max_inline_data,
	};
	int err = uv_attr_put(hdr, UVERBS_ATTR_CREATE_QP_RESP_CAP, &cap, sizeof(cap));

	return err ? err : uv_attr_put(hdr, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, &resp->qpn,
				       sizeof(resp->qpn));
}

int uv_create_qp_ioctl(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, UVERBS_ATTR_CREATE_QP_HANDLE);
	struct uv_req req = uv_attr_req(ctx, hdr);
	struct ib_uverbs_create_qp_resp resp;
	struct uv_obj *qp;
	int err;

	if (!handle)
		return -EINVAL;
	qp = req.made = uv_obj_new(ctx, UV_QP);
	if (!qp)
		return -ENOMEM;
	req.out = &resp;
	req.out_len = sizeof(resp);
	err = uv_create_qp_attrs(hdr, &qp->cap);
	if (!err)
		err = create_qp(&req);
	if (err) {
		uv_obj_free(qp);
		return err;
	}
	err = uv_source_tells(qp, hdr, UVERBS_ATTR_CREATE_QP_EVENT_FD);
	if (!err)
		err = put_qp(hdr, &resp);
	return uv_obj_hand_over(qp, handle, err);
}

static uint8_t verbs_state(uint32_t state)
{
	switch (state) {
	case PRM_QPS_INIT: return IBV_QPS_INIT;
	case PRM_QPS_RTR: return IBV_QPS_RTR;
	case PRM_QPS_RTS: return IBV_QPS_RTS;
	case PRM_QPS_SQER: return IBV_QPS_SQE;
	case PRM_QPS_SQD: return IBV_QPS_SQD;
	case PRM_QPS_ERR: return IBV_QPS_ERR;
	default: return IBV_QPS_RESET;
	}
}

static void query_path(const uint8_t *qpc, bool infiniband, struct ib_uverbs_query_qp_resp *r)
{
	const uint8_t *path = qpc + QPC_PATH;

	memcpy(r->dest.dgid, path + ADS_RGID, sizeof(r->dest.dgid));
	r->dest.flow_label = sn_get(path, ADS_FLOW_LABEL);
	r->dest.sgid_index = (uint8_t)sn_get(path, ADS_SRC_ADDR_INDEX);
	r->dest.hop_limit = (uint8_t)sn_get(path, ADS_HOP_LIMIT);
	r->dest.traffic_class = (uint8_t)sn_get(path, ADS_TCLASS);
	r->dest.sl = (uint8_t)sn_get(path, infiniband ? ADS_SL : ADS_ETH_PRIO);
	r->dest.dlid = infiniband ? (uint16_t)sn_get(path, ADS_RLID) : 0;
	r->dest.is_global = (uint8_t)sn_get(path, ADS_GRH);
	r->dest.port_num = r->port_num = (uint8_t)sn_get(path, ADS_PORT);
	r->pkey_index = (uint16_t)sn_get(path, ADS_PKEY_INDEX);
	r->timeout = (uint8_t)sn_get(path, ADS_ACK_TIMEOUT);
}

static void query_transport(const uint8_t *qpc, struct ib_uverbs_query_qp_resp *r)
{
	r->qp_state = r->cur_qp_state = verbs_state(sn_get(qpc, QPC_STATE));
	r->path_mtu = (uint8_t)sn_get(qpc, QPC_MTU);
	r->path_mig_state = IBV_MIG_MIGRATED;
	r->rq_psn = sn_get(qpc, QPC_NEXT_RCV_PSN);
	r->sq_psn = sn_get(qpc, QPC_NEXT_SEND_PSN);
	r->dest_qp_num = sn_get(qpc, QPC_REMOTE_QPN);
	r->qkey = sn_get(qpc, QPC_Q_KEY);
	r->qp_access_flags = (sn_get(qpc, QPC_RRE) ? IBV_ACCESS_REMOTE_READ : 0u) |
		(sn_get(qpc, QPC_RWE) ? IBV_ACCESS_REMOTE_WRITE : 0u) |
		(sn_get(qpc, QPC_RAE) ? IBV_ACCESS_REMOTE_ATOMIC : 0u);
	r->max_rd_atomic = (uint8_t)(1u << sn_get(qpc, QPC_LOG_SRA_MAX));
	r->max_dest_rd_atomic = (uint8_t)(1u << sn_get(qpc, QPC_LOG_RRA_MAX));
	r->min_rnr_timer = (uint8_t)sn_get(qpc, QPC_MIN_RNR_NAK);
	r->retry_cnt = (uint8_t)sn_get(qpc, QPC_RETRY_COUNT);
	r->rnr_retry = (uint8_t)sn_get(qpc, QPC_RNR_RETRY);
}

int uv_query_qp(struct uv_req *req)
{
	struct ib_uverbs_query_qp_resp resp = { 0 };
	struct uv_obj *qp = req->obj;
	uint8_t out[PRM_QP_OUT];
	int err = uv_cmd_number(req->dev, PRM_QUERY_QP, qp->number, out, sizeof(out));

	if (err)
		return err;
	query_transport(out + PRM_QPC, &resp);
	query_path(out + PRM_QPC, req->dev->infiniband, &resp);
	qp->state = resp.qp_state;
	return uv_qp_queried(req, &resp);
}
