/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of 2.0 that an attribute reports as not supported. Each still checks its
 * handles:
 *
 *	call				refused with		attribute
 *	ep_post_rdma_read_to_rmr	MODEL_NOT_SUPPORTED	rdma_read_lmr_rmr_context_exposure:
 *		a window is for peers (IBTA 10.6.7): no adapter here accepts its key for local memory,
 *		and none needs to, because the peer of a read does not access the read's target
 */
#include "core/front/slots.h"

#define NOT_SUPPORTED front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE))

DAT_RETURN front_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local,
					  DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
					  DAT_COMPLETION_FLAGS flags)
{
	(void)cookie;
	(void)flags;
	if (!dap_obj_get(ep, DAP_EP, NULL))
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	if (!local)
		return front_bad_arg(2);
	return remote ? NOT_SUPPORTED : front_bad_arg(4);
}

/* No two adapters are related for high availability: attribute ha_supported is false. */
DAT_RETURN front_ia_ha_related(DAT_IA_HANDLE ia, const DAT_NAME_PTR name, DAT_BOOLEAN *answer)
{
	if (!dap_obj_get(ia, DAP_IA, NULL))
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!name)
		return front_bad_arg(2);
	if (!answer)
		return front_bad_arg(3);
	*answer = DAT_FALSE;
	return DAT_SUCCESS;
}
