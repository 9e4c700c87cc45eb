/* SPDX-License-Identifier: BSD-2-Clause */
/* Libraries in the directory of libdat, or of another library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/libdat/conf.h"

/* The address of this variable lies in libdat. */
static const char own[] = "dapl-direct/";

/* Packages keep the provider in a directory of its own, below that of libdat. */
static char *below(const char *dir, size_t len, const char *subdir, const char *name)
{
	char *path;

	if (asprintf(&path, "%.*s/%s%s", (int)len, dir, subdir, name) < 0)
		return NULL;
	if (!access(path, R_OK))
		return path;
	free(path);
	return NULL;
}

char *conf_library_beside(const void *address, const char *name)
{
	char *self, *slash, *path = NULL;
	Dl_info info;

	if (!dladdr(address, &info))
		return NULL;
	self = realpath(info.dli_fname, NULL);
	slash = self ? strrchr(self, '/') : NULL;
	if (slash)
		path = below(self, (size_t)(slash - self), "", name);
	if (slash && !path)
		path = below(self, (size_t)(slash - self), own, name);
	free(self);
	return path;
}

char *conf_own_library(const char *name)
{
	return conf_library_beside(own, name);
}
