/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles: live, freed, foreign, and invalid pointers. */
#include <string.h>

#include "core/obj.h"
#include "tests/core/fake_hw.h"

Test(core, obj_get__finds_a_live_object)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	DAT_PZ_HANDLE pz = fake_pz(ia);

	cr_assert_eq(dap_obj_get(pz, DAP_PZ, ia), pz);
	cr_assert_eq(dap_obj_get(pz, DAP_PZ, NULL), pz);
	cr_assert_eq(dap_obj_type(pz), DAP_PZ);
	fake_close(ia);
}

Test(core, obj_get__refuses_any_other_pointer)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	char *pz = fake_pz(ia);
	const void *bad[] = {NULL, (void *)1, (void *)2, (void *)-1, pz + 1, pz + 8, pz + 64, pz - 64,
			     &ia, (void *)0x7fffffffffff};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (unsigned int t = DAP_IA; t < DAP_TYPES; t++)
			cr_expect_null(dap_obj_get(bad[i], t, NULL),
				       "the invalid pointer %p was accepted as an object of type "
				       "%u",
				       bad[i], t);
		cr_expect_eq(dap_obj_type(bad[i]), DAP_NONE,
			     "the invalid pointer %p was accepted as an object", bad[i]);
	}
	fake_close(ia);
}

Test(core, obj_get__refuses_another_type_or_ia)
{
	DAT_IA_HANDLE ia = fake_open("fake0"), other = fake_open("fake1");
	DAT_PZ_HANDLE pz = fake_pz(ia);

	cr_assert_null(dap_obj_get(pz, DAP_EP, NULL));
	cr_assert_null(dap_obj_get(pz, DAP_PZ, other));
	cr_assert_eq(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	fake_close(ia);
}

Test(core, obj_free__handle_answers_invalid_handle)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	DAT_PZ_HANDLE pz = fake_pz(ia);
	DAT_PZ_PARAM param;

	cr_assert_eq(dat_pz_free(pz), DAT_SUCCESS);
	assert_code(dat_pz_free(pz), DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ);
	assert_code(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param), DAT_INVALID_HANDLE,
		    DAT_INVALID_HANDLE_PZ);
	cr_assert_null(dap_obj_get(pz, DAP_PZ, NULL));
	fake_close(ia);
}

/* For some time a stale handle has the dead table, not that of a new object. */
Test(core, obj_alloc__freed_struct_is_not_reused_at_once)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	DAT_PZ_HANDLE stale = fake_pz(ia);

	cr_assert_eq(dat_pz_free(stale), DAT_SUCCESS);
	for (int i = 0; i < 31; i++) {
		DAT_PZ_HANDLE pz = fake_pz(ia);

		cr_assert_neq(pz, stale);
		cr_assert_eq(dat_pz_free(pz), DAT_SUCCESS);
	}
	fake_close(ia);
}

Test(core, obj_alloc__memory_is_used_again)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	struct dap_pz *pz;
	uint32_t most = 0;

	for (int i = 0; i < 2000; i++) {
		pz = fake_pz(ia);
		most = pz->obj.slot > most ? pz->obj.slot : most;
		cr_assert_eq(dat_pz_free(pz), DAT_SUCCESS);
	}
	cr_assert_lt(most, 128);
	fake_close(ia);
}

Test(core, obj_alloc__many_objects_do_not_overlap)
{
	enum { N = 3000 };
	static DAT_PZ_HANDLE pz[N];
	DAT_IA_HANDLE ia = fake_open("fake0");

	for (int i = 0; i < N; i++) {
		pz[i] = fake_pz(ia);
		cr_assert_eq((uintptr_t)pz[i] % 64, 0);
	}
	for (int i = 0; i < N; i++) {
		DAT_CONTEXT c = {.as_64 = (uint64_t)i};

		cr_assert_eq(dat_set_consumer_context(pz[i], c), DAT_SUCCESS);
	}
	for (int i = 0; i < N; i++) {
		DAT_CONTEXT c;

		cr_assert_eq(dat_get_consumer_context(pz[i], &c), DAT_SUCCESS);
		cr_assert_eq(c.as_64, (uint64_t)i);
	}
	cr_assert_eq(dap_obj_count(DAP_PZ, ia), N);
	fake_close(ia);
	cr_assert_eq(dap_obj_count(DAP_PZ, NULL), 0);
}

Test(core, obj_alloc__starts_zeroed)
{
	DAT_IA_HANDLE ia = fake_open("fake0");
	DAT_CONTEXT c = {.as_64 = 77};

	for (int i = 0; i < 200; i++) {
		DAT_PZ_HANDLE pz = fake_pz(ia);
		DAT_CONTEXT old;

		cr_assert_eq(dat_get_consumer_context(pz, &old), DAT_SUCCESS);
		cr_assert_eq(old.as_64, 0);
		cr_assert_eq(dat_set_consumer_context(pz, c), DAT_SUCCESS);
		cr_assert_eq(dat_pz_free(pz), DAT_SUCCESS);
	}
	fake_close(ia);
}
