/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of a run in JSON and JUnit, for other programs. */
#ifndef PERF_DAT_CONFORM_REPORT_H
#define PERF_DAT_CONFORM_REPORT_H

#include "tests/conformance/conform.h"

struct result {
	const struct statement *statement;
	struct outcome outcome;
};

struct report {
	const char *ia;
	struct result *results;
	size_t n;
	unsigned int count[3];		/* number of statements by verdict */
};

/* Returns 0, or -1 after a line on stderr. */
int report_json(const struct report *report, const char *file);
int report_junit(const struct report *report, const char *file);

#endif
