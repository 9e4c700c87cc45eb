/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of perftest 26 that these programs do not have: hidden, and refused with the reason. */
#ifndef PERF_TOOL_PERFTEST_ONLY_H
#define PERF_TOOL_PERFTEST_ONLY_H

#include <argp.h>

enum { PERFTEST_ONLY = 140 };		/* most options in the table */

/* Appends the options; returns their number. */
size_t perftest_only(struct argp_option *to);
/* Ends the program if this is the key of such an option. */
void perftest_only_refuse(int key, struct argp_state *state);

#endif
