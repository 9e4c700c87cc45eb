/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Commands that concern no QP: capabilities, keys, completion queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hw_mlx5/cmd.h"
#include "hw_mlx5/wqe.h"

int m5_cmd(struct m5_ctl *ctl, const void *in, size_t inlen, void *out, size_t outlen)
{
	int err = ctl->ops->cmd(ctl, in, inlen, out, outlen);

	return err ? m5_cmd_error(ctl, err, in, out) : 0;
}

int m5_cmd_create(struct m5_ctl *ctl, const void *in, size_t inlen, struct m5_obj **obj,
		  uint32_t *number)
{
	struct m5_obj_out out = { 0 };
	int err = ctl->ops->obj_create(ctl, in, inlen, &out, sizeof(out), obj);

	if (err)
		return m5_cmd_error(ctl, err, in, &out);
	*number = be32_to_cpu(out.number) & 0xffffff;
	return 0;
}

int m5_cmd_obj(struct m5_ctl *ctl, struct m5_obj *obj, const void *in, size_t inlen, void *out,
	       size_t outlen)
{
	int err = ctl->ops->obj_cmd(obj, in, inlen, out, outlen);

	return err ? m5_cmd_error(ctl, err, in, out) : 0;
}

static uint32_t field(be32_t word, unsigned int low, unsigned int bits)
{
	return be32_to_cpu(word) >> low & ((1u << bits) - 1);
}

/*
 * PRM, "HCA Capabilities", umr_fence: the fence that a UMR itself needs; 2: none. This function returns
 * the fence of the work that follows a UMR. That work needs at least a small fence on every device:
 * Linux, libmlx5, DPDK and SPDK always set it.
 */
static uint8_t umr_fence(uint32_t cap)
{
	return cap ? M5_FENCE_SMALL : M5_FENCE_STRONG;
}

static void caps_read(const struct m5_hca_cap *c, struct m5_dev_caps *caps)
{
	*caps = (struct m5_dev_caps){
		.max_srq = 1u << field(c->max_rmp, 24, 5),
		.max_srq_wqe = 1u << field(c->max_qp, 24, 8),
		.max_qp = 1u << field(c->max_qp, 0, 5),
		.max_qp_blocks = 1u << field(c->max_qp, 16, 5),
		.max_cq = 1u << field(c->max_cq, 0, 5),
		.max_cqe = 1u << field(c->max_cq, 16, 5),
		.max_mkey = 1u << field(c->max_mkey, 16, 5),
		.max_pd = 1u << field(c->max_pd, 16, 5),
		.max_rd_out = 1u << field(c->max_ra, 16, 4),
		.max_rd_in = 1u << field(c->max_ra, 0, 4),
		.max_sq_wqe = field(c->max_wqe_sz_sq, 0, 16),
		.max_msg = 1ull << field(c->max_msg, 24, 5),
		.max_mr_log = field(c->max_mrw, 16, 7),
		.klm_slots = 1u << field(c->max_mrw, 0, 5),
		.max_indirection = field(c->max_mrw, 24, 8),
		.umr_fence = umr_fence(field(c->flags40, 20, 2)),
		.windows = field(c->flags44, 14, 1) && !field(c->flags40, 22, 1),
		.small_cqe = field(c->flags40, 10, 1),
		.cqe_version = (uint8_t)field(c->cqe_version, 0, 4),
		.sq_ts = (uint8_t)field(c->ts_formats, 30, 2),
		.timer_khz = be32_to_cpu(c->timer_khz),
		.ethernet = field(c->ports, 8, 2) == 1,
		.atomics = field(c->flags40, 1, 1),
		.bf = field(c->bf, 31, 1) != 0,
		.reorders = field(c->max_pd, 11, 1) || field(c->max_msg, 21, 1),
		.cq_resize = field(c->flags44, 30, 1) != 0,
	};
}

static int query_caps(struct m5_ctl *ctl, uint16_t op_mod, struct m5_query_hca_cap_out *out)
{
	struct m5_obj_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_QUERY_HCA_CAP),
		.hdr.op_mod = cpu_to_be16(op_mod),
	};

	return m5_cmd(ctl, &in, sizeof(in), out, sizeof(*out));
}

