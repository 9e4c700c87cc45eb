/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each call to libibverbs and libmlx5, and of libmlx5 to vfio, fails in turn: the DAT call returns a
 * code that its page allows.
 */
#include <errno.h>

#include "tests/e2e/life.h"
#include "tests/uverbs/calls.h"

TestSuite(fail, .timeout = 200);

/* Makes the n-th call fail, and returns the number of calls. If the time was over before that call, tries
 * again with more time. */
static unsigned long run_failing(struct life *l, unsigned long n, int err)
{
	unsigned long seen = 0;
	bool done = false;

	for (int i = 0; i < 2 && !done && seen < n; i++) {
		calls_fail(n, err);
		done = life_run(l, i ? SOON_MS : 100);
		seen = calls_stop();
	}
	return seen;
}

static void each_call(int err)
{
	unsigned long n = 0, seen;
	long before;
	struct life l;

	rig_conf("");
	setenv("DAPL_DBG_TYPE", "0", 1);
	cr_assert(life_run(&l, SOON_MS), "the run failed: %s", life_words(&l));
	before = calls_held();
	do {
		seen = run_failing(&l, ++n, err);
		cr_assert(life_ended_well(&l), "call %lu (%s) failed, and then: %s", n,
			  calls_failed(), life_words(&l));
		cr_assert_eq(calls_held(), before,
			     "call %lu (%s) failed, and %ld objects are leaked", n, calls_failed(),
			     calls_held() - before);
	} while (seen >= n && n < 1000);
	cr_assert_gt(n, 50);
	cr_assert(life_run(&l, SOON_MS), "the run failed: %s", life_words(&l));
	cr_assert_eq(calls_held(), before);
}

Test(fail, each_call__failing_with_ENOMEM_leaks_nothing)
{
	each_call(ENOMEM);
}

Test(fail, each_call__failing_with_EPERM_leaks_nothing)
{
	each_call(EPERM);
}
