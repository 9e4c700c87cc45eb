/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

#include "core/libdat/load.h"
#include "core/libdat/log.h"

static struct reg_entry *loading;

struct reg_entry *loading_entry(void)
{
	return loading;
}

/* dlopen() and dat_provider_init() report causes only as text, if at all. But a shortage of memory
 * or descriptors sets errno, which was 0 before. */
static int load_errno(void)
{
	return is_shortage(-errno) ? -errno : -ENOENT;
}

static int complain(const struct reg_entry *entry, const char *why, int err)
{
	if (entry->conf->line & CONF_BUILTIN)
		dat_log(DAT_LOG_ERROR, "%s (built in): %s", entry->info.ia_name, why);
	else
		dat_log(DAT_LOG_ERROR, "%s (line %u of dat.conf): %s", entry->info.ia_name,
			entry->conf->line, why);
	return err;
}

/*
 * NODELETE: an abrupt dat_ia_close() wakes threads inside the provider and may return before they
 * have left its code. A handle that outlives its IA must still find a table.
 */
static int open_library(struct reg_entry *entry)
{
	void *dl;
	int err;

	errno = 0;
	dl = dlopen(entry->conf->lib_path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	err = load_errno();
	if (!dl)
		return complain(entry, dlerror(), err);
	entry->init = (DAT_PROVIDER_INIT_FUNC)dlsym(dl, DAT_PROVIDER_INIT_FUNC_STR);
	entry->fini = (DAT_PROVIDER_FINI_FUNC)dlsym(dl, DAT_PROVIDER_FINI_FUNC_STR);
	if (!entry->init || !entry->fini) {
		dlclose(dl);
		return complain(entry, entry->init ?
			"the library has no dat_provider_fini" :
			"the library has no dat_provider_init", -ENOENT);
	}
	entry->dl = dl;
	return 0;
}

static void close_library(struct reg_entry *entry)
{
	dlclose(entry->dl);
	entry->dl = NULL;
}

/* The provider calls dat_registry_add_provider() from here: see reg_add(). */
static void initialise(struct reg_entry *entry)
{
	struct reg_entry *outer = loading;

	loading = entry;
	entry->init(&entry->info, entry->conf->ia_params);
	loading = outer;
}

int load_provider(struct reg_entry *entry)
{
	int err = open_library(entry);

	if (err)
		return err;
	errno = 0;
	initialise(entry);
	err = load_errno();
	if (entry->table)
		return 0;
	close_library(entry);
	return complain(entry, "the provider did not register in dat_provider_init", err);
}

void unload_provider(struct reg_entry *entry)
{
	dat_log(DAT_LOG_DYNAMIC, "%s: last instance closed", entry->info.ia_name);
	entry->fini(&entry->info);
	entry->table = NULL;
	close_library(entry);
}

bool is_shortage(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE;
}
