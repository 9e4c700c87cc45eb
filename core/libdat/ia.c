/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_openv and dat_ia_close: they find the provider before the call is redirected. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/libdat/load.h"
#include "core/libdat/log.h"
#include "core/libdat/redirect.h"
#include "core/libdat/registry.h"

/* The registry is not locked here: the provider opens devices and creates threads. */
static DAT_RETURN open_with(struct reg_entry *entry, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			    struct open_ia *ia)
{
	const DAT_PROVIDER *table = entry->table;
	DAT_RETURN ret;

	reg_open_begin(entry);
	ret = table->ia_open_func(entry->info.ia_name, qlen, async_evd, &ia->handle);
	reg_open_end(entry);
	if (ret == DAT_SUCCESS) {
		ia->entry = entry;
		put_open_ia(ia);
	} else {
		reg_put(entry);
	}
	return ret;
}

/*
 * Tries the entries of that name in turn. A provider that does not know the name counts as one that
 * failed to load. If no entry works and a shortage of memory or descriptors may be the reason, returns
 * that error.
 */
static DAT_RETURN open_any(const DAT_PROVIDER_INFO *want, DAT_COUNT qlen,
			   DAT_EVD_HANDLE *async_evd, struct open_ia *ia)
{
	/* The program may have registered providers itself. */
	bool shortage = is_shortage(reg_load());
	DAT_RETURN ret = dat_err(DAT_PROVIDER_NOT_FOUND, reg_nearest(want));
	struct reg_entry *entry = NULL, *got;
	int err;

	while ((entry = reg_next(want, entry))) {
		err = reg_get(entry, &got);
		shortage |= is_shortage(err);
		if (err)
			continue;
		ret = open_with(got, qlen, async_evd, ia);
		if (DAT_GET_TYPE(ret) != DAT_PROVIDER_NOT_FOUND)
			return ret;
	}
	return shortage ? dat_err(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY) : ret;
}

DAT_RETURN dat_ia_openv(const DAT_NAME_PTR ia_name_ptr, DAT_COUNT async_evd_min_qlen,
			DAT_EVD_HANDLE *async_evd_handle, DAT_IA_HANDLE *ia_handle,
			DAT_UINT32 dapl_major, DAT_UINT32 dapl_minor, DAT_BOOLEAN thread_safety)
{
	DAT_PROVIDER_INFO want = {.dapl_version_major = dapl_major,
				  .dapl_version_minor = dapl_minor,
				  .is_thread_safe = thread_safety};
	struct open_ia *ia;
	DAT_RETURN ret;
	int cancel;

	if (!ia_name_ptr || strnlen(ia_name_ptr, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async_evd_handle)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ia_handle)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	ia = calloc(1, sizeof(*ia));
	if (!ia)
		return dat_err(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	strcpy(want.ia_name, ia_name_ptr);

	/* A thread that is cancelled in a system call of the open would keep the registry's lock, or a lock
	 * of the provider. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	reg_lock();
	ret = open_any(&want, async_evd_min_qlen, async_evd_handle, ia);
	reg_unlock();
	pthread_setcancelstate(cancel, NULL);
	dat_log_return(DAT_LOG_CONSUMER, ret, "dat_ia_openv %s %u.%u %s", ia_name_ptr, dapl_major,
		       dapl_minor, thread_safety ? "threadsafe" : "nonthreadsafe");
	if (ret == DAT_SUCCESS)
		*ia_handle = ia->handle;
	else
		free(ia);
	return ret;
}

DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS ia_flags)
{
	struct open_ia *ia;
	DAT_RETURN ret;
	int cancel;

	reg_lock();
	ia = take_open_ia(ia_handle);
	reg_unlock();
	if (!ia)
		return dat_err(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	ret = table_of(ia_handle)->ia_close_func(ia_handle, ia_flags);

	reg_lock();
	if (ret == DAT_SUCCESS)
		reg_put(ia->entry);
	else
		put_open_ia(ia);
	reg_unlock();
	pthread_setcancelstate(cancel, NULL);
	if (ret == DAT_SUCCESS)
		free(ia);
	dat_log_return(DAT_LOG_CONSUMER, ret, "dat_ia_close");
	return ret;
}
