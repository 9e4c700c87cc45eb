/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The environment variables of OpenFabrics dapl 2.1.10 and of this provider, DAPL_*. dapl-direct(7)
 * has the same table, and dat_migrate(1) prints it.
 */
#ifndef DAP_VARIABLE_H
#define DAP_VARIABLE_H

#include <stdbool.h>

enum dap_variable_kind {
	DAP_VARIABLE_READ,		/* has an effect, but not through ia_params */
	DAP_VARIABLE_DEFAULT,		/* sets the default of a parameter */
	DAP_VARIABLE_NONE,		/* no effect */
};

struct dap_variable {
	const char *name;
	enum dap_variable_kind kind;
	const char *text;		/* the key of the parameter, or what applies instead */
	const char *unset;		/* the value that stands for the parameter's own default */
};

/* Ends with a NULL name. */
extern const struct dap_variable dap_variables[];

/* Returns its value; NULL if it is not set, or set to the value for the default. */
const char *dap_variable_value(const struct dap_variable *v);

/* Returns true at the first call for a variable, so that it is logged once in a process. */
bool dap_variable_report(const struct dap_variable *v);

#endif
