/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry's own calls. */
#include <pthread.h>
#include <string.h>

#include "core/libdat/log.h"
#include "core/libdat/registry.h"

/* dat_registry_list_providers() lists each key once, and only entries of dat.conf. */
static bool listed(const struct reg_entry *entry)
{
	return entry->conf && !entry->conf->repeats;
}

static DAT_COUNT count_listed(void)
{
	DAT_COUNT n = 0;

	for (const struct reg_entry *entry = reg_first(); entry; entry = entry->next)
		n += listed(entry);
	return n;
}

static DAT_RETURN list(DAT_COUNT max, DAT_COUNT available, DAT_PROVIDER_INFO *to[])
{
	DAT_COUNT n = 0;

	if (!to)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (max < available)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	for (DAT_COUNT i = 0; i < available; i++) {
		if (!to[i])
			return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	}
	for (const struct reg_entry *entry = reg_first(); entry; entry = entry->next) {
		if (listed(entry))
			*to[n++] = entry->info;
	}
	return DAT_SUCCESS;
}

DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return, DAT_COUNT *entries_returned,
				       DAT_PROVIDER_INFO *(dat_provider_list[]))
{
	DAT_RETURN ret;
	int cancel;

	if (!entries_returned)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	reg_lock();
	ret = reg_load() ? dat_err(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE) : DAT_SUCCESS;
	*entries_returned = count_listed();
	if (ret == DAT_SUCCESS)
		ret = list(max_to_return, *entries_returned, dat_provider_list);
	reg_unlock();
	pthread_setcancelstate(cancel, NULL);
	dat_log_return(DAT_LOG_CONSUMER, ret, "dat_registry_list_providers");
	return ret;
}

static bool sound_info(const DAT_PROVIDER_INFO *info)
{
	return info && *info->ia_name &&
	       strnlen(info->ia_name, DAT_NAME_MAX_LENGTH) < DAT_NAME_MAX_LENGTH;
}

/* A shorter table, or one with other signatures, must not be used. */
static bool sound_version(const DAT_PROVIDER_INFO *info)
{
	return info->dapl_version_major == DAT_VERSION_MAJOR &&
	       info->dapl_version_minor >= DAT_VERSION_MINOR;
}

DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
				     const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN ret;

	if (!provider || !provider->ia_open_func)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!sound_info(provider_info) || !sound_version(provider_info))
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	reg_lock();
	ret = reg_add(provider, provider_info);
	reg_unlock();
	dat_log_return(DAT_LOG_PROVIDER, ret, "dat_registry_add_provider %s %u.%u",
		       provider_info->ia_name, provider_info->dapl_version_major,
		       provider_info->dapl_version_minor);
	return ret;
}

DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
					const DAT_PROVIDER_INFO *provider_info)
{
	DAT_RETURN ret;

	if (!provider)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!sound_info(provider_info))
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	reg_lock();
	ret = reg_remove(provider, provider_info);
	reg_unlock();
	dat_log_return(DAT_LOG_PROVIDER, ret, "dat_registry_remove_provider %s",
		       provider_info->ia_name);
	return ret;
}