/*
 * If the fabric has several paths, devices may place data out of order: newer ones all data of RC,
 * older ones that of WRITE and READ. DAT consumers rely on the order. A device with
 * dp_ordering_force keeps it for QPs that demand it.
 */
static int order_read(struct m5_ctl *ctl, struct m5_query_hca_cap_out *out,
		      struct m5_dev_caps *caps)
{
	const struct m5_hca_cap_2 *c = (const void *)&out->cap;
	int err;

	if (!caps->reorders || !field(out->cap.caps_2, 31, 1))
		return 0;
	err = query_caps(ctl, M5_CAP_GENERAL_2_CUR, out);
	if (!err)
		caps->force_order = field(c->flags10, 23, 1);
	return err;
}

/*
 * An atomic returns the old value in big-endian order, unless the driver that booted the device has
 * selected the host's order. Linux's driver has; libmlx5, which boots a device through VFIO, has not, and
 * later the order cannot be selected any more. mlx5_ib offers no atomics then, either, nor if a QP lacks
 * one of the two operations on 8 bytes (get_atomic_caps).
 */
static int atomics_read(struct m5_ctl *ctl, struct m5_query_hca_cap_out *out,
			struct m5_dev_caps *caps)
{
	const struct m5_atomic_cap *c = (const void *)&out->cap;
	int err = caps->atomics ? query_caps(ctl, M5_CAP_ATOMIC_CUR, out) : 0;

	if (!err && caps->atomics)
		caps->atomics = field(c->order, 30, 2) && field(c->operations, 0, 2) == 3 &&
				field(c->size_qp, 3, 1);
	return err;
}

int m5_cmd_caps(struct m5_ctl *ctl, struct m5_dev_caps *caps)
{
	struct m5_query_hca_cap_out *out = calloc(1, sizeof(*out));
	int err;

	if (!out)
		return -ENOMEM;
	err = query_caps(ctl, M5_CAP_GENERAL_CUR, out);
	if (!err) {
		caps_read(&out->cap, caps);
		err = order_read(ctl, out, caps);
	}
	if (!err)
		err = atomics_read(ctl, out, caps);
	free(out);
	return err;
}

int m5_cmd_ts_format(struct m5_ctl *ctl, const struct m5_dev_caps *caps, enum m5_ts *format)
{
	struct m5_query_hca_cap_out *out;
	const struct m5_roce_cap *c;
	int err;

	*format = (enum m5_ts)caps->sq_ts;
	if (!caps->ethernet)
		return 0;
	out = calloc(1, sizeof(*out));
	if (!out)
		return -ENOMEM;
	c = (const void *)&out->cap;
	err = query_caps(ctl, M5_CAP_ROCE_CUR, out);
	if (!err)
		*format = (enum m5_ts)field(c->w00, 0, 2);
	free(out);
	return err;
}

uint32_t m5_mkc_rights(unsigned int access)
{
	return M5_MKC_LOCAL_READ | (access & M5_ACCESS_LOCAL_WRITE ? M5_MKC_LOCAL_WRITE : 0) |
	       (access & M5_ACCESS_REMOTE_WRITE ? M5_MKC_REMOTE_WRITE : 0) |
	       (access & M5_ACCESS_REMOTE_READ ? M5_MKC_REMOTE_READ : 0) |
	       (access & M5_ACCESS_REMOTE_ATOMIC ? M5_MKC_ATOMIC : 0);
}

int m5_cmd_window(struct m5_ctl *ctl, uint32_t pdn, uint8_t variant, bool remote_end,
		  struct m5_obj **obj, uint32_t *rkey)
{
	struct m5_create_mkey_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_CREATE_MKEY),
		.mkc.flags = cpu_to_be32(M5_MKC_FREE | M5_MKC_UMR_EN | M5_MKC_LOCAL_READ |
					 M5_MKC_MODE_KLM),
		.mkc.qpn_key = cpu_to_be32(M5_NO_QPN << 8 | variant),
		.mkc.pd = cpu_to_be32(pdn | (remote_end ? M5_MKC_EN_RINVAL : 0)),
		.mkc.octowords = cpu_to_be32(M5_KLM_SLOTS),
	};
	uint32_t index;
	int err = m5_cmd_create(ctl, &in, sizeof(in), obj, &index);

	if (!err)
		*rkey = index << 8 | variant;
	return err;
}

