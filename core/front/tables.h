/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Provider tables. One set for each IA name and thread safety, made when first needed and kept for
 * good: a handle may lead to it long after the IA is closed.
 */
#ifndef DAP_FRONT_TABLES_H
#define DAP_FRONT_TABLES_H

#include "core/hot.h"
#ifdef DAP_DAT20
#include <dat2/dat_registry.h>

/* That header has their types only. */
void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data);
void dat_provider_fini(const DAT_PROVIDER_INFO *info);
#else
#include <dat/dat_registry.h>
#endif

struct front_live;

struct front_provider {
	DAT_PROVIDER table;		/* of the IA and of every checked handle; the registry's */
	char name[DAT_NAME_MAX_LENGTH];
	bool threadsafe;
	char *params;			/* ia_params, or NULL */
	struct front_live *lives;
	struct front_provider *next;
};

/* The provider of that name, made if need be; NULL: out of memory. */
struct front_provider *front_provider_get(const char *name, bool threadsafe);
/* Replaces its ia_params. 0 or -ENOMEM. */
int front_provider_set_params(struct front_provider *provider, const char *params);
/* Fills ia->tables and ia->hot: struct dap_ia_args.make_tables. */
int front_make_tables(struct dap_ia *ia);

/* ia_open of the lines of dat.conf that say threadsafe. */
DAT_RETURN front_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT qlen,
				    DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia);

#endif
