/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/params.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf/common/conf.h"

enum { PARAMS_FIELD = 6 };	/* index of the field ia_params in a line */

/* Finds the end of the field at p. A closing quote is not part of the field. */
static const char *field_end(const char *p)
{
	bool quoted = *p == '"';

	for (p += quoted; *p && *p != '\n' && (quoted ? *p != '"' : *p != ' ' && *p != '\t'); p++)
		p += *p == '\\' && p[1];
	return p;
}

/*
 * Finds the field ia_params, with its opening quote if it has one; NULL if there is no such field.
 */
static const char *params_of(const char *line)
{
	const char *p = line;
	int field;

	for (field = 0; field < PARAMS_FIELD; field++) {
		p += strspn(p, " \t");
		p = field_end(p);
		p += *p == '"';
	}
	p += strspn(p, " \t");
	return *p && *p != '\n' ? p : NULL;
}

/* Appends the words to those of the line. OpenFabrics' form of device and port must come first, and
 * if a key is given twice the last value counts. */
static void write_with_words(FILE *out, const char *line, const char *params, const char *words)
{
	const char *end = field_end(params), *quote = *params == '"' ? "" : "\"";

	fprintf(out, "%.*s%s%.*s ", (int)(params - line), line, quote, (int)(end - params), params);
	fprintf(out, "%s%s%s", words, quote, end);
}

static bool is_of(const char *line, const char *ia)
{
	size_t n = strlen(ia);
	bool quoted;

	line += strspn(line, " \t");
	quoted = *line == '"';
	line += quoted;
	return !strncmp(line, ia, n) && (quoted ? line[n] == '"' : isspace((unsigned char)line[n]));
}

/* libdat has entries of its own for the software adapters, unless another file replaces them.
 * libdat2 has none. */
static bool may_be_built_in(const char *conf, const char *ia)
{
#ifdef DAP_DAT20
	return false;
#endif
	return (!conf || !strcmp(conf, "/etc/dat.conf")) && !strncmp(ia, "soft-", 5);
}

static bool is_copy(const char *conf)
{
	char file[64] = "";

	return conf && readlink(conf, file, sizeof(file) - 1) > 0 && !strncmp(file, "/memfd:dat.conf", 15);
}

/* libdat2 has read its file before main(). So at 2.0 the program begins again, with the copy. */
static int use_copy(int fd, char **argv)
{
	char path[64];

	/* The descriptor stays open, because the registry opens the file by its /proc path. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (setenv("DAT_OVERRIDE", path, 1))
		return -1;
#ifdef DAP_DAT20
	execv("/proc/self/exe", argv);
	fprintf(stderr, "cannot start %s again: %m\n", argv[0]);
	return -1;
#else
	(void)argv;
	return 0;
#endif
}

/* in: NULL if there is no file. */
static void write_copy(FILE *in, FILE *out, const char *ia, const char *words, bool built_in)
{
	char *line = NULL;
	size_t room = 0;

	while (in && getline(&line, &room, in) > 0) {
		const char *at = is_of(line, ia) ? params_of(line) : NULL;

		if (at)
			write_with_words(out, line, at, words);
		else
			fputs(line, out);
	}
	/* A line of the file comes first, if it is of this level and can be loaded. */
	if (built_in)
		fprintf(out, "\n%s u1.2 nonthreadsafe default libdapl-direct.so dapl_direct.1.2 "
			"\"%s\" \"\"\n", ia, words);
	free(line);
	fflush(out);
}

int params_add(const char *ia, const char *words, char **argv)
{
	const char *name = conf_name();
	bool built_in = may_be_built_in(name, ia);
	FILE *out, *in;
	int fd;

	if (is_copy(name))
		return 0;
	fd = memfd_create("dat.conf", 0);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	in = name ? fopen(name, "r") : NULL;
	if (!out || !(in || (built_in && !name))) {
		fprintf(stderr, "cannot make a copy of %s with %s: %m\n", name ? name : "dat.conf", words);
		if (in)
			fclose(in);
		return -1;
	}
	write_copy(in, out, ia, words, built_in);
	if (in)
		fclose(in);
	return use_copy(fd, argv);
}
