/* SPDX-License-Identifier: BSD-2-Clause */
/* The statements as the suite `conformance`, with a test of the same name for each. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/conformance/conform.h"

static void try_it(const char *name)
{
	const struct statement *s = conform_find(name);
	const char *ia = getenv("DAPL_TEST_IA");
	struct outcome outcome;

	cr_assert_not_null(s);
	if (ia)
		conform_options.ia = ia;
	if (getenv("SAN") && *getenv("SAN"))
		conform_options.limit_ms *= 4;
	conform_options.own = true;
	conform_run(s, &outcome);
	if (outcome.verdict == VERDICT_SKIP)
		cr_skip_test("%s", outcome.reason);
	cr_assert_eq(outcome.verdict, VERDICT_PASS, "%s(3), %s: %s", s->page, s->section,
		     outcome.reason);
}

#define NAMED(name)                                                                                \
	Test(conformance, name, .timeout = 120)                                                    \
	{                                                                                          \
		try_it(#name);                                                                     \
	}

/* The suite's Makefile generates this file from the table of statements, see suite.mk. */
#include "conformance_names.h"
