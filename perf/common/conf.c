/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/common/conf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *conf_name(void)
{
	static const char *const places[] = { CONF_PLACES, NULL };
	const char *override = secure_getenv("DAT_OVERRIDE"), *const *place = places;

	if (override && *override)
		return override;
	while (*place && access(*place, F_OK))
		place++;
	return *place;
}

void conf_write_escaped(FILE *out, const char *text)
{
	for (; *text; text++)
		fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
}

void conf_print_quoted(const char *text)
{
	putchar('"');
	conf_write_escaped(stdout, text);
	putchar('"');
}

void conf_print_field(const char *text)
{
	if (text[strcspn(text, " \t\"#\\")])
		conf_print_quoted(text);
	else
		fputs(text, stdout);
}
