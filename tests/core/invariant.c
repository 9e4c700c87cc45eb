/* SPDX-License-Identifier: BSD-2-Clause */
/* Invariants, which only a defect of the library itself breaks. Each test plants such a defect. */
#include <signal.h>
#include <stdlib.h>

#include "core/mem/lmr.h"
#include "core/obj.h"
#include "tests/core/fake_hw.h"

static struct fake_objects o;
static DAT_EVD_HANDLE async;

static void setup(void)
{
	unsetenv("DAPL_DBG_ABORT");
	fake_open_objects(&o, DAT_EVD_DEFAULT_FLAG);
	cr_assert_eq(dat_ia_query(o.ia, &async, 0, NULL, 0, NULL), DAT_SUCCESS);
}

TestSuite(invariant, .init = setup, .timeout = 60);

static void assert_reported_once(void)
{
	DAT_EVENT ev;

	cr_assert_eq(dat_evd_wait(async, 10000000, 1, &ev, &(DAT_COUNT){ 0 }), DAT_SUCCESS);
	cr_assert_eq(ev.event_number, DAT_ASYNC_ERROR_IA_CATASTROPHIC);
	cr_assert_eq(ev.event_data.asynch_error_event_data.dat_handle, o.ia);
	assert_ret(dat_evd_wait(async, 50000, 1, &ev, &(DAT_COUNT){ 0 }), DAT_TIMEOUT_EXPIRED);
}

static void drop_reference(struct dap_pz *pz)
{
	__atomic_sub_fetch(&pz->refs, 1, __ATOMIC_RELAXED);
}

Test(invariant, pz_drop__of_no_reference_fails_the_ia)
{
	static char mem[64];
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE lmr = fake_lmr(o.ia, o.pz, mem, sizeof(mem), DAT_MEM_PRIV_ALL_FLAG, &context);

	drop_reference((struct dap_pz *)o.pz);
	drop_reference((struct dap_pz *)o.pz);	/* drops the reference of the endpoint */
	cr_assert_eq(dat_lmr_free(lmr), DAT_SUCCESS);
	assert_reported_once();
}

Test(invariant, two_broken__are_reported_once)
{
	struct dap_obj *evd = (struct dap_obj *)o.evd;

	cr_assert_not(dap_invariant(evd, evd->type == DAP_EP));
	cr_assert_not(dap_invariant(evd, evd->type == DAP_PZ));
	assert_reported_once();
	cr_assert(dap_invariant(evd, evd->type == DAP_EVD));
	fake_close(o.ia);
}

Test(invariant, poll__of_another_evd_is_no_event)
{
	struct dap_event of_other = { .number = DAP_EV_DTO };
	DAT_EVD_HANDLE other = fake_evd(o.ia, 4, DAT_EVD_DTO_FLAG);
	DAT_EVENT ev;

	of_other.dto.ep = (struct dap_ep *)o.ep;
	fake_complete(other, &of_other);
	assert_ret(dat_evd_wait(other, 1000, 1, &ev, &(DAT_COUNT){ 0 }), DAT_TIMEOUT_EXPIRED);
	assert_reported_once();
}

Test(invariant, obj_free__twice_leaves_the_pool_alone)
{
	struct dap_obj *pz = (struct dap_obj *)fake_pz(o.ia);
	DAT_PZ_HANDLE next[64];

	dap_obj_free(pz);
	dap_obj_free(pz);
	assert_reported_once();
	for (int i = 0; i < 64; i++) {
		next[i] = fake_pz(o.ia);
		for (int k = 0; k < i; k++)
			cr_assert_neq(next[i], next[k]);
	}
}

Test(invariant, ia_close__with_an_object_left_still_closes)
{
	struct dap_obj *left = dap_obj_alloc(DAP_CR, (struct dap_ia *)o.ia);

	left->type = DAP_CNO;	/* the object is now in the pool of another type, where no close
				 * finds it */
	cr_assert_eq(dat_ia_close(o.ia, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}

Test(invariant, broken__with_DAPL_DBG_ABORT_aborts, .signal = SIGABRT)
{
	setenv("DAPL_DBG_ABORT", "1", 1);
	dap_invariant((struct dap_obj *)o.pz, ((struct dap_pz *)o.pz)->refs == 77);
}

/* A freed object has no IA that could fail. */
Test(invariant, broken__of_an_object_without_an_ia_is_only_logged)
{
	struct dap_obj object = { .type = DAP_PZ };

	cr_assert_not(dap_invariant(&object, object.type == DAP_EP));
	assert_ret(dat_evd_wait(async, 50000, 1, &(DAT_EVENT){ 0 }, &(DAT_COUNT){ 0 }), DAT_TIMEOUT_EXPIRED);
	fake_close(o.ia);
}
