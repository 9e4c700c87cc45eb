/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that have an older, shorter form or one by attributes: what it says in the extended one. */
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "softnic/uverbs/front.h"

void uv_create_cq_args(const struct uv_req *req, bool extended, struct ib_uverbs_ex_create_cq *core)
{
	struct ib_uverbs_create_cq in;

	if (extended) {
		uv_copy_in(core, sizeof(*core), req->in, req->in_len);
		return;
	}
	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	*core = (struct ib_uverbs_ex_create_cq){
		.user_handle = in.user_handle,
		.cqe = in.cqe,
		.comp_vector = in.comp_vector,
		.comp_channel = in.comp_channel,
	};
}

void uv_create_qp_args(const struct uv_req *req, bool extended, struct ib_uverbs_ex_create_qp *core)
{
	struct ib_uverbs_create_qp in;

	if (extended) {
		uv_copy_in(core, sizeof(*core), req->in, req->in_len);
		return;
	}
	uv_copy_in(&in, sizeof(in), req->in, req->in_len);
	*core = (struct ib_uverbs_ex_create_qp){
		.user_handle = in.user_handle,
		.pd_handle = in.pd_handle,
		.send_cq_handle = in.send_cq_handle,
		.recv_cq_handle = in.recv_cq_handle,
		.srq_handle = in.srq_handle,
		.max_send_wr = in.max_send_wr,
		.max_recv_wr = in.max_recv_wr,
		.max_send_sge = in.max_send_sge,
		.max_recv_sge = in.max_recv_sge,
		.max_inline_data = in.max_inline_data,
		.sq_sig_all = in.sq_sig_all,
		.qp_type = in.qp_type,
		.is_srq = in.is_srq,
	};
}

static uint64_t number(struct ib_uverbs_ioctl_hdr *hdr, uint16_t id)
{
	uint64_t v;

	return uv_attr_number(hdr, id, &v) ? v : 0;
}

void uv_create_cq_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_ex_create_cq *core)
{
	bool channel = uv_attr(hdr, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL);

	*core = (struct ib_uverbs_ex_create_cq){
		.user_handle = number(hdr, UVERBS_ATTR_CREATE_CQ_USER_HANDLE),
		.cqe = (uint32_t)number(hdr, UVERBS_ATTR_CREATE_CQ_CQE),
		.comp_vector = (uint32_t)number(hdr, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR),
		.comp_channel = channel ? (int32_t)number(hdr, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL) : -1,
		.flags = (uint32_t)number(hdr, UVERBS_ATTR_CREATE_CQ_FLAGS),
	};
}

int uv_create_qp_attrs(struct ib_uverbs_ioctl_hdr *hdr, struct ib_uverbs_ex_create_qp *core)
{
	struct ib_uverbs_attr *attr = uv_attr(hdr, UVERBS_ATTR_CREATE_QP_CAP);
	uint64_t flags = number(hdr, UVERBS_ATTR_CREATE_QP_FLAGS);
	struct ib_uverbs_qp_cap cap;

	if (!attr || attr->len < sizeof(cap) || !attr->data)
		return -EINVAL;
	if (flags & ~(uint64_t)IB_UVERBS_QP_CREATE_SQ_SIG_ALL)
		return -EOPNOTSUPP;
	memcpy(&cap, uv_attr_in(attr), sizeof(cap));
	*core = (struct ib_uverbs_ex_create_qp){
		.user_handle = number(hdr, UVERBS_ATTR_CREATE_QP_USER_HANDLE),
		.pd_handle = (uint32_t)number(hdr, UVERBS_ATTR_CREATE_QP_PD_HANDLE),
		.send_cq_handle = (uint32_t)number(hdr, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE),
		.recv_cq_handle = (uint32_t)number(hdr, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE),
		.srq_handle = (uint32_t)number(hdr, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE),
		.max_send_wr = cap.max_send_wr,
		.max_recv_wr = cap.max_recv_wr,
		.max_send_sge = cap.max_send_sge,
		.max_recv_sge = cap.max_recv_sge,
		.max_inline_data = cap.max_inline_data,
		.sq_sig_all = (flags & IB_UVERBS_QP_CREATE_SQ_SIG_ALL) != 0,
		.qp_type = (uint8_t)number(hdr, UVERBS_ATTR_CREATE_QP_TYPE),
		.is_srq = uv_attr(hdr, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE) != NULL,
	};
	return 0;
}
