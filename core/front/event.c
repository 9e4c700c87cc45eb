/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts events to the consumer's form; fronts of the calls that return events. */
#include <string.h>

#include "core/api.h"
#include "core/evd/evd.h"
#include "core/front/slots.h"
#include "core/ia.h"
#include "core/probe.h"

#include <dat/dapl_direct.h>

_Static_assert(DAP_DTO_REMOTE_ACCESS == (int)DAT_DTO_ERR_REMOTE_ACCESS &&
	       DAP_RMR_OPERATION_FAILED == (int)DAT_RMR_OPERATION_FAILED, "status numbers are DAT's");
_Static_assert(DAP_EV_UNREACHABLE == (int)DAT_CONNECTION_EVENT_UNREACHABLE &&
	       DAP_EV_ASYNC_INTERNAL == (int)DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR &&
	       DAP_EV_SOFTWARE == (int)DAT_SOFTWARE_EVENT, "event numbers are DAT's");

static void cr_event(const struct dap_event *from, struct dap_evd *evd,
		     DAT_CR_ARRIVAL_EVENT_DATA *to)
{
	to->sp_handle.psp_handle = from->cr.sp;
	to->local_ia_address_ptr = (DAT_IA_ADDRESS_PTR)&evd->obj.ia->caps.address;
	to->conn_qual = from->cr.conn_qual;
	to->cr_handle = from->cr.cr;
#ifdef DAP_DAT20
	to->truncate_flag = DAT_FALSE;
#endif
}

static void dto_event(const struct dap_event *from, DAT_DTO_COMPLETION_EVENT_DATA *to)
{
	DAP_PROBE4(dequeue, from->dto.ep, from->dto.cookie, from->dto.length, from->dto.status);
	*to = (DAT_DTO_COMPLETION_EVENT_DATA){
		.ep_handle = from->dto.ep,
		.user_cookie.as_64 = from->dto.cookie,
		.status = from->dto.status,
		.transfered_length = front_length(from->dto.length),
#ifdef DAP_DAT20
		.operation = from->dto.op,
		.rmr_context = from->dto.op == DAP_OP_RECV_INVAL ? from->dto.imm : 0,
#endif
	};
}

static void connection_event(const struct dap_event *from, DAT_CONNECTION_EVENT_DATA *to)
{
	to->ep_handle = from->conn.ep;
	to->private_data_size = (DAT_COUNT)from->conn.private_data_size;
	to->private_data = (DAT_PVOID)(uintptr_t)from->conn.private_data;
}

void front_event(const struct dap_event *from, struct dap_evd *evd, DAT_EVENT *to)
{
	DAT_EVENT_DATA *data = &to->event_data;

	to->event_number = from->number;
	to->evd_handle = evd;
	switch (from->number) {
	case DAP_EV_DTO:
#ifdef DAP_DAT20
		front_extend(from, to);
#endif
		dto_event(from, &data->dto_completion_event_data);
		break;
	case DAP_EV_RMR_BIND:
		data->rmr_completion_event_data = (DAT_RMR_BIND_COMPLETION_EVENT_DATA){
			.rmr_handle = from->bind.rmr, .user_cookie.as_64 = from->bind.cookie,
			.status = from->bind.status};
		DAP_PROBE4(dequeue, from->bind.ep, from->bind.cookie, 0, from->bind.status);
		break;
	case DAP_EV_CR:
		cr_event(from, evd, &data->cr_arrival_event_data);
		break;
	case DAP_EV_SOFTWARE:
		data->software_event_data.pointer = from->software;
		break;
	case DAP_EV_ASYNC_EVD_OVERFLOW ... DAP_EV_ASYNC_INTERNAL:
		data->asynch_error_event_data.dat_handle = from->async.obj->type == DAP_IA
			? front_ia_handle((struct dap_ia *)from->async.obj) : (DAT_HANDLE)from->async.obj;
		data->asynch_error_event_data.reason = from->async.reason;
		break;
	default:
		connection_event(from, &data->connect_event_data);
	}
}

