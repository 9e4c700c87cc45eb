/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands for the device, ports, protection domains, memory and address handles. */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>
#include <rdma/efa-abi.h>

#include "softnic/uverbs/efa/front.h"

enum {
	/* Features that a program announces in its GET_CONTEXT. */
	KNOWS_TX_BATCH = 1 << 0,
	KNOWS_MIN_SQ_WR = 1 << 1,
	/* Device capabilities that an older system header does not define. */
	CAP_RDMA_WRITE = 1 << 5,
	CAP_UNSOLICITED = 1 << 6,
	CAP_REQ_ID_64 = 1 << 9,
	SPEED_EDR = 32,
	WIDTH_4X = 2,
};

/* The PCI id that the device reports. libefa 44.0 supports ids up to efa2, so later devices report
 * that one. */
static uint16_t device_id(const struct softnic_efa_caps *caps)
{
	return caps->device_id < 0xefa2 ? caps->device_id : 0xefa2;
}

/* The kernel's driver has one for each event queue, and one if the device has no event queues. */
uint32_t uve_vectors(const struct uv_device *dev)
{
	struct softnic_efa_caps caps;

	softnic_efa_caps(dev->efa, &caps);
	return caps.cq_doorbell ? 2 : 1;
}

int uve_get_context(struct uv_req *req)
{
	struct ib_uverbs_get_context_resp resp = { .num_comp_vectors = uve_vectors(req->dev) };
	struct efa_ibv_alloc_ucontext_resp drv = { 0 };
	struct efa_ibv_alloc_ucontext_cmd in;
	struct softnic_efa_caps caps;
	uint32_t knows;
	int err, fd;

	softnic_efa_caps(req->dev->efa, &caps);
	uv_copy_in(&in, sizeof(in), req->uhw_in, req->uhw_in_len);
	memcpy(&knows, &in, sizeof(knows));
	if ((caps.max_tx_batch && !(knows & KNOWS_TX_BATCH)) ||
	    (caps.min_sq_wr && !(knows & KNOWS_MIN_SQ_WR)))
		return -EOPNOTSUPP;
	err = uv_chan_new(req->dev, UV_CHAN_ASYNC, &fd, &req->ctx->async);
	if (err)
		return err;
	resp.async_fd = (uint32_t)fd;
	drv.cmds_supp_udata_mask = EFA_USER_CMDS_SUPP_UDATA_QUERY_DEVICE |
		EFA_USER_CMDS_SUPP_UDATA_CREATE_AH;
	drv.sub_cqs_per_cq = caps.sub_cqs;
	drv.inline_buf_size = caps.inline_max;
	drv.max_llq_size = caps.max_llq_size;
	drv.max_tx_batch = caps.max_tx_batch;
	drv.min_sq_wr = caps.min_sq_wr;
	/* Older headers name inline_buf_size_ex as a reserved field. */
	memcpy((uint8_t *)&drv + offsetof(struct efa_ibv_alloc_ucontext_resp, min_sq_wr) +
	       sizeof(drv.min_sq_wr), &caps.inline_max_wide, sizeof(caps.inline_max_wide));
	return uv_answer(req, &resp, sizeof(resp), &drv, sizeof(drv));
}

/* The GUID comes from sysfs, so it is the same in every process that sees the device. */
static struct ib_uverbs_query_device_resp device(const struct uv_device *dev,
						 const struct softnic_efa_caps *c)
{
	uint64_t guid = htobe64(UINT64_C(0x0efa0000) + dev->index + 1);

	return (struct ib_uverbs_query_device_resp){
		.fw_ver = 1,
		.node_guid = guid,
		.sys_image_guid = guid,
		.max_mr_size = c->max_mr_size,
		.page_size_cap = c->page_size_cap,
		.vendor_id = UVE_VENDOR,
		.vendor_part_id = device_id(c),
		.max_qp = c->max_qp,
		.max_qp_wr = c->max_sq_wr < c->max_rq_wr ? c->max_sq_wr : c->max_rq_wr,
		.max_sge = c->max_send_sge,
		.max_sge_rd = c->max_rdma_sge,
		.max_cq = c->max_cq,
		.max_cqe = c->max_cqe,
		.max_mr = c->max_mr,
		.max_pd = c->max_pd,
		.max_ah = c->max_ah,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
	};
}

static uint32_t device_caps(const struct softnic_efa_caps *c)
{
	return (c->rdma_read ? EFA_QUERY_DEVICE_CAPS_RDMA_READ : 0u) |
		(c->rnr_retry ? EFA_QUERY_DEVICE_CAPS_RNR_RETRY : 0u) |
		(c->cq_doorbell ? EFA_QUERY_DEVICE_CAPS_CQ_NOTIFICATIONS : 0u) |
		(c->cq_with_sgid ? EFA_QUERY_DEVICE_CAPS_CQ_WITH_SGID : 0u) |
		(c->rdma_write ? CAP_RDMA_WRITE : 0u) |
		(c->unsolicited_write_recv ? CAP_UNSOLICITED : 0u) |
		(c->req_id_64 ? CAP_REQ_ID_64 : 0u);
}

