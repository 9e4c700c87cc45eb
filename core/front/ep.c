/* SPDX-License-Identifier: BSD-2-Clause */
/* Fronts of create, query, modify, status and free of an endpoint. */
#include <string.h>

#include "core/api.h"
#include "core/ep/ep.h"
#include "core/evd/evd.h"
#include "core/front/slots.h"

_Static_assert(DAP_EP_COMPLETION_PENDING == (int)DAT_EP_STATE_COMPLETION_PENDING &&
	       DAP_EP_CONNECTED == (int)DAT_EP_STATE_CONNECTED, "states are DAT's");
_Static_assert((int)DAT_QOS_BEST_EFFORT == 0 && DAP_QOS_ALL == ((int)DAT_QOS_HIGH_THROUGHPUT |
	       (int)DAT_QOS_LOW_LATENCY | (int)DAT_QOS_ECONOMY | (int)DAT_QOS_PREMIUM),
	       "classes are DAT's");

/* Attributes that are counts: signed in DAT, and invalid if negative. srq_soft_hw is not among
 * them: its -1 means infinity. */
#define COUNTS(each) \
	each(max_recv_dtos) each(max_request_dtos) each(max_recv_iov) each(max_request_iov) \
	each(max_rdma_read_in) each(max_rdma_read_out) each(max_rdma_read_iov) \
	each(max_rdma_write_iov)
#define FROM_DAT(field) .field = (uint32_t)a->field,
#define TO_DAT(field) .field = (DAT_COUNT)a->field,

static bool has_negative(const DAT_EP_ATTR *a)
{
#define IS_NEGATIVE(field) || a->field < 0
	return false COUNTS(IS_NEGATIVE);
}

/*
 * Consumers of 2.0 treat a size as a minimum and transfer more: dtest asks for 64 KiB and writes 4
 * MiB. So their endpoints get the adapter's maximum.
 */
static uint64_t size_asked(DAT_VLEN asked, uint64_t adapter)
{
	return DAP_API == DAP_API_20 && asked < adapter ? adapter : asked;
}

/* Endpoints have no transport-specific or provider-specific attributes. */
static int from_dat(const struct dap_ia *ia, const DAT_EP_ATTR *a, struct dap_ep_attr *to)
{
	if (has_negative(a) || a->ep_transport_specific_count || a->ep_provider_specific_count)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG6);
	*to = (struct dap_ep_attr){
		.service_type = a->service_type,
		.max_message_size = size_asked(a->max_message_size, ia->caps.max_message_size),
		.max_rdma_size = size_asked(a->max_rdma_size, ia->caps.max_rdma_size),
		.qos = a->qos,
		.recv_completion_flags = a->recv_completion_flags,
		.request_completion_flags = a->request_completion_flags,
		.srq_soft_hw = (uint32_t)a->srq_soft_hw,
		COUNTS(FROM_DAT)
	};
	return 0;
}

static void to_dat(const struct dap_ep_attr *a, DAT_EP_ATTR *to)
{
	*to = (DAT_EP_ATTR){
		.service_type = (DAT_SERVICE_TYPE)a->service_type,
		.max_message_size = front_length(a->max_message_size),
		.max_rdma_size = front_length(a->max_rdma_size),
		.qos = a->qos,
		.recv_completion_flags = a->recv_completion_flags,
		.request_completion_flags = a->request_completion_flags,
		.srq_soft_hw = (DAT_COUNT)a->srq_soft_hw,
		COUNTS(TO_DAT)
	};
}

/* Reads the handle of an EVD that takes this stream. *evd is NULL if the handle is
 * DAT_HANDLE_NULL. */
static int read_evd(const struct dap_ia *ia, DAT_EVD_HANDLE handle, uint32_t stream,
		    enum dap_err_sub sub, struct dap_evd **evd)
{
	*evd = NULL;
	if (handle == DAT_HANDLE_NULL)
		return 0;
	*evd = dap_obj_get(handle, DAP_EVD, ia);
	if (!*evd || core_evd(*evd)->internal || !((*evd)->flags & stream))
		return DAP_ERR(DAP_INVALID_HANDLE, sub);
	return 0;
}

/*
 * Consumers of 2.0 share one connect EVD between openings of an adapter (dapltest -T L). That
 * works because software posts its events, so any opening may feed it.
 */
static int read_connect_evd(const struct dap_ia *ia, DAT_EVD_HANDLE handle, struct dap_evd **evd)
{
	struct dap_evd *other = DAP_API == DAP_API_20 ? dap_obj_get(handle, DAP_EVD, NULL) : NULL;

	if (other && !strcmp(other->obj.ia->name, ia->name))
		ia = other->obj.ia;
	return read_evd(ia, handle, DAP_EVD_CONNECTION, DAP_SUB_HANDLE_EVD_CONN, evd);
}

