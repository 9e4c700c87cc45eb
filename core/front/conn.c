/* SPDX-License-Identifier: BSD-2-Clause */
/* Fronts of connections: connect, disconnect, reset, service points, connection requests. */
#include <string.h>

#include "core/api.h"
#include "core/ep/conn.h"
#include "core/evd/evd.h"
#include "core/front/slots.h"
#include "core/sp/sp.h"

_Static_assert(DAP_PSP_PROVIDER == (int)DAT_PSP_PROVIDER_FLAG, "flags are DAT's");

/* ---- what connect, dup_connect and accept share ---- */

/* n: the argument number of the size; the data is the next argument. */
static int read_private_data(DAT_COUNT size, const void *pd, int n)
{
	if (size < 0 || size > DAP_MAX_PRIVATE_DATA)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1 + n - 1);
	if (size && !pd)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1 + n);
	return 0;
}

/* Returns true for an address that a host can have. A link-local address also needs its interface
 * (RFC 4007). */
static bool is_host(const union dap_addr *addr)
{
	uint32_t host = ntohl(addr->v4.sin_addr.s_addr);
	char ip[DAP_ADDR_TEXT];

	if (dap_addr_is_any(addr))
		return false;
	if (!dap_addr_is_v6(addr))
		return host != INADDR_BROADCAST && !IN_MULTICAST(host);
	if (!IN6_IS_ADDR_LINKLOCAL(&addr->v6.sin6_addr) || addr->v6.sin6_scope_id)
		return !IN6_IS_ADDR_MULTICAST(&addr->v6.sin6_addr);
	dap_log(DAP_LOG_WARN, "%s: a link-local IPv6 address needs its interface: set sin6_scope_id",
		dap_addr_text(addr, ip));
	return false;
}

static int read_address(DAT_IA_ADDRESS_PTR to, union dap_addr *addr)
{
	if (!to)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG2);
	addr->sa.sa_family = ((const struct sockaddr *)to)->sa_family;
	if (addr->sa.sa_family != AF_INET && addr->sa.sa_family != AF_INET6)
		return DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_UNSUPPORTED);
	memcpy(addr, to, dap_addr_len(addr));
	dap_addr_unmap(addr);
	if (!is_host(addr))
		return DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_MALFORMED);
	dap_addr_set_port(addr, 0);
	return 0;
}

#ifdef DAP_DAT20
#define CONNECT_FLAGS (DAT_CONNECT_MULTIPATH_REQUESTED_FLAG | DAT_CONNECT_MULTIPATH_REQUIRED_FLAG)
#else
#define CONNECT_FLAGS DAT_CONNECT_MULTIPATH_FLAG
#endif

static int check_model(const struct dap_ep *ep, DAT_QOS qos, int qos_arg, DAT_CONNECT_FLAGS flags)
{
	int err = dap_qos_check(ep->obj.ia, qos);

	if (DAP_ERR_TYPE(err) == DAP_INVALID_PARAMETER)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1 + qos_arg - 1);
	if (flags & ~(DAT_CONNECT_FLAGS)CONNECT_FLAGS)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG8);
	return flags ? DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE) : err;
}

/* ---- endpoints ---- */

DAT_RETURN front_ep_connect(DAT_EP_HANDLE handle, DAT_IA_ADDRESS_PTR to, DAT_CONN_QUAL conn_qual,
			    DAT_TIMEOUT timeout, DAT_COUNT pd_size, const DAT_PVOID pd, DAT_QOS qos,
			    DAT_CONNECT_FLAGS flags)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	struct dap_connect_args args = {
		.conn_qual = conn_qual, .timeout_us = timeout, .qos = qos, .private_data = pd,
		.private_data_size = (uint32_t)pd_size,
	};
	int err;

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	err = read_address(to, &args.to);
	if (!err && !timeout)
		err = DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG4);
	if (!err)
		err = read_private_data(pd_size, pd, 5);
	if (!err)
		err = check_model(ep, qos, 7, flags);
	return front_return(err ? err : dap_ep_connect(ep, &args));
}

