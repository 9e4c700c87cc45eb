/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON of the programs. */
#ifndef PERF_JSON_H
#define PERF_JSON_H

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names, paths and messages may have any bytes. If they are not UTF-8, each byte beyond ASCII becomes '?'. */
static inline json_t *json_text(const char *bytes)
{
	json_t *j = json_string(bytes);
	char *copy = j ? NULL : strdup(bytes);

	for (char *p = copy; p && *p; p++)
		*p = (unsigned char)*p < 0x80 ? *p : '?';
	if (copy)
		j = json_string(copy);
	free(copy);
	return j;
}

/* Writes a document and frees it. NULL: it could not be made. Returns 0, or -1 after a message. */
static inline int json_write(json_t *top, const char *file)
{
	int err;

	errno = ENOMEM;
	err = top ? json_dump_file(top, file, JSON_INDENT(1)) : -1;
	if (err)
		fprintf(stderr, "%s: %s cannot be written: %m\n", program_invocation_short_name, file);
	json_decref(top);
	return err;
}

#endif