static int read_objects(const struct dap_ia *ia, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			struct dap_ep_args *args)
{
	int err;

	if (!ia)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_IA);
	args->pz = dap_obj_get(pz, DAP_PZ, ia);
	if (!args->pz)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_PZ);
	err = read_evd(ia, recv_evd, DAP_EVD_DTO, DAP_SUB_HANDLE_EVD_RECV, &args->recv_evd);
	if (!err)
		err = read_evd(ia, request_evd, DAP_EVD_DTO | DAP_EVD_RMR_BIND,
			       DAP_SUB_HANDLE_EVD_REQUEST, &args->request_evd);
	if (!err)
		err = read_connect_evd(ia, connect_evd, &args->connect_evd);
	return err;
}

/* The attributes are argument attr_arg; out is the next argument. */
static DAT_RETURN create_ep(struct dap_ia *ia, const struct dap_ep_args *args, int attr_arg,
			    DAT_EP_HANDLE *out)
{
	struct dap_ep *ep;
	int err;

	if (!out)
		return front_bad_arg(attr_arg + 1);
	err = dap_ep_create(ia, args, &ep);
	if (!err)
		*out = ep;
	return front_return_arg(err, attr_arg);
}

DAT_RETURN front_ep_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv_evd,
			   DAT_EVD_HANDLE request_evd, DAT_EVD_HANDLE connect_evd,
			   const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_ep_args args = {.pz = NULL};
	struct dap_ep_attr neutral;
	int err = read_objects(ia, pz, recv_evd, request_evd, connect_evd, &args);

	if (!err && attr) {
		err = from_dat(ia, attr, &neutral);
		args.attr = &neutral;
	}
	return err ? front_return(err) : create_ep(ia, &args, 6, out);
}

/* dat_ep_create_with_srq(3) ignores max_recv_iov. */
static int from_dat_srq(const struct dap_ia *ia, const DAT_EP_ATTR *attr, struct dap_ep_attr *to)
{
	DAT_EP_ATTR heeded;

	if (!attr)
		return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG7);
	heeded = *attr;
	heeded.max_recv_iov = 0;
	return from_dat(ia, &heeded, to);
}

DAT_RETURN front_ep_create_with_srq(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE pz,
				    DAT_EVD_HANDLE recv_evd, DAT_EVD_HANDLE request_evd,
				    DAT_EVD_HANDLE connect_evd, DAT_SRQ_HANDLE srq,
				    const DAT_EP_ATTR *attr, DAT_EP_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_ep_args args = {.pz = NULL};
	struct dap_ep_attr neutral;
	int err = read_objects(ia, pz, recv_evd, request_evd, connect_evd, &args);

	args.srq = dap_obj_get(srq, DAP_SRQ, ia);
	if (!err && !args.srq)
		err = DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_SRQ);
	if (!err && from_dat_srq(ia, attr, &neutral))
		err = DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG7);
	args.attr = &neutral;
	return err ? front_return(err) : create_ep(ia, &args, 7, out);
}

DAT_RETURN front_ep_query(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, DAT_EP_PARAM *param)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	struct core_ep *own = core_ep(ep);

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	if (mask & ~DAT_EP_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	pthread_mutex_lock(&own->lock);
	*param = (DAT_EP_PARAM){
		.ia_handle = front_ia_handle(ep->obj.ia),
		.ep_state = (DAT_EP_STATE)dap_ep_state(ep),
		.local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&own->local_addr,
		.local_port_qual = own->local_qual,
		.remote_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&own->remote_addr,
		.remote_port_qual = own->remote_qual,
		.pz_handle = ep->pz,
		.recv_evd_handle = dap_evd_visible(ep->recv_evd),
		.request_evd_handle = dap_evd_visible(ep->request_evd),
		.connect_evd_handle = own->connect_evd,
		.srq_handle = ep->srq,
#ifdef DAP_DAT20
		.comm = { own->local_addr.sa.sa_family, SOCK_STREAM, 0 },
#endif
	};
	to_dat(&ep->attr, &param->ep_attr);
	pthread_mutex_unlock(&own->lock);
	return DAT_SUCCESS;
}

/* dat_ep_modify(3): these attributes are fixed, or belong to the connection. */
#define FIXED (DAT_EP_FIELD_IA_HANDLE | DAT_EP_FIELD_EP_STATE |                                    \
	       DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR | DAT_EP_FIELD_LOCAL_PORT_QUAL |                  \
	       DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR | DAT_EP_FIELD_REMOTE_PORT_QUAL |                \
	       DAT_EP_FIELD_SRQ_HANDLE | FIXED_COMM)
#ifdef DAP_DAT20
#define FIXED_COMM DAT_EP_FIELD_COMM
#else
#define FIXED_COMM 0
#endif
#define SPECIFIC (DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR |                                        \
		  DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR |                                   \
		  DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR |                                         \
		  DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR)

