/* SPDX-License-Identifier: BSD-2-Clause */
/* An LMR with the handle of a freed one: endpoints that have cached the freed one check the new one. */
#include "tests/efa_dat/rig.h"

TestSuite(efa_lmr, .timeout = 120);

static DAT_LMR_HANDLE lmr_of(DAT_PZ_HANDLE pz, int priv)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b.mem };
	DAT_LMR_HANDLE lmr;

	ok(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 4096, pz, (DAT_MEM_PRIV_FLAGS)priv, &lmr,
			  &b.lmr_context, NULL, NULL, NULL));
	return lmr;
}

/* Creates LMRs until one has the handle of the freed one. */
static void put_where(DAT_LMR_HANDLE freed, DAT_PZ_HANDLE pz, int priv)
{
	DAT_LMR_HANDLE lmr = lmr_of(pz, priv);

	for (int i = 0; i < 10000 && lmr != freed; i++) {
		ok(dat_lmr_free(lmr));
		lmr = lmr_of(pz, priv);
	}
	cr_assert_eq(lmr, freed);
}

static void a_message(uint64_t cookie)
{
	ok(do_recv(&b, cookie, 0, 64));
	ok(do_send(&a, cookie, 0, 8));
}

static void is_checked(bool other_pz, int priv)
{
	DAT_PZ_HANDLE pz;
	DAT_LMR_HANDLE lmr;

	pair_open("", "");
	pz = b.pz;
	if (other_pz)
		ok(dat_pz_create(b.ia, &pz));
	lmr = lmr_of(b.pz, DAT_MEM_PRIV_ALL_FLAG);
	a_message(1);
	cr_assert_eq(took(b.recv, 1), DAT_DTO_SUCCESS);
	cr_assert_eq(took(a.req, 1), DAT_DTO_SUCCESS);
	ok(dat_lmr_free(lmr));
	put_where(lmr, pz, priv);
	a.mem[0] = 0x5a;
	a_message(2);
	cr_assert_eq(took(b.recv, 2), DAT_DTO_ERR_LOCAL_PROTECTION);
	cr_assert_eq(b.mem[0], 0);
	both_broken();
	pair_close();
}

/* Devices give the key of a freed region to a new one; the software EFA draws one of 255. */
Test(efa_lmr, recv__by_context_of_a_freed_lmr_whose_key_another_has_fails)
{
	DAT_LMR_CONTEXT old;
	DAT_LMR_HANDLE lmr;

	pair_open("", "");
	lmr = lmr_of(b.pz, DAT_MEM_PRIV_ALL_FLAG);
	old = b.lmr_context;
	for (int i = 0; i < 10000 && (!i || efa_lkey(b.lmr_context) != efa_lkey(old)); i++) {
		ok(dat_lmr_free(lmr));
		lmr = lmr_of(b.pz, DAT_MEM_PRIV_ALL_FLAG);
	}
	cr_assert_eq(efa_lkey(b.lmr_context), efa_lkey(old));
	b.lmr_context = old;
	a.mem[0] = 0x5a;
	a_message(1);
	cr_assert_eq(took(b.recv, 1), DAT_DTO_ERR_LOCAL_PROTECTION);
	cr_assert_eq(b.mem[0], 0);
	both_broken();
	pair_close();
}

Test(efa_lmr, recv__into_a_reused_lmr_without_local_write_fails)
{
	is_checked(false, DAT_MEM_PRIV_LOCAL_READ_FLAG);
}

Test(efa_lmr, recv__into_a_reused_lmr_of_another_pz_fails)
{
	is_checked(true, DAT_MEM_PRIV_ALL_FLAG);
}
