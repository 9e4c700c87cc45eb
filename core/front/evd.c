/* SPDX-License-Identifier: BSD-2-Clause */
/* Fronts of the EVD calls, except those that return events (event.c). */
#include "core/api.h"
#include "core/evd/cno.h"
#include "core/evd/evd.h"
#include "core/front/slots.h"

_Static_assert(DAP_EVD_ASYNC == (int)DAT_EVD_ASYNC_FLAG && DAP_EVD_DTO == (int)DAT_EVD_DTO_FLAG &&
	       DAP_EVD_RMR_BIND == (int)DAT_EVD_RMR_BIND_FLAG, "EVD flags are DAT's");

#define ALL_FLAGS ((uint32_t)(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG))

static bool is_qlen(const struct dap_ia *ia, DAT_COUNT qlen)
{
	return qlen > 0 && (uint32_t)qlen <= ia->caps.max_evd_qlen;
}

DAT_RETURN front_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT qlen, DAT_CNO_HANDLE cno_handle,
			    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_cno *cno = dap_obj_get(cno_handle, DAP_CNO, ia);
	struct dap_evd *evd;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!is_qlen(ia, qlen))
		return front_bad_arg(2);
	if (cno_handle != DAT_HANDLE_NULL && !cno)
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	if (!flags || flags & ~ALL_FLAGS)
		return front_bad_arg(4);
	if (!out)
		return front_bad_arg(5);
	err = dap_evd_create(ia, (uint32_t)qlen, flags, cno, &evd);
	if (!err)
		*out = evd;
	return front_return(err);
}

static DAT_EVD_STATE state_of(const struct dap_evd *evd)
{
	const struct core_evd *own = core_evd(evd);
	uint32_t state = own->enabled ? DAT_EVD_STATE_ENABLED : DAT_EVD_STATE_DISABLED;

	state |= own->waitable ? DAT_EVD_STATE_WAITABLE : DAT_EVD_STATE_UNWAITABLE;
	if (!own->stream_flags)
		state |= DAT_EVD_STATE_CONFIG_THRESHOLD;
	else if (own->stream_flags & DAP_COMP_SOLICITED)
		state |= DAT_EVD_STATE_CONFIG_SOLICITED;
	else
		state |= DAT_EVD_STATE_CONFIG_NOTIFY;
	return state;
}

DAT_RETURN front_evd_query(DAT_EVD_HANDLE handle, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);
	struct core_evd *own = core_evd(evd);

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	if (mask & ~(uint32_t)DAT_EVD_FIELD_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	pthread_mutex_lock(&own->lock);
	*param = (DAT_EVD_PARAM){
		.ia_handle = front_ia_handle(evd->obj.ia), .evd_qlen = (DAT_COUNT)own->qlen,
		.evd_state = state_of(evd), .cno_handle = own->cno, .evd_flags = evd->flags};
	pthread_mutex_unlock(&own->lock);
	return DAT_SUCCESS;
}

static DAT_RETURN set_flag(DAT_EVD_HANDLE handle, void (*set)(struct dap_evd *, bool), bool value)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	set(evd, value);
	return DAT_SUCCESS;
}

DAT_RETURN front_evd_enable(DAT_EVD_HANDLE evd)
{
	return set_flag(evd, dap_evd_set_enabled, true);
}

DAT_RETURN front_evd_disable(DAT_EVD_HANDLE evd)
{
	return set_flag(evd, dap_evd_set_enabled, false);
}

DAT_RETURN front_evd_modify_cno(DAT_EVD_HANDLE handle, DAT_CNO_HANDLE cno_handle)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);
	struct dap_cno *cno;

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	cno = dap_obj_get(cno_handle, DAP_CNO, evd->obj.ia);
	if (cno_handle != DAT_HANDLE_NULL && !cno)
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	return front_return(dap_evd_set_cno(evd, cno));
}

DAT_RETURN front_evd_set_unwaitable(DAT_EVD_HANDLE evd)
{
	return set_flag(evd, dap_evd_set_waitable, false);
}

DAT_RETURN front_evd_clear_unwaitable(DAT_EVD_HANDLE evd)
{
	return set_flag(evd, dap_evd_set_waitable, true);
}

DAT_RETURN front_evd_resize(DAT_EVD_HANDLE handle, DAT_COUNT qlen)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	if (!is_qlen(evd->obj.ia, qlen))
		return front_bad_arg(2);
	return front_return(dap_evd_resize(evd, (uint32_t)qlen));
}

DAT_RETURN front_evd_post_se(DAT_EVD_HANDLE handle, const DAT_EVENT *event)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);
	struct dap_event ev = {.number = DAP_EV_SOFTWARE};

	if (!evd)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	if (!event || event->event_number != DAT_SOFTWARE_EVENT)
		return front_bad_arg(2);
	if (!(evd->flags & DAP_EVD_SOFTWARE))
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	ev.software = event->event_data.software_event_data.pointer;
	if (dap_evd_post(evd, &ev))
		return front_return(DAP_ERR(DAP_QUEUE_FULL, DAP_SUB_NONE));
	return DAT_SUCCESS;
}

DAT_RETURN front_evd_free(DAT_EVD_HANDLE handle)
{
	struct dap_evd *evd = dap_obj_get(handle, DAP_EVD, NULL);

	if (!evd || core_evd(evd)->internal)
		return front_bad_handle(DAP_SUB_HANDLE_EVD);
	return front_return(dap_evd_free(evd));
}
