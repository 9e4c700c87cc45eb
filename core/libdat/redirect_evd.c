/* SPDX-License-Identifier: BSD-2-Clause */
/* Redirection: Event Dispatcher and Consumer Notification Object. */
#include "core/libdat/redirect.h"

DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle, DAT_COUNT evd_min_qlen,
			DAT_CNO_HANDLE cno_handle, DAT_EVD_FLAGS evd_flags,
			DAT_EVD_HANDLE *evd_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->evd_create_func(ia_handle, evd_min_qlen, cno_handle,
			evd_flags, evd_handle);
}

DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle, DAT_EVD_PARAM_MASK evd_param_mask,
			DAT_EVD_PARAM *evd_param)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_query_func(evd_handle, evd_param_mask, evd_param);
}

DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_modify_cno_func(evd_handle, cno_handle);
}

DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_enable_func(evd_handle);
}

DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_disable_func(evd_handle);
}

DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_wait_func(evd_handle, timeout, threshold, event,
			nmore);
}

DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_resize_func(evd_handle, evd_min_qlen);
}

DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_post_se_func(evd_handle, event);
}

DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_dequeue_func(evd_handle, event);
}

DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_set_unwaitable_func(evd_handle);
}

DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_clear_unwaitable_func(evd_handle);
}

DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle)
{
	if (unlikely(!evd_handle))
		return null_handle(DAT_INVALID_HANDLE1);
	return table_of(evd_handle)->evd_free_func(evd_handle);
}

DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			DAT_CNO_HANDLE *cno_handle)
{
	if (unlikely(!ia_handle))
		return null_handle(DAT_INVALID_HANDLE_IA);
	return table_of(ia_handle)->cno_create_func(ia_handle, agent, cno_handle);
}

DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	if (unlikely(!cno_handle))
		return null_handle(DAT_INVALID_HANDLE_CNO);
	return table_of(cno_handle)->cno_modify_agent_func(cno_handle, agent);
}

DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle, DAT_CNO_PARAM_MASK cno_param_mask,
			DAT_CNO_PARAM *cno_param)
{
	if (unlikely(!cno_handle))
		return null_handle(DAT_INVALID_HANDLE_CNO);
	return table_of(cno_handle)->cno_query_func(cno_handle, cno_param_mask, cno_param);
}

DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout,
			DAT_EVD_HANDLE *evd_handle)
{
	if (unlikely(!cno_handle))
		return null_handle(DAT_INVALID_HANDLE_CNO);
	return table_of(cno_handle)->cno_wait_func(cno_handle, timeout, evd_handle);
}

DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle)
{
	if (unlikely(!cno_handle))
		return null_handle(DAT_INVALID_HANDLE_CNO);
	return table_of(cno_handle)->cno_free_func(cno_handle);
}