#define TAKE(bit, member)                                                                          \
	if (mask & DAT_EP_FIELD_EP_ATTR_##bit)                                                     \
	to->member = from->member

static void merge(DAT_EP_PARAM_MASK mask, const DAT_EP_ATTR *from, DAT_EP_ATTR *to)
{
	TAKE(SERVICE_TYPE, service_type);
	TAKE(MAX_MESSAGE_SIZE, max_message_size);
	TAKE(MAX_RDMA_SIZE, max_rdma_size);
	TAKE(QOS, qos);
	TAKE(RECV_COMPLETION_FLAGS, recv_completion_flags);
	TAKE(REQUEST_COMPLETION_FLAGS, request_completion_flags);
	TAKE(MAX_RECV_DTOS, max_recv_dtos);
	TAKE(MAX_REQUEST_DTOS, max_request_dtos);
	TAKE(MAX_RECV_IOV, max_recv_iov);
	TAKE(MAX_REQUEST_IOV, max_request_iov);
	TAKE(MAX_RDMA_READ_IN, max_rdma_read_in);
	TAKE(MAX_RDMA_READ_OUT, max_rdma_read_out);
	TAKE(SRQ_SOFT_HW, srq_soft_hw);
	TAKE(MAX_RDMA_READ_IOV, max_rdma_read_iov);
	TAKE(MAX_RDMA_WRITE_IOV, max_rdma_write_iov);
}

/* The endpoint's lock is held, since a request changes attributes of an endpoint that it comes with. */
static int read_change(struct dap_ep *ep, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param,
		       struct dap_ep_change *change)
{
	const struct dap_ia *ia = ep->obj.ia;
	DAT_EP_ATTR attr;
	int err = 0;

	if (mask & DAT_EP_FIELD_PZ_HANDLE) {
		change->set |= DAP_EP_SET_PZ;
		change->pz = dap_obj_get(param->pz_handle, DAP_PZ, ia);
		if (!change->pz)
			return DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3);
	}
	if (mask & DAT_EP_FIELD_RECV_EVD_HANDLE) {
		change->set |= DAP_EP_SET_RECV_EVD;
		err |= read_evd(ia, param->recv_evd_handle, DAP_EVD_DTO, 0, &change->recv_evd);
	}
	if (mask & DAT_EP_FIELD_REQUEST_EVD_HANDLE) {
		change->set |= DAP_EP_SET_REQUEST_EVD;
		err |= read_evd(ia, param->request_evd_handle, DAP_EVD_DTO | DAP_EVD_RMR_BIND, 0,
				&change->request_evd);
	}
	if (mask & DAT_EP_FIELD_CONNECT_EVD_HANDLE) {
		change->set |= DAP_EP_SET_CONNECT_EVD;
		err |= read_connect_evd(ia, param->connect_evd_handle, &change->connect_evd);
	}
	if (mask & DAT_EP_FIELD_EP_ATTR_ALL) {
		change->set |= DAP_EP_SET_ATTR;
		to_dat(&ep->attr, &attr);
		merge(mask, &param->ep_attr, &attr);
		err |= from_dat(ia, &attr, &change->attr);
	}
	if (mask & DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW)
		change->set |= DAP_EP_SET_SOFT_HIGH;
	return err ? DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG3) : 0;
}

DAT_RETURN front_ep_modify(DAT_EP_HANDLE handle, DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	struct dap_ep_change change = {.set = 0};
	int err;

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	if (mask & ~DAT_EP_FIELD_ALL || mask & (FIXED | SPECIFIC))
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	pthread_mutex_lock(&core_ep(ep)->lock);
	err = read_change(ep, mask, param, &change);
	if (!err)
		err = dap_ep_modify(ep, &change);
	pthread_mutex_unlock(&core_ep(ep)->lock);
	/* dat_ep_modify(3) has no code for unsupported attributes: report an invalid one. */
	if (DAP_ERR_TYPE(err) == DAP_MODEL_NOT_SUPPORTED)
		return front_bad_arg(3);
	return front_return_arg(err, 3);
}

DAT_RETURN front_ep_get_status(DAT_EP_HANDLE handle, DAT_EP_STATE *state, DAT_BOOLEAN *recv_idle,
			       DAT_BOOLEAN *request_idle)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);
	bool recv, request;
	uint32_t now;

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	dap_ep_get_status(ep, &now, &recv, &request);
	if (state)
		*state = (DAT_EP_STATE)now;
	if (recv_idle)
		*recv_idle = recv ? DAT_TRUE : DAT_FALSE;
	if (request_idle)
		*request_idle = request ? DAT_TRUE : DAT_FALSE;
	return DAT_SUCCESS;
}

DAT_RETURN front_ep_free(DAT_EP_HANDLE handle)
{
	struct dap_ep *ep = dap_obj_get(handle, DAP_EP, NULL);

	if (!ep)
		return front_bad_handle(DAP_SUB_HANDLE_EP);
	return front_return(dap_ep_free(ep));
}
