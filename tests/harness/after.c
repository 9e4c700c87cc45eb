/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fails a test whose .fini fails or crashes. Criterion judges a test before its .fini and does not change
 * that verdict. The programs of tests/tsan, which have no Criterion, do not link this file.
 */
#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/stats.h>
#include <stdio.h>

/* A passed test counts as crashed until its .fini has ended. */
ReportHook(POST_TEST)(struct criterion_test_stats *t)
{
	t->crashed = t->test_status == CR_STATUS_PASSED;
}

ReportHook(POST_FINI)(struct criterion_test_stats *t)
{
	t->crashed = false;
}

static void judge(struct criterion_global_stats *all, const struct criterion_test_stats *t)
{
	if (t->test_status != CR_STATUS_PASSED || (!t->crashed && !t->failed_asserts))
		return;
	fprintf(stderr, "[FAIL] %s::%s: its .fini %s\n", t->test->category, t->test->name,
		t->crashed ? "crashed" : "failed");
	all->tests_passed--;
	all->tests_failed++;
}

ReportHook(POST_ALL)(struct criterion_global_stats *all)
{
	for (struct criterion_suite_stats *s = all->suites; s; s = s->next)
		for (struct criterion_test_stats *t = s->tests; t; t = t->next)
			judge(all, t);
}
