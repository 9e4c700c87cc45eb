/* SPDX-License-Identifier: BSD-2-Clause */
/* Which dat.conf the registry reads: libdat, or at 2.0 libdat2. How fields of its lines are printed. */
#ifndef PERF_CONF_H
#define PERF_CONF_H

#include <stdio.h>

#ifdef DAP_DAT20
#define CONF_PLACES "/etc/dat.conf"
#else
#define CONF_PLACES "/etc/dat/dat.conf", "/etc/dat.conf"
#endif

/* Returns the name of the file; NULL: there is none. As for libdat, an empty DAT_OVERRIDE is none. */
const char *conf_name(void);
/* Writes what stands between the quotes of a field. */
void conf_write_escaped(FILE *out, const char *text);
/* Prints a field of a line on stdout, between quotes: conf_print_field() only if it needs them. */
void conf_print_quoted(const char *text);
void conf_print_field(const char *text);

#endif