DAT_RETURN front_ep_dup_connect(DAT_EP_HANDLE handle, DAT_EP_HANDLE dup_handle, DAT_TIMEOUT timeout,
				DAT_COUNT pd_size, const DAT_PVOID pd, DAT_QOS qos)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	struct dap_ep *dup = ep ? dap_obj_get(dup_handle, DAP_EP, ep->obj.ia) : NULL;
	struct dap_connect_args args = {
		.timeout_us = timeout, .qos = qos, .private_data = pd,
		.private_data_size = (uint32_t)pd_size,
	};
	int err;

	if (!ep || !dup)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	if (!timeout)
		return front_bad_arg(3);
	err = read_private_data(pd_size, pd, 4);
	if (!err)
		err = check_model(ep, qos, 6, DAT_CONNECT_DEFAULT_FLAG);
	return front_return(err ? err : dap_ep_dup_connect(ep, dup, &args));
}

DAT_RETURN front_ep_disconnect(DAT_EP_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return front_bad_arg(2);
	return front_return(dap_ep_disconnect(ep, flags == DAT_CLOSE_GRACEFUL_FLAG));
}

DAT_RETURN front_ep_reset(DAT_EP_HANDLE handle)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);

	return ep ? front_return(dap_ep_reset(ep)) : front_bad_handle(DAP_SUB_HANDLE_EP);
}

/* ---- service points ---- */

static struct dap_evd *request_evd(const struct dap_ia *ia, DAT_EVD_HANDLE handle)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, ia);

	return evd && !core_evd(evd)->internal && evd->flags & DAP_EVD_CR ? evd : NULL;
}

static DAT_RETURN psp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL *conn_qual, bool any,
			     DAT_EVD_HANDLE evd_handle, DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_evd *evd = ia ? request_evd(ia, evd_handle) : NULL;
	struct dap_psp *psp;
	uint64_t qual;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!conn_qual)
		return front_bad_arg(2);
	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD_CR);
	if (flags != DAT_PSP_CONSUMER_FLAG && flags != DAT_PSP_PROVIDER_FLAG)
		return front_bad_arg(4);
	if (!out)
		return front_bad_arg(5);
	qual = *conn_qual;
	err = dap_psp_create(ia, &qual, any, evd, flags, &psp);
	if (!err) {
		*conn_qual = qual;
		*out = psp;
	}
	return front_return(err);
}

DAT_RETURN front_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL conn_qual, DAT_EVD_HANDLE evd,
			    DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return psp_create(ia, &conn_qual, false, evd, flags, psp);
}

DAT_RETURN front_psp_create_any(DAT_IA_HANDLE ia, DAT_CONN_QUAL *conn_qual, DAT_EVD_HANDLE evd,
				DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
	return psp_create(ia, conn_qual, true, evd, flags, psp);
}

DAT_RETURN front_psp_query(DAT_PSP_HANDLE handle, DAT_PSP_PARAM_MASK mask, DAT_PSP_PARAM *param)
{
	struct dap_psp *psp = dap_obj_get(handle, DAP_PSP, NULL);

	if (!psp || psp->psp_flags & DAP_PSP_COMMON)
		return front_bad_handle(DAP_SUB_HANDLE_PSP);
	if (mask & ~(DAT_PSP_PARAM_MASK)DAT_PSP_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	*param = (DAT_PSP_PARAM){
		.ia_handle = front_ia_handle(psp->obj.ia),
		.conn_qual = psp->conn_qual,
		.evd_handle = psp->evd,
		.psp_flags = (DAT_PSP_FLAGS)psp->psp_flags,
	};
	return DAT_SUCCESS;
}

DAT_RETURN front_psp_free(DAT_PSP_HANDLE handle)
{
	struct dap_psp *psp = dap_obj_get(handle, DAP_PSP, NULL);

	if (!psp || psp->psp_flags & DAP_PSP_COMMON)
		return front_bad_handle(DAP_SUB_HANDLE_PSP);
	dap_psp_free(psp);
	return DAT_SUCCESS;
}

DAT_RETURN front_rsp_create(DAT_IA_HANDLE ia_handle, DAT_CONN_QUAL conn_qual,
			    DAT_EP_HANDLE ep_handle, DAT_EVD_HANDLE evd_handle, DAT_RSP_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_ep *ep = ia ? dap_obj_get(ep_handle, DAP_EP, ia) : NULL;
	struct dap_evd *evd = ia ? request_evd(ia, evd_handle) : NULL;
	struct dap_psp *rsp;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!ep && ep_handle != DAT_HANDLE_NULL)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD_CR);
	if (!out)
		return front_bad_arg(5);
	err = dap_rsp_create(ia, conn_qual, ep, evd, &rsp);
	if (!err)
		*out = rsp;
	return front_return(err);
}

