/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The InfiniBand extension of 2.0: writes with immediate data and atomics, which the backend
 * posts, the form of their completions, and queries of an adapter that is not open. Datagrams and
 * collectives are not supported.
 */
#include <stdarg.h>
#include <string.h>

#include "core/front/slots.h"
#include "core/ia.h"
#include "core/obj.h"

#include <dat2/dat_ib_extensions.h>

_Static_assert(FRONT_EXTENSION_VERSION == DAT_IB_EXTENSION_VERSION, "the version is the header's");
_Static_assert(DAP_OP_WRITE_IMMED == (int)DAT_IB_DTO_RDMA_WRITE_IMMED &&
	       DAP_OP_RECV_WRITE_IMMED == (int)DAT_IB_DTO_RECV_IMMED &&
	       DAP_OP_FETCH_ADD == (int)DAT_IB_DTO_FETCH_ADD &&
	       DAP_OP_CMP_SWAP == (int)DAT_IB_DTO_CMP_SWAP &&
	       DAP_OP_RECV_IMMED == (int)DAT_IB_DTO_RECV_MSG_IMMED, "operations are the header's");
_Static_assert(DAP_PRIV_REMOTE_ATOMIC == (int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC, "rights are the header's");
_Static_assert(sizeof(DAT_IB_EXTENSION_EVENT_DATA) <= sizeof(((DAT_EVENT *)0)->event_extension_data),
	       "the data fits in the event");

void front_extend(const struct dap_event *from, DAT_EVENT *to)
{
	static const DAT_IB_EXT_TYPE types[] = {
		[DAP_OP_WRITE_IMMED] = DAT_IB_RDMA_WRITE_IMMED,
		[DAP_OP_RECV_WRITE_IMMED] = DAT_IB_RDMA_WRITE_IMMED_DATA,
		[DAP_OP_FETCH_ADD] = DAT_IB_FETCH_AND_ADD,
		[DAP_OP_CMP_SWAP] = DAT_IB_CMP_AND_SWAP,
		[DAP_OP_RECV_IMMED] = DAT_IB_RECV_IMMED_DATA,
	};
	DAT_IB_EXTENSION_EVENT_DATA *data = (void *)to->event_extension_data;

	if (from->dto.op < DAP_OP_WRITE_IMMED)
		return;
	to->event_number = (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT;
	memset(data, 0, sizeof(*data));
	data->type = types[from->dto.op];
	data->status = from->dto.status ? DAT_IB_OP_ERR : DAT_OP_SUCCESS;
	data->val.immed.data = from->dto.imm;
}

static const char *path_mtu(const struct dap_ia *ia)
{
	for (unsigned int i = 0; i < ia->caps.nattr; i++) {
		if (!strcmp(ia->caps.attr[i].name, "path_mtu"))
			return ia->caps.attr[i].value;
	}
	return "1024";
}

void front_name_attributes(struct dap_ia *ia)
{
	struct core_ia *own = core_ia(ia);
	const char *has = ia->caps.no_extension ? "FALSE" : "TRUE";
	const char *has_atomics = ia->caps.no_extension || ia->caps.no_atomics ? "FALSE" : "TRUE";
	const struct dap_named more[] = {
		{ "DAT_IB_TRANSPORT_MTU", path_mtu(ia) },
		{ "DAT_EXTENSION_INTERFACE", has },
		{ "DAT_IB_RDMA_READ", "TRUE" },		/* without it dtest posts no reads */
		{ DAT_IB_ATTR_IMMED_DATA, has },
		{ DAT_IB_ATTR_FETCH_AND_ADD, has_atomics },
		{ DAT_IB_ATTR_CMP_AND_SWAP, has_atomics },
		{ DAT_IB_ATTR_UD, "FALSE" },
		{ DAT_IB_ATTR_COUNTERS, "TRUE" },
	};

	memcpy(&own->named[own->nnamed], more, sizeof(more));
	own->nnamed += sizeof(more) / sizeof(more[0]);
}

/*
 * Backends number the arguments of a post like those of a plain write or of fetch and add. If argument
 * n is an additional one, the numbers from n on are one higher.
 */
static DAT_RETURN shift_args(DAT_RETURN ret, unsigned int n)
{
	bool shifted = DAT_GET_TYPE(ret) == DAT_INVALID_PARAMETER &&
		       DAT_GET_SUBTYPE(ret) >= DAT_INVALID_ARG1 + n - 1;

	return shifted ? ret + 1 : ret;
}

/* Reads the arguments in the order of the macros in dat_ib_extensions.h. Without segments the remote buffer
 * may be NULL, as with OpenFabrics' provider: only the immediate data is sent. */
static DAT_RETURN write_immed(struct dap_ep *ep, const struct dap_hot *hot, va_list args)
{
	static const DAT_RMR_TRIPLET nowhere;
	DAT_COUNT n = va_arg(args, DAT_COUNT);
	DAT_LMR_TRIPLET *iov = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *to = va_arg(args, const DAT_RMR_TRIPLET *);
	DAT_UINT32 imm = va_arg(args, DAT_UINT32);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);
	uint64_t bytes = 0;
	int err = front_check_write(ep, n, iov, to);
	DAT_RETURN ret;

	if (err)
		return front_return(err);
	ret = hot->write_immed(ep, n, iov, cookie, n || to ? to : &nowhere, imm, flags);
	for (DAT_COUNT i = 0; ret == DAT_SUCCESS && i < n; i++)
		bytes += iov[i].segment_length;
	if (ret == DAT_SUCCESS)
		dap_ep_tally(ep, DAP_COUNT_WRITE_IMM, bytes);
	return shift_args(ret, 6);
}

static DAT_RETURN atomic(struct dap_ep *ep, const struct dap_hot *hot, bool swap, va_list args)
{
	DAT_UINT64 first = va_arg(args, DAT_UINT64);
	DAT_UINT64 second = swap ? va_arg(args, DAT_UINT64) : 0;
	DAT_LMR_TRIPLET *result = va_arg(args, DAT_LMR_TRIPLET *);
	DAT_DTO_COOKIE cookie = va_arg(args, DAT_DTO_COOKIE);
	const DAT_RMR_TRIPLET *at = va_arg(args, const DAT_RMR_TRIPLET *);
	DAT_COMPLETION_FLAGS flags = va_arg(args, DAT_COMPLETION_FLAGS);
	int err = front_check_request(ep, 1, result, DAP_PRIV_LOCAL_WRITE);
	DAT_RETURN ret;

	if (err)
		ret = front_return(err);
	else
		ret = swap ? hot->atomic(ep, true, second, first, result, cookie, at, flags)
			   : hot->atomic(ep, false, first, 0, result, cookie, at, flags);
	if (ret == DAT_SUCCESS)
		dap_ep_tally(ep, swap ? DAP_COUNT_CMP_SWAP : DAP_COUNT_FETCH_ADD, 8);
	return swap ? shift_args(ret, 3) : ret;
}

/*
 * Opens an adapter without an asynchronous EVD, for dtestx -q. libdat2 passes the name as the handle.
 * The IA that is returned serves only for DAT_IB_CLOSE_QUERY_OP.
 */
static DAT_RETURN open_query(DAT_NAME_PTR name, va_list args)
{
	DAT_IA_HANDLE *out = va_arg(args, DAT_IA_HANDLE *);
	DAT_IA_ATTR_MASK ia_mask = va_arg(args, DAT_IA_ATTR_MASK);
	DAT_IA_ATTR *ia_attr = va_arg(args, DAT_IA_ATTR *);
	DAT_PROVIDER_ATTR_MASK prov_mask = va_arg(args, DAT_PROVIDER_ATTR_MASK);
	DAT_PROVIDER_ATTR *prov_attr = va_arg(args, DAT_PROVIDER_ATTR *);
	DAT_EVD_HANDLE async_evd = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (!out)
		return front_bad_arg(2);
	ret = front_ia_open(name, 0, &async_evd, &ia);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = front_ia_query(ia, NULL, ia_mask, ia_attr, prov_mask, prov_attr);
	if (ret == DAT_SUCCESS)
		*out = ia;
	else
		front_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret;
}

DAT_RETURN front_handle_extendedop(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	bool known = op == DAT_IB_RDMA_WRITE_IMMED_OP || op == DAT_IB_FETCH_AND_ADD_OP ||
		     op == DAT_IB_CMP_AND_SWAP_OP;
	int err = front_check_request(ep, 0, NULL, 0);
	const struct dap_hot *hot;

	if (op == DAT_IB_OPEN_QUERY_OP)
		return open_query(handle, args);
	if (dap_obj_type(handle) == DAP_NONE)
		return front_bad_handle(DAP_SUB_HANDLE1);
	if (op == DAT_IB_CLOSE_QUERY_OP)
		return front_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG);
	if (op == DAT_IB_QUERY_COUNTERS_OP)
		return front_query_counters(handle, args);
	if (op == DAT_IB_PRINT_COUNTERS_OP)
		return front_print_counters(handle, args);
	if (!known)
		return front_return(DAP_ERR(DAP_NOT_IMPLEMENTED, DAP_SUB_NONE));
	if (err)
		return front_return(err);
	hot = core_ia(ep->obj.ia)->hot;
	if (op == DAT_IB_RDMA_WRITE_IMMED_OP ? !hot->write_immed
					     : !hot->atomic || ep->obj.ia->caps.no_atomics)
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	if (op == DAT_IB_RDMA_WRITE_IMMED_OP)
		return write_immed(ep, hot, args);
	return atomic(ep, hot, op == DAT_IB_CMP_AND_SWAP_OP, args);
}
