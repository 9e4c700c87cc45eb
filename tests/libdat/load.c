/* SPDX-License-Identifier: BSD-2-Clause */
/* Libraries that cannot be used: the message, and the line that is tried next. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/capture.h"
#include "tests/libdat/util.h"

#define PLAIN "ia u1.2 nonthreadsafe default %s d.1.2 "

static const char *said_on_failure(const char *lib, const char *params)
{
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN ret;
	const char *said;

	use_conf(PLAIN "%s b\n", lib, params);
	capture_begin(STDERR_FILENO);
	ret = open_ia("ia", DAT_FALSE, &ia);
	said = capture_end();
	RETURNS(ret, DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	cr_assert_null(ia);
	return said;
}

static void expect_said(const char *said, const char *what)
{
	cr_assert(strstr(said, "libdat: ia (line 1 of dat.conf): "),
		  "the log does not name the IA and its line: %s", said);
	cr_assert(strstr(said, what), "the log does not explain the failure: %s", said);
}

Test(libdat, load__missing_library_is_logged)
{
	expect_said(said_on_failure("/nowhere/lib.so", "a"), "/nowhere/lib.so");
}

Test(libdat, load__file_that_is_no_library_is_logged)
{
	expect_said(said_on_failure(write_file("lib.so", "not ELF\n"), "a"), "lib.so");
}

Test(libdat, load__undefined_symbol_is_found_at_once)
{
	expect_said(said_on_failure(plugin_path("undefined"), "a"), "symbol_that_nobody_has");
}

Test(libdat, load__library_without_init_is_logged)
{
	expect_said(said_on_failure(plugin_path("noinit"), "a"), "no dat_provider_init");
}

Test(libdat, load__library_without_fini_is_logged)
{
	expect_said(said_on_failure(plugin_path("nofini"), "a"), "no dat_provider_fini");
}

Test(libdat, load__init_that_does_not_register_is_logged)
{
	expect_said(said_on_failure(plugin_path("one"), "silent"), "did not register");
	cr_assert_eq(plugin_log_of("one")->inits, 1);
}

Test(libdat, load__errors_can_be_switched_off)
{
	setenv("DAT_DBG_TYPE", "0", 1);
	cr_assert_str_eq(said_on_failure("/nowhere/lib.so", "a"), "");
}

Test(libdat, load__all_kinds_can_be_switched_on)
{
	const char *said;

	setenv("DAT_DBG_TYPE", "0xff", 1);
	said = said_on_failure(plugin_path("one"), "silent");
	cr_assert(strstr(said, "ia uses provider"), "the log does not name the provider: %s", said);
	cr_assert(strstr(said, "1 entries"), "the log does not count the entries: %s", said);
	cr_assert(strstr(said, "dat_ia_openv ia 1.2 nonthreadsafe: DAT_PROVIDER_NOT_FOUND "
			       "DAT_NAME_NOT_REGISTERED"),
		  "the log does not report the failed open: %s", said);
}

Test(libdat, load__destination_1_is_standard_output)
{
	DAT_IA_HANDLE ia;
	const char *said;

	setenv("DAT_DBG_DEST", "1", 1);
	use_conf(PLAIN "a b\n", "/nowhere/lib.so");
	capture_begin(STDOUT_FILENO);
	(void)open_ia("ia", DAT_FALSE, &ia);
	said = capture_end();
	expect_said(said, "/nowhere/lib.so");
}

static void expect_served_by_two(const char *lib, const char *params)
{
	DAT_IA_HANDLE a, b;

	setenv("DAT_DBG_TYPE", "0", 1);
	use_conf(PLAIN "%s b\n" PLAIN "second b\n", lib, params, plugin_path("two"));
	OK(open_ia("ia", DAT_FALSE, &a));
	OK(open_ia("ia", DAT_FALSE, &b));
	cr_assert_eq(plugin_log_of("two")->inits, 1);
	cr_assert_eq(plugin_log_of("two")->opens, 2);
	cr_assert_str_eq(plugin_log_of("two")->params, "second");
	OK(dat_ia_close(a, DAT_CLOSE_DEFAULT));
	OK(dat_ia_close(b, DAT_CLOSE_DEFAULT));
	cr_assert_eq(plugin_log_of("two")->finis, 1);
}

Test(libdat, load__missing_library_lets_the_next_line_serve)
{
	expect_served_by_two("/nowhere/lib.so", "a");
}

Test(libdat, load__init_that_does_not_register_lets_the_next_line_serve)
{
	expect_served_by_two(plugin_path("one"), "silent");
}

Test(libdat, load__provider_that_lacks_the_name_lets_the_next_line_serve)
{
	expect_served_by_two(plugin_path("one"), "nodevice");
	cr_assert_eq(plugin_log_of("one")->finis, plugin_log_of("one")->inits);
}

Test(libdat, load__first_line_that_works_is_the_only_one_loaded)
{
	DAT_IA_HANDLE ia;

	use_conf(PLAIN "a b\n" PLAIN "a b\n", plugin_path("one"), plugin_path("two"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	cr_assert_null(plugin_log_of("two"));
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
}

Test(libdat, load__other_failures_of_open_are_final)
{
	DAT_IA_HANDLE ia;

	use_conf(PLAIN "full b\n" PLAIN "a b\n", plugin_path("one"), plugin_path("two"));
	TYPE_IS(open_ia("ia", DAT_FALSE, &ia), DAT_INSUFFICIENT_RESOURCES);
	cr_assert_null(plugin_log_of("two"));
}

Test(libdat, load__init_may_not_register_other_names)
{
	DAT_IA_HANDLE ia;

	setenv("DAT_DBG_TYPE", "0", 1);
	use_conf(PLAIN "other b\n", plugin_path("one"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	TYPE_IS(plugin_log_of("one")->added_other, DAT_INVALID_PARAMETER);
	TYPE_IS(open_ia("other", DAT_FALSE, &ia), DAT_PROVIDER_NOT_FOUND);
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
}