DAT_RETURN front_rsp_query(DAT_RSP_HANDLE handle, DAT_RSP_PARAM_MASK mask, DAT_RSP_PARAM *param)
{
	struct dap_psp *rsp = dap_obj_get(handle, DAP_RSP, NULL);
	struct dap_evd *evd;
	struct dap_ep *ep;

	if (!rsp)
		return front_bad_handle(DAP_SUB_HANDLE_RSP);
	if (mask & ~(DAT_RSP_PARAM_MASK)DAT_RSP_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	dap_rsp_query(rsp, &ep, &evd);
	*param = (DAT_RSP_PARAM){
		.ia_handle = front_ia_handle(rsp->obj.ia),
		.conn_qual = rsp->conn_qual,
		.evd_handle = evd,
		.ep_handle = ep,
	};
	return DAT_SUCCESS;
}

DAT_RETURN front_rsp_free(DAT_RSP_HANDLE handle)
{
	struct dap_psp *rsp = dap_obj_get(handle, DAP_RSP, NULL);

	if (!rsp)
		return front_bad_handle(DAP_SUB_HANDLE_RSP);
	dap_rsp_free(rsp);
	return DAT_SUCCESS;
}

/* ---- connection requests ---- */

DAT_RETURN front_cr_query(DAT_CR_HANDLE handle, DAT_CR_PARAM_MASK mask, DAT_CR_PARAM *param)
{
	struct dap_cr *cr = dap_obj_get(handle, DAP_CR, NULL);

	if (!cr)
		return front_bad_handle(DAP_SUB_HANDLE_CR);
	if (mask & ~(DAT_CR_PARAM_MASK)DAT_CR_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	*param = (DAT_CR_PARAM){
		.remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&cr->remote_addr,
		.remote_port_qual = 0,	/* the active side listens on none */
		.private_data_size = (DAT_COUNT)cr->private_data_size,
		.private_data = cr->private_data_size ? cr->private_data : NULL,
		.local_ep_handle = cr->ep,
	};
	return DAT_SUCCESS;
}

DAT_RETURN front_cr_accept(DAT_CR_HANDLE handle, DAT_EP_HANDLE ep_handle, DAT_COUNT pd_size,
			   const DAT_PVOID pd)
{
	struct dap_cr *cr = dap_obj_get(handle, DAP_CR, NULL);
	struct dap_ep *ep = NULL;
	int err;

	if (!cr)
		return front_bad_handle(DAP_SUB_HANDLE_CR);
	if (ep_handle != DAT_HANDLE_NULL) {
		ep = dap_obj_get(ep_handle, DAP_EP, cr->obj.ia);
		if (!ep)
			return front_bad_handle(DAP_SUB_HANDLE_EP);
	}
	err = read_private_data(pd_size, pd, 3);
	return front_return(err ? err : dap_cr_accept(cr, ep, pd, (uint32_t)pd_size));
}

static DAT_RETURN reject(DAT_CR_HANDLE handle, DAT_COUNT pd_size, const void *pd)
{
	struct dap_cr *cr = dap_obj_get(handle, DAP_CR, NULL);
	int err;

	if (!cr)
		return front_bad_handle(DAP_SUB_HANDLE_CR);
	err = read_private_data(pd_size, pd, 2);
	if (!err)
		dap_cr_reject(cr, pd, (uint32_t)pd_size);
	return front_return(err);
}

#ifdef DAP_DAT20

DAT_RETURN front_cr_reject(DAT_CR_HANDLE cr, DAT_COUNT pd_size, const DAT_PVOID pd)
{
	return reject(cr, pd_size, pd);
}

#else

DAT_RETURN front_cr_reject(DAT_CR_HANDLE cr)
{
	return reject(cr, 0, NULL);
}

#endif

DAT_RETURN front_cr_handoff(DAT_CR_HANDLE handle, DAT_CONN_QUAL handoff)
{
	struct dap_cr *cr = dap_obj_get(handle, DAP_CR, NULL);

	return cr ? front_return(dap_cr_handoff(cr, handoff)) : front_bad_handle(DAP_SUB_HANDLE_CR);
}
