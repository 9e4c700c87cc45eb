/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for the device, ports, protection domains and address handles. */
#include <errno.h>

#include <infiniband/verbs.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5_user_ioctl_cmds.h>

#include "softnic/uverbs/front.h"

enum {
	VENDOR_ID = 0x02c9,		/* the OUI, as verbs reports it */
	PART_ID = 0x101d,		/* ConnectX-6 Dx */
	/* entries of an InfiniBand port's partition table, as softnic-run writes them into sysfs */
	PKEYS = 2,
	SPEED_EDR = 32,
	WIDTH_4X = 2,
	SEG = 16,			/* bytes of a unit of a WQE */
	SQ_DESC_MAX = 512,		/* SQ descriptor size that mlx5_ib reports */
};

static uint32_t log2_of(const struct uv_device *dev, struct sn_fld f)
{
	uint32_t log = uv_cap(dev, f);

	return log < 31 ? UINT32_C(1) << log : UINT32_C(1) << 30;
}

static struct mlx5_ib_alloc_ucontext_resp ucontext(struct uv_device *dev)
{
	struct mlx5_ib_alloc_ucontext_resp r = {
		.qp_tab_size = log2_of(dev, CAP_LOG_MAX_QP),
		.bf_reg_size = uv_cap(dev, CAP_BF) ? log2_of(dev, CAP_LOG_BF_REG_SIZE) : 0,
		.cache_line_size = 64,
		.max_sq_desc_sz = (uint16_t)uv_cap(dev, CAP_MAX_WQE_SZ_SQ),
		.max_rq_desc_sz = (uint16_t)uv_cap(dev, CAP_MAX_WQE_SZ_RQ),
		.max_send_wqebb = log2_of(dev, CAP_LOG_MAX_QP_SZ),
		.max_recv_wr = log2_of(dev, CAP_LOG_MAX_QP_SZ),
		.max_srq_recv_wr = log2_of(dev, CAP_LOG_MAX_SRQ_SZ),
		.num_ports = (uint8_t)dev->ports,
		.cqe_version = (uint8_t)uv_cap(dev, CAP_CQE_VERSION),
		.cmds_supp_uhw = MLX5_USER_CMDS_SUPP_UHW_QUERY_DEVICE |
			MLX5_USER_CMDS_SUPP_UHW_CREATE_AH,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.comp_mask = MLX5_IB_ALLOC_UCONTEXT_RESP_MASK_CORE_CLOCK_OFFSET,
		.clock_info_versions = 1 << MLX5_IB_CLOCK_INFO_V1,
		.log_uar_size = 12,
		.num_uars_per_page = 1,
	};

	return r;
}

static bool has_devx(const struct uv_device *dev)
{
	return uv_cap(dev, CAP_LOG_MAX_UCTX) && !pre_asked("SOFTNIC_NO_DEVX");
}

/* The device finds the objects of a context by the uid in its commands. 0 is the kernel's. */
static int create_uctx(struct uv_ctx *ctx)
{
	uint8_t in[PRM_UCTX_IN] = { 0 };
	uint32_t uid;
	int err = uv_create(ctx->dev, PRM_CREATE_UCTX, in, sizeof(in), &uid);

	if (!err)
		ctx->uid = (uint16_t)uid;
	return err;
}

void uv_destroy_uctx(struct uv_ctx *ctx)
{
	if (ctx->uid)
		uv_cmd_number(ctx->dev, PRM_DESTROY_UCTX, ctx->uid, NULL, 0);
	ctx->uid = 0;
}

/* Doorbell pages are objects (UAR_OBJ_ALLOC). There are no static ones, so tot_bfregs stays 0. */
int uv_get_context(struct uv_req *req)
{
	struct mlx5_ib_alloc_ucontext_resp drv = ucontext(req->dev);
	struct ib_uverbs_get_context_resp resp = { .num_comp_vectors = 1 };
	struct mlx5_ib_alloc_ucontext_req_v2 in;
	int err = 0, fd;

	if (req->dev->failed)
		return -EAGAIN;
	uv_copy_in(&in, sizeof(in), req->uhw_in, req->uhw_in_len);
	if (in.flags & ~(uint32_t)MLX5_IB_ALLOC_UCTX_DEVX || in.comp_mask)
		return -EINVAL;
	/* After this error libmlx5 retries without DEVX, unless the program requires it. */
	if (in.flags & MLX5_IB_ALLOC_UCTX_DEVX && !has_devx(req->dev))
		return -EINVAL;
	if (in.flags & MLX5_IB_ALLOC_UCTX_DEVX)
		err = create_uctx(req->ctx);
	if (!err && (!(in.lib_caps & MLX5_LIB_CAP_4K_UAR) || !(in.lib_caps & MLX5_LIB_CAP_DYN_UAR)))
		err = -EOPNOTSUPP;
	if (!err)
		err = uv_chan_new(req->dev, UV_CHAN_ASYNC, &fd, &req->ctx->async);
	if (err) {
		uv_destroy_uctx(req->ctx);
		return err;
	}
	resp.async_fd = (uint32_t)fd;
	if (drv.cqe_version > in.max_cqe_version)
		drv.cqe_version = in.max_cqe_version;
	req->ctx->cqe_version = drv.cqe_version;
	drv.response_length = (uint32_t)(req->uhw_out_len < sizeof(drv) ? req->uhw_out_len : sizeof(drv));
	return uv_answer(req, &resp, sizeof(resp), &drv, sizeof(drv));
}

