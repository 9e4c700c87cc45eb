/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/libdat/load.h"
#include "core/libdat/log.h"
#include "core/libdat/registry.h"

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static struct reg_entry *entries, **entries_end = &entries;
static struct conf conf;
static bool conf_loaded;

void reg_lock(void)
{
	pthread_mutex_lock(&lock);
}

void reg_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/*
 * A fork waits until no thread changes the registry. The child has none of the parent's IAs, but
 * keeps the loaded providers.
 */
static void in_child(void)
{
	for (struct reg_entry *entry = entries; entry; entry = entry->next)
		entry->refs = entry->opening = 0;
	forget_open_ias();
	/* The owner of the lock was a thread of the parent. */
	lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	opened = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

__attribute__((constructor)) static void at_load(void)
{
	if (pthread_atfork(reg_lock, reg_unlock, in_child))
		dat_log(DAT_LOG_ERROR, "cannot detect fork(): child processes may misuse inherited handles");
}

const struct reg_entry *reg_first(void)
{
	return entries;
}

static struct reg_entry *append(const DAT_PROVIDER_INFO *info, const struct conf_entry *line)
{
	struct reg_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return NULL;
	entry->info = *info;
	entry->conf = line;
	*entries_end = entry;
	entries_end = &entry->next;
	return entry;
}

static void discard(struct reg_entry *entry)
{
	struct reg_entry **link = &entries;

	while (*link != entry)
		link = &(*link)->next;
	*link = entry->next;
	if (entries_end == &entry->next)
		entries_end = link;
	free(entry);
}

static void forget_conf(void)
{
	for (struct reg_entry *entry = entries, *next; entry; entry = next) {
		next = entry->next;
		if (entry->conf)
			discard(entry);
	}
	conf_free(&conf);
}

static int append_conf(void)
{
	for (const struct conf_entry *line = conf.first; line; line = line->next) {
		if (!append(&line->info, line))
			return -ENOMEM;
	}
	return 0;
}

/* Logs an error once, for programs that try many names. A missing file is logged only if
 * DAT_OVERRIDE named it. */
static void explain_once(const char *path, int err, bool named)
{
	static int logged;

	if (err != logged && (err != -ENOENT || named))
		conf_explain(path, err);
	logged = err;
}

/*
 * Reads the file and the built-in entries. libdat2 also uses /etc/dat.conf and installs it with
 * its own lines, so only /etc/dat/dat.conf and DAT_OVERRIDE replace the built-in entries.
 */
static int read_conf(const char *override, const char **path)
{
	int err = conf_load(override, conf_paths, getauxval(AT_SECURE) != 0, &conf, path);
	int found = err;

	if (override || *path == conf_paths[0] || (err && err != -ENOENT))
		return err;
	err = conf_builtin(&conf);
	return err || conf.usable ? err : found;
}

int reg_load(void)
{
	const char *override = secure_getenv("DAT_OVERRIDE"), *path;
	int err;

	if (conf_loaded)
		return 0;
	if (override && !*override)
		override = NULL;
	conf_init(&conf);
	err = read_conf(override, &path);
	if (!err)
		err = append_conf();
	if (err) {
		forget_conf();
		explain_once(path, err, override);
		return err;
	}
	conf_loaded = true;
	dat_log(DAT_LOG_GENERIC, "%s: %u entries, %u skipped, %u broken lines", path, conf.usable,
		conf.skipped, conf.broken);
	return 0;
}

static bool suits(const struct reg_entry *entry, const DAT_PROVIDER_INFO *want, bool exactly)
{
	const DAT_PROVIDER_INFO *info = &entry->info;

	if (exactly)
		return conf_same_key(info, want);
	return info->dapl_version_major == want->dapl_version_major &&
	       info->dapl_version_minor > want->dapl_version_minor &&
	       info->is_thread_safe == want->is_thread_safe &&
	       strcmp(info->ia_name, want->ia_name) == 0;
}

struct reg_entry *reg_next(const DAT_PROVIDER_INFO *want, const struct reg_entry *after)
{
	bool exactly = !after || conf_same_key(&after->info, want);
	struct reg_entry *entry = after ? after->next : entries;

	for (; entry; entry = entry->next) {
		if (suits(entry, want, exactly))
			return entry;
	}
	if (!exactly)
		return NULL;
	for (entry = entries; entry; entry = entry->next) {
		if (suits(entry, want, false))
			return entry;
	}
	return NULL;
}

/* The subtypes are numbered in the order of the search steps. */
static DAT_RETURN_SUBTYPE missed_by(const DAT_PROVIDER_INFO *info, const DAT_PROVIDER_INFO *want)
{
	if (strcmp(info->ia_name, want->ia_name) != 0)
		return DAT_NAME_NOT_REGISTERED;
	if (info->dapl_version_major != want->dapl_version_major)
		return DAT_MAJOR_NOT_FOUND;
	if (info->dapl_version_minor < want->dapl_version_minor)
		return DAT_MINOR_NOT_FOUND;
	return DAT_THREAD_SAFETY_NOT_FOUND;
}

DAT_RETURN_SUBTYPE reg_nearest(const DAT_PROVIDER_INFO *want)
{
	DAT_RETURN_SUBTYPE nearest = DAT_NAME_NOT_REGISTERED;

	/* If all lines that match failed to load, the name counts as not registered. */
	if (reg_next(want, NULL))
		return DAT_NAME_NOT_REGISTERED;
	for (const struct reg_entry *entry = entries; entry; entry = entry->next) {
		DAT_RETURN_SUBTYPE missed = missed_by(&entry->info, want);

		if (missed > nearest)
			nearest = missed;
	}
	return nearest;
}

static struct reg_entry *registered(const DAT_PROVIDER_INFO *info)
{
	for (struct reg_entry *entry = entries; entry; entry = entry->next) {
		if (entry->table && conf_same_key(&entry->info, info))
			return entry;
	}
	return NULL;
}

void reg_open_begin(struct reg_entry *entry)
{
	entry->opening++;
	reg_unlock();
}

void reg_open_end(struct reg_entry *entry)
{
	reg_lock();
	entry->opening--;
	pthread_cond_broadcast(&opened);
}

/* If another thread is opening the first IA of another line of this name, waits for its result: that line
 * serves this thread only if the open succeeds. */
static struct reg_entry *wait_for_registered(const struct reg_entry *entry)
{
	struct reg_entry *found;

	while ((found = registered(&entry->info)) && found != entry && found->conf && found->opening &&
	       found->refs == found->opening)
		pthread_cond_wait(&opened, &lock);
	return found;
}

int reg_get(struct reg_entry *entry, struct reg_entry **out)
{
	struct reg_entry *found = wait_for_registered(entry);
	int err = found ? 0 : load_provider(entry);

	if (err)
		return err;
	*out = found ? found : entry;
	(*out)->refs++;
	return 0;
}

void reg_put(struct reg_entry *entry)
{
	if (--entry->refs == 0 && entry->conf && entry->table)
		unload_provider(entry);
}

DAT_RETURN reg_add(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	struct reg_entry *entry = loading_entry();

	if (registered(info))
		return dat_err(DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	/* dat_provider_init(3): it must not register other names. */
	if (entry && !conf_same_key(&entry->info, info))
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!entry)
		entry = append(info, NULL);
	if (!entry)
		return dat_err(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	entry->table = table;
	return DAT_SUCCESS;
}

DAT_RETURN reg_remove(const DAT_PROVIDER *table, const DAT_PROVIDER_INFO *info)
{
	struct reg_entry *entry = registered(info);

	if (!entry || entry->table != table)
		return dat_err(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (entry->refs)
		return dat_err(DAT_PROVIDER_IN_USE, DAT_NO_SUBTYPE);
	entry->table = NULL;
	if (!entry->conf)
		discard(entry);
	return DAT_SUCCESS;
}
