/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks a dat.conf: each line, its library, and its ia_params if the library is this provider. */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/libdat/conf.h"
#include "perf/dat_info/dat_info.h"

struct checked {
	const char *file;
	unsigned int line, entries, problems;
};

static void __attribute__((format(printf, 3, 4)))
complain(struct checked *c, long column, const char *fmt, ...)
{
	va_list ap;

	printf("%s:%u:%ld: ", c->file, c->line, column + 1);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	c->problems++;
}

/* Returns the column in the file for a place in a field. Of a quoted field the file also has the quotes and
 * backslashes. */
static long column_of(const char *raw, long field, long offset)
{
	if (raw[field] != '"')
		return field + offset;
	for (field++; offset > 0; offset--)
		field += raw[field] == '\\' ? 2 : 1;
	return field;
}

static void check_params(struct checked *c, const char *raw, const char *line, char *const f[CONF_FIELDS],
			 dapl_direct_check_fn *check)
{
	char why[256];
	long at = check(f[CONF_NAME], f[CONF_PARAMS], why, sizeof(why));

	if (at >= 0)
		complain(c, column_of(raw, f[CONF_PARAMS] - line, at), "%s", why);
}

void *info_load_library(const char *name)
{
	char *own = conf_library_beside(dlsym(RTLD_DEFAULT, "dat_ia_openv"), name);
	void *library = dlopen(own ? own : name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);

	free(own);
	return library;
}

/* For a name without a slash, libdat first looks in its own directory; libdat2 of uDAPL 2.0 does not. */
static void *load_library(const char *api, const char *name)
{
	if (api[1] == '1' && !strchr(name, '/'))
		return info_load_library(name);
	return dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
}

/* Returns '1' or '2', the API level of the registry that the library is linked with, or 0 if it is linked
 * with none. */
static char level_of(void *provider)
{
	if (!dlsym(provider, "dat_registry_add_provider"))
		return 0;
	return dlsym(provider, "dats_get_ia_handle") ? '2' : '1';
}

/* The provider is loaded, but no function of it is called, so nothing is opened. */
static void check_entry(struct checked *c, const char *raw, const char *line, char *const f[CONF_FIELDS])
{
	void *provider, *check;
	char level;

	c->entries++;
	if (*f[CONF_API] == 'k')
		return;
	provider = load_library(f[CONF_API], f[CONF_LIB]);
	if (!provider) {
		complain(c, f[CONF_LIB] - line, "the library cannot be loaded: %s; install it, or correct "
			 "its path", dlerror());
		return;
	}
	check = dlsym(provider, "dapl_direct_check");
	level = level_of(provider);
	if (level && level != f[CONF_API][1])
		complain(c, f[CONF_LIB] - line, "%s is a provider for %s, and field 2 says %s; correct one "
			 "of the two", f[CONF_LIB], level == '2' ? "u2.0" : "u1.2", f[CONF_API]);
	else if (!dlsym(provider, "dat_provider_init"))
		complain(c, f[CONF_LIB] - line, "%s has no dat_provider_init; write the path of a uDAPL "
			 "provider", f[CONF_LIB]);
	else if (check)
		check_params(c, raw, line, f, (dapl_direct_check_fn *)check);
}

static void check_line(struct checked *c, const char *raw, size_t len)
{
	char *line = malloc(len + 1), *field[CONF_FIELDS];
	struct conf_problem problem;
	DAT_PROVIDER_INFO info;
	enum conf_verdict verdict;
	bool is_default;

	if (!line)
		abort();
	memcpy(line, raw, len);
	verdict = conf_split_line(line, len, field, &info, &is_default, &problem);
	if (len > CONF_LINE_MAX)
		complain(c, CONF_LINE_MAX, "longer than 8192 bytes; shorten the line");
	else if (verdict == CONF_BROKEN)
		complain(c, problem.at - line, "%s; %s", problem.why, problem.cure);
	else if (verdict == CONF_ENTRY)
		check_entry(c, raw, line, field);
	free(line);
}

bool info_check(const char *file)
{
	struct checked c = { .file = file };
	FILE *in = fopen(file, "re");
	char *raw = NULL;
	size_t room = 0;
	bool failed;
	ssize_t len;

	if (!in) {
		fprintf(stderr, "dat_info: cannot read %s: %m\n", file);
		return false;
	}
	while ((len = getline(&raw, &room, in)) > 0) {
		c.line++;
		check_line(&c, raw, (size_t)len - (raw[len - 1] == '\n'));
	}
	failed = ferror(in);
	if (failed)
		fprintf(stderr, "dat_info: cannot read %s: %m\n", file);
	free(raw);
	fclose(in);
	if (failed)
		return false;
	printf("%s: %u entries, %u problems\n", file, c.entries, c.problems);
	return !c.problems;
}
