/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection Zones, Local and Remote Memory Regions: life cycles and arguments. */
#include <string.h>
#include <sys/mman.h>

#include "tests/api/api.h"

TestSuite(mem, .init = api_setup, .fini = api_teardown, .timeout = 60);

struct made {
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN size;
	DAT_VADDR addr;
};

static DAT_RETURN make(DAT_MEM_TYPE type, void *what, DAT_VLEN len, DAT_MEM_PRIV_FLAGS priv,
		       struct made *m)
{
	DAT_REGION_DESCRIPTION region = {.for_va = what};

	memset(m, 0xa5, sizeof(*m));
	return dat_lmr_create(t.ia, type, region, len, t.pz, priv, &m->lmr, &m->lmr_context,
			      &m->rmr_context, &m->size, &m->addr);
}

Test(mem, pz_query__returns_its_ia)
{
	DAT_PZ_PARAM param;

	assert_ok(dat_pz_query(t.pz, DAT_PZ_FIELD_ALL, &param));
	cr_assert_eq(param.ia_handle, t.ia);
	assert_code(dat_pz_query(t.pz, 2, &param), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_pz_query(t.pz, DAT_PZ_FIELD_ALL, NULL), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG3);
	assert_code(dat_pz_create(t.ia, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

Test(mem, pz_free__with_any_user_left_is_refused)
{
	DAT_REGION_DESCRIPTION region = {.for_va = t.mem};
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;

	assert_ok(dat_pz_create(t.ia, &pz));
	assert_ok(dat_rmr_create(pz, &rmr));
	assert_code(dat_pz_free(pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE);
	assert_ok(dat_lmr_create(t.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz, 1, &lmr, NULL, NULL,
				 NULL, NULL));
	assert_ok(dat_rmr_free(rmr));
	assert_ret(dat_pz_free(pz), DAT_INVALID_STATE);
	assert_ok(dat_ep_create(t.ia, pz, t.evd, t.evd, t.conn_evd, NULL, &ep));
	assert_ok(dat_lmr_free(lmr));
	assert_ret(dat_pz_free(pz), DAT_INVALID_STATE);
	assert_ok(dat_ep_free(ep));
	assert_ok(dat_pz_free(pz));
}

/* dat_lmr_create(3): without a remote right there is no rmr_context. */
Test(mem, lmr_create__has_an_rmr_context_only_with_a_remote_right)
{
	static const DAT_MEM_PRIV_FLAGS rights[] = {
		0x00, 0x01, 0x10, 0x11, 0x02, 0x03, 0x12, 0x13, 0x30, 0x31, 0x32, 0x33};
	struct made m;

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		bool remote = rights[i] & (DAT_MEM_PRIV_REMOTE_READ_FLAG |
					   DAT_MEM_PRIV_REMOTE_WRITE_FLAG);

		assert_ok(make(DAT_MEM_TYPE_VIRTUAL, t.mem + 100, 1000, rights[i], &m));
		cr_assert_eq(m.rmr_context != 0, remote,
			     "rights 0x%x: the LMR should have an rmr_context only with a remote "
			     "right",
			     rights[i]);
		cr_assert_leq(m.addr, (uintptr_t)t.mem + 100);
		cr_assert_geq(m.addr + m.size, (uintptr_t)t.mem + 1100);
		assert_ok(dat_lmr_free(m.lmr));
	}
}

Test(mem, lmr_create__invalid_arguments_are_refused)
{
	static const struct made untouched;
	struct made pattern, m;

	(void)untouched;
	memset(&pattern, 0xa5, sizeof(pattern));
	assert_code(make(DAT_MEM_TYPE_VIRTUAL, NULL, 64, 1, &m), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG3);
	assert_code(make(DAT_MEM_TYPE_VIRTUAL, t.mem, 0, 1, &m), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG4);
	assert_code(make(DAT_MEM_TYPE_VIRTUAL, t.mem, UINT64_MAX, 1, &m), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG4);
	assert_code(make(3, t.mem, 64, 1, &m), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(make(DAT_MEM_TYPE_VIRTUAL, t.mem, 64, 0x40, &m), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG6);
	cr_assert_eq(memcmp(&m, &pattern, sizeof(m)), 0);
}

Test(mem, lmr_create__unmapped_memory_is_refused)
{
	char *hole = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct made m;
	DAT_RETURN ret;

	cr_assert_neq(hole, MAP_FAILED);
	cr_assert_eq(munmap(hole, 8192), 0);
	ret = make(DAT_MEM_TYPE_VIRTUAL, hole, 8192, DAT_MEM_PRIV_ALL_FLAG, &m);
	cr_assert_neq(ret, DAT_SUCCESS);
}

Test(mem, lmr_create__of_an_lmr_has_its_range_and_a_new_context)
{
	DAT_LMR_PARAM param;
	struct made m;

	assert_ok(make(DAT_MEM_TYPE_LMR, t.lmr, 5, DAT_MEM_PRIV_LOCAL_READ_FLAG, &m));
	cr_assert_neq(m.lmr_context, t.lmr_context);
	assert_ok(dat_lmr_query(m.lmr, DAT_LMR_FIELD_ALL, &param));
	cr_assert_eq(param.mem_type, DAT_MEM_TYPE_LMR);
	cr_assert_eq(param.region_desc.for_lmr_handle, t.lmr);
	cr_assert_eq(param.length, API_MEM);
	cr_assert_eq(param.mem_priv, DAT_MEM_PRIV_LOCAL_READ_FLAG);
	assert_ok(dat_lmr_free(m.lmr));
}

Test(mem, lmr_create__overlapping_regions_have_distinct_contexts)
{
	struct made m[32];

	for (int i = 0; i < 32; i++) {
		assert_ok(make(DAT_MEM_TYPE_VIRTUAL, t.mem + i, 4096, DAT_MEM_PRIV_ALL_FLAG, &m[i]));
		for (int j = 0; j < i; j++)
			cr_assert_neq(m[i].lmr_context, m[j].lmr_context);
	}
	for (int i = 0; i < 32; i++)
		assert_ok(dat_lmr_free(m[i].lmr));
}

Test(mem, lmr_create__of_64_mb_succeeds)
{
	size_t len = 64 << 20;
	char *big = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct made m;

	cr_assert_neq(big, MAP_FAILED);
	assert_ok(make(DAT_MEM_TYPE_VIRTUAL, big, len, DAT_MEM_PRIV_ALL_FLAG, &m));
	assert_ok(dat_lmr_free(m.lmr));
	munmap(big, len);
}

Test(mem, lmr_query__returns_the_values_of_creation)
{
	DAT_LMR_PARAM param;

	assert_ok(dat_lmr_query(t.lmr, DAT_LMR_FIELD_ALL, &param));
	cr_assert_eq(param.ia_handle, t.ia);
	cr_assert_eq(param.pz_handle, t.pz);
	cr_assert_eq(param.mem_type, DAT_MEM_TYPE_VIRTUAL);
	cr_assert_eq(param.region_desc.for_va, t.mem);
	cr_assert_eq(param.length, API_MEM);
	cr_assert_eq(param.mem_priv, DAT_MEM_PRIV_ALL_FLAG);
	cr_assert_eq(param.lmr_context, t.lmr_context);
	cr_assert_eq(param.rmr_context, t.rmr_context);
	cr_assert_geq(param.registered_size, API_MEM);
	assert_code(dat_lmr_query(t.lmr, 0x400, &param), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	assert_code(dat_lmr_query(t.lmr, 1, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
}

Test(mem, lmr_sync__invalid_segments_are_refused)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = t.lmr_context, .virtual_address = (uintptr_t)t.mem,
			       .segment_length = API_MEM};

	assert_ok(dat_lmr_sync_rdma_read(t.ia, &seg, 1));
	assert_ok(dat_lmr_sync_rdma_write(t.ia, &seg, 1));
	assert_ok(dat_lmr_sync_rdma_write(t.ia, NULL, 0));
	assert_ret(dat_lmr_sync_rdma_read(t.ia, NULL, 1), DAT_INVALID_PARAMETER);
	seg.segment_length++;
	assert_ret(dat_lmr_sync_rdma_read(t.ia, &seg, 1), DAT_INVALID_PARAMETER);
	seg.segment_length--;
	seg.lmr_context ^= 1;
	assert_ret(dat_lmr_sync_rdma_write(t.ia, &seg, 1), DAT_INVALID_PARAMETER);
}

Test(mem, rmr_create__each_of_a_hundred_starts_unbound)
{
	DAT_RMR_HANDLE rmr[100];
	DAT_RMR_PARAM param;

	for (int i = 0; i < 100; i++) {
		assert_ok(dat_rmr_create(t.pz, &rmr[i]));
		assert_ok(dat_rmr_query(rmr[i], DAT_RMR_FIELD_ALL, &param));
		cr_assert_eq(param.pz_handle, t.pz);
		cr_assert_eq(param.lmr_triplet.segment_length, 0);
	}
	for (int i = 0; i < 100; i++)
		assert_ok(dat_rmr_free(rmr[i]));
	assert_code(dat_rmr_create(t.pz, NULL), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}

/* An unconnected endpoint accepts no bind. */
static DAT_RMR_HANDLE window;

static void create_window(void)
{
	dat_rmr_create(t.pz, &window);
}

Test(mem, rmr_create__by_a_cancelled_thread_is_completed)
{
	cr_assert(th_cancelled(create_window));
	assert_ok(dat_rmr_free(window));
}

Test(mem, rmr_bind__unconnected_returns_invalid_state)
{
	DAT_LMR_TRIPLET seg = {.lmr_context = t.lmr_context, .virtual_address = (uintptr_t)t.mem,
			       .segment_length = 64};
	DAT_RMR_COOKIE cookie = {.as_64 = 1};
	DAT_RMR_CONTEXT context = 77;

	assert_code(dat_rmr_bind(t.rmr, &seg, DAT_MEM_PRIV_REMOTE_READ_FLAG, t.ep, cookie, 0,
				 &context), DAT_INVALID_STATE, DAT_INVALID_STATE_EP_UNCONNECTED);
	cr_assert_eq(context, 77);
}
