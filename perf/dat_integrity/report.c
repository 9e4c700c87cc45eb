/* SPDX-License-Identifier: BSD-2-Clause */
#include <argp.h>
#include <stdarg.h>
#include <stdio.h>

#include "perf/common/json.h"
#include "perf/dat_integrity/integrity.h"

#define SCHEMA 1

const char *const op_names[OPS] = { "send", "write", "read", "window" };

void report_failure(struct report *r, const char *form, ...)
{
	char text[MESSAGE_LEN];
	va_list args;

	va_start(args, form);
	vsnprintf(text, sizeof(text), form, args);
	va_end(args);
	fprintf(stderr, "%s\n", text);
	if (r->n_messages < MESSAGES_MAX)
		snprintf(r->message[r->n_messages++], MESSAGE_LEN, "%s", text);
	r->failures++;
}

static json_t *transfers_of(const struct report *r)
{
	json_t *all = json_object();

	for (unsigned int i = 0; i < OPS; i++)
		json_object_set_new(all, op_names[i],
				    json_pack("{s:I, s:I, s:I}", "transfers",
					      (json_int_t)r->op[i].transfers, "bytes",
					      (json_int_t)r->op[i].bytes, "failed",
					      (json_int_t)r->op[i].failed));
	return all;
}

static json_t *refusals_of(const struct report *r)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < r->n_refusals; i++) {
		const struct refusal *x = &r->refusal[i];

		json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:s, s:b}", "name", x->name, "bytes",
						      (json_int_t)x->len, "expected", x->expected,
						      "found", x->found, "good", x->good));
	}
	return list;
}

int report_json(const struct report *r, const struct world *w)
{
	json_t *messages = json_array(), *top;

	for (unsigned int i = 0; i < r->n_messages; i++)
		json_array_append_new(messages, json_text(r->message[i]));
	top = json_pack("{s:i, s:s, s:s, s:o, s:b, s:I, s:{s:i, s:i, s:i}, s:b, s:o, s:o, s:I, s:o}",
			"schema", SCHEMA, "program", "dat_integrity", "release", argp_program_version,
			"ia", json_text(r->ia), "quick", r->quick, "rounds", (json_int_t)r->rounds,
			"segments", "message", (int)w->attr.max_iov_segments_per_dto, "write",
			(int)w->attr.max_iov_segments_per_rdma_write, "read",
			(int)w->attr.max_iov_segments_per_rdma_read, "windows", w->windows, "transfers",
			transfers_of(r), "refusals", refusals_of(r), "failures",
			(json_int_t)r->failures, "messages", messages);
	/* Integers of JSON are signed, so large values are written as text. */
	if (top)
		json_object_set_new(top, "seed", json_sprintf("%llu", (unsigned long long)r->seed));
	return json_write(top, r->json);
}
