/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_openv(3) and dat_ia_close(3): which library is loaded for a name, and for how long. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/libdat/util.h"

#define LINE(name, api, threads) name " " api " " threads " default %s d.1.2 "
#define PLAIN LINE("ia", "u1.2", "nonthreadsafe")

static DAT_RETURN open_version(const char *name, DAT_UINT32 major, DAT_UINT32 minor,
			       DAT_BOOLEAN threadsafe)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	return dat_ia_openv((DAT_NAME_PTR)(size_t)name, 8, &async_evd, &ia, major, minor, threadsafe);
}

Test(libdat, open__hands_the_line_to_the_provider)
{
	DAT_IA_HANDLE ia = NULL;
	struct plugin_log *log;

	use_conf(PLAIN "\"x \\\"y\\\"\" \"\"\n", plugin_path("one"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	cr_assert_not_null(ia);
	log = plugin_log_of("one");
	cr_assert_eq(log->inits, 1);
	cr_assert_eq(log->added, DAT_SUCCESS);
	cr_assert_eq(log->opens, 1);
	cr_assert_eq(log->qlen, 8);
	cr_assert_str_eq(log->info.ia_name, "ia");
	cr_assert_eq(log->info.dapl_version_major, 1);
	cr_assert_eq(log->info.dapl_version_minor, 2);
	cr_assert_eq(log->info.is_thread_safe, DAT_FALSE);
	cr_assert_str_eq(log->params, "x \"y\"");
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

Test(libdat, open__returns_how_far_the_search_came)
{
	use_conf(PLAIN "a b\n", plugin_path("one"));
	RETURNS(open_version("no", 1, 2, DAT_FALSE), DAT_PROVIDER_NOT_FOUND,
		DAT_NAME_NOT_REGISTERED);
	RETURNS(open_version("ia", 2, 2, DAT_FALSE), DAT_PROVIDER_NOT_FOUND, DAT_MAJOR_NOT_FOUND);
	RETURNS(open_version("ia", 1, 3, DAT_FALSE), DAT_PROVIDER_NOT_FOUND, DAT_MINOR_NOT_FOUND);
	RETURNS(open_version("ia", 1, 2, DAT_TRUE), DAT_PROVIDER_NOT_FOUND,
		DAT_THREAD_SAFETY_NOT_FOUND);
	cr_assert_null(plugin_log_of("one"));
}

Test(libdat, open__invalid_arguments_are_refused)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)7;
	char name[DAT_NAME_MAX_LENGTH + 1];

	use_conf(PLAIN "a b\n", plugin_path("one"));
	memset(name, 'n', sizeof(name));
	RETURNS(dat_ia_openv(NULL, 8, &evd, &ia, 1, 2, DAT_FALSE), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG1);
	RETURNS(dat_ia_openv(name, 8, &evd, &ia, 1, 2, DAT_FALSE), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG1);
	strcpy(name, "ia");
	RETURNS(dat_ia_openv(name, 8, NULL, &ia, 1, 2, DAT_FALSE), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG3);
	RETURNS(dat_ia_openv(name, 8, &evd, NULL, 1, 2, DAT_FALSE), DAT_INVALID_PARAMETER,
		DAT_INVALID_ARG4);
	cr_assert_eq(ia, (DAT_IA_HANDLE)7);
	cr_assert_eq(evd, DAT_HANDLE_NULL);
}

Test(libdat, open__failure_writes_no_handle)
{
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)7;

	use_conf(PLAIN "full b\n", plugin_path("one"));
	TYPE_IS(open_ia("ia", DAT_FALSE, &ia), DAT_INSUFFICIENT_RESOURCES);
	TYPE_IS(open_ia("no", DAT_FALSE, &ia), DAT_PROVIDER_NOT_FOUND);
	cr_assert_eq(ia, (DAT_IA_HANDLE)7);
}

Test(libdat, open__thread_safety_chooses_the_line)
{
	DAT_IA_HANDLE safe, unsafe;

	use_conf(PLAIN "a b\n" LINE("ia", "u1.2", "threadsafe") "a b\n", plugin_path("one"),
		 plugin_path("two"));
	OK(open_ia("ia", DAT_TRUE, &safe));
	cr_assert_null(plugin_log_of("one"));
	cr_assert_eq(plugin_log_of("two")->info.is_thread_safe, DAT_TRUE);
	OK(open_ia("ia", DAT_FALSE, &unsafe));
	cr_assert_eq(plugin_log_of("one")->opens, 1);
	OK(dat_ia_close(safe, DAT_CLOSE_DEFAULT));
	cr_assert_eq(plugin_log_of("two")->finis, 1);
	cr_assert_eq(plugin_log_of("one")->finis, 0);
	OK(dat_ia_close(unsafe, DAT_CLOSE_DEFAULT));
}

