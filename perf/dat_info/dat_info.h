/* SPDX-License-Identifier: BSD-2-Clause */
/* The content of dat_info --json. */
#ifndef PERF_DAT_INFO_H
#define PERF_DAT_INFO_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include <dat/udat.h>

#include "core/devices.h"

enum { MAX_IAS = 64, MAX_PARAMS = 128, MOST_ENTRIES = 1 << 16 };

struct info_json {
	json_t *ias;				/* filled by info_json_ia() */
	const struct dapl_device *devs;		/* adapters that no line of dat.conf names or opens */
	const struct dapl_param *params;
	size_t n_devs, n_params;
	const struct dapl_build *build;		/* NULL: the provider is not installed */
};

/* To be called for each IA that was opened, so that its adapter counts as named by dat.conf. */
void info_opened(const DAT_PROVIDER_ATTR *p);
/* check.c: reports each problem of the file on stdout; true if it has none. */
bool info_check(const char *file);
/* check.c: loads a library from the directory of the registry, from dapl-direct below it, or from where the
 * loader finds it. Returns NULL if there is none; dlerror() says why. */
void *info_load_library(const char *name);

/* Appends an IA to the list, after opening it unless names_only is set. True if it could be
 * opened. */
bool info_json_ia(json_t *ias, const DAT_PROVIDER_INFO *info, bool names_only);
/* Prints the document and frees the list. False if that failed. */
bool info_json_print(struct info_json *j);

#endif
