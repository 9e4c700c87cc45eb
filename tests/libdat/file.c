/* SPDX-License-Identifier: BSD-2-Clause */
/* dat.conf as a file: its location, its owner and mode, and many lines. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/libdat/conf.h"
#include "tests/harness/capture.h"
#include "tests/libdat/util.h"

#define LINE "%s u1.2 threadsafe default /x d.1.2 \"\" \"\"\n"

static struct conf conf;

static int load(const char *override, const char *first, const char *second, bool secure)
{
	const char *const paths[] = {first, second, NULL};
	const char *path;
	int err;

	conf_init(&conf);
	err = conf_load(override, paths, secure, &conf, &path);
	if (err)
		conf_explain(path, err);
	return err;
}

static void expect_name(const char *name)
{
	cr_assert_not_null(conf.first);
	cr_assert_str_eq(conf.first->info.ia_name, name);
	conf_free(&conf);
}

Test(libdat, file__first_place_wins)
{
	cr_assert_eq(load(NULL, write_file("a", LINE, "a"), write_file("b", LINE, "b"), false), 0);
	expect_name("a");
}

Test(libdat, file__second_place_serves_when_the_first_has_none)
{
	cr_assert_eq(load(NULL, temp_path("none"), write_file("b", LINE, "b"), false), 0);
	expect_name("b");
}

Test(libdat, file__nowhere_returns_enoent)
{
	cr_assert_eq(load(NULL, temp_path("none"), temp_path("neither"), false), -ENOENT);
	cr_assert_null(conf.first);
}

Test(libdat, file__override_wins)
{
	cr_assert_eq(load(write_file("o", LINE, "o"), write_file("a", LINE, "a"), NULL, false), 0);
	expect_name("o");
}

Test(libdat, file__missing_override_hides_the_others)
{
	const char *said;

	capture_begin(STDERR_FILENO);
	cr_assert_eq(load(temp_path("none"), write_file("a", LINE, "a"), NULL, false), -ENOENT);
	said = capture_end();
	cr_assert(strstr(said, "/none: No such file"),
		  "the log does not report the missing file: %s", said);
	cr_assert_null(conf.first);
}

Test(libdat, file__override_does_nothing_with_raised_privileges)
{
	int err;

	if (geteuid() != 0)
		cr_skip("only root can make a file that is trusted");
	err = load(write_file("o", LINE, "o"), write_file("a", LINE, "a"), NULL, true);
	cr_assert_eq(err, 0);
	expect_name("a");
}

Test(libdat, file__writable_by_others_is_not_trusted_with_raised_privileges)
{
	static const mode_t modes[] = {0664, 0646, 0666};
	const char *path = write_file("a", LINE, "a"), *said;

	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(chmod(path, modes[i]), 0);
		capture_begin(STDERR_FILENO);
		cr_expect_eq(load(NULL, path, write_file("b", LINE, "b"), true), -EPERM);
		said = capture_end();
		cr_expect(strstr(said, "writable by root only"),
			  "the error does not ask for a file writable by root only: %s", said);
		cr_expect_null(conf.first);
		cr_expect_eq(load(NULL, path, NULL, false), 0);
		conf_free(&conf);
	}
}

Test(libdat, file__of_another_owner_is_not_trusted_with_raised_privileges)
{
	const char *path = write_file("a", LINE, "a");

	cr_assert_eq(chmod(path, 0644), 0);
	if (geteuid() == 0)
		cr_assert_eq(chown(path, 65534, 65534), 0);
	capture_begin(STDERR_FILENO);
	cr_expect_eq(load(NULL, path, NULL, true), -EPERM);
	(void)capture_end();
}

Test(libdat, file__directory_returns_eisdir_and_is_logged)
{
	const char *path = temp_path("dir"), *said;

	cr_assert_eq(mkdir(path, 0755), 0);
	capture_begin(STDERR_FILENO);
	cr_assert_eq(load(path, NULL, NULL, false), -EISDIR);
	said = capture_end();
	cr_assert(strstr(said, "/dir: Is a directory"), "the log does not report the directory: %s",
		  said);
}

Test(libdat, file__unreadable_returns_eacces_and_is_logged)
{
	const char *path = write_file("a", LINE, "a"), *next = write_file("b", LINE, "b"), *said;
	int err;

	cr_assert_eq(chmod(path, 0), 0);
	if (geteuid() == 0)
		cr_assert_eq(seteuid(65534), 0);
	capture_begin(STDERR_FILENO);
	err = load(NULL, path, next, false);
	said = capture_end();
	if (getuid() == 0)
		cr_assert_eq(seteuid(0), 0);
	cr_assert_eq(err, -EACCES);
	cr_assert(strstr(said, "/a: Permission denied"),
		  "the log does not report the permission: %s", said);
}

Test(libdat, file__empty_has_no_entries)
{
	cr_assert_eq(load(write_file("a", "%s", ""), NULL, NULL, false), 0);
	cr_assert_null(conf.first);
	cr_assert_eq(conf.broken, 0);
}

Test(libdat, file__last_line_without_newline_is_read)
{
	cr_assert_eq(load(write_file("a", LINE "%s", "a", "b u1.2 threadsafe default /x d.1.2 a b"),
			  NULL, NULL, false), 0);
	cr_assert_eq(conf.usable, 2);
	conf_free(&conf);
}

Test(libdat, file__broken_lines_are_named_and_the_others_work)
{
	const char *path = write_file("a", "# text\n" LINE "half a line\n" LINE "\n%s\n", "a", "b",
				      "c u1.2 threadsafe default /x d.1.2 \"\" \"");
	char third[256], sixth[256];
	const char *said, *second;

	capture_begin(STDERR_FILENO);
	cr_assert_eq(load(path, NULL, NULL, false), 0);
	said = capture_end();
	snprintf(third, sizeof(third), "libdat: %s:3: line ignored: fewer than eight fields\n", path);
	snprintf(sixth, sizeof(sixth),
		 "libdat: %s:6: line ignored: a quoted field does not end on its line\n", path);
	second = strchr(said, '\n');
	cr_assert(second && memmem(said, (size_t)(++second - said), third, strlen(third)),
		  "the log lacks the ignored lines: %s", said);
	cr_assert(strstr(second, sixth) && !strchr(second, '\n')[1],
		  "the log lacks the ignored lines, or has more: %s", said);
	cr_assert_eq(conf.usable, 2);
	cr_assert_eq(conf.broken, 2);
	cr_assert_eq(conf.first->line, 2);
	cr_assert_eq(conf.first->next->line, 4);
	conf_free(&conf);
}

Test(libdat, file__overlong_line_is_broken_and_the_next_one_works)
{
	static char text[3 * CONF_LINE_MAX];
	const char *said;

	memset(text, 'x', sizeof(text) - 1);
	capture_begin(STDERR_FILENO);
	cr_assert_eq(load(write_file("a", "%s\n" LINE, text, "b"), NULL, NULL, false), 0);
	said = capture_end();
	cr_assert(strstr(said, ":1: line ignored: longer than 8192 bytes"),
		  "the log does not report the long line: %s", said);
	cr_assert_eq(conf.broken, 1);
	expect_name("b");
}

Test(libdat, file__longest_line_works)
{
	static char params[CONF_LINE_MAX];
	size_t used = strlen("a u1.2 threadsafe default /x d.1.2  b");

	memset(params, 'p', CONF_LINE_MAX - used);
	cr_assert_eq(load(write_file("a", "a u1.2 threadsafe default /x d.1.2 %s b\n", params), NULL,
			  NULL, false), 0);
	cr_assert_eq(conf.usable, 1);
	cr_assert_str_eq(conf.first->ia_params, params);
	conf_free(&conf);
}

Test(libdat, file__binary_garbage_has_only_broken_lines)
{
	int err;

	capture_begin(STDERR_FILENO);
	err = load("/bin/sh", NULL, NULL, false);
	(void)capture_end();
	cr_assert_eq(err, 0);
	cr_assert_eq(conf.usable, 0);
	cr_assert(conf.broken > 0);
}

Test(libdat, file__ten_thousand_lines_are_all_read)
{
	FILE *file = fopen(temp_path("a"), "w");
	unsigned int repeats = 0, n = 0;

	cr_assert_not_null(file);
	for (int i = 0; i < 10000; i++)
		fprintf(file, "ia%d u1.2 threadsafe default /x d.1.2 \"\" \"\"\n", i % 5000);
	fclose(file);
	cr_assert_eq(load(temp_path("a"), NULL, NULL, false), 0);
	cr_assert_eq(conf.usable, 10000);
	for (struct conf_entry *entry = conf.first; entry; entry = entry->next) {
		cr_assert_eq(entry->line, ++n);
		cr_assert_eq(entry->repeats, n > 5000);
		repeats += entry->repeats;
	}
	cr_assert_eq(repeats, 5000);
	conf_free(&conf);
}
