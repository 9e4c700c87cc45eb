/* SPDX-License-Identifier: BSD-2-Clause */
/* dat_ia_open(3), dat_ia_query(3), dat_ia_close(3). */
#include <string.h>

#include "tests/api/api.h"

TestSuite(ia, .init = api_setup, .fini = api_teardown, .timeout = 60);

Test(ia, ia_open__invalid_arguments_are_refused)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE ia = (DAT_IA_HANDLE)77;
	char *name = (char *)api_ia_name();

	assert_ret(dat_ia_open(NULL, 8, &async, &ia), DAT_INVALID_PARAMETER);
	assert_ret(dat_ia_open(name, -1, &async, &ia), DAT_INVALID_PARAMETER);
	assert_ret(dat_ia_open(name, 8, NULL, &ia), DAT_INVALID_PARAMETER);
	assert_ret(dat_ia_open(name, 8, &async, NULL), DAT_INVALID_PARAMETER);
	assert_ret(dat_ia_open((char *)"no-such-ia", 8, &async, &ia), DAT_PROVIDER_NOT_FOUND);
	cr_assert_eq(ia, (DAT_IA_HANDLE)77);
	cr_assert_null(async);
}

/* The length is that of a new EVD. */
Test(ia, ia_open__with_an_async_evd_ignores_the_length)
{
	DAT_EVD_HANDLE own = DAT_HANDLE_NULL, given, none = DAT_EVD_ASYNC_EXISTS;
	DAT_IA_HANDLE first, second;

	assert_ok(dat_ia_open((char *)api_ia_name(), 8, &own, &first));
	given = own;
	assert_ok(dat_ia_open((char *)api_ia_name(), -1, &given, &second));
	cr_assert_eq(given, own);
	assert_ok(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	assert_ok(dat_ia_open((char *)api_ia_name(), -1, &none, &second));
	assert_ok(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	assert_ok(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG));
}

Test(ia, ia_open__async_evd_has_the_length)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_EVD_PARAM param;
	DAT_IA_HANDLE ia;
	DAT_EVENT ev;

	assert_ok(dat_ia_open((char *)api_ia_name(), 33, &async, &ia));
	assert_ok(dat_evd_query(async, DAT_EVD_FIELD_ALL, &param));
	cr_assert_geq(param.evd_qlen, 33);
	cr_assert_eq(param.ia_handle, ia);
	cr_assert_eq(param.evd_flags, DAT_EVD_ASYNC_FLAG);
	assert_ret(dat_evd_dequeue(async, &ev), DAT_QUEUE_EMPTY);
	assert_ret(dat_evd_free(async), DAT_INVALID_STATE);
	assert_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	assert_ret(dat_evd_dequeue(async, &ev), DAT_INVALID_HANDLE);
}

Test(ia, ia_open__many_instances_are_independent)
{
	DAT_IA_HANDLE ia[8];
	DAT_PZ_HANDLE pz;

	for (int i = 0; i < 8; i++) {
		DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

		assert_ok(dat_ia_open((char *)api_ia_name(), 8, &async, &ia[i]));
		for (int j = 0; j < i; j++)
			cr_assert_neq(ia[i], ia[j]);
	}
	for (int i = 0; i < 8; i++) {
		assert_ok(dat_pz_create(ia[i], &pz));
		assert_ok(dat_ia_close(ia[i], DAT_CLOSE_ABRUPT_FLAG));
		assert_ret(dat_pz_free(pz), DAT_INVALID_HANDLE);
	}
	assert_ok(dat_pz_create(t.ia, &pz));
}

