/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/resource.h>

#include "tests/uverbs/calls.h"
#include "tests/uverbs/refused.h"

void nothing_left_but(long n)
{
	cr_assert_eq(calls_held(), n, "%ld objects are leaked", calls_held());
}

void nothing_left(void)
{
	nothing_left_but(0);
}

static void refused_one(size_t i, const struct refusal *r, refused_open *open)
{
	void *ctl = NULL;
	char why[160] = "";
	int err;

	if (r->call)
		calls_fail_named_after(r->first, r->call, r->answer);
	err = open(r, &ctl, why, sizeof(why));
	calls_stop();
	cr_expect_eq(err, r->err, "case %zu: the open returned the wrong code %d: %s", i, err, why);
	cr_expect(strstr(why, r->cause), "case %zu: the error does not name the cause: %s", i, why);
	cr_expect(strstr(why, r->cure), "case %zu: the error does not name the cure: %s", i, why);
	cr_expect_null(ctl);
	cr_expect_eq(calls_held(), 0, "case %zu: %ld objects are leaked", i, calls_held());
}

void refused_each(const struct refusal *refusals, size_t n, refused_open *open)
{
	struct rlimit limit = { 64 << 10, 64 << 10 };

	cr_assert_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	for (size_t i = 0; i < n; i++)
		refused_one(i, &refusals[i], open);
}
