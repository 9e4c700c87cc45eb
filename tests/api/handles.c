/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles and their objects. bad_input.c of the suite conformance tries invalid handles. */
#include "tests/api/api.h"

enum kind { IA, PZ, EVD, CONN_EVD, EP, LMR, RMR, CNO, KINDS };

static DAT_HANDLE of(const struct api *a, unsigned int kind)
{
	const DAT_HANDLE handle[KINDS] = {
		[IA] = a->ia, [PZ] = a->pz, [EVD] = a->evd, [CONN_EVD] = a->conn_evd,
		[EP] = a->ep, [LMR] = a->lmr, [RMR] = a->rmr, [CNO] = a->cno};

	return handle[kind];
}

TestSuite(handles, .init = api_setup, .fini = api_teardown, .timeout = 120);

/* A stream can only be given an EVD that was created for that stream. */
Test(handles, ep_create__evd_for_other_streams_returns_invalid_handle)
{
	DAT_EP_HANDLE ep;

	assert_code(dat_ep_create(t.ia, t.pz, t.conn_evd, t.evd, t.conn_evd, NULL, &ep),
		    DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_RECV);
	assert_code(dat_ep_create(t.ia, t.pz, t.evd, t.conn_evd, t.conn_evd, NULL, &ep),
		    DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_REQUEST);
	assert_code(dat_ep_create(t.ia, t.pz, t.evd, t.evd, t.evd, NULL, &ep), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_EVD_CONN);
}

Test(handles, get_handle_type__returns_the_type_of_each_object)
{
	static const DAT_HANDLE_TYPE types[KINDS] = {
		[IA] = DAT_HANDLE_TYPE_IA, [PZ] = DAT_HANDLE_TYPE_PZ, [EVD] = DAT_HANDLE_TYPE_EVD,
		[CONN_EVD] = DAT_HANDLE_TYPE_EVD, [EP] = DAT_HANDLE_TYPE_EP,
		[LMR] = DAT_HANDLE_TYPE_LMR, [RMR] = DAT_HANDLE_TYPE_RMR,
		[CNO] = DAT_HANDLE_TYPE_CNO};
	DAT_HANDLE_TYPE type;

	for (unsigned int k = 0; k < KINDS; k++) {
		assert_ok(dat_get_handle_type(of(&t, k), &type));
		cr_assert_eq(type, types[k]);
	}
	assert_ret(dat_get_handle_type(t.ep, NULL), DAT_INVALID_PARAMETER);
}

Test(handles, consumer_context__is_kept_for_each_object)
{
	DAT_CONTEXT c;

	for (unsigned int k = 0; k < KINDS; k++) {
		assert_ok(dat_get_consumer_context(of(&t, k), &c));
		cr_assert_eq(c.as_64, 0);
		c.as_64 = UINT64_C(0x123456789abcdef0) + k;
		assert_ok(dat_set_consumer_context(of(&t, k), c));
	}
	for (unsigned int k = 0; k < KINDS; k++) {
		assert_ok(dat_get_consumer_context(of(&t, k), &c));
		cr_assert_eq(c.as_64, UINT64_C(0x123456789abcdef0) + k);
	}
	assert_ret(dat_get_consumer_context(t.ep, NULL), DAT_INVALID_PARAMETER);
}
