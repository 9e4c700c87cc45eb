/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls that do nothing yet. Each still tells a bad handle from a good one, and refuses with
 * the code that its page has for it:
 *
 *	call				refused with
 *	ep_recv_query, ep_set_watermark	MODEL_NOT_SUPPORTED	(attributes ep_recv_info_supported,
 *								 srq_watermarks_supported)
 */
#include "core/dat12/slots.h"

#define NOT_SUPPORTED dap12_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE))

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
