/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registry has one entry for each usable line of dat.conf(5), the static registry, and one for
 * each provider that the program registered itself. An entry with a table is registered, that is,
 * in the dynamic registry.
 *
 * One recursive mutex guards it: dat_provider_init() and dat_provider_fini() run under it and call
 * dat_registry_add_provider() and _remove_provider().
 */
#ifndef LIBDAT_REGISTRY_H
#define LIBDAT_REGISTRY_H

#include "core/libdat/conf.h"

struct reg_entry {
	struct reg_entry *next;
	DAT_PROVIDER_INFO info;
	const struct conf_entry *conf;	/* NULL: registered by the program */
	void *dl;
	DAT_PROVIDER_INIT_FUNC init;
	DAT_PROVIDER_FINI_FUNC fini;
	const DAT_PROVIDER *table;
	unsigned int refs;		/* IAs that are open or being opened */
	unsigned int opening;		/* IAs that are being opened */
};

void reg_lock(void);
void reg_unlock(void);

/* The lock is held for everything below. */

/*
 * The open IAs. A handle is looked up here before it is dereferenced, so that a closed or invalid
 * one is refused even after its provider is unloaded.
 */
struct open_ia {
	struct open_ia *next;
	DAT_IA_HANDLE handle;
	struct reg_entry *entry;
};
void put_open_ia(struct open_ia *ia);
/* Removes the IA from the list and returns it, or NULL if it is not open. */
struct open_ia *take_open_ia(DAT_IA_HANDLE handle);
/* In a forked child: no IA is open. */
void forget_open_ias(void);

/* Reads dat.conf unless that has succeeded before. Returns 0 or -errno. */
int reg_load(void);

/*
 * Returns the next match after `after` (NULL: the first match): entries with the same key, then
 * those with a larger minor version. NULL: no more.
 */
struct reg_entry *reg_next(const DAT_PROVIDER_INFO *want, const struct reg_entry *after);

/* Why no entry matches: a subtype of DAT_PROVIDER_NOT_FOUND. */
DAT_RETURN_SUBTYPE reg_nearest(const DAT_PROVIDER_INFO *want);

/* Returns the registered entry for this key with a reference; loads the library if needed. If that is
 * another line whose first IA is being opened, waits for the result. 0, or -errno after logging why. */
int reg_get(struct reg_entry *entry, struct reg_entry **out);

/* Called before and after an IA is opened; begin drops the lock, end takes it again. */
void reg_open_begin(struct reg_entry *entry);
void reg_open_end(struct reg_entry *entry);

/* Drops the reference; the last one unloads the provider. */
void reg_put(struct reg_entry *entry);

/* The first entry of the list, for dat_registry_list_providers(). */
const struct reg_entry *reg_first(void);

DAT_RETURN reg_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info);
DAT_RETURN reg_remove(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info);

#endif
