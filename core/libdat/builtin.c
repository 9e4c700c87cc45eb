/* SPDX-License-Identifier: BSD-2-Clause */
/* Built-in entries for the software adapters, if the provider is in libdat's directory. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/libdat/conf.h"

#define PROVIDER "libdapl-direct.so"

/* The absolute path of the provider in libdat's own directory, or NULL. */
static char *provider_path(void)
{
	char *self, *slash, *path = NULL;
	Dl_info info;

	if (!dladdr(conf_paths, &info))
		return NULL;
	self = realpath(info.dli_fname, NULL);
	slash = self ? strrchr(self, '/') : NULL;
	if (slash && asprintf(&path, "%.*s/" PROVIDER, (int)(slash - self), self) < 0)
		path = NULL;
	free(self);
	if (path && access(path, R_OK)) {
		free(path);
		path = NULL;
	}
	return path;
}

int conf_builtin(struct conf *conf)
{
	static const char *const names[] = { "soft-mlx5-0", "soft-efa-0" };
	static const char *const kinds[] = { "nonthreadsafe", "threadsafe" };
	char line[CONF_LINE_MAX + 1], *path = provider_path();
	int err = 0;

	for (unsigned int i = 0; path && !err && i < 4; i++) {
		int len = snprintf(line, sizeof(line), "%s u1.2 %s default \"%s\" dapl_direct.1.2 \"\" \"\"",
				   names[i / 2], kinds[i % 2], path);

		err = conf_add_line(conf, line, (size_t)len, CONF_BUILTIN + i, "built in", true);
	}
	free(path);
	return err ? err : conf_mark_repeats(conf);
}
