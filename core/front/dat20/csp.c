/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Common service points and connections to them: service points whose qualifier is a port, so the
 * address is sufficient. To core they are public service points.
 */
#include <string.h>

#include "core/ep/conn.h"
#include "core/evd/evd.h"
#include "core/front/slots.h"
#include "core/sp/sp.h"

/* The communicators of service points, by address family. A query returns their addresses. */
static DAT_COMM stream4 = { AF_INET, SOCK_STREAM, 0 }, stream6 = { AF_INET6, SOCK_STREAM, 0 };

static bool is_stream(const DAT_COMM *comm)
{
	return (comm->domain == AF_INET || comm->domain == AF_INET6) && comm->type == SOCK_STREAM &&
	       (comm->protocol == 0 || comm->protocol == IPPROTO_TCP);
}

/* Service points accept on all addresses of an IA, as PSPs do: only the port counts. */
static int read_port(DAT_IA_ADDRESS_PTR address, int family, int n, union dap_addr *to)
{
	if (!address)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG1 + n - 1);
	to->sa.sa_family = ((const struct sockaddr *)address)->sa_family;
	if (to->sa.sa_family != family)
		return DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_UNSUPPORTED);
	memcpy(to, address, dap_addr_len(to));
	return dap_addr_port(to) ? 0 : DAP_ERR(DAP_INVALID_ADDRESS, DAP_SUB_ADDR_MALFORMED);
}

DAT_RETURN front_csp_create(DAT_IA_HANDLE ia_handle, DAT_COMM *comm, DAT_IA_ADDRESS_PTR address,
			    DAT_EVD_HANDLE evd_handle, DAT_CSP_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_evd *evd = ia ? dap_obj_get(evd_handle, DAP_EVD, ia) : NULL;
	union dap_addr at;
	struct dap_psp *csp;
	uint64_t qual;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!comm)
		return front_bad_arg(2);
	if (!is_stream(comm))
		return front_return(DAP_ERR(DAP_COMM_NOT_SUPPORTED, DAP_SUB_NONE));
	err = read_port(address, comm->domain, 3, &at);
	if (err)
		return front_return(err);
	if (!evd || core_evd(evd)->internal || !(evd->flags & DAP_EVD_CR))
		return front_bad_handle(DAP_SUB_HANDLE_EVD_CR);
	if (!out)
		return front_bad_arg(5);
	qual = dap_addr_port(&at);
	err = dap_psp_create(ia, &qual, false, evd, DAP_PSP_COMMON, &csp);
	if (DAP_ERR_TYPE(err) == DAP_CONN_QUAL_IN_USE)
		err = DAP_ERR(DAP_PORT_IN_USE, DAP_SUB_NONE);
	if (err)
		return front_return(err);
	csp->address = at;
	*out = csp;
	return DAT_SUCCESS;
}

static struct dap_psp *get_csp(DAT_CSP_HANDLE handle)
{
	struct dap_psp *csp = dap_obj_get(handle, DAP_PSP, NULL);

	return csp && csp->psp_flags & DAP_PSP_COMMON ? csp : NULL;
}

DAT_RETURN front_csp_query(DAT_CSP_HANDLE handle, DAT_CSP_PARAM_MASK mask, DAT_CSP_PARAM *param)
{
	struct dap_psp *csp = get_csp(handle);

	if (!csp)
		return front_bad_handle(DAP_SUB_HANDLE_CSP);
	if (mask & ~(uint32_t)DAT_CSP_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	*param = (DAT_CSP_PARAM){
		.ia_handle = front_ia_handle(csp->obj.ia),
		.comm = dap_addr_is_v6(&csp->address) ? &stream6 : &stream4,
		.address_ptr = (DAT_IA_ADDRESS_PTR)&csp->address,
		.evd_handle = csp->evd,
	};
	return DAT_SUCCESS;
}

DAT_RETURN front_csp_free(DAT_CSP_HANDLE handle)
{
	struct dap_psp *csp = get_csp(handle);

	if (!csp)
		return front_bad_handle(DAP_SUB_HANDLE_CSP);
	dap_psp_free(csp);
	return DAT_SUCCESS;
}

DAT_RETURN front_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to, DAT_TIMEOUT timeout,
				   DAT_COUNT pd_size, const DAT_PVOID pd)
{
	union dap_addr at;
	int err;

	if (!dap_obj_get(ep, DAP_EP, NULL))
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	err = read_port(to, to && ((const struct sockaddr *)to)->sa_family == AF_INET6 ? AF_INET6 : AF_INET,
			2, &at);
	if (err)
		return front_return(err);
	/* front_ep_connect() numbers these arguments differently, so check them here. */
	if (!timeout)
		return front_bad_arg(3);
	if (pd_size < 0 || pd_size > DAP_MAX_PRIVATE_DATA)
		return front_bad_arg(4);
	if (pd_size && !pd)
		return front_bad_arg(5);
	return front_ep_connect(ep, to, dap_addr_port(&at), timeout, pd_size, pd,
				DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}
