/* SPDX-License-Identifier: BSD-2-Clause */
/* The n-th allocation fails, or no descriptor is left: the call returns an error, and the next try
 * works. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/harness/harness.h"
#include "tests/libdat/util.h"

#define LIMIT 200

/* Returns NULL, or the text of the error. This runs in a child, where Criterion's checks do not
 * work. */
static const char *one_round(void)
{
	DAT_PROVIDER_INFO info[2], *to[] = {&info[0], &info[1]};
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN ret;
	DAT_COUNT n = -1;

	ret = dat_registry_list_providers(2, &n, to);
	if (ret != DAT_SUCCESS && DAT_GET_TYPE(ret) != DAT_INTERNAL_ERROR)
		return "the list of providers returned an unexpected code";
	if (n != (ret == DAT_SUCCESS ? 2 : 0))
		return "the list has a wrong number of providers";
	ret = open_ia("b", DAT_FALSE, &ia);
	if ((ret == DAT_SUCCESS) != (ia != NULL))
		return "the open returned an error, but wrote a handle";
	if (ret == DAT_SUCCESS)
		return dat_ia_close(ia, DAT_CLOSE_DEFAULT) == DAT_SUCCESS ? NULL : "close failed";
	return DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES
		       ? NULL
		       : "the open returned an unexpected code";
}

/* Runs in a child each time, because a library stays loaded. */
static int fail_nth(int sock, void *arg)
{
	unsigned long n = *(unsigned long *)arg, done;
	const char *wrong;
	DAT_IA_HANDLE ia;

	(void)sock;
	th_fail_start(TH_FAIL_HEAP, n);
	wrong = one_round();
	done = th_fail_stop();
	if (!wrong && open_ia("a", DAT_FALSE, &ia) != DAT_SUCCESS)
		wrong = "after the failure the next open failed";
	else if (!wrong && dat_ia_close(ia, DAT_CLOSE_DEFAULT) != DAT_SUCCESS)
		wrong = "after the failure the next close failed";
	if (wrong)
		fprintf(stderr, "allocation %lu failed: %s\n", n, wrong);
	return wrong ? 2 : done < n ? 1 : 0;
}

Test(libdat, nomem__each_failed_allocation_lets_the_next_open_succeed, .timeout = 120)
{
	unsigned long n;
	int status = 0;

	setenv("DAT_DBG_TYPE", "0", 1);
	use_conf("a u1.2 nonthreadsafe default %s d.1.2 a b\n"
		 "b u1.2 nonthreadsafe default %s d.1.2 a b\n", plugin_path("one"), plugin_path("two"));
	for (n = 1; n < LIMIT && status == 0; n++) {
		struct th_child child;

		cr_assert_eq(th_spawn(&child, fail_nth, &n), 0);
		status = th_join(&child, 20000);
	}
	cr_assert_eq(status, 1, "the run with failed allocation %lu exited with status %d", n,
		     status);
	cr_assert_gt(n, 5, "too few allocations were made to fail");
}

Test(libdat, nomem__without_descriptors_returns_insufficient_resources)
{
	DAT_IA_HANDLE ia;

	use_conf("a u1.2 nonthreadsafe default %s d.1.2 a b\n", plugin_path("one"));
	setenv("DAT_DBG_TYPE", "0", 1);
	cr_assert_eq(th_fds_limit(0), 0);
	TYPE_IS(open_ia("a", DAT_FALSE, &ia), DAT_INSUFFICIENT_RESOURCES);
	th_fds_restore();
	TYPE_IS(open_ia("c", DAT_FALSE, &ia), DAT_PROVIDER_NOT_FOUND);
	OK(open_ia("a", DAT_FALSE, &ia));
	OK(dat_ia_close(ia, DAT_CLOSE_DEFAULT));
}
