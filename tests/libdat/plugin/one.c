/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libdat/plugin/plugin.h"

struct ia {
	const DAT_PROVIDER *table;
};

static void leave(void);
struct plugin_log plugin_log = {.remove = leave};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t pair;

static DAT_RETURN failure(DAT_RETURN_TYPE type)
{
	return DAT_CLASS_ERROR | (DAT_RETURN)type;
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *out);

static DAT_RETURN ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	(void)flags;
	if (plugin_log.close_with)
		return plugin_log.close_with;
	pthread_mutex_lock(&lock);
	plugin_log.closes++;
	pthread_mutex_unlock(&lock);
	free(handle);
	return DAT_SUCCESS;
}

static const DAT_PROVIDER table = {.ia_open_func = ia_open, .ia_close_func = ia_close};

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			  DAT_IA_HANDLE *out)
{
	struct ia *ia;

	(void)name;
	if (strstr(plugin_log.params, "pair"))
		pthread_barrier_wait(&pair);
	if (strstr(plugin_log.params, "nodevice"))
		return failure(DAT_PROVIDER_NOT_FOUND);
	if (strstr(plugin_log.params, "full"))
		return failure(DAT_INSUFFICIENT_RESOURCES);
	ia = malloc(sizeof(*ia));
	if (!ia)
		return failure(DAT_INSUFFICIENT_RESOURCES);
	ia->table = &table;
	pthread_mutex_lock(&lock);
	plugin_log.opens++;
	plugin_log.qlen = qlen;
	pthread_mutex_unlock(&lock);
	*async_evd = ia;
	*out = ia;
	return DAT_SUCCESS;
}

static void leave(void)
{
	plugin_log.removed = dat_registry_remove_provider(&table, &plugin_log.info);
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *params)
{
	DAT_PROVIDER_INFO other = *info;

	plugin_log.inits++;
	plugin_log.info = *info;
	strncpy(plugin_log.params, params, sizeof(plugin_log.params) - 1);
	if (strstr(params, "silent"))
		return;
	if (strstr(params, "pair"))
		pthread_barrier_init(&pair, NULL, 2);
	plugin_log.added = dat_registry_add_provider(&table, info);
	if (strstr(params, "other")) {
		strcpy(other.ia_name, "other");
		plugin_log.added_other = dat_registry_add_provider(&table, &other);
	}
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
	plugin_log.finis++;
	if (!strstr(plugin_log.params, "stays"))
		plugin_log.removed = dat_registry_remove_provider(&table, info);
}
