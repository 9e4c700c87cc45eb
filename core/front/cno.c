/* SPDX-License-Identifier: BSD-2-Clause */
/* Fronts of the CNO calls. */
#include "core/api.h"
#include "core/evd/cno.h"
#include "core/front/slots.h"

/* A function without data is a valid agent; data without a function is not. */
static bool is_agent(DAT_OS_WAIT_PROXY_AGENT agent)
{
	return agent.proxy_agent_func || !agent.instance_data;
}

DAT_RETURN front_cno_create(DAT_IA_HANDLE ia_handle, DAT_OS_WAIT_PROXY_AGENT agent,
			    DAT_CNO_HANDLE *out)
{
	struct dap_ia *ia = dap_obj_get(ia_handle, DAP_IA, NULL);
	struct dap_cno *cno;
	int err;

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (!is_agent(agent))
		return front_bad_arg(2);
	if (!out)
		return front_bad_arg(3);
	err = dap_cno_create(ia, agent.proxy_agent_func, agent.instance_data, &cno);
	if (!err)
		*out = cno;
	return front_return(err);
}

DAT_RETURN front_cno_modify_agent(DAT_CNO_HANDLE handle, DAT_OS_WAIT_PROXY_AGENT agent)
{
	struct dap_cno *cno = dap_obj_get(handle, DAP_CNO, NULL);

	if (!cno)
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	if (!is_agent(agent))
		return front_bad_arg(2);
	return front_return(dap_cno_set_agent(cno, agent.proxy_agent_func, agent.instance_data));
}

#ifdef DAP_DAT20

static void proxy(struct dap_cno *cno, DAT_CNO_PARAM *param)
{
	DAT_OS_WAIT_PROXY_AGENT agent;

	dap_cno_get_agent(cno, &agent.proxy_agent_func, &agent.instance_data);
	param->proxy_type = DAT_PROXY_TYPE_NONE;
	param->proxy.none = NULL;
	if (cno->fd_created) {
		param->proxy_type = DAT_PROXY_TYPE_FD;
		param->proxy.fd = cno->consumer_fd;
	} else if (agent.proxy_agent_func) {
		param->proxy_type = DAT_PROXY_TYPE_AGENT;
		param->proxy.agent = agent;
	}
}

/* DAT_CNO_FIELD_PROXY has the bits of the other two fields, and DAT_CNO_FIELD_ALL a bit of its own. */
#define MASK_ALL ((uint32_t)(DAT_CNO_FIELD_PROXY | DAT_CNO_FIELD_ALL))

#else

static void proxy(struct dap_cno *cno, DAT_CNO_PARAM *param)
{
	dap_cno_get_agent(cno, &param->agent.proxy_agent_func, &param->agent.instance_data);
}

#define MASK_ALL ((uint32_t)DAT_CNO_FIELD_ALL)

#endif

DAT_RETURN front_cno_query(DAT_CNO_HANDLE handle, DAT_CNO_PARAM_MASK mask, DAT_CNO_PARAM *param)
{
	struct dap_cno *cno = dap_obj_get(handle, DAP_CNO, NULL);

	if (!cno)
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	if (mask & ~MASK_ALL)
		return front_bad_arg(2);
	if (!param)
		return front_bad_arg(3);
	param->ia_handle = front_ia_handle(cno->obj.ia);
	proxy(cno, param);
	return DAT_SUCCESS;
}

DAT_RETURN front_cno_free(DAT_CNO_HANDLE handle)
{
	struct dap_cno *cno = dap_obj_get(handle, DAP_CNO, NULL);

	if (!cno)
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	return front_return(dap_cno_free(cno));
}

DAT_RETURN front_cno_wait(DAT_CNO_HANDLE handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *out)
{
	struct dap_cno *cno = dap_obj_get(handle, DAP_CNO, NULL);
	struct dap_evd *evd = NULL;
	int err;

	if (!cno)
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	if (!out)
		return front_bad_arg(3);
	err = dap_cno_wait(cno, timeout, &evd);
	if (!err || DAP_ERR_TYPE(err) == DAP_QUEUE_EMPTY)
		*out = evd;
	return front_return(err);
}

DAT_RETURN front_cno_fd(DAT_CNO_HANDLE handle, int *fd)
{
	struct dap_cno *cno = dap_obj_get(handle, DAP_CNO, NULL);

	if (!cno)
		return front_bad_handle(DAP_SUB_HANDLE_CNO);
	if (!fd)
		return front_bad_arg(2);
	return front_return(dap_cno_fd(cno, fd));
}