Test(libdat, open__one_library_serves_both_lines)
{
	DAT_IA_HANDLE safe, unsafe;
	struct plugin_log *log;

	use_conf(PLAIN "a b\n" LINE("ia", "u1.2", "threadsafe") "a b\n", plugin_path("one"),
		 plugin_path("one"));
	OK(open_ia("ia", DAT_TRUE, &safe));
	OK(open_ia("ia", DAT_FALSE, &unsafe));
	log = plugin_log_of("one");
	cr_assert_eq(log->inits, 2);
	OK(dat_ia_close(safe, DAT_CLOSE_DEFAULT));
	cr_assert_eq(log->finis, 1);
	OK(dat_ia_close(unsafe, DAT_CLOSE_DEFAULT));
	cr_assert_eq(log->finis, 2);
}

Test(libdat, open__larger_minor_serves_when_none_is_equal)
{
	DAT_IA_HANDLE ia;

	use_conf(LINE("ia", "u1.3", "nonthreadsafe") "a b\n", plugin_path("one"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	cr_assert_eq(plugin_log_of("one")->info.dapl_version_minor, 3);
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	cr_assert_eq(plugin_log_of("one")->finis, 1);
}

Test(libdat, open__equal_minor_goes_before_a_larger_one)
{
	DAT_IA_HANDLE ia;

	use_conf(LINE("ia", "u1.3", "nonthreadsafe") "a b\n" PLAIN "a b\n", plugin_path("one"),
		 plugin_path("two"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	cr_assert_null(plugin_log_of("one"));
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
}

Test(libdat, open__library_stays_until_the_last_instance_is_closed)
{
	DAT_IA_HANDLE a, b;
	struct plugin_log *log;

	use_conf(PLAIN "a b\n", plugin_path("one"));
	OK(open_ia("ia", DAT_FALSE, &a));
	OK(open_ia("ia", DAT_FALSE, &b));
	log = plugin_log_of("one");
	cr_assert_eq(log->inits, 1);
	OK(dat_ia_close(a, DAT_CLOSE_DEFAULT));
	cr_assert_eq(log->finis, 0);
	OK(dat_ia_close(b, DAT_CLOSE_DEFAULT));
	cr_assert_eq(log->finis, 1);
	cr_assert_eq(log->removed, DAT_SUCCESS);

	OK(open_ia("ia", DAT_FALSE, &a));
	cr_assert_eq(log->inits, 2);
	cr_assert_eq(log->added, DAT_SUCCESS);
	OK(dat_ia_close(a, DAT_CLOSE_DEFAULT));
	cr_assert_eq(log->finis, 2);
}

Test(libdat, open__failed_open_unloads_the_library)
{
	DAT_IA_HANDLE ia;

	use_conf(PLAIN "full b\n", plugin_path("one"));
	TYPE_IS(open_ia("ia", DAT_FALSE, &ia), DAT_INSUFFICIENT_RESOURCES);
	cr_assert_eq(plugin_log_of("one")->inits, 1);
	cr_assert_eq(plugin_log_of("one")->finis, 1);
}

Test(libdat, open__provider_that_stays_after_fini_is_removed)
{
	DAT_IA_HANDLE ia;

	use_conf(PLAIN "stays b\n", plugin_path("one"));
	for (int i = 1; i <= 2; i++) {
		OK(open_ia("ia", DAT_FALSE, &ia));
		cr_assert_eq(plugin_log_of("one")->added, DAT_SUCCESS);
		OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
		cr_assert_eq(plugin_log_of("one")->finis, i);
	}
}

Test(libdat, open__provider_can_not_leave_while_it_is_open)
{
	struct plugin_log *log;
	DAT_IA_HANDLE ia;

	use_conf(PLAIN "a b\n", plugin_path("one"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	log = plugin_log_of("one");
	log->remove();
	TYPE_IS(log->removed, DAT_PROVIDER_IN_USE);
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	cr_assert_eq(log->removed, DAT_SUCCESS);
	log->remove();
	TYPE_IS(log->removed, DAT_INVALID_PARAMETER);
}

Test(libdat, close__refused_by_the_provider_keeps_the_ia)
{
	struct plugin_log *log;
	DAT_IA_HANDLE ia;

	use_conf(PLAIN "a b\n", plugin_path("one"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	log = plugin_log_of("one");
	log->close_with = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;
	RETURNS(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		DAT_INVALID_STATE_IA_IN_USE);
	cr_assert_eq(log->finis, 0);
	log->close_with = DAT_SUCCESS;
	OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	cr_assert_eq(log->finis, 1);
}

Test(libdat, close__handles_that_are_not_open_are_refused)
{
	void *not_an_ia = NULL;
	DAT_IA_HANDLE ia;

	RETURNS(dat_ia_close(NULL, DAT_CLOSE_DEFAULT), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	RETURNS(dat_ia_close((void *)1, DAT_CLOSE_DEFAULT), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	RETURNS(dat_ia_close(&not_an_ia, DAT_CLOSE_DEFAULT), DAT_INVALID_HANDLE,
		DAT_INVALID_HANDLE_IA);
	use_conf(PLAIN "a b\n", plugin_path("one"));
	OK(open_ia("ia", DAT_FALSE, &ia));
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	RETURNS(dat_ia_close(ia, DAT_CLOSE_DEFAULT), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	cr_assert_eq(plugin_log_of("one")->closes, 1);
}
