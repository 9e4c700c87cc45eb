/* SPDX-License-Identifier: BSD-2-Clause */
/* Single lines of dat.conf: valid, broken, and random ones. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/libdat/conf.h"

/* Parses a line in a buffer of exactly its size, so that a sanitizer detects a read beyond it. */
static enum conf_verdict parse_bytes(const char *bytes, size_t len, bool secure,
				     struct conf_entry **entry, const char **why)
{
	char *line = malloc(len + 1);
	enum conf_verdict verdict;

	cr_assert_not_null(line);
	memcpy(line, bytes, len);
	line[len] = '?';
	*entry = NULL;
	verdict = conf_parse_line(line, len, secure, entry, why);
	free(line);
	return verdict;
}

static enum conf_verdict parse(const char *line, bool secure, struct conf_entry **entry,
			       const char **why)
{
	return parse_bytes(line, strlen(line), secure, entry, why);
}

static void expect_entry(const char *line, const char *name, DAT_BOOLEAN threadsafe,
			 const char *lib, const char *params)
{
	struct conf_entry *entry;
	const char *why;

	cr_assert_eq(parse(line, false, &entry, &why), CONF_ENTRY,
		     "the line was not accepted: %s: %s", line, why);
	cr_assert_str_eq(entry->info.ia_name, name);
	cr_assert_eq(entry->info.dapl_version_major, 1);
	cr_assert_eq(entry->info.dapl_version_minor, 2);
	cr_assert_eq(entry->info.is_thread_safe, threadsafe);
	cr_assert_str_eq(entry->lib_path, lib);
	cr_assert_str_eq(entry->ia_params, params);
	free(entry);
}

Test(libdat, line__eight_fields_are_read)
{
	expect_entry("ia0 u1.2 nonthreadsafe default /lib/x.so dapl.1.2 \"\" \"\"", "ia0", DAT_FALSE,
		     "/lib/x.so", "");
	expect_entry("ia0 u1.2 threadsafe default x.so.1 SUNW.1.0 \"a b\" \"\"", "ia0", DAT_TRUE,
		     "x.so.1", "a b");
}

Test(libdat, line__blanks_and_comment_around_are_ignored)
{
	expect_entry("\t  ia0\tu1.2  threadsafe default x d.1.2 \"\" \"\"   \r", "ia0", DAT_TRUE, "x", "");
	expect_entry("ia0 u1.2 threadsafe default x d.1.2 \"\" \"\" # why", "ia0", DAT_TRUE, "x", "");
	expect_entry("ia#0 u1.2 threadsafe default /a#b d.1.2 a b #", "ia#0", DAT_TRUE, "/a#b", "a");
}

/* Only before the first field: within a name the same bytes count. */
Test(libdat, line__byte_order_mark_in_front_is_ignored)
{
	struct conf_entry *entry;
	const char *why;

	expect_entry("\xef\xbb\xbfia0 u1.2 threadsafe default x d.1.2 \"\" \"\"\r", "ia0", DAT_TRUE, "x", "");
	expect_entry("ia\xef\xbb\xbf u1.2 threadsafe default x d.1.2 \"\" \"\"", "ia\xef\xbb\xbf", DAT_TRUE,
		     "x", "");
	cr_assert_eq(parse("\xef\xbb\xbf# a comment\r", false, &entry, &why), CONF_EMPTY);
	cr_assert_eq(parse("\xef\xbb\xbf", false, &entry, &why), CONF_EMPTY);
	cr_assert_eq(parse("\xef\xbb", false, &entry, &why), CONF_BROKEN);
}

Test(libdat, line__quotes_and_backslashes_are_resolved)
{
	expect_entry("\"my ia\" \"u1.2\" threadsafe default \"/a b/c\" d.1.2 \"say \\\"hi\\\"\" \"\"",
		     "my ia", DAT_TRUE, "/a b/c", "say \"hi\"");
	expect_entry("ia u1.2 threadsafe default x d.1.2 \"\\\\ \\# #\" \"\"", "ia", DAT_TRUE, "x",
		     "\\ # #");
	expect_entry("ia u1.2 threadsafe default C:\\x d.1.2 mlx5_0 1", "ia", DAT_TRUE, "C:\\x",
		     "mlx5_0");
	expect_entry("ia u1.2 threadsafe default /\xc3\xa4.so d.1.2 \"\" \"\"", "ia", DAT_TRUE,
		     "/\xc3\xa4.so", "");
}

Test(libdat, line__name_of_255_bytes_is_read)
{
	char name[256], line[512];

	memset(name, 'n', 255);
	name[255] = '\0';
	snprintf(line, sizeof(line), "%s u1.2 threadsafe default x d.1.2 \"\" \"\"", name);
	expect_entry(line, name, DAT_TRUE, "x", "");
}