static void klm_fill(struct m5_klm_seg *klm, const struct m5_zero_param *p)
{
	for (uint64_t at = 0; at < p->length; at += M5_KLM_MAX, klm++) {
		uint64_t left = p->length - at;

		klm->byte_count = cpu_to_be32(left < M5_KLM_MAX ? (uint32_t)left : M5_KLM_MAX);
		klm->mkey = cpu_to_be32(p->lkey);
		klm->va = cpu_to_be64(p->addr + at);
	}
}

int m5_cmd_zero_based(struct m5_ctl *ctl, const struct m5_zero_param *p, struct m5_obj **obj,
		      uint32_t *key)
{
	uint64_t n = (p->length + M5_KLM_MAX - 1) / M5_KLM_MAX;
	size_t octowords = (n + 3) & ~(size_t)3;	/* a list is padded to 64 bytes */
	struct m5_create_mkey_in *in;
	uint32_t index;
	size_t bytes;
	int err;

	if (n > p->slots)
		return -EINVAL;
	bytes = sizeof(*in) + octowords * sizeof(struct m5_klm_seg);
	in = calloc(1, bytes);
	if (!in)
		return -ENOMEM;
	in->hdr.opcode = cpu_to_be16(M5_CMD_CREATE_MKEY);
	in->mkc.flags = cpu_to_be32(p->rights | M5_MKC_MODE_KLM);
	in->mkc.qpn_key = cpu_to_be32(M5_NO_QPN << 8);
	in->mkc.pd = cpu_to_be32(p->pdn);
	in->mkc.len = cpu_to_be64(p->length);
	in->mkc.octowords = in->octowords_actual = cpu_to_be32((uint32_t)octowords);
	klm_fill((struct m5_klm_seg *)(void *)in->mtt, p);
	err = m5_cmd_create(ctl, in, bytes, obj, &index);
	free(in);
	if (!err)
		*key = index << 8;
	return err;
}

int m5_cmd_cq(struct m5_ctl *ctl, const struct m5_cq_param *p, struct m5_obj **obj, uint32_t *cqn)
{
	struct m5_create_cq_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_CREATE_CQ),
		.cqc.flags = cpu_to_be32(1u << 25),
		.cqc.dbr_umem_id = cpu_to_be32(p->umem_id),
		.cqc.size_uar = cpu_to_be32(p->log_size << 24 | p->uar_page),
		.cqc.eqn = cpu_to_be32(p->eqn),
		.cqc.dbr_addr = cpu_to_be64(p->dbrec),
		.umem_offset = cpu_to_be64(p->offset),
		.umem_id = cpu_to_be32(p->umem_id),
		.umem_valid = cpu_to_be32(1u << 31),
	};

	return m5_cmd_create(ctl, &in, sizeof(in), obj, cqn);
}

int m5_cmd_cq_resize(struct m5_ctl *ctl, struct m5_obj *obj, uint32_t cqn,
		     const struct m5_cq_param *p)
{
	struct m5_create_cq_in in = {
		.hdr.opcode = cpu_to_be16(M5_CMD_MODIFY_CQ),
		.hdr.op_mod = cpu_to_be16(M5_MODIFY_CQ_RESIZE),
		.cqn = cpu_to_be32(cqn),
		.field_select = cpu_to_be32(7),
		.cqc.size_uar = cpu_to_be32(p->log_size << 24 | p->uar_page),
		.umem_offset = cpu_to_be64(p->offset),
		.umem_id = cpu_to_be32(p->umem_id),
		.umem_valid = cpu_to_be32(1u << 31),
	};
	struct m5_obj_out out = { 0 };

	return m5_cmd_obj(ctl, obj, &in, sizeof(in), &out, sizeof(out));
}
