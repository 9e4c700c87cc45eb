/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dat.conf(5): any file is read, and the reader of files agrees with the parser of lines. What a line
 * says is the same after its fields are written again, each between quotes.
 *
 * Judges: core/libdat/conf_line.c core/libdat/conf_file.c
 */
#include "core/libdat/conf.h"
#include "tests/fuzz/fuzz.h"

enum { QUOTED_MAX = 2 * CONF_LINE_MAX + 3 * CONF_FIELDS + 2 };

static char *put_quoted(char *to, const char *field)
{
	*to++ = '"';
	for (; *field; field++) {
		if (*field == '"' || *field == '\\')
			*to++ = '\\';
		*to++ = *field;
	}
	*to++ = '"';
	*to++ = ' ';
	return to;
}

static void write_and_split_again(char *const field[CONF_FIELDS], const DAT_PROVIDER_INFO *info,
				  bool is_default)
{
	static char line[QUOTED_MAX + 1];
	char *again[CONF_FIELDS], *end = line, version[CONF_LINE_MAX + 3];
	struct conf_problem problem;
	DAT_PROVIDER_INFO other = { 0 };
	bool other_default;

	/* The parser drops the minor number, so it is not compared. */
	snprintf(version, sizeof(version), "%s.0", field[CONF_VERSION]);
	for (int i = 0; i < CONF_FIELDS; i++)
		end = put_quoted(end, i == CONF_VERSION ? version : field[i]);
	FUZZ_ASSERT(conf_split_line(line, (size_t)(end - line), again, &other, &other_default,
				    &problem) == CONF_ENTRY);
	for (int i = 0; i < CONF_FIELDS; i++)
		FUZZ_ASSERT(!strcmp(field[i], again[i]));
	FUZZ_ASSERT(conf_same_key(info, &other) && is_default == other_default);
}

static enum conf_verdict split(const uint8_t *data, size_t len)
{
	char *line = malloc(len + 1), *field[CONF_FIELDS];
	struct conf_problem problem = { .why = NULL };
	DAT_PROVIDER_INFO info = { 0 };
	enum conf_verdict verdict;
	bool is_default;

	FUZZ_ASSERT(line);
	memcpy(line, data, len);
	verdict = conf_split_line(line, len, field, &info, &is_default, &problem);
	if (verdict == CONF_ENTRY)
		write_and_split_again(field, &info, is_default);
	if (verdict == CONF_BROKEN)
		FUZZ_ASSERT(problem.why && problem.cure && problem.at >= line &&
			    problem.at <= line + len);
	free(line);
	return verdict;
}

static void read_file(const uint8_t *data, size_t size, bool secure, struct conf *conf)
{
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");

	FUZZ_ASSERT(file);
	conf_init(conf);
	FUZZ_ASSERT(conf_read(file, "fuzz", secure, conf) == 0);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int count[CONF_NO_MEMORY] = { 0 };
	struct conf conf, secure;

	if (!size)
		return 0;
	for (size_t at = 0; at < size;) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end ? (size_t)(end - data) - at : size - at;

		count[len > CONF_LINE_MAX ? CONF_BROKEN : split(data + at, len)]++;
		at += len + 1;
	}
	read_file(data, size, false, &conf);
	read_file(data, size, true, &secure);
	FUZZ_ASSERT(conf.broken == count[CONF_BROKEN]);
	FUZZ_ASSERT(conf.usable + conf.skipped == count[CONF_ENTRY]);
	FUZZ_ASSERT(secure.usable <= conf.usable && secure.broken >= conf.broken);
	conf_free(&conf);
	conf_free(&secure);
	return 0;
}
