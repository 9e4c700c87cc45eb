/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PERF_DAT_MIGRATE_H
#define PERF_DAT_MIGRATE_H

#include <stdbool.h>
#include <stdio.h>

struct migration {
	const char *file;		/* name of the file, for messages */
	const char *directory;		/* directory of the provider libraries, or NULL */
	char *library_2;		/* path of the provider of uDAPL 2.0, or NULL */
	unsigned int line, moved, kept, broken;
	/* which kinds of line the file had */
	bool was_1, was_2, was_scm, was_cma, was_ucm, was_mcm;
};

/* lines.c: prints the new line for each line of the file, and reports differences on stderr. False if
 * the file cannot be read. */
bool migrate_lines(struct migration *m, FILE *in);

/* variables.c: reports each variable of the environment; prints the table of all variables. */
void migrate_environment(void);
void migrate_list_variables(void);

#endif