static const struct {
	const char *line;
	enum conf_verdict verdict;
} others[] = {
	{"", CONF_EMPTY},
	{"   \t \r", CONF_EMPTY},
	{"# ia0 u1.2", CONF_EMPTY},
	{"   # text", CONF_EMPTY},
	{"ia k1.2 threadsafe default x d.1.2 \"\" \"\"", CONF_SKIP},
	{"ia u2.0 threadsafe default x d.2.0 \"\" \"\"", CONF_SKIP},
	{"ia u1.1 threadsafe default x d.1.1 \"\" \"\"", CONF_SKIP},
	{"ia u1.0 threadsafe default x d.1.1 \"\" \"\"", CONF_SKIP},
	{"ia u1.2 threadsafe nondefault x d.1.2 \"\" \"\"", CONF_SKIP},
	{"ia", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 # \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 \"\" \"\" more", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 \"\" \"open", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 \"\" \"open\\\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 \"\" \"open\\", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 \"a\"b \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1.2 a\"b \"\"", CONF_BROKEN},
	{"\"\" u1.2 threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia 1.2 threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia U1.2 threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1 threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1. threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u.2 threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2x threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.-2 threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.4294967298 threadsafe default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 thread default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafer default x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe maybe x d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default \"\" d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x 1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x .1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.1. \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x d.a.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x \"\" \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x\x01 d.1.2 \"\" \"\"", CONF_BROKEN},
	{"ia u1.2 threadsafe default x\x7f d.1.2 \"\" \"\"", CONF_BROKEN},
	{"\x7f" "ELF\x02\x01\x01", CONF_BROKEN},
};

Test(libdat, line__each_kind_of_fault_has_its_verdict)
{
	struct conf_entry *entry;
	const char *why;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		enum conf_verdict got = parse(others[i].line, false, &entry, &why);

		cr_expect_eq(got, others[i].verdict, "line %zu (%s) has the wrong verdict %d", i,
			     others[i].line, got);
		cr_expect_null(entry);
		cr_expect((why != NULL) == (got == CONF_SKIP || got == CONF_BROKEN),
			  "an ignored line needs a reason, others none: %s", others[i].line);
	}
}

Test(libdat, line__name_of_256_bytes_is_too_long)
{
	struct conf_entry *entry;
	const char *why;
	char line[512];

	memset(line, 'n', 256);
	strcpy(line + 256, " u1.2 threadsafe default x d.1.2 \"\" \"\"");
	cr_assert_eq(parse(line, false, &entry, &why), CONF_BROKEN);
	cr_assert(strstr(why, "255"), "the reason does not name the limit 255: %s", why);
}

Test(libdat, line__null_byte_within_makes_it_broken)
{
	static const char line[] = "ia u1.2 threadsafe default x\0y d.1.2 \"\" \"\"";
	struct conf_entry *entry;
	const char *why;

	cr_assert_eq(parse_bytes(line, sizeof(line) - 1, false, &entry, &why), CONF_BROKEN);
	cr_assert_str_eq(why, "it contains control characters");
}

Test(libdat, line__relative_library_needs_ordinary_privileges)
{
	struct conf_entry *entry;
	const char *why;

	cr_assert_eq(parse("ia u1.2 threadsafe default x.so d.1.2 a b", true, &entry, &why),
		     CONF_BROKEN);
	cr_assert(strstr(why, "absolute"));
	cr_assert_eq(parse("ia u1.2 threadsafe default ./x.so d.1.2 a b", true, &entry, &why),
		     CONF_BROKEN);
	cr_assert_eq(parse("ia u1.2 threadsafe default /x.so d.1.2 a b", true, &entry, &why),
		     CONF_ENTRY);
	free(entry);
}

/* A line for another API is not checked by our rules, because the dat.conf of a host has lines of
 * many providers. */
Test(line, secure__relative_path_of_another_api_is_no_fault)
{
	struct conf_entry *entry = NULL;
	const char *why = NULL;

	cr_assert_eq(parse("ia u2.0 threadsafe default x.so d.2.0 a b", true, &entry, &why), CONF_SKIP);
	cr_assert_eq(parse("ia k1.2 threadsafe default x.so d.1.2 a b", true, &entry, &why), CONF_SKIP);
}

/* Random lines: truncated, repeated and overwritten parts of a valid one. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t mutate(char *to, uint64_t *state)
{
	static const char sound[] =
		"ia0 u1.2 nonthreadsafe default \"/a \\\"b\\\"/c.so\" dapl.1.2 \"x \\\\ y\" \"\" # text";
	static const char special[] = "\"\\# \t\r\0ku.12\x01\xff";
	size_t len = sizeof(sound) - 1, changes = next_random(state) % 6;

	memcpy(to, sound, len);
	for (size_t i = 0; i < changes; i++) {
		size_t at = next_random(state) % len, n = next_random(state) % (len - at) + 1;

		switch (next_random(state) % 3) {
		case 0:
			to[at] = special[next_random(state) % (sizeof(special) - 1)];
			break;
		case 1:
			memmove(to + at, to + at + n, len - at - n);
			len = len - n ? len - n : 1;
			break;
		default:
			memmove(to + at, to + next_random(state) % (len - n + 1), n);
			break;
		}
	}
	return len;
}

Test(libdat, line__random_ones_are_judged_and_touch_nothing_else)
{
	uint64_t state = 0x9e3779b97f4a7c15;
	unsigned int seen[4] = {0};
	struct conf_entry *entry;
	const char *why;
	char line[256];

	for (int i = 0; i < 50000; i++) {
		size_t len = mutate(line, &state);
		enum conf_verdict got = parse_bytes(line, len, i & 1, &entry, &why);

		cr_assert(got <= CONF_BROKEN);
		cr_assert((entry != NULL) == (got == CONF_ENTRY),
			  "line %d: only a valid line should return an entry", i);
		seen[got]++;
		if (entry)
			cr_assert(*entry->info.ia_name && *entry->lib_path);
		free(entry);
	}
	/* The generator has produced every kind of line. */
	cr_assert(seen[CONF_ENTRY] && seen[CONF_EMPTY] && seen[CONF_SKIP] && seen[CONF_BROKEN],
		  "not every verdict occurred; their counts are %u %u %u %u", seen[0], seen[1],
		  seen[2], seen[3]);
}
