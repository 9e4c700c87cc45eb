/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/devices.h"
#include "core/libdat/conf.h"
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

void migrate_list_variables(void)
{
	for (const struct dap_variable *v = dap_variables; v->name; v++) {
		printf("%s ", v->name);
		print_effect(stdout, v);
	}
}

/* Not in core's table, because only one adapter reads this variable. */
static const struct dap_variable efa_profile = {
	"DAPL_EFA_PROFILE", DAP_VARIABLE_READ, "which device the software EFA is", NULL
};

static const struct dap_variable *find_variable(const char *entry, size_t len)
{
	const struct dap_variable *v = dap_variables;

	if (!strncmp(efa_profile.name, entry, len) && !efa_profile.name[len])
		return &efa_profile;
	while (v->name && (strncmp(v->name, entry, len) || v->name[len]))
		v++;
	return v->name ? v : NULL;
}

/* Returns the function of the provider that checks ia_params, or NULL if the provider is not beside
 * libdat.so.1. */
static dapl_direct_check_fn *load_check(void)
{
	char *path = conf_library_beside(dlsym(RTLD_DEFAULT, "dat_ia_openv"), "libdapl-direct.so");
	void *provider = path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) : NULL;

	free(path);
	return provider ? (dapl_direct_check_fn *)dlsym(provider, "dapl_direct_check") : NULL;
}

/* Does the parameter refuse the value? If so, why gets the values that it accepts. */
static bool is_refused(const struct dap_variable *v, const char *value, dapl_direct_check_fn *check,
		       char *why, size_t whylen)
{
	char params[256];

	if (v->kind != DAP_VARIABLE_DEFAULT || !check || !*value || (v->unset && !strcmp(value, v->unset)))
		return false;
	snprintf(params, sizeof(params), "%s=%s", v->text, value);
	return check("soft-mlx5-0", params, why, whylen) >= 0;
}

static void report_variable(const char *entry, dapl_direct_check_fn *check)
{
	static const char prefix[] = "ia_params: ";
	size_t len = strcspn(entry, "=");
	const struct dap_variable *v = find_variable(entry, len);
	char why[256];

	if (v && is_refused(v, entry + len + 1, check, why, sizeof(why))) {
		fprintf(stderr, "environment: %s: ignored: %s\n", entry,
			why + (strncmp(why, prefix, strlen(prefix)) ? 0 : strlen(prefix)));
	} else if (v) {
		fprintf(stderr, "environment: %s: ", entry);
		print_effect(stderr, v);
	} else if (!strncmp(entry, "DAPL_", 5)) {
		fprintf(stderr, "environment: %s: no effect: OpenFabrics dapl 2.1.10 has no such "
			"variable, either\n", entry);
	}
}

/* Reports the variables. Hides them from the provider, which would report bad ones itself. */
void migrate_environment(void)
{
	dapl_direct_check_fn *check;
	size_t n = 0;
	char **all;

	while (environ[n])
		n++;
	all = calloc(n + 1, sizeof(*all));
	if (!all)
		abort();
	memcpy(all, environ, n * sizeof(*all));
	clearenv();
	check = load_check();
	for (char **entry = all; *entry; entry++)
		report_variable(*entry, check);
	free(all);
}
