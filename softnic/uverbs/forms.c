/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands that have an older, shorter form: what it says in terms of the extended one. */
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
