/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checked post calls: for endpoints that are not connected, for validating instances, and for
 * invalid handles. After the checks they call the backend's hot function.
 */
#include "core/api.h"
#include "core/front/slots.h"
#include "core/front/triplet.h"
#include "core/ia.h"

/* Checks the local segments against their LMRs; codes as in dat_ep_post_send(3). */
static int check_iov(const struct dap_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov, uint32_t priv)
{
	if (n < 0 || (uint32_t)n > ep->obj.ia->caps.max_iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	if (n && !iov)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	for (DAT_COUNT i = 0; i < n; i++) {
		int err = iov[i].segment_length ?
			  dap_lmr_check(ep->obj.ia, ep->pz, iov[i].lmr_context,
					iov[i].virtual_address, iov[i].segment_length, priv) : 0;

		if (err)
			return err;
	}
	return 0;
}

static DAT_VLEN total_length(DAT_COUNT n, const DAT_LMR_TRIPLET *iov)
{
	DAT_VLEN sum = 0;

	for (DAT_COUNT i = 0; i < n; i++)
		sum += iov[i].segment_length;
	return sum;
}

static int may_request(const struct dap_ep *ep)
{
	enum dap_ep_state state = dap_ep_state(ep);

	if (state != DAP_EP_CONNECTED && state != DAP_EP_DISCONNECTED)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + state);
	if (!ep->has_qp)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	return 0;
}

int front_check_request(const struct dap_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
			uint32_t priv)
{
	int err;

	if (!ep)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP);
	err = may_request(ep);
	if (!err && core_ia(ep->obj.ia)->validate)
		err = check_iov(ep, n, iov, priv);
	return err;
}

static const struct dap_hot *hot_of(const struct dap_ep *ep)
{
	return core_ia(ep->obj.ia)->hot;
}

DAT_RETURN front_ep_post_send(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	int err = front_check_request(ep, n, iov, DAP_PRIV_LOCAL_READ);

	if (err)
		return front_return(err);
	return hot_of(ep)->post_send(ep, n, iov, cookie, flags);
}

/* An endpoint with an SRQ receives through the SRQ only. */
static int check_recv(const struct dap_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov)
{
	if (!ep)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP);
	if (ep->srq)
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_NONE);
	if (!ep->pz)			/* an endpoint without a PZ can use no memory */
		return DAP_ERR(DAP_PROTECTION_VIOLATION, DAP_SUB_NONE);
	if (!ep->has_qp)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	return core_ia(ep->obj.ia)->validate ? check_iov(ep, n, iov, DAP_PRIV_LOCAL_WRITE) : 0;
}

DAT_RETURN front_ep_post_recv(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
			      DAT_DTO_COOKIE cookie, DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	int err = check_recv(ep, n, iov);

	if (err)
		return front_return(err);
	return hot_of(ep)->post_recv(ep, n, iov, cookie, flags);
}

DAT_RETURN front_ep_post_rdma_read(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				   DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				   DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	int err = front_check_request(ep, n, iov, DAP_PRIV_LOCAL_WRITE);

	if (err)
		return front_return(err);
	if (core_ia(ep->obj.ia)->validate && remote && remote->segment_length > total_length(n, iov))
		return front_return(DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE));
	return hot_of(ep)->rdma_read(ep, n, iov, cookie, remote, flags);
}

int front_check_write(const struct dap_ep *ep, DAT_COUNT n, const DAT_LMR_TRIPLET *iov,
		      const DAT_RMR_TRIPLET *remote)
{
	int err = front_check_request(ep, n, iov, DAP_PRIV_LOCAL_READ);

	if (!err && core_ia(ep->obj.ia)->validate && remote &&
	    remote->segment_length < total_length(n, iov))
		err = DAP_ERR(DAP_LENGTH_ERROR, DAP_SUB_NONE);
	return err;
}

DAT_RETURN front_ep_post_rdma_write(DAT_EP_HANDLE handle, DAT_COUNT n, DAT_LMR_TRIPLET *iov,
				    DAT_DTO_COOKIE cookie, const DAT_RMR_TRIPLET *remote,
				    DAT_COMPLETION_FLAGS flags)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	int err = front_check_write(ep, n, iov, remote);

	if (err)
		return front_return(err);
	return hot_of(ep)->rdma_write(ep, n, iov, cookie, remote, flags);
}

static int check_bind(const struct dap_rmr *rmr, const struct dap_ep *ep,
		      const DAT_LMR_TRIPLET *triplet, DAT_MEM_PRIV_FLAGS priv)
{
	if (!rmr)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_RMR);
	if (!ep || ep->obj.ia != rmr->obj.ia)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP);
	if (!triplet)
		return DAP_ERR(DAP_INVALID_PARAMETER, FRONT_ARG_TRIPLET);
	if (!core_ia(rmr->obj.ia)->validate || !triplet->segment_length)
		return 0;
	if (ep->pz != rmr->pz)
		return DAP_ERR(DAP_PROTECTION_VIOLATION, DAP_SUB_NONE);
	return dap_lmr_check(rmr->obj.ia, rmr->pz, triplet->lmr_context, triplet->virtual_address,
			     triplet->segment_length, front_local_rights(priv));
}

static int find_bind(DAT_RMR_HANDLE handle, DAT_EP_HANDLE ep_handle, const DAT_LMR_TRIPLET *triplet,
		     DAT_MEM_PRIV_FLAGS priv, struct dap_rmr **rmr, struct dap_ep **ep)
{
	int err;

	*rmr = dap_obj_get(handle, DAP_RMR, NULL);
	*ep = dap_obj_get(ep_handle, DAP_EP, NULL);
	err = check_bind(*rmr, *ep, triplet, priv);
	return err ? err : front_check_request(*ep, 0, NULL, 0);
}

#ifdef DAP_DAT20

DAT_RETURN front_rmr_bind(DAT_RMR_HANDLE handle, DAT_LMR_HANDLE lmr, const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS priv, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep_handle,
			  DAT_RMR_COOKIE cookie, DAT_COMPLETION_FLAGS flags,
			  DAT_RMR_CONTEXT *context)
{
	struct dap_rmr *rmr;
	struct dap_ep *ep;
	int err = find_bind(handle, ep_handle, triplet, priv, &rmr, &ep);

	if (err)
		return front_return(err);
	return hot_of(ep)->rmr_bind(rmr, lmr, triplet, priv, va_type, ep, cookie, flags, context);
}

#else

DAT_RETURN front_rmr_bind(DAT_RMR_HANDLE handle, const DAT_LMR_TRIPLET *triplet,
			  DAT_MEM_PRIV_FLAGS priv, DAT_EP_HANDLE ep_handle, DAT_RMR_COOKIE cookie,
			  DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	struct dap_rmr *rmr;
	struct dap_ep *ep;
	int err = find_bind(handle, ep_handle, triplet, priv, &rmr, &ep);

	if (err)
		return front_return(err);
	return hot_of(ep)->rmr_bind(rmr, triplet, priv, ep, cookie, flags, context);
}

#endif
