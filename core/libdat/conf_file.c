/* SPDX-License-Identifier: BSD-2-Clause */
/* The file dat.conf(5): where it is, whether it can be trusted, and reading its lines. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/libdat/conf.h"
#include "core/libdat/log.h"

const char *const conf_paths[] = {"/etc/dat/dat.conf", "/etc/dat.conf", NULL};

bool conf_same_key(const DAT_PROVIDER_INFO *a, const DAT_PROVIDER_INFO *b)
{
	return a->dapl_version_major == b->dapl_version_major &&
	       a->dapl_version_minor == b->dapl_version_minor &&
	       a->is_thread_safe == b->is_thread_safe && strcmp(a->ia_name, b->ia_name) == 0;
}

void conf_init(struct conf *conf)
{
	*conf = (struct conf){.end = &conf->first};
}

void conf_free(struct conf *conf)
{
	while (conf->first) {
		struct conf_entry *entry = conf->first;

		conf->first = entry->next;
		free(entry);
	}
	conf_init(conf);
}

int conf_add_line(struct conf *conf, char *line, size_t len, unsigned int number, const char *name,
		  bool secure)
{
	struct conf_entry *entry;
	const char *why = "longer than 8192 bytes";
	enum conf_verdict verdict = len > CONF_LINE_MAX ?
		CONF_BROKEN : conf_parse_line(line, len, secure, &entry, &why);

	switch (verdict) {
	case CONF_EMPTY:
		break;
	case CONF_ENTRY:
		entry->line = number;
		*conf->end = entry;
		conf->end = &entry->next;
		conf->usable++;
		dat_log(DAT_LOG_STATIC, "%s:%u: %s uses provider %s", name,
			number & ~CONF_BUILTIN, entry->info.ia_name, entry->lib_path);
		break;
	case CONF_SKIP:
		conf->skipped++;
		dat_log(DAT_LOG_STATIC, "%s:%u: skipped: %s", name, number, why);
		break;
	case CONF_BROKEN:
		conf->broken++;
		dat_log(DAT_LOG_ERROR, "%s:%u: line ignored: %s", name, number, why);
		break;
	case CONF_NO_MEMORY:
		return -ENOMEM;
	}
	return 0;
}

/* Reads the next line into buf, which holds CONF_LINE_MAX + 1. Returns its length, which may be
 * greater, or -1. */
static ssize_t next_line(FILE *file, char *buf)
{
	size_t len = 0;
	int c = getc(file);

	if (c == EOF)
		return -1;
	for (; c != EOF && c != '\n'; c = getc(file)) {
		if (len < CONF_LINE_MAX)
			buf[len] = (char)c;
		len++;
	}
	return (ssize_t)len;
}

static int by_key_then_line(const void *left, const void *right)
{
	const struct conf_entry *a = *(struct conf_entry *const *)left;
	const struct conf_entry *b = *(struct conf_entry *const *)right;
	int order = strcmp(a->info.ia_name, b->info.ia_name);

	if (!order && a->info.dapl_version_minor != b->info.dapl_version_minor)
		order = a->info.dapl_version_minor < b->info.dapl_version_minor ? -1 : 1;
	if (!order)
		order = (int)a->info.is_thread_safe - (int)b->info.is_thread_safe;
	if (!order)
		order = a->line < b->line ? -1 : 1;
	return order;
}

/* Repeated lines are spares: tried if the first does not load, but listed once. */
int conf_mark_repeats(struct conf *conf)
{
	struct conf_entry **sorted = calloc(conf->usable + 1, sizeof(*sorted));
	unsigned int n = 0;

	if (!sorted)
		return -ENOMEM;
	for (struct conf_entry *entry = conf->first; entry; entry = entry->next)
		sorted[n++] = entry;
	qsort(sorted, n, sizeof(*sorted), by_key_then_line);
	for (unsigned int i = 1; i < n; i++)
		sorted[i]->repeats = conf_same_key(&sorted[i]->info, &sorted[i - 1]->info);
	free(sorted);
	return 0;
}

int conf_read(FILE *file, const char *name, bool secure, struct conf *conf)
{
	char buf[CONF_LINE_MAX + 1];
	unsigned int number = 0;
	ssize_t len;
	int err = 0;

	while (!err && (len = next_line(file, buf)) >= 0)
		err = conf_add_line(conf, buf, (size_t)len, ++number, name, secure);
	if (err)
		return err;
	if (ferror(file))
		return errno ? -errno : -EIO;
	return conf_mark_repeats(conf);
}

/* Returns 0, or -errno for a directory or a file that users other than root could have written. */
static int check_file(int fd, bool secure)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (secure && (!S_ISREG(st.st_mode) || st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH)))
		return -EPERM;
	return 0;
}

static int load_from(const char *path, bool secure, struct conf *conf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	FILE *file;

	if (fd < 0)
		return -errno;
	err = check_file(fd, secure);
	if (err)
		goto close_fd;
	file = fdopen(fd, "r");
	if (!file) {
		err = -errno;
		goto close_fd;
	}
	err = conf_read(file, path, secure, conf);
	fclose(file);
	return err;
close_fd:
	close(fd);
	return err;
}

/* Uses the first file that exists: an error in it is reported, not hidden by the next file. */
int conf_load(const char *override, const char *const *paths, bool secure, struct conf *conf,
	      const char **path)
{
	const char *const just_one[] = {override, NULL};
	int err = -ENOENT;

	if (override && !secure)
		paths = just_one;
	for (*path = NULL; *paths && err == -ENOENT; paths++) {
		*path = *paths;
		err = load_from(*paths, secure, conf);
	}
	if (err)
		conf_free(conf);
	return err;
}

void conf_explain(const char *path, int err)
{
	if (err == -EPERM)
		dat_log(DAT_LOG_ERROR, "%s: not used in a process with raised privileges: it must "
			"be owned by root and writable by root only", path);
	else
		dat_log(DAT_LOG_ERROR, "cannot read %s: %s; DAT_OVERRIDE selects another file", path,
			strerror(-err));
}
