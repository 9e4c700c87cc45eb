/* SPDX-License-Identifier: BSD-2-Clause */
/* When memory or descriptors are missing, the call returns the error, and earlier objects still
 * work. */
#include <string.h>

#include "tests/api/api.h"

/* t.ia stays open, so that the threads shared by all IAs are running. */
TestSuite(fail, .init = api_setup, .fini = api_teardown, .timeout = 120);

struct zoo {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, evd;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
};

static DAT_RETURN make_zoo(struct zoo *z)
{
	DAT_REGION_DESCRIPTION region = {.for_va = t.mem};
	DAT_RETURN ret = dat_ia_open((char *)api_ia_name(), 8, &z->async, &z->ia);

	if (ret == DAT_SUCCESS)
		ret = dat_pz_create(z->ia, &z->pz);
	if (ret == DAT_SUCCESS)
		ret = dat_evd_create(z->ia, 16, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &z->evd);
	if (ret == DAT_SUCCESS)
		ret = dat_ep_create(z->ia, z->pz, NULL, z->evd, z->evd, NULL, &z->ep);
	if (ret == DAT_SUCCESS)
		ret = dat_lmr_create(z->ia, DAT_MEM_TYPE_VIRTUAL, region, API_MEM, z->pz,
				     DAT_MEM_PRIV_ALL_FLAG, &z->lmr, NULL, NULL, NULL, NULL);
	if (ret == DAT_SUCCESS)
		ret = dat_rmr_create(z->pz, &z->rmr);
	return ret;
}

static void free_zoo(struct zoo *z)
{
	if (!z->ia)
		return;
	cr_assert(!z->rmr || dat_rmr_free(z->rmr) == DAT_SUCCESS);
	cr_assert(!z->lmr || dat_lmr_free(z->lmr) == DAT_SUCCESS);
	cr_assert(!z->ep || dat_ep_free(z->ep) == DAT_SUCCESS);
	cr_assert(!z->evd || dat_evd_free(z->evd) == DAT_SUCCESS);
	cr_assert(!z->pz || dat_pz_free(z->pz) == DAT_SUCCESS);
	assert_ok(dat_ia_close(z->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

static void run_once(void)
{
	struct zoo z;

	memset(&z, 0, sizeof(z));
	assert_ok(make_zoo(&z));
	free_zoo(&z);
}

/* Objects created before the failure are complete: they can be freed one by one. */
Test(fail, create__nth_allocation_fails_and_leaks_nothing)
{
	struct th_usage before, after;
	unsigned long n = 0, seen;
	DAT_RETURN ret;

	run_once();
	th_usage(&before);
	do {
		struct zoo z;

		memset(&z, 0, sizeof(z));
		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, ++n);
		ret = make_zoo(&z);
		seen = th_fail_stop();
		if (ret != DAT_SUCCESS)
			assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
		free_zoo(&z);
	} while (seen >= n && n < 2000);
	cr_assert_lt(seen, n);
	cr_assert_gt(n, 8);
	assert_ok(ret);
	th_usage(&after);
	cr_assert_leq(after.fds, before.fds);
	cr_assert_leq(after.threads, before.threads);
	run_once();
}

Test(fail, create__without_descriptors_returns_insufficient_resources)
{
	struct th_usage before, after;
	DAT_RETURN ret = DAT_SUCCESS;
	unsigned int left = 0;

	run_once();
	th_usage(&before);
	do {
		struct zoo z;

		memset(&z, 0, sizeof(z));
		cr_assert_eq(th_fds_limit(left++), 0);
		ret = make_zoo(&z);
		th_fds_restore();
		if (ret != DAT_SUCCESS)
			assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
		free_zoo(&z);
	} while (ret != DAT_SUCCESS && left < 50);
	assert_ok(ret);
	cr_assert_gt(left, 1);
	th_usage(&after);
	cr_assert_leq(after.fds, before.fds);
	run_once();
}
