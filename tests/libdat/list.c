/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_registry_list_providers(3). */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/libdat/util.h"

#define MAX 8
static DAT_PROVIDER_INFO info[MAX], *to[MAX];

static void three_lines(void)
{
	use_conf("first u1.2 nonthreadsafe default /x d.1.2 a b\n"
		 "kernel k1.2 nonthreadsafe default /x d.1.2 a b\n"
		 "second u1.2 threadsafe default /x d.1.2 a b\n"
		 "newer u2.0 nonthreadsafe default /x d.2.0 a b\n"
		 "first u1.2 nonthreadsafe default /spare d.1.2 a b\n"
		 "spare u1.2 nonthreadsafe nondefault /x d.1.2 a b\n"
		 "first u1.2 threadsafe default /x d.1.2 a b\n");
	for (int i = 0; i < MAX; i++) {
		memset(&info[i], 0x55, sizeof(info[i]));
		to[i] = &info[i];
	}
}

static void expect_untouched(int from)
{
	DAT_PROVIDER_INFO pattern;

	memset(&pattern, 0x55, sizeof(pattern));
	for (int i = from; i < MAX; i++)
		cr_assert_eq(memcmp(&info[i], &pattern, sizeof(pattern)), 0,
			     "entry %d after the returned ones was written", i);
}

static void expect_info(int i, const char *name, DAT_BOOLEAN threadsafe)
{
	cr_assert_str_eq(info[i].ia_name, name);
	cr_assert_eq(info[i].dapl_version_major, 1);
	cr_assert_eq(info[i].dapl_version_minor, 2);
	cr_assert_eq(info[i].is_thread_safe, threadsafe);
}

Test(libdat, list__returns_each_key_once_in_the_order_of_the_file)
{
	DAT_COUNT n = -1;

	three_lines();
	OK(dat_registry_list_providers(MAX, &n, to));
	cr_assert_eq(n, 3);
	expect_info(0, "first", DAT_FALSE);
	expect_info(1, "second", DAT_TRUE);
	expect_info(2, "first", DAT_TRUE);
	expect_untouched(3);
}

Test(libdat, list__exactly_as_many_as_fit_are_returned)
{
	DAT_COUNT n = -1;

	three_lines();
	OK(dat_registry_list_providers(3, &n, to));
	cr_assert_eq(n, 3);
	expect_untouched(3);
}

Test(libdat, list__too_small_returns_the_number_and_writes_no_entry)
{
	static const DAT_COUNT sizes[] = {2, 1, 0, -1, -2147483647 - 1};

	three_lines();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		DAT_COUNT n = -1;

		TYPE_IS(dat_registry_list_providers(sizes[i], &n, to), DAT_INVALID_PARAMETER);
		cr_assert_eq(n, 3);
		expect_untouched(0);
	}
}

Test(libdat, list__null_pointers_are_refused)
{
	DAT_COUNT n = -1;

	three_lines();
	RETURNS(dat_registry_list_providers(MAX, NULL, to), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	RETURNS(dat_registry_list_providers(MAX, &n, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	cr_assert_eq(n, 3);
	to[2] = NULL;
	RETURNS(dat_registry_list_providers(MAX, &n, to), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	expect_untouched(0);
	to[2] = &info[2];
	to[3] = NULL;
	OK(dat_registry_list_providers(MAX, &n, to));
}

Test(libdat, list__empty_registry_returns_0)
{
	DAT_COUNT n = -1;

	use_conf("# %s\n", "nothing");
	OK(dat_registry_list_providers(0, &n, to));
	cr_assert_eq(n, 0);
}

Test(libdat, list__missing_registry_returns_internal_error)
{
	DAT_COUNT n = -1;

	setenv("DAT_OVERRIDE", temp_path("none"), 1);
	setenv("DAT_DBG_TYPE", "0", 1);
	TYPE_IS(dat_registry_list_providers(MAX, &n, to), DAT_INTERNAL_ERROR);
	cr_assert_eq(n, 0);
}

Test(libdat, list__loads_no_library)
{
	DAT_COUNT n;

	use_conf("ia u1.2 nonthreadsafe default %s d.1.2 a b\n", plugin_path("one"));
	to[0] = &info[0];
	OK(dat_registry_list_providers(1, &n, to));
	cr_assert_null(plugin_log_of("one"));
}
