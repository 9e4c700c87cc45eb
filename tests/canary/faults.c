/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * scripts/check must count each of these tests as a failure: those before use_after_free always, the
 * others under the sanitizers, whose reports Criterion hides by default. `sound` must pass.
 */
#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>

Test(canary, sound)
{
	cr_assert(true);
}

Test(canary, wrong)
{
	cr_assert(false);
}

Test(canary, crash)
{
	*(volatile int *)8 = 1;
}

static void fail(void)
{
	cr_assert(false);
}

static void end(void)
{
	abort();
}

Test(canary, wrong_after, .fini = fail) {}
Test(canary, crash_after, .fini = end) {}

Test(canary, use_after_free)
{
	volatile char *p = malloc(8);

	free((void *)p);
	p[0] = 1;
}

Test(canary, leak)
{
	void *volatile p = malloc(777);

	p = NULL;
	cr_assert_null(p);
}

Test(canary, undefined)
{
	volatile int i = INT_MAX;

	i = i + 1;
}