Test(ia, ia_open__threadsafe_instance_reports_that_it_is)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR attr;
	DAT_IA_HANDLE ia;

	assert_ok(dat_ia_openv((char *)api_ia_name(), 8, &async, &ia, 1, 2, DAT_TRUE));
	assert_ok(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &attr));
	cr_assert_eq(attr.is_thread_safe, DAT_TRUE);
	cr_assert_eq(t.provider_attr.is_thread_safe, DAT_FALSE);
	assert_ok(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

Test(ia, ia_query__attributes_make_sense)
{
	const DAT_IA_ATTR *a = &t.ia_attr;

	cr_assert_str_eq(a->adapter_name, api_ia_name());
	cr_assert_gt(strlen(a->vendor_name), 0);
	cr_assert_eq(a->ia_address_ptr->sa_family, DAT_AF_INET);
	cr_assert_gt(a->max_eps, 0);
	cr_assert_geq(a->max_dto_per_ep, 16);
	cr_assert_gt(a->max_evds, 0);
	cr_assert_geq(a->max_evd_qlen, 64);
	cr_assert_geq(a->max_iov_segments_per_dto, 4);
	cr_assert_gt(a->max_iov_segments_per_rdma_read, 0);
	cr_assert_gt(a->max_iov_segments_per_rdma_write, 0);
	cr_assert_gt(a->max_rdma_read_per_ep_in, 0);
	cr_assert_gt(a->max_rdma_read_per_ep_out, 0);
	cr_assert_gt(a->max_lmrs, 0);
	cr_assert_gt(a->max_rmrs, 0);
	cr_assert_gt(a->max_pzs, 0);
	cr_assert_geq(a->max_lmr_block_size, UINT64_C(1) << 30);
	cr_assert_geq(a->max_message_size, UINT64_C(1) << 30);
	cr_assert_geq(a->max_rdma_size, UINT64_C(1) << 30);
	cr_assert_geq(a->max_lmr_virtual_address, (uintptr_t)t.mem);
}

Test(ia, ia_query__provider_attributes_make_sense)
{
	const DAT_PROVIDER_ATTR *p = &t.provider_attr;

	cr_assert_eq(p->dapl_version_major, 1);
	cr_assert_eq(p->dapl_version_minor, 2);
	cr_assert_geq(p->max_private_data_size, 64);
	cr_assert_gt(p->optimal_buffer_alignment, 0);
	cr_assert_eq(DAT_OPTIMAL_ALIGNMENT % p->optimal_buffer_alignment, 0);
	cr_assert_gt(p->num_provider_specific_attr, 0);
	for (int i = 0; i < p->num_provider_specific_attr; i++) {
		cr_assert_not_null(p->provider_specific_attr[i].name);
		cr_assert_not_null(p->provider_specific_attr[i].value);
	}
}

Test(ia, ia_query__invalid_arguments_are_refused)
{
	DAT_PROVIDER_ATTR p;
	DAT_IA_ATTR a;

	assert_code(dat_ia_query(t.ia, NULL, DAT_IA_FIELD_ALL + 1, &a, 0, NULL),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_ia_query(t.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	assert_code(dat_ia_query(t.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL + 1, &p),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	assert_code(dat_ia_query(t.ia, NULL, 0, NULL, 1, NULL), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG6);
	assert_ok(dat_ia_query(t.ia, NULL, 0, NULL, 0, NULL));
}

Test(ia, ia_close__graceful_refused_while_objects_live)
{
	assert_code(dat_ia_close(t.ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		    DAT_INVALID_STATE_IA_IN_USE);
	assert_code(dat_ia_close(t.ia, 2), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	api_close_gracefully(&t);
	api_open(&t);
}

/* The 30 rounds would leave 30 times as much as one, so a small constant growth is no leak. */
Test(ia, ia_close__leaves_nothing)
{
	struct th_usage before, after;
	struct api a;

	for (int i = 0; i < 60; i++) {
		api_open(&a);
		if (i % 2)
			api_close(&a);
		else
			api_close_gracefully(&a);
		if (i == 30)	/* the allocator has its final size by then */
			th_usage(&before);
	}
	th_usage(&after);
	cr_assert_leq(after.fds, before.fds);
	cr_assert_leq(after.threads, before.threads);
	cr_assert_leq(after.maps, before.maps + 4);
}
