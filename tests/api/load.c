/* SPDX-License-Identifier: BSD-2-Clause */
/* The first dat_ia_open() of a process loads the provider. Here it runs out of memory. */
#include <stdio.h>
#include <string.h>

#include "tests/api/api.h"

#define MANY 3000

TestSuite(load, .timeout = 120);

static DAT_RETURN open_and_close(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret = dat_ia_open((char *)api_ia_name(), 8, &async, &ia);

	return ret == DAT_SUCCESS ? dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) : ret;
}

/* Runs in a child process each time, because a library stays loaded. 0: the n-th allocation failed;
 * 1: there are fewer allocations; 2: wrong result. */
static int fail_nth(int sock, void *arg)
{
	unsigned long n = *(unsigned long *)arg, seen;
	DAT_RETURN ret, again;

	(void)sock;
	th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, n);
	ret = open_and_close();
	seen = th_fail_stop();
	again = open_and_close();
	if ((ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) &&
	    again == DAT_SUCCESS)
		return seen < n;
	fprintf(stderr, "allocation %lu: 0x%08x, then 0x%08x\n", n, ret, again);
	return 2;
}

Test(load, ia_open__nth_allocation_of_the_first_fails_and_the_next_works)
{
	int status = 0;

	/* libmlx5 registers with libibverbs only once, when it is loaded. A failed registration is not
	 * repeated. */
	if (strncmp(api_ia_name(), "soft-", 5))
		cr_skip_test("libibverbs 44 crashes after some of these failed allocations");
	for (unsigned long n = 1; n < MANY && !status; n++) {
		struct th_child child;

		cr_assert_eq(th_spawn(&child, fail_nth, &n), 0);
		status = th_join(&child, 20000);
	}
	cr_assert_eq(status, 1);
}
