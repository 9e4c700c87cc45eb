/* SPDX-License-Identifier: BSD-2-Clause */
/* Providers registered by the program itself, and many threads in the registry. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/libdat/util.h"
#include "tests/harness/own_provider.h"

static const DAT_PROVIDER other = {.ia_open_func = own_open, .ia_close_func = own_close};
static const DAT_PROVIDER hollow;
static const DAT_PROVIDER_INFO info = {"own", 1, 2, DAT_FALSE};

static void without_conf(void)
{
	own_ia.table = &own;
	setenv("DAT_OVERRIDE", temp_path("none"), 1);
	setenv("DAT_DBG_TYPE", "0", 1);
}

Test(libdat, add__opens_without_a_dat_conf)
{
	DAT_IA_HANDLE ia;

	without_conf();
	OK(dat_registry_add_provider(&own, &info));
	OK(open_ia("own", DAT_FALSE, &ia));
	cr_assert_eq(ia, (DAT_IA_HANDLE)&own_ia);
	TYPE_IS(open_ia("own", DAT_TRUE, &ia), DAT_PROVIDER_NOT_FOUND);
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	OK(open_ia("own", DAT_FALSE, &ia));
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	OK(dat_registry_remove_provider(&own, &info));
	TYPE_IS(open_ia("own", DAT_FALSE, &ia), DAT_PROVIDER_NOT_FOUND);
}

Test(libdat, add__same_key_twice_returns_already_registered)
{
	DAT_PROVIDER_INFO threadsafe = info;

	without_conf();
	threadsafe.is_thread_safe = DAT_TRUE;
	OK(dat_registry_add_provider(&own, &info));
	TYPE_IS(dat_registry_add_provider(&own, &info), DAT_PROVIDER_ALREADY_REGISTERED);
	TYPE_IS(dat_registry_add_provider(&other, &info), DAT_PROVIDER_ALREADY_REGISTERED);
	OK(dat_registry_add_provider(&other, &threadsafe));
	OK(dat_registry_remove_provider(&own, &info));
	OK(dat_registry_add_provider(&own, &info));
	OK(dat_registry_remove_provider(&own, &info));
	OK(dat_registry_remove_provider(&other, &threadsafe));
}

Test(libdat, add__invalid_arguments_are_refused)
{
	DAT_PROVIDER_INFO bad = info;

	without_conf();
	RETURNS(dat_registry_add_provider(NULL, &info), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	RETURNS(dat_registry_add_provider(&hollow, &info), DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	RETURNS(dat_registry_add_provider(&own, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	bad.ia_name[0] = '\0';
	RETURNS(dat_registry_add_provider(&own, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	memset(bad.ia_name, 'n', sizeof(bad.ia_name));
	RETURNS(dat_registry_add_provider(&own, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	bad = info;
	bad.dapl_version_major = 2;
	RETURNS(dat_registry_add_provider(&own, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	bad = info;
	bad.dapl_version_minor = 1;
	RETURNS(dat_registry_add_provider(&own, &bad), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

Test(libdat, remove__invalid_arguments_are_refused)
{
	DAT_PROVIDER_INFO unknown = info;

	without_conf();
	strcpy(unknown.ia_name, "unknown");
	OK(dat_registry_add_provider(&own, &info));
	TYPE_IS(dat_registry_remove_provider(NULL, &info), DAT_INVALID_PARAMETER);
	TYPE_IS(dat_registry_remove_provider(&own, NULL), DAT_INVALID_PARAMETER);
	TYPE_IS(dat_registry_remove_provider(&other, &info), DAT_INVALID_PARAMETER);
	TYPE_IS(dat_registry_remove_provider(&own, &unknown), DAT_INVALID_PARAMETER);
	OK(dat_registry_remove_provider(&own, &info));
	TYPE_IS(dat_registry_remove_provider(&own, &info), DAT_INVALID_PARAMETER);
}

Test(libdat, remove__in_use_returns_provider_in_use)
{
	DAT_IA_HANDLE ia;

	without_conf();
	OK(dat_registry_add_provider(&own, &info));
	OK(open_ia("own", DAT_FALSE, &ia));
	TYPE_IS(dat_registry_remove_provider(&own, &info), DAT_PROVIDER_IN_USE);
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	OK(dat_registry_remove_provider(&own, &info));
}

Test(libdat, add__is_not_listed_and_goes_before_the_line)
{
	DAT_PROVIDER_INFO listed, *to = &listed;
	DAT_IA_HANDLE ia;
	DAT_COUNT n;

	own_ia.table = &own;
	use_conf("own u1.2 nonthreadsafe default %s d.1.2 a b\n", plugin_path("one"));
	OK(dat_registry_add_provider(&own, &info));
	OK(dat_registry_list_providers(1, &n, &to));
	cr_assert_eq(n, 1);
	OK(open_ia("own", DAT_FALSE, &ia));
	cr_assert_eq(ia, (DAT_IA_HANDLE)&own_ia);
	cr_assert_null(plugin_log_of("one"));
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
	OK(dat_registry_remove_provider(&own, &info));
}

#define THREADS 4
#define ROUNDS 100

static void *open_and_close(void *arg)
{
	DAT_PROVIDER_INFO listed[2], *to[] = {&listed[0], &listed[1]};
	size_t failures = 0;
	DAT_IA_HANDLE ia;
	DAT_COUNT n;

	for (int i = 0; i < ROUNDS; i++) {
		failures += open_ia(i & 1 ? "a" : "b", DAT_FALSE, &ia) != DAT_SUCCESS;
		failures += dat_registry_list_providers(2, &n, to) != DAT_SUCCESS;
		failures += dat_ia_close(ia, DAT_CLOSE_DEFAULT) != DAT_SUCCESS;
		failures += dat_ia_close(arg, DAT_CLOSE_DEFAULT) == DAT_SUCCESS;
	}
	return (void *)failures;
}

Test(libdat, open__from_many_threads_succeeds, .timeout = 60)
{
	pthread_t thread[THREADS];
	struct plugin_log *log;
	void *failures;

	use_conf("a u1.2 nonthreadsafe default %s d.1.2 a b\n"
		 "b u1.2 nonthreadsafe default %s d.1.2 a b\n", plugin_path("one"), plugin_path("one"));
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, open_and_close, &own_ia), 0);
	for (int i = 0; i < THREADS; i++) {
		cr_assert_eq(pthread_join(thread[i], &failures), 0);
		cr_assert_eq((size_t)failures, 0);
	}
	log = plugin_log_of("one");
	cr_assert_eq(log->opens, THREADS * ROUNDS);
	cr_assert_eq(log->closes, THREADS * ROUNDS);
	cr_assert_eq(log->finis, log->inits);
}

static void *open_a(void *ia)
{
	return (void *)(size_t)open_ia("a", DAT_FALSE, ia);
}

/* Two threads find at the same time that the provider of the first line does not know the name. */
Test(libdat, open__next_line_serves_two_threads_at_once, .timeout = 60)
{
	pthread_t thread[2];
	DAT_IA_HANDLE ia[2];
	void *ret;

	use_conf("a u1.2 nonthreadsafe default %s d.1.2 nodevice,pair b\n"
		 "a u1.2 nonthreadsafe default %s d.1.2 second b\n", plugin_path("one"), plugin_path("two"));
	for (int i = 0; i < 2; i++)
		cr_assert_eq(pthread_create(&thread[i], NULL, open_a, &ia[i]), 0);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(pthread_join(thread[i], &ret), 0);
		OK((DAT_RETURN)(size_t)ret);
	}
	cr_assert_eq(plugin_log_of("two")->opens, 2);
	for (int i = 0; i < 2; i++)
		OK(dat_ia_close(ia[i], DAT_CLOSE_DEFAULT));
}

static void *open_while_cancelled(void *ia)
{
	pthread_cancel(pthread_self());
	open_ia("a", DAT_FALSE, ia);
	pthread_testcancel();
	return NULL;
}

/* The call ends before the thread does, so that the registry does not stay locked. */
Test(libdat, open__by_a_cancelled_thread_is_completed, .timeout = 120)
{
	DAT_IA_HANDLE ia = NULL;
	pthread_t thread;
	void *result;

	use_conf("a u1.2 nonthreadsafe default %s d.1.2 a b\n", plugin_path("one"));
	cr_assert_eq(pthread_create(&thread, NULL, open_while_cancelled, &ia), 0);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_assert_eq(result, PTHREAD_CANCELED);
	cr_assert_not_null(ia, "the thread ended within the call");
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
}
