/* SPDX-License-Identifier: BSD-2-Clause */
/* An LMR with the handle of a freed one: an endpoint that has used the freed one checks the new one. */
#include "tests/e2e/rig.h"

TestSuite(lmr_reuse, .timeout = 120);

static struct end a, b;

static void setup(void)
{
	pair_open(&a, &b);
}

static void teardown(void)
{
	pair_close(&a, &b);
}

/* Makes LMRs until one has the handle of the freed one. */
static void make_where(DAT_LMR_HANDLE freed, DAT_LMR_CONTEXT *context)
{
	DAT_LMR_HANDLE lmr = end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, context, NULL);

	for (int i = 0; i < 10000 && lmr != freed; i++) {
		must(dat_lmr_free(lmr));
		lmr = end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, context, NULL);
	}
	check(lmr == freed);
}

static void post(DAT_LMR_TRIPLET *t, uint64_t cookie)
{
	must(do_recv(&b, cookie, 0, 64));
	must(dat_ep_post_send(a.ep, 1, t, (DAT_DTO_COOKIE){ .as_64 = cookie }, 0));
}

RIG_TEST(lmr_reuse, send__from_a_reused_lmr_of_another_pz_fails)
{
	DAT_LMR_TRIPLET t = seg(&a, 0, 8);
	DAT_PZ_HANDLE own = a.pz;
	DAT_LMR_HANDLE freed = end_lmr(&a, a.mem, 4096, DAT_MEM_PRIV_ALL_FLAG, &t.lmr_context, NULL);

	post(&t, 1);
	took(a.req_evd, 1, DAT_DTO_SUCCESS);
	took(b.recv_evd, 1, DAT_DTO_SUCCESS);
	must(dat_lmr_free(freed));
	must(dat_pz_create(a.ia, &a.pz));
	make_where(freed, &t.lmr_context);
	a.pz = own;
	post(&t, 2);
	took(a.req_evd, 2, DAT_DTO_ERR_LOCAL_PROTECTION);
}
