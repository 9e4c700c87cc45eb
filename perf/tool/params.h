/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Some options of perftest correspond to adapter parameters of dat.conf(5). They are added to the
 * parameters of the line, in a copy of the file that only this process sees.
 */
#ifndef PERF_PARAMS_H
#define PERF_PARAMS_H

/*
 * Adds words "key=value" separated by blanks, before the first DAT call. argv: the program's command line.
 * -1 after a line on stderr.
 */
int params_add(const char *ia, const char *words, char **argv);

#endif
