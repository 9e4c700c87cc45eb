/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/params.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PARAMS_FIELD = 6 };	/* ia_params comes after six fields */

static FILE *open_conf(const char **name)
{
	static const char *const paths[] = { "/etc/dat/dat.conf", "/etc/dat.conf" };
	const char *override = secure_getenv("DAT_OVERRIDE");
	FILE *f = NULL;
	size_t i;

	*name = override;
	if (override)
		return fopen(override, "r");
	for (i = 0; !f && i < sizeof(paths) / sizeof(*paths); i++) {
		*name = paths[i];
		f = fopen(paths[i], "r");
	}
	return f;
}

/* Position after the opening quote of the field; NULL if there is no such field. */
static const char *params_of(const char *line)
{
	const char *p = line;
	int field;

	for (field = 0; field < PARAMS_FIELD; field++) {
		p += strspn(p, " \t");
		if (*p == '"')
			p = strchr(p + 1, '"');
		if (!p || !*p)
			return NULL;
		p += strcspn(p, " \t");
	}
	p += strspn(p, " \t");
	return *p == '"' ? p + 1 : NULL;
}

static bool is_of(const char *line, const char *ia)
{
	size_t n = strlen(ia);

	line += strspn(line, " \t");
	return !strncmp(line, ia, n) && isspace((unsigned char)line[n]);
}

int params_add(const char *ia, const char *words)
{
	const char *name, *at;
	char *line = NULL, path[64];
	size_t room = 0;
	FILE *in = open_conf(&name), *out;
	int fd = memfd_create("dat.conf", 0);

	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!in || !out) {
		fprintf(stderr, "%s: cannot be copied for %s: %m\n", name, words);
		if (in)
			fclose(in);
		return -1;
	}
	while (getline(&line, &room, in) > 0) {
		at = is_of(line, ia) ? params_of(line) : NULL;
		if (at)
			fprintf(out, "%.*s%s %s", (int)(at - line), line, words, at);
		else
			fputs(line, out);
	}
	free(line);
	fclose(in);
	fflush(out);
	/* The descriptor stays open: the registry opens the file through it. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return setenv("DAT_OVERRIDE", path, 1);
}