int uv_query_context(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *out = uv_attr(hdr, MLX5_IB_ATTR_QUERY_CONTEXT_RESP_UCTX);
	struct mlx5_ib_alloc_ucontext_resp drv = ucontext(ctx->dev);
	uint64_t core = IB_UVERBS_CORE_SUPPORT_OPTIONAL_MR_ACCESS;
	uint32_t vectors = 1;
	int err;

	if (!out || !out->data)
		return -EINVAL;
	drv.cqe_version = ctx->cqe_version;
	drv.response_length = (uint32_t)(out->len < sizeof(drv) ? out->len : sizeof(drv));
	uv_copy_out((void *)(uintptr_t)out->data, out->len, &drv, sizeof(drv));
	out->flags |= UVERBS_ATTR_F_VALID_OUTPUT;
	err = uv_attr_put(hdr, UVERBS_ATTR_QUERY_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors));
	return err ? err : uv_attr_put(hdr, UVERBS_ATTR_QUERY_CONTEXT_CORE_SUPPORT, &core, sizeof(core));
}

/* The asynchronous channel of an imported context; its objects refer to it. */
int uv_alloc_async_fd(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct ib_uverbs_attr *handle = uv_attr(hdr, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE);
	struct uv_chan *chan;
	int fd, err;

	if (!handle)
		return -EINVAL;
	err = uv_chan_new(ctx->dev, UV_CHAN_ASYNC, &fd, &chan);
	if (err)
		return err;
	chan->imported = true;
	handle->data = (uint32_t)fd;
	return 0;
}

int uv_query_pd(struct uv_ctx *ctx, struct ib_uverbs_ioctl_hdr *hdr)
{
	struct uv_obj *pd;
	uint64_t handle;
	int err;

	if (!uv_attr_number(hdr, MLX5_IB_ATTR_QUERY_PD_HANDLE, &handle))
		return -EINVAL;
	err = uv_obj_find(ctx, UV_PD, (uint32_t)handle, &pd);
	return err ? err : uv_attr_put(hdr, MLX5_IB_ATTR_QUERY_PD_RESP_PDN, &pd->number,
				       sizeof(pd->number));
}

static uint32_t max_sge(const struct uv_device *dev)
{
	uint32_t rq = uv_cap(dev, CAP_MAX_WQE_SZ_RQ) / SEG;
	uint32_t sq = uv_cap(dev, CAP_MAX_WQE_SZ_SQ);

	sq = ((sq < SQ_DESC_MAX ? sq : SQ_DESC_MAX) - 2 * SEG) / SEG;
	return sq < rq ? sq : rq;
}

static struct ib_uverbs_query_device_resp device(struct uv_device *dev)
{
	uint64_t guid = htobe64(UINT64_C(0x5c0ff1ceff000000) + dev->index);

	return (struct ib_uverbs_query_device_resp){
		.fw_ver = UINT64_C(22) << 32 | 36u << 16 | 1010,
		.node_guid = guid,
		.sys_image_guid = guid,
		.max_mr_size = UINT64_MAX,
		.page_size_cap = UINT64_C(0xfffffffffffff000),
		.vendor_id = VENDOR_ID,
		.vendor_part_id = PART_ID,
		.max_qp = log2_of(dev, CAP_LOG_MAX_QP),
		.max_qp_wr = log2_of(dev, CAP_LOG_MAX_QP_SZ),
		.device_cap_flags = IBV_DEVICE_CHANGE_PHY_PORT | IBV_DEVICE_PORT_ACTIVE_EVENT |
			IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
			IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
			IBV_DEVICE_MEM_MGT_EXTENSIONS,
		.max_sge = max_sge(dev),
		.max_sge_rd = 30,
		.max_cq = log2_of(dev, CAP_LOG_MAX_CQ),
		.max_cqe = log2_of(dev, CAP_LOG_MAX_CQ_SZ) - 1,
		.max_mr = log2_of(dev, CAP_LOG_MAX_MKEY),
		.max_mw = log2_of(dev, CAP_LOG_MAX_MKEY),
		.max_pd = log2_of(dev, CAP_LOG_MAX_PD),
		.max_qp_rd_atom = log2_of(dev, CAP_LOG_MAX_RA_RES_QP),
		.max_qp_init_rd_atom = log2_of(dev, CAP_LOG_MAX_RA_REQ_QP),
		.max_res_rd_atom = log2_of(dev, CAP_LOG_MAX_RA_RES_QP) * log2_of(dev, CAP_LOG_MAX_QP),
		.atomic_cap = uv_cap(dev, CAP_ATOMIC) ? IBV_ATOMIC_HCA : IBV_ATOMIC_NONE,
		.max_ah = INT32_MAX,
		.max_srq = log2_of(dev, CAP_LOG_MAX_SRQ),
		.max_srq_wr = log2_of(dev, CAP_LOG_MAX_SRQ_SZ) - 1,
		.max_srq_sge = uv_cap(dev, CAP_MAX_WQE_SZ_RQ) / SEG - 1,
		.max_pkeys = 128,
		.local_ca_ack_delay = (uint8_t)uv_cap(dev, CAP_LOCAL_CA_ACK_DELAY),
		.phys_port_cnt = (uint8_t)dev->ports,
	};
}

