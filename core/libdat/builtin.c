/* SPDX-License-Identifier: BSD-2-Clause */
/* Built-in entries for the software adapters, if the provider is in libdat's directory. */
#include <stdio.h>
#include <stdlib.h>

#include "core/libdat/conf.h"

#define PROVIDER "libdapl-direct.so"

int conf_builtin(struct conf *conf)
{
	static const char *const names[] = { "soft-mlx5-0", "soft-efa-0" };
	static const char *const kinds[] = { "nonthreadsafe", "threadsafe" };
	char line[CONF_LINE_MAX + 1], *path = conf_own_library(PROVIDER);
	int err = 0;

	for (unsigned int i = 0; path && !err && i < 4; i++) {
		int len = snprintf(line, sizeof(line), "%s u1.2 %s default \"%s\" dapl_direct.1.2 \"\" \"\"",
				   names[i / 2], kinds[i % 2], path);

		err = conf_add_line(conf, line, (size_t)len, CONF_BUILTIN + i, "built in", true);
	}
	free(path);
	return err ? err : conf_mark_repeats(conf);
}
