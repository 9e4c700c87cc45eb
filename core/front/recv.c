/* SPDX-License-Identifier: BSD-2-Clause */
/* Fronts of the receive-queue query and watermark calls. */
#include "core/api.h"
#include "core/front/slots.h"

_Static_assert(DAP_EP_SOFT_HIGH_WATERMARK == (int)DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT &&
	       DAP_NO_WATERMARK == (uint32_t)DAT_WATERMARK_INFINITE, "values are DAT's");

DAT_RETURN front_ep_recv_query(DAT_EP_HANDLE handle, DAT_COUNT *nbufs, DAT_COUNT *span)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	DAT_COUNT count;
	int32_t recvs;
	int err;

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	err = dap_ep_recv_query(ep, &recvs);
	if (err)
		return front_return(err);
	/* Messages arrive in order, so the buffers in use have no gaps between them. */
	count = recvs < 0 ? DAT_VALUE_UNKNOWN : recvs;
	if (nbufs)
		*nbufs = count;
	if (span)
		*span = count;
	return DAT_SUCCESS;
}

DAT_RETURN front_ep_set_watermark(DAT_EP_HANDLE handle, DAT_COUNT soft, DAT_COUNT hard)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	return front_return(dap_ep_set_watermark(ep, (uint32_t)soft, (uint32_t)hard));
}
