/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <sys/utsname.h>
#include <time.h>

#include "perf/common/json.h"
#include "perf/dat_conform/report.h"

#define SCHEMA 1

static json_t *notes_of(const struct outcome *o)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < o->n_notes; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "call", o->notes[i].call, "code",
						      code_name(o->notes[i].type)));
	return list;
}

static json_t *result_of(const struct result *r)
{
	const struct statement *s = r->statement;
	const struct outcome *o = &r->outcome;

	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:i, s:o}", "name", s->name, "page", s->page,
			 "section", s->section, "verdict", verdict_name(o->verdict), "reason",
			 json_text(o->reason), "ms", (int)o->ms, "returned", notes_of(o));
}

/* Writes the attributes of the IA, so that a reader can tell which adapter the results are from. */
static json_t *adapter_of(const char *name)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;
	json_t *j = json_null();

	if (dat_ia_open((DAT_NAME_PTR)(uintptr_t)name, 8, &async, &ia) != DAT_SUCCESS)
		return j;
	if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attr, DAT_PROVIDER_FIELD_ALL, &provider) ==
	    DAT_SUCCESS)
		j = json_pack("{s:o, s:o, s:i, s:i, s:i, s:i}", "vendor", json_text(attr.vendor_name),
			      "provider", json_text(provider.provider_name),
			      "provider_major", (int)provider.provider_version_major,
			      "provider_minor", (int)provider.provider_version_minor,
			      "firmware_major", (int)attr.firmware_version_major,
			      "firmware_minor", (int)attr.firmware_version_minor);
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return j;
}

static json_t *host(void)
{
	struct utsname u;

	uname(&u);
	return json_pack("{s:o, s:s, s:s}", "name", json_text(u.nodename), "kernel", u.release, "machine",
			 u.machine);
}

int report_json(const struct report *report, const char *file)
{
	json_t *list = json_array(), *top;

	for (size_t i = 0; i < report->n; i++)
		json_array_append_new(list, result_of(&report->results[i]));
	top = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:I, s:{s:i, s:i, s:i}, s:o}", "schema", SCHEMA,
			"program", "dat_conform", "release", argp_program_version, "ia",
			json_text(report->ia), "adapter", adapter_of(report->ia), "host", host(), "time",
			(json_int_t)time(NULL), "count", "pass", (int)report->count[VERDICT_PASS], "fail",
			(int)report->count[VERDICT_FAIL], "skip", (int)report->count[VERDICT_SKIP],
			"statements", list);
	return json_write(top, file);
}
