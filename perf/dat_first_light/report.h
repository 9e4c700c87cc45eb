/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of the probes: a line for each, and a document for programs. */
#ifndef PERF_DAT_FIRST_LIGHT_REPORT_H
#define PERF_DAT_FIRST_LIGHT_REPORT_H

#include <jansson.h>

#include "perf/dat_first_light/probe.h"

struct light_report {
	const struct light *light;
	json_t *list;
	unsigned int n;
};

void report_line(const struct probe *p, const struct answer *a);
void report_add(struct light_report *r, const struct probe *p, const struct answer *a, unsigned int ms);
/*
 * Writes the results, unless file is NULL, and frees them. Returns 0, or -1 after a line on stderr.
 */
int light_report_json(struct light_report *r, const char *file);

#endif
