/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/variable.h"
#include "perf/dat_migrate/migrate.h"

extern char **environ;

static void print_effect(FILE *out, const struct dap_variable *v)
{
	switch (v->kind) {
	case DAP_VARIABLE_READ:
		fprintf(out, "%s", v->text);
		break;
	case DAP_VARIABLE_DEFAULT:
		fprintf(out, "default of %s", v->text);
		if (v->unset)
			fprintf(out, "; %s is ignored", v->unset);
		break;
	case DAP_VARIABLE_NONE:
		fprintf(out, "no effect: %s", v->text);
		break;
	}
	fputc('\n', out);
}

bool migrate_list_variables(void)
{
	for (const struct dap_variable *v = dap_variables; v->name; v++) {
		printf("%s ", v->name);
		print_effect(stdout, v);
	}
	return !fflush(stdout) && !ferror(stdout);
}

static const struct dap_variable *find_variable(const char *entry, size_t len)
{
	const struct dap_variable *v = dap_variables;

	while (v->name && (strncmp(v->name, entry, len) || v->name[len]))
		v++;
	return v->name ? v : NULL;
}

void migrate_environment(void)
{
	for (char **e = environ; *e; e++) {
		const struct dap_variable *v = find_variable(*e, strcspn(*e, "="));

		if (v) {
			fprintf(stderr, "environment: %s: ", *e);
			print_effect(stderr, v);
		} else if (!strncmp(*e, "DAPL_", 5)) {
			fprintf(stderr, "environment: %s: no effect: OpenFabrics dapl 2.1.10 does not have "
				"it either\n", *e);
		}
	}
}
