/* SPDX-License-Identifier: BSD-2-Clause */
/* When a test may fork while it has other threads. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/harness/harness.h"

TestSuite(quiet, .timeout = 60);

static atomic_bool over;
static int wake[2];

static void *runs_then_sleeps(void *arg)
{
	char c;

	(void)arg;
	while (!over)
		;
	return read(wake[0], &c, 1) == 1 ? NULL : wake;
}

Test(quiet, others_sleep__is_true_only_when_all_do)
{
	pthread_t t;
	void *bad;

	cr_assert_eq(pipe(wake), 0);
	cr_assert_eq(pthread_create(&t, NULL, runs_then_sleeps, NULL), 0);
	cr_expect_not(th_others_sleep());
	over = true;
	cr_expect(TH_WITHIN(20000, th_others_sleep()));
	cr_assert_eq(write(wake[1], "x", 1), 1);
	cr_assert_eq(pthread_join(t, &bad), 0);
	cr_expect_null(bad);
}

Test(quiet, fork__forks_beside_one_that_never_sleeps)
{
	pthread_t t;
	int status;
	pid_t pid;

	cr_assert_eq(pipe(wake), 0);
	cr_assert_eq(write(wake[1], "x", 1), 1);
	cr_assert_eq(pthread_create(&t, NULL, runs_then_sleeps, NULL), 0);
	pid = th_fork();
	if (!pid)
		_exit(7);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	over = true;
	cr_assert_eq(pthread_join(t, NULL), 0);
}
