/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */

/*
 * dat_registry.h - the interface between the registry in libdat and a provider library.
 *
 * The registry loads the library named in dat.conf when one of its IA names is first
 * opened and calls dat_provider_init(); the provider answers with one
 * dat_registry_add_provider() for that name. After the last instance of the name is closed
 * the registry calls dat_provider_fini(), and the provider removes itself. Its code stays in
 * memory. All four run one at a time, under the registry's lock.
 */
#ifndef _DAT_REGISTRY_H_
#define _DAT_REGISTRY_H_

#include <dat/udat.h>
#include <dat/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

extern DAT_RETURN dat_registry_add_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

extern DAT_RETURN dat_registry_remove_provider(
	IN const DAT_PROVIDER *provider,
	IN const DAT_PROVIDER_INFO *provider_info);

#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini

#define DAT_PROVIDER_INIT_FUNC_STR "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR "dat_provider_fini"

typedef void (*DAT_PROVIDER_INIT_FUNC)(
	IN const DAT_PROVIDER_INFO *provider_info,
	IN const char *instance_data);

typedef void (*DAT_PROVIDER_FINI_FUNC)(
	IN const DAT_PROVIDER_INFO *provider_info);

/* Exported by the provider library, not by libdat. */
extern void dat_provider_init(
	IN const DAT_PROVIDER_INFO *provider_info,
	IN const char *instance_data);

extern void dat_provider_fini(
	IN const DAT_PROVIDER_INFO *provider_info);

#ifdef __cplusplus
}
#endif

#endif /* _DAT_REGISTRY_H_ */