int uve_query_device(struct uv_req *req)
{
	struct ib_uverbs_query_device_resp resp;
	struct efa_ibv_ex_query_device_resp drv = { 0 };
	struct softnic_efa_caps caps;

	softnic_efa_caps(req->dev->efa, &caps);
	resp = device(req->dev, &caps);
	drv.max_sq_wr = caps.max_sq_wr;
	drv.max_rq_wr = caps.max_rq_wr;
	drv.max_sq_sge = caps.max_send_sge;
	drv.max_rq_sge = caps.max_recv_sge;
	drv.max_rdma_size = caps.max_rdma_size;
	drv.device_caps = device_caps(&caps);
	return uv_device_queried(req, &resp, &drv, sizeof(drv));
}

int uve_query_port(struct uv_req *req)
{
	struct ib_uverbs_query_port_resp resp = {
		.gid_tbl_len = 1,
		.pkey_tbl_len = 1,
		.state = IBV_PORT_ACTIVE,
		.max_mtu = IBV_MTU_4096,
		.active_mtu = IBV_MTU_4096,
		.max_vl_num = 1,
		.lmc = 1,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_EDR,
		.phys_state = 5,			/* 5: link up */
		.link_layer = IBV_LINK_LAYER_UNSPECIFIED,
	};
	struct softnic_efa_caps caps;
	struct ib_uverbs_query_port in;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (in.port_num != 1)
		return -EINVAL;
	softnic_efa_caps(req->dev->efa, &caps);
	resp.max_msg_sz = caps.mtu;
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

int uve_alloc_pd(struct uv_req *req)
{
	struct ib_uverbs_alloc_pd_resp resp = { .pd_handle = req->made->handle };
	struct efa_ibv_alloc_pd_resp drv = { 0 };
	int err = softnic_efa_pd_alloc(req->dev->efa, &drv.pdn);

	if (err)
		return err;
	req->made->number = drv.pdn;
	return uv_answer(req, &resp, sizeof(resp), &drv, sizeof(drv));
}

/*
 * As in the kernel's driver, the allowed access flags depend on the device; optional ones are always
 * allowed.
 */
static int access_rights(const struct uv_device *dev, uint32_t access, unsigned int *r)
{
	uint32_t supported = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_OPTIONAL_RANGE;
	int err = uv_check_access(access);
	struct softnic_efa_caps caps;

	if (err)
		return err;
	softnic_efa_caps(dev->efa, &caps);
	supported |= (caps.rdma_read ? IBV_ACCESS_REMOTE_READ : 0u) |
		(caps.rdma_write ? IBV_ACCESS_REMOTE_WRITE : 0u);
	if (access & ~supported)
		return -EOPNOTSUPP;
	*r = (access & IBV_ACCESS_LOCAL_WRITE ? SOFTNIC_EFA_LOCAL_WRITE : 0u) |
		(access & IBV_ACCESS_REMOTE_WRITE ? SOFTNIC_EFA_REMOTE_WRITE : 0u) |
		(access & IBV_ACCESS_REMOTE_READ ? SOFTNIC_EFA_REMOTE_READ : 0u);
	return 0;
}

int uve_reg_mr(struct uv_req *req)
{
	struct ib_uverbs_reg_mr_resp resp = { .mr_handle = req->made->handle };
	struct ib_uverbs_reg_mr in;
	unsigned int access;
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	err = (in.start ^ in.hca_va) & 4095 ? -EINVAL : access_rights(req->dev, in.access_flags, &access);
	if (!err)
		err = uv_pin(in.start, in.length, in.access_flags);
	if (!err)
		err = softnic_efa_mr_reg(req->dev->efa, (uint16_t)req->obj->number,
					 (void *)(uintptr_t)in.start, in.length, in.hca_va, access,
					 &resp.lkey, &resp.rkey);
	if (err)
		return err;
	req->made->number = resp.lkey;
	return uv_answer(req, &resp, sizeof(resp), NULL, 0);
}

int uve_create_ah(struct uv_req *req)
{
	struct ib_uverbs_create_ah_resp resp = { .ah_handle = req->made->handle };
	struct efa_ibv_create_ah_resp drv = { 0 };
	struct ib_uverbs_create_ah in;
	uint8_t no_gid[16] = { 0 };	/* Linux takes the GID from a GRH only */
	int err;

	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	if (in.attr.port_num != 1 || (in.attr.is_global && in.attr.grh.sgid_index >= req->dev->gids))
		return -EINVAL;
	err = softnic_efa_ah_create(req->dev->efa, (uint16_t)req->obj->number,
				    in.attr.is_global ? in.attr.grh.dgid : no_gid, &drv.efa_address_handle);
	if (err)
		return err;
	req->made->number = drv.efa_address_handle;
	return uv_answer(req, &resp, sizeof(resp), &drv, sizeof(drv));
}
