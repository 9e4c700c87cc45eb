/* SPDX-License-Identifier: BSD-2-Clause */
/* Fronts of Shared Receive Queues. */
#include "core/api.h"
#include "core/front/slots.h"
#include "core/ia.h"
#include "core/mem/srq.h"

_Static_assert(DAP_SRQ_TO_ERROR == (int)DAT_SRQ_TRANSFER_TO_ERROR &&
	       DAP_SRQ_LOW_WATERMARK == (int)DAT_SRQ_LOW_WATERMARK_EVENT, "reasons are DAT's");

DAT_RETURN front_srq_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			    DAT_SRQ_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_srq_args args;
	struct dap_srq *srq;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	args.pz = dap_obj_get(pz, DAP_PZ, ia);
	if (!args.pz)
		return front_bad_handle(DAP_SUB_HANDLE_PZ);
	if (!attr || attr->max_recv_dtos < 0 || attr->max_recv_iov < 0 || attr->low_watermark < 0)
		return front_bad_arg(3);
	if (!out)
		return front_bad_arg(4);
	args.max_recv_dtos = (uint32_t)attr->max_recv_dtos;
	args.max_recv_iov = (uint32_t)attr->max_recv_iov;
	args.low_watermark = (uint32_t)attr->low_watermark;
	err = dap_srq_create(ia, &args, &srq);
	if (!err)
		*out = srq;
	return front_return_arg(err, 3);
}

DAT_RETURN front_srq_free(DAT_SRQ_HANDLE handle)
{
	struct dap_srq *srq = dap_obj_get(handle, DAP_SRQ, NULL);

	if (!srq)
		return front_bad_handle(DAP_SUB_HANDLE_SRQ);
	return front_return(dap_srq_free(srq));
}

/* For validating instances and invalid handles; a live SRQ has the backend's function. */
DAT_RETURN front_srq_post_recv(DAT_SRQ_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie)
{
	struct dap_srq *srq = dap_obj_get(handle, DAP_SRQ, NULL);
	const struct dap_hot *hot;
	int err;

	if (!srq)
		return front_bad_handle(DAP_SUB_HANDLE_SRQ);
	if (n < 0 || (uint32_t)n > srq->max_recv_iov)
		return front_bad_arg(2);
	if (n && !iov)
		return front_bad_arg(3);
	for (DAT_COUNT i = 0; core_ia(srq->obj.ia)->validate && i < n; i++) {
		if (!iov[i].segment_length)
			continue;
		err = dap_lmr_check(srq->obj.ia, srq->pz, iov[i].lmr_context,
				    iov[i].virtual_address, iov[i].segment_length,
				    DAP_PRIV_LOCAL_WRITE);
		if (err)
			return front_return(err);
	}
	hot = core_ia(srq->obj.ia)->hot;
	return hot->srq_post_recv(srq, n, iov, cookie);
}

DAT_RETURN front_srq_query(DAT_SRQ_HANDLE handle, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	struct dap_srq *srq = dap_obj_get(handle, DAP_SRQ, NULL);
	struct dap_srq_info info;

	if (!srq)
		return front_bad_handle(DAP_SUB_HANDLE_SRQ);
	if ((uint32_t)mask & ~(uint32_t)DAT_SRQ_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	dap_srq_query(srq, &info);
	*param = (DAT_SRQ_PARAM){
		.ia_handle = front_ia_handle(srq->obj.ia),
		.srq_state = info.broken ? DAT_SRQ_STATE_ERROR : DAT_SRQ_STATE_OPERATIONAL,
		.pz_handle = srq->pz,
		.max_recv_dtos = (DAT_COUNT)info.max_recv_dtos,
		.max_recv_iov = (DAT_COUNT)info.max_recv_iov,
		.low_watermark = (DAT_COUNT)info.low_watermark,
		.available_dto_count = info.counted ? (DAT_COUNT)info.available
						    : DAT_VALUE_UNKNOWN,
		.outstanding_dto_count = info.counted ? (DAT_COUNT)info.outstanding
						      : DAT_VALUE_UNKNOWN,
	};
	return DAT_SUCCESS;
}

DAT_RETURN front_srq_resize(DAT_SRQ_HANDLE handle, DAT_COUNT max_recv_dtos)
{
	struct dap_srq *srq = dap_obj_get(handle, DAP_SRQ, NULL);

	if (!srq)
		return front_bad_handle(DAP_SUB_HANDLE_SRQ);
	if (max_recv_dtos <= 0)
		return front_bad_arg(2);
	return front_return_arg(dap_srq_resize(srq, (uint32_t)max_recv_dtos), 2);
}

DAT_RETURN front_srq_set_lw(DAT_SRQ_HANDLE handle, DAT_COUNT low_watermark)
{
	struct dap_srq *srq = dap_obj_get(handle, DAP_SRQ, NULL);

	if (!srq)
		return front_bad_handle(DAP_SUB_HANDLE_SRQ);
	if (low_watermark < 0)
		return front_bad_arg(2);
	return front_return_arg(dap_srq_set_lw(srq, (uint32_t)low_watermark), 2);
}
