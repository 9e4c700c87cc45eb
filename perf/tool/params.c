/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/tool/params.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/libdat/conf.h"
#include "perf/common/conf.h"

/*
 * Writes a line; if it is of this IA, with the words after its ia_params. OpenFabrics' form of device and
 * port must come first, and if a key is given twice the last value counts.
 */
static void write_line(FILE *out, const char *raw, const char *ia, const char *words)
{
	char *line = strdup(raw), *field[CONF_FIELDS];
	struct conf_problem problem;
	DAT_PROVIDER_INFO info;
	bool is_default;

	if (!line)
		abort();
	if (conf_split_line(line, strcspn(raw, "\n"), field, &info, &is_default, &problem) == CONF_ENTRY &&
	    !strcmp(info.ia_name, ia)) {
		fprintf(out, "%.*s\"", (int)(field[CONF_PARAMS] - line), raw);
		conf_write_escaped(out, field[CONF_PARAMS]);
		fprintf(out, " %s\" %s", words, raw + (field[CONF_PLATFORM] - line));
	} else {
		fputs(raw, out);
	}
	free(line);
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

	while (in && getline(&line, &room, in) > 0)
		write_line(out, line, ia, words);
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
		fprintf(stderr, "cannot copy %s to add ia_params \"%s\": %m\n", name ? name : "dat.conf",
			words);
		if (in)
			fclose(in);
		return -1;
	}
	write_copy(in, out, ia, words, built_in);
	if (in)
		fclose(in);
	return use_copy(fd, argv);
}