int uv_query_device(struct uv_req *req)
{
	struct ib_uverbs_query_device_resp resp = device(req->dev);
	struct mlx5_ib_query_device_resp drv = { 0 };

	drv.response_length = (uint32_t)(req->uhw_out_len < sizeof(drv) ? req->uhw_out_len : sizeof(drv));
	return uv_device_queried(req, &resp, &drv, sizeof(drv));
}

/* Fills in the additional fields of an InfiniBand port: LIDs, as a subnet manager assigns them. */
static int lids(struct uv_device *dev, unsigned int port, struct ib_uverbs_query_port_resp *resp)
{
	uint8_t out[PRM_VPORT_OUT];
	int err = uv_query_vport(dev, port, out);

	if (err)
		return err;
	resp->lid = (uint16_t)sn_get(out + VPORT_CONTEXT, VPORT_LID);
	resp->sm_lid = (uint16_t)sn_get(out + VPORT_CONTEXT, VPORT_SM_LID);
	resp->link_layer = IBV_LINK_LAYER_INFINIBAND;
	resp->port_cap_flags = 0;
	resp->max_vl_num = 1;
	resp->pkey_tbl_len = PKEYS;
	return 0;
}

/* A port with an IP address has the MTU of its network interface. */
static uint8_t active_mtu(const struct uv_device *dev)
{
	uint16_t mtu;

	if (dev->kind->adapter != UV_CONNECTX || !softnic_udp(dev->nic, &mtu))
		return IBV_MTU_4096;
	return (uint8_t)(__builtin_ctz(mtu) - 7);	/* IBV_MTU_256 is 1 */
}

static struct ib_uverbs_query_port_resp port_of(struct uv_req *req, bool down)
{
	return (struct ib_uverbs_query_port_resp){
		.port_cap_flags = 1u << 16 | 1u << 26,	/* the port has a CM, and IP-based GIDs */
		.max_msg_sz = log2_of(req->dev, CAP_LOG_MAX_MSG),
		.gid_tbl_len = req->dev->gids,
		.pkey_tbl_len = 1,
		.state = down ? IBV_PORT_DOWN : IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = active_mtu(req->dev),
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
		.phys_state = down ? 3 : 5,	/* 3: disabled; 5: link up */
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};
}

int uv_query_port(struct uv_req *req)
{
	struct ib_uverbs_query_port_resp resp;
	struct ib_uverbs_query_port in;
	int err = 0;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (!in.port_num || in.port_num > req->dev->ports)
		return -EINVAL;
	resp = port_of(req, req->dev->ports_down >> in.port_num & 1);
	if (req->dev->infiniband)
		err = lids(req->dev, in.port_num, &resp);
	if (err)
		return err;
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

int uv_alloc_pd(struct uv_req *req)
{
	struct ib_uverbs_alloc_pd_resp resp = { .pd_handle = req->made->handle };
	struct mlx5_ib_alloc_pd_resp drv;
	int err = uv_alloc(req->dev, req->ctx->uid, PRM_ALLOC_PD, &req->made->number);

	if (err)
		return err;
	drv.pdn = req->made->number;
	return uv_answer(req, &resp, sizeof(resp), &drv, sizeof(drv));
}

/* On RoCE an address handle exists only in user space; this command only returns the destination's MAC. */
int uv_create_ah(struct uv_req *req)
{
	struct mlx5_ib_create_ah_resp drv = { .response_length = sizeof(drv) };
	struct ib_uverbs_create_ah_resp resp = { .ah_handle = req->made->handle };
	struct ib_uverbs_create_ah in;
	struct uv_gid sgid;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (!in.attr.is_global || !in.attr.port_num || in.attr.port_num > req->dev->ports ||
	    in.attr.grh.sgid_index >= req->dev->gids)
		return -EINVAL;
	err = uv_query_gid(req->dev, in.attr.port_num, in.attr.grh.sgid_index, &sgid);
	if (err)
		return err;
	uv_rmac_of(in.attr.grh.dgid, drv.dmac);
	return uv_answer(req, &resp, sizeof(resp), &drv, sizeof(drv));
}
