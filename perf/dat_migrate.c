/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat_migrate: reads a dat.conf of OpenFabrics dapl and the environment. Prints the lines for this
 * provider under the same names, and on stderr the differences.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "softnic/argp/program.h"
#include "perf/dat_migrate/migrate.h"

static const char doc[] =
	"Reads a dat.conf with lines of OpenFabrics dapl 1.2 or 2.0, and the environment (DAPL_*). Prints "
	"the lines for dapl-direct under the same names, and on stderr what changes. FILE is "
	"DAT_OVERRIDE, or /etc/dat.conf, if it is not given; - is standard input.\v"
	"It changes no file. To migrate, save the old file, and write the output in its place; to go "
	"back, restore the old file. The exit status is 1 if a line is broken or the file cannot be "
	"read.";

enum { OPT_VARIABLES = 256 };

static const struct argp_option options[] = {
	{ "directory", 'd', "DIR", 0, "Where the provider libraries are (where they are installed)", 0 },
	{ "variables", OPT_VARIABLES, NULL, 0,
	  "Print each variable of the environment and its effect, and do nothing else", 0 },
	{ 0 },
};

struct options {
	const char *file, *directory;
	bool variables;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd': o->directory = arg; break;
	case OPT_VARIABLES: o->variables = true; break;
	case ARGP_KEY_ARG:
		if (o->file)
			argp_error(state, "one FILE is enough");
		o->file = arg;
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static FILE *open_file(const char **name)
{
	const char *override = getenv("DAT_OVERRIDE");

	if (!*name)
		*name = override && *override ? override : "/etc/dat.conf";
	return strcmp(*name, "-") ? fopen(*name, "re") : stdin;
}

/* A relative path in dat.conf would count from the folder of each program that reads it. An absolute
 * one may be that of another machine. */
static const char *absolute(const char *directory)
{
	const char *full = directory && *directory != '/' ? realpath(directory, NULL) : directory;

	if (directory && !full) {
		fprintf(stderr, "dat_migrate: -d '%s': %m\n", directory);
		exit(EXIT_FAILURE);
	}
	return full;
}

int main(int argc, char **argv)
{
	static const struct argp argp = { options, parse, "[FILE]", doc, program_options, NULL, NULL };
	struct options o = { .file = NULL };
	struct migration m = { .line = 0 };
	bool read;
	FILE *in;

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (o.variables) {
		migrate_list_variables();
		return EXIT_SUCCESS;
	}
	m.directory = absolute(o.directory);
	in = open_file(&o.file);
	if (!in) {
		fprintf(stderr, "dat_migrate: cannot read %s: %m\n", o.file);
		return EXIT_FAILURE;
	}
	m.file = o.file;
	read = migrate_lines(&m, in);
	migrate_environment();
	return read && !m.broken ? EXIT_SUCCESS : EXIT_FAILURE;
}
