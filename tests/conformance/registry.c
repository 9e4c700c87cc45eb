/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry, and calls without an object: dat_registry_* and dat_strerror. */
#include <dat/dat_registry.h>
#include <stdlib.h>
#include <string.h>

#include "tests/conformance/fixture.h"
#include "tests/harness/own_provider.h"

#define MANY 64

static DAT_PROVIDER_INFO infos[MANY];
static DAT_PROVIDER_INFO *list[MANY];

static DAT_COUNT providers(void)
{
	DAT_COUNT n = -1;

	for (int i = 0; i < MANY; i++)
		list[i] = &infos[i];
	must(dat_registry_list_providers(MANY, &n, list));
	return n;
}

STATEMENT(registry_list_providers__names_the_ia, dat_registry_list_providers, DESCRIPTION)
{
	DAT_COUNT n = providers();
	bool found = false;

	for (DAT_COUNT i = 0; i < n; i++)
		found |= !strcmp(infos[i].ia_name, conform_options.ia) &&
			 infos[i].dapl_version_major == DAT_VERSION_MAJOR &&
			 infos[i].is_thread_safe == DAT_THREADSAFE;
	check(found);
}

STATEMENT(registry_list_providers__too_small_returns_the_number, dat_registry_list_providers, DESCRIPTION)
{
	DAT_COUNT all = providers(), n = -1;

	check(all > 0);
	must_be(DAT_INVALID_PARAMETER, dat_registry_list_providers(all - 1, &n, list));
	same(n, all);
	n = -1;
	must_be(DAT_INVALID_PARAMETER, dat_registry_list_providers(MANY, &n, NULL));
	same(n, all);
}

STATEMENT(registry_list_providers__no_registry, dat_registry_list_providers, RETURNS)
{
	DAT_COUNT n;

	setenv("DAT_OVERRIDE", "/nonexistent/dat.conf", 1);
	for (int i = 0; i < MANY; i++)
		list[i] = &infos[i];
	must_be(DAT_INTERNAL_ERROR, dat_registry_list_providers(MANY, &n, list));
}

/* ---- Calls of a provider ---- */

static const DAT_PROVIDER_INFO info = { "conformance-own", DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
					DAT_THREADSAFE };

static DAT_IA_HANDLE open_own(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	own_ia.table = &own;
	must(dat_ia_open((DAT_NAME_PTR)(uintptr_t)info.ia_name, 8, &async, &ia));
	return ia;
}

STATEMENT(registry_add_provider__can_be_opened, dat_registry_add_provider, DESCRIPTION)
{
	must(dat_registry_add_provider(&own, &info));
	must(dat_ia_close(open_own(), DAT_CLOSE_ABRUPT_FLAG));
	must(dat_registry_remove_provider(&own, &info));
}

STATEMENT(registry_add_provider__same_name_twice, dat_registry_add_provider, DESCRIPTION)
{
	must(dat_registry_add_provider(&own, &info));
	must_be(DAT_PROVIDER_ALREADY_REGISTERED, dat_registry_add_provider(&own, &info));
	must(dat_registry_remove_provider(&own, &info));
}

STATEMENT(registry_add_provider__null, dat_registry_add_provider, RETURNS)
{
	must_be(DAT_INVALID_PARAMETER, dat_registry_add_provider(NULL, &info));
	must_be(DAT_INVALID_PARAMETER, dat_registry_add_provider(&own, NULL));
}

STATEMENT(registry_add_provider__no_memory, dat_registry_add_provider, RETURNS)
{
	DAT_RETURN ret;

	providers();
	th_fail_start(TH_FAIL_HEAP, 1);
	ret = dat_registry_add_provider(&own, &info);
	if (!th_fail_stop())
		skip("the registry allocates no memory to add a provider");
	must_be(DAT_INSUFFICIENT_RESOURCES, ret);
	conform_note("dat_registry_add_provider", ret);
}

STATEMENT(registry_remove_provider__in_use, dat_registry_remove_provider, DESCRIPTION)
{
	DAT_IA_HANDLE ia;

	must(dat_registry_add_provider(&own, &info));
	ia = open_own();
	must_be(DAT_PROVIDER_IN_USE, dat_registry_remove_provider(&own, &info));
	must(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
	must(dat_registry_remove_provider(&own, &info));
}

STATEMENT(registry_remove_provider__not_there, dat_registry_remove_provider, RETURNS)
{
	must_be(DAT_INVALID_PARAMETER, dat_registry_remove_provider(&own, &info));
}

STATEMENT(registry_remove_provider__no_new_sessions, dat_registry_remove_provider, DESCRIPTION)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;

	must(dat_registry_add_provider(&own, &info));
	must(dat_registry_remove_provider(&own, &info));
	must_be(DAT_PROVIDER_NOT_FOUND,
		dat_ia_open((DAT_NAME_PTR)(uintptr_t)info.ia_name, 8, &async, &ia));
}

/* ---- dat_strerror ---- */

STATEMENT(strerror__success_has_a_name, dat_strerror, DESCRIPTION)
{
	const char *major = NULL, *minor = NULL;

	must(dat_strerror(DAT_SUCCESS, &major, &minor));
	check(major && minor);
}

STATEMENT(strerror__each_type_and_subtype_differs, dat_strerror, DESCRIPTION)
{
	const char *a, *b, *sub;

	for (uint32_t i = 2; i <= DAT_CONN_QUAL_UNAVAILABLE >> 16; i++) {
		must(dat_strerror(DAT_CLASS_ERROR | i << 16, &a, &sub));
		must(dat_strerror(DAT_CLASS_ERROR | (i - 1) << 16, &b, &sub));
		check(strcmp(a, b));
	}
	must(dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1, &sub, &a));
	must(dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG2, &sub, &b));
	check(strcmp(a, b));
}

STATEMENT(strerror__undefined_value, dat_strerror, DESCRIPTION)
{
	const char *major, *minor;

	must_be(DAT_INVALID_PARAMETER, dat_strerror(DAT_CLASS_ERROR | 0x0ABC0000, &major, &minor));
	must_be(DAT_INVALID_PARAMETER,
		dat_strerror(DAT_CLASS_ERROR | DAT_INVALID_STATE | 0xFFFF, &major, &minor));
}
