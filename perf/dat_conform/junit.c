/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "perf/common/json.h"
#include "perf/dat_conform/report.h"

/* The document is UTF-8, as that of --json. */
static void text(FILE *f, const char *bytes)
{
	json_t *j = json_text(bytes);

	for (const char *s = json_string_value(j); s && *s; s++) {
		switch (*s) {
		case '<': fputs("&lt;", f); break;
		case '>': fputs("&gt;", f); break;
		case '&': fputs("&amp;", f); break;
		case '"': fputs("&quot;", f); break;
		default: fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
		}
	}
	json_decref(j);
}

static void result(FILE *f, const struct result *r)
{
	static const char *const element[] = { NULL, "failure", "skipped" };
	const struct statement *s = r->statement;
	const char *what = element[r->outcome.verdict];

	fprintf(f, "  <testcase classname=\"%s\" name=\"%s\" time=\"%u.%03u\"", s->page, s->name,
		r->outcome.ms / 1000, r->outcome.ms % 1000);
	if (!what) {
		fprintf(f, "/>\n");
		return;
	}
	fprintf(f, ">\n    <%s message=\"", what);
	text(f, r->outcome.reason);
	fprintf(f, "\"/>\n  </testcase>\n");
}

int report_junit(const struct report *report, const char *file)
{
	FILE *f = fopen(file, "w");
	int err;

	if (!f) {
		perror(file);
		return -1;
	}
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"dat_conform ");
	text(f, report->ia);
	fprintf(f, "\" tests=\"%zu\" failures=\"%u\" skipped=\"%u\">\n", report->n,
		report->count[VERDICT_FAIL], report->count[VERDICT_SKIP]);
	for (size_t i = 0; i < report->n; i++)
		result(f, &report->results[i]);
	fprintf(f, "</testsuite>\n");
	err = ferror(f) | fclose(f);
	if (err)
		fprintf(stderr, "dat_conform: cannot write %s: %m\n", file);
	return err ? -1 : 0;
}
