/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that do nothing yet. Each still tells a bad handle from a good one, and refuses with
 * the code that its page has for it:
 *
 *	call				refused with
 *	srq_create, ep_create_with_srq	MODEL_NOT_SUPPORTED	(provider attribute srq_supported)
 *	ep_recv_query, ep_set_watermark	MODEL_NOT_SUPPORTED	(attributes ep_recv_info_supported,
 *								 srq_watermarks_supported)
 *	other calls on SRQs		INVALID_HANDLE: there are none
 */
#include "core/dat12/slots.h"

#define NOT_SUPPORTED dap12_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE))

DAT_RETURN dap12_ep_create_with_srq(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
				    DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
				    DAT_SRQ_HANDLE srq, const DAT_EP_ATTR *attr, DAT_EP_HANDLE *ep)
{
	(void)pz;
	(void)recv_evd;
	(void)request_evd;
	(void)connect_evd;
	(void)srq;
	(void)attr;
	(void)ep;
	if (!dap_obj_get(ia, DAP_IA, NULL))
		return dap12_bad_handle(DAP_SUB_HANDLE_IA);
	return NOT_SUPPORTED;
}

DAT_RETURN dap12_ep_recv_query(DAT_EP_HANDLE ep, DAT_COUNT *nbufs, DAT_COUNT *span)
{
	(void)nbufs;
	(void)span;
	if (!dap_obj_get(ep, DAP_EP, NULL))
		return dap12_bad_handle(DAP_SUB_HANDLE_EP);
	return NOT_SUPPORTED;
}

DAT_RETURN dap12_ep_set_watermark(DAT_EP_HANDLE ep, DAT_COUNT soft, DAT_COUNT hard)
{
	(void)soft;
	(void)hard;
	if (!dap_obj_get(ep, DAP_EP, NULL))
		return dap12_bad_handle(DAP_SUB_HANDLE_EP);
	return NOT_SUPPORTED;
}

DAT_RETURN dap12_srq_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_SRQ_ATTR *attr,
			    DAT_SRQ_HANDLE *srq)
{
	const struct dap_ia *real = dap_obj_get(ia, DAP_IA, NULL);

	if (!real)
		return dap12_bad_handle(DAP_SUB_HANDLE_IA);
	if (!dap_obj_get(pz, DAP_PZ, real))
		return dap12_bad_handle(DAP_SUB_HANDLE_PZ);
	if (!attr)
		return dap12_bad_arg(3);
	if (!srq)
		return dap12_bad_arg(4);
	return NOT_SUPPORTED;
}

DAT_RETURN dap12_srq_free(DAT_SRQ_HANDLE srq)
{
	(void)srq;
	return dap12_bad_handle(DAP_SUB_HANDLE_SRQ);
}

DAT_RETURN dap12_srq_post_recv(DAT_SRQ_HANDLE srq, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			       DAT_DTO_COOKIE cookie)
{
	(void)srq;
	(void)n;
	(void)iov;
	(void)cookie;
	return dap12_bad_handle(DAP_SUB_HANDLE_SRQ);
}

DAT_RETURN dap12_srq_query(DAT_SRQ_HANDLE srq, DAT_SRQ_PARAM_MASK mask, DAT_SRQ_PARAM *param)
{
	(void)srq;
	(void)mask;
	(void)param;
	return dap12_bad_handle(DAP_SUB_HANDLE_SRQ);
}

DAT_RETURN dap12_srq_resize(DAT_SRQ_HANDLE srq, DAT_COUNT max_recv_dtos)
{
	(void)srq;
	(void)max_recv_dtos;
	return dap12_bad_handle(DAP_SUB_HANDLE_SRQ);
}

DAT_RETURN dap12_srq_set_lw(DAT_SRQ_HANDLE srq, DAT_COUNT low_watermark)
{
	(void)srq;
	(void)low_watermark;
	return dap12_bad_handle(DAP_SUB_HANDLE_SRQ);
}
