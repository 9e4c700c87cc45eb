/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry: one entry for each usable line of dat.conf(5), the static registry, and one for
 * each provider that the program registered by itself. An entry with a table is registered, that
 * is in the dynamic registry.
 *
 * One recursive mutex guards all of it: a provider's dat_provider_init() and dat_provider_fini()
 * run under it and come back through dat_registry_add_provider() and _remove_provider().
 */
#ifndef LIBDAT_REGISTRY_H
#define LIBDAT_REGISTRY_H

#include "core/libdat/conf.h"

struct reg_entry {
	struct reg_entry *next;
	DAT_PROVIDER_INFO info;
	const struct conf_entry *conf;	/* NULL: the program registered it */
	void *dl;
	DAT_PROVIDER_INIT_FUNC init;
	DAT_PROVIDER_FINI_FUNC fini;
	const DAT_PROVIDER *table;
	unsigned int refs;		/* IAs open or being opened */
};

void reg_lock(void);
void reg_unlock(void);

/* Everything below is called with the lock held. */

/*
 * The IAs that are open. A handle is found here before it is read, so that a closed or invalid one is
 * refused even when its provider is unloaded.
 */
struct open_ia {
	struct open_ia *next;
	DAT_IA_HANDLE handle;
	struct reg_entry *entry;
};
void put_open_ia(struct open_ia *ia);
/* Out of the list; NULL when no such IA is open. */
struct open_ia *take_open_ia(DAT_IA_HANDLE handle);
/* No IA is open in this process. */
void forget_open_ias(void);

/* Reads dat.conf unless that is done; a failure is tried again by the next call. 0 or -errno. */
int reg_load(void);

/*
 * The next entry after `after` (NULL: the first) that suits: the same key first, then a larger
 * minor version. NULL when there are no more.
 */
struct reg_entry *reg_next(const DAT_PROVIDER_INFO *want, const struct reg_entry *after);

/* How near the registry comes to it: a subtype of DAT_PROVIDER_NOT_FOUND. */
DAT_RETURN_SUBTYPE reg_nearest(const DAT_PROVIDER_INFO *want);

/* The registered entry for this one's key, with a reference; loads the library if it has to. 0, or
 * -errno after saying why. */
int reg_get(struct reg_entry *entry, struct reg_entry **out);

/* Drops the reference; with the last one the provider is told to finish. */
void reg_put(struct reg_entry *entry);

/* The bare list, for dat_registry_list_providers(). */
const struct reg_entry *reg_first(void);

DAT_RETURN reg_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info);
DAT_RETURN reg_remove(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info);

#endif
