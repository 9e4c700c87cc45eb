/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "config.h"
#include "softnic/argp/program.h"

__attribute__((visibility("default"))) const char *argp_program_version =
	"dapl-direct " PACKAGE_VERSION;

static error_t parse(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	if (key != 'h')
		return ARGP_ERR_UNKNOWN;
	argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	return 0;
}

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 },
	{ 0 },
};
static const struct argp argp = { options, parse, NULL, NULL, NULL, NULL, NULL };
const struct argp_child program_options[] = { { &argp, 0, NULL, 0 }, { 0 } };

unsigned int program_number(struct argp_state *state, const char *option, const char *arg, int min,
			    int max)
{
	char *end;
	long n = strtol(arg, &end, 10);

	if (*end || end == arg || n < min || n > max)
		argp_error(state, "--%s takes a number from %d to %d, not '%s'", option, min, max,
			   arg);
	return (unsigned int)n;
}