DAT_RETURN front_dequeue_cold(struct dap_evd *evd, DAT_EVENT *event)
{
	struct dap_event ev;
	int err;

	if (!event)
		return front_bad_arg(2);
	err = dap_evd_dequeue_cold(evd, &ev);
	if (!err)
		front_event(&ev, evd, event);
	if (DAP_ERR_TYPE(err) == DAP_QUEUE_EMPTY &&
	    !(__atomic_load_n(&evd->slow, __ATOMIC_RELAXED) & DAP_SLOW_NO_CQ))
		return FRONT_CQ_EMPTY;
	return front_return(err);
}

DAT_RETURN front_evd_dequeue(DAT_EVD_HANDLE handle, DAT_EVENT *event)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);
	const struct dap_hot *hot;

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	if (!event)
		return front_bad_arg(2);
	hot = core_ia(evd->obj.ia)->hot;
	return hot->evd_dequeue(evd, event);
}

/* Dequeues one event at a time. If a dequeue fails after at least one event, the next call reports the
 * error. */
static DAT_RETURN dequeue_each(const struct dap_hot *hot, struct dap_evd *evd, DAT_COUNT max,
			       DAT_EVENT *events, DAT_COUNT *count)
{
	DAT_RETURN ret = DAT_SUCCESS;
	DAT_COUNT n;

	for (n = 0; n < max; n++) {
		ret = hot->evd_dequeue(evd, &events[n]);
		if (ret != DAT_SUCCESS)
			break;
	}
	if (!n)
		return ret;
	*count = n;
	return DAT_SUCCESS;
}

DAT_RETURN front_evd_dequeue_n(DAT_EVD_HANDLE handle, DAT_COUNT max, DAT_EVENT *events,
			       DAT_COUNT *count)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);
	const struct dap_hot *hot;
	DAT_RETURN bad;

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	bad = front_list_args(max, events, count);
	if (bad)
		return bad;
	hot = core_ia(evd->obj.ia)->hot;
	return hot->evd_dequeue_n ? hot->evd_dequeue_n(evd, max, events, count)
				  : dequeue_each(hot, evd, max, events, count);
}

/* Returns the timestamp of the event's CQE; 0: none. */
static uint64_t stamp_of(const struct dap_event *ev)
{
	if (ev->number == DAP_EV_RMR_BIND)
		return ev->bind.stamp;
	return ev->number == DAP_EV_DTO ? ev->dto.stamp : 0;
}

DAT_RETURN front_evd_dequeue_ts(DAT_EVD_HANDLE handle, DAT_EVENT *event, struct dapl_stamp *stamp)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);
	struct dap_stamp s;
	struct dap_event ev;
	struct dap_ia *ia;
	int err;

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	if (!event)
		return front_bad_arg(2);
	if (!stamp)
		return front_bad_arg(3);
	ia = evd->obj.ia;
	if (!ia->hw->stamp) {
		dap_log(DAP_LOG_WARN, "%s: dapl_evd_dequeue_ts is refused, because this adapter writes no "
			"timestamps", ia->name);
		return front_return(DAP_ERR(DAP_MODEL_NOT_SUPPORTED, DAP_SUB_NONE));
	}
	err = dap_evd_dequeue_stamped(evd, &ev);
	ia->hw->stamp(ia, err ? 0 : stamp_of(&ev), &s);
	if (!err) {
		front_event(&ev, evd, event);
		*stamp = (struct dapl_stamp){ .realtime = s.realtime, .raw = s.raw, .error = s.error,
					      .khz = s.khz };
	}
	return front_return(err);
}

DAT_RETURN front_evd_wait(DAT_EVD_HANDLE handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			  DAT_EVENT *event, DAT_COUNT *nmore)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);
	struct dap_event ev;
	uint32_t left = 0;
	int err;

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	if (threshold <= 0)
		return front_bad_arg(3);
	if (!event)
		return front_bad_arg(4);
	if (!nmore)
		return front_bad_arg(5);
	err = dap_evd_wait(evd, timeout, (uint32_t)threshold, &ev, &left);
	if (!err)
		front_event(&ev, evd, event);
	if (!err || DAP_ERR_TYPE(err) == DAP_TIMEOUT_EXPIRED ||
	    DAP_ERR_TYPE(err) == DAP_INTERRUPTED_CALL)
		*nmore = (DAT_COUNT)left;
	return front_return(err);
}
