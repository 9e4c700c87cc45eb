/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf/dat_first_light/report.h"

#include <argp.h>
#include <sys/utsname.h>
#include <time.h>

#include "perf/common/json.h"

#define SCHEMA 1

static const char *const words[] = {
	[NO_ANSWER] = "none", [GOOD] = "good", [TUNE] = "tune", [BAD] = "bad", [SKIPPED] = "skip",
};

void report_line(const struct probe *p, const struct answer *a)
{
	printf("%2u %-4s  %s %s [set: %s]\n", p->number, words[a->verdict], p->question, a->text, a->set);
	fflush(stdout);
}

void report_add(struct light_report *r, const struct probe *p, const struct answer *a, unsigned int ms)
{
	if (!r->list)
		r->list = json_array();
	json_array_append_new(r->list, json_pack("{s:i, s:s, s:s, s:o, s:s, s:i}", "number",
						 (int)p->number, "verdict", words[a->verdict],
						 "question", p->question, "answer", json_text(a->text),
						 "set", a->set, "ms", (int)ms));
	r->n++;
}

int light_report_json(struct light_report *r, const char *file)
{
	struct utsname u;
	json_t *top;

	if (!file) {
		json_decref(r->list);
		return 0;
	}
	uname(&u);
	top = json_pack("{s:i, s:s, s:s, s:o, s:o, s:s, s:s, s:{s:o, s:s, s:s}, s:I, s:o}", "schema", SCHEMA,
			"program", "dat_first_light", "release", argp_program_version, "ia",
			json_text(r->light->ia), "ia_params", json_text(r->light->given), "adapter",
			r->light->adapter, "access",
			r->light->access, "host", "name", json_text(u.nodename), "kernel", u.release,
			"machine", u.machine, "time", (json_int_t)time(NULL), "probes", r->list);
	return json_write(top, file);
}
