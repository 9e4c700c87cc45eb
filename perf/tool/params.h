/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Some of perftest's options are parameters of an adapter here, which dat.conf(5) has. They are put
 * in front of those of its lines, in a copy of the file that this process alone sees.
 */
#ifndef PERF_PARAMS_H
#define PERF_PARAMS_H

/* Words "key=value" with blanks between; before the first DAT call. -1 after a line on stderr. */
int params_add(const char *ia, const char *words);

#endif
