/* SPDX-License-Identifier: BSD-2-Clause */
/* Between the registry and us: names come and go, IAs are opened under them. */
#include <string.h>

#include "core/api.h"
#include "core/front/slots.h"
#include "core/front/tables.h"
#include "core/ia.h"

/* libdat calls these two; the version script exports them and nothing else. */
#define EXPORT __attribute__((visibility("default")))

EXPORT void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
	struct front_provider *p;
	DAT_RETURN ret;

	if (info->dapl_version_major != DAT_VERSION_MAJOR ||
	    info->dapl_version_minor != DAT_VERSION_MINOR) {
		dap_log(DAP_LOG_ERR, "%s: uDAPL %u.%u is not served, only %u.%u", info->ia_name,
			info->dapl_version_major, info->dapl_version_minor, DAT_VERSION_MAJOR,
			DAT_VERSION_MINOR);
		return;
	}
	p = front_provider_get(info->ia_name, info->is_thread_safe);
	if (!p || front_provider_set_params(p, instance_data)) {
		dap_log(DAP_LOG_ERR, "%s: no memory", info->ia_name);
		return;
	}
	ret = dat_registry_add_provider(&p->table, info);
	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_PROVIDER_ALREADY_REGISTERED)
		dap_log(DAP_LOG_ERR, "%s: not registered: 0x%08x", info->ia_name, ret);
}

EXPORT void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	struct front_provider *p = front_provider_get(info->ia_name, info->is_thread_safe);

	if (p)
		dat_registry_remove_provider(&p->table, info);
}

/* dat_ia_open(3): the consumer's own asynchronous EVD belongs to another IA of the same name. */
static int read_async_evd(DAT_EVD_HANDLE handle, struct dap_ia_args *args)
{
	struct dap_evd *evd;

	if (handle == DAT_HANDLE_NULL)
		return 0;
	if (handle == DAT_EVD_ASYNC_EXISTS) {
		args->no_async_evd = true;
		return 0;
	}
	evd = dap_obj_get(handle, DAP_EVD, NULL);
	if (!evd || !(evd->flags & DAP_EVD_ASYNC) || strcmp(evd->obj.ia->name, args->name))
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EVD_ASYNC);
	args->async_evd = evd;
	return 0;
}

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *out, bool threadsafe)
{
	struct dap_ia_args args = {.name = name, .api = DAP_API, .threadsafe = threadsafe,
				   .make_tables = front_make_tables};
	struct front_provider *p;
	struct dap_ia *ia;
	int err;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return front_bad_arg(1);
	if (qlen < 0)
		return front_bad_arg(2);
	if (!async_evd)
		return front_bad_arg(3);
	if (!out)
		return front_bad_arg(4);
	args.async_qlen = (uint32_t)qlen;
	err = read_async_evd(*async_evd, &args);
	if (err)
		return front_return(err);
	p = front_provider_get(name, threadsafe);
	if (!p)
		return front_return(DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY));
	args.params = p->params;
	err = dap_ia_open(&args, &ia);
	if (err)
		return front_return(err);
	*async_evd = core_ia(ia)->async_evd ?: DAT_EVD_OUT_OF_SCOPE;
	*out = ia;
	return DAT_SUCCESS;
}

DAT_RETURN front_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			 DAT_IA_HANDLE *ia)
{
	return open_ia(name, qlen, async_evd, ia, false);
}

DAT_RETURN front_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
				    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	return open_ia(name, qlen, async_evd, ia, true);
}

DAT_RETURN front_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dap_ia *ia = dap_obj_get(handle, DAP_IA, NULL);

	if (!ia)
		return front_bad_handle(DAP_SUB_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return front_bad_arg(2);
	return front_return(dap_ia_close(ia, flags == DAT_CLOSE_GRACEFUL_FLAG));
}
