/* SPDX-License-Identifier: BSD-2-Clause */
/* A send that invalidates an RMR of one endpoint at the peer, if caps.rmr_for_ep is set. */
#include "core/api.h"
#include "core/front/slots.h"
#include "core/ia.h"

/* Without invalidation it is a plain send. */
DAT_RETURN front_ep_post_send_with_invalidate(DAT_EP_HANDLE handle, DAT_COUNT n,
					      DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					      DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
					      DAT_RMR_CONTEXT rmr_context)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	const struct dap_hot *hot;
	int err;

	if (!invalidate)
		return front_ep_post_send(handle, n, iov, cookie, flags);
	err = front_check_request(ep, n, iov, DAP_PRIV_LOCAL_READ);
	if (err)
		return front_return(err);
	hot = core_ia(ep->obj.ia)->hot;
	if (!hot->send_inval)
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	return hot->send_inval(ep, n, iov, cookie, flags, rmr_context);
}
