/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of the InfiniBand extension: queries without an open IA, the arguments of its posts, and threads that
 * reset counters. */
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "tests/dat2/dat2.h"

TestSuite(extension, .timeout = 60);

static DAT_NAME_PTR named(const char *name)
{
	return (DAT_NAME_PTR)(unsigned long)name;
}

static DAT_RETURN open_query(const char *name, DAT_IA_HANDLE *ia, DAT_IA_ATTR *attr,
			     DAT_PROVIDER_ATTR *provider)
{
	return dat_ib_open_query(named(name), ia, DAT_IA_FIELD_ALL, attr, DAT_PROVIDER_FIELD_ALL,
				 provider);
}

/* dtestx -q. No IA is open in this process. */
Test(extension, open_query__returns_attributes_until_close_query)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	const DAT_NAMED_ATTR *of;
	bool counters = false;
	DAT_IA_ATTR attr;

	assert_ok(open_query(side_ia_name(), &ia, &attr, &provider));
	cr_assert_not_null(ia);
	cr_assert_str_eq(attr.adapter_name, side_ia_name());
	cr_assert_not_null(attr.ia_address_ptr);
	cr_assert_str_eq(provider.provider_name, "dapl-direct");
	of = provider.provider_specific_attr;
	for (DAT_COUNT i = 0; i < provider.num_provider_specific_attr; i++)
		counters = counters || !strcmp(of[i].name, DAT_IB_ATTR_COUNTERS);
	cr_assert(counters);
	assert_ok(dat_ib_close_query(ia));
	assert_ret(PROVIDER(ia)->ia_query_func(ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL),
		   DAT_INVALID_HANDLE);
}

Test(extension, open_query__of_an_adapter_in_use_succeeds, .init = sides_open, .fini = sides_close)
{
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;
	DAT_IA_HANDLE ia;

	assert_ok(open_query(side_ia_name(), &ia, &attr, &provider));
	assert_ok(dat_ib_close_query(ia));
	sides_connect();
}

Test(extension, open_query__invalid_arguments_are_refused)
{
	DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
	DAT_PROVIDER_ATTR provider;
	DAT_IA_ATTR attr;

	assert_ret(open_query("no-such-0", &ia, &attr, &provider), DAT_PROVIDER_NOT_FOUND);
	assert_code(open_query(side_ia_name(), NULL, &attr, &provider), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG2);
	assert_code(open_query(side_ia_name(), &ia, NULL, &provider), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG4);
	assert_code(open_query(side_ia_name(), &ia, &attr, NULL), DAT_INVALID_PARAMETER,
		    DAT_INVALID_ARG6);
	cr_assert_null(ia);
}

Test(extension, close_query__takes_only_an_ia, .init = sides_open, .fini = sides_close)
{
	side_needs(DAT_IB_ATTR_IMMED_DATA);	/* without the extension libdat2 itself refuses the call */
	assert_ret(dat_ib_close_query(a.pz), DAT_INVALID_HANDLE);
	sides_connect();
}

/* A message of four bytes. Nothing is written, so there need be no place for it. */
Test(extension, write_immed__without_segments_needs_no_remote_buffer, .init = sides_open, .fini = sides_close)
{
	DAT_LMR_TRIPLET recv = side_segment(&b, 4096, 64);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };
	DAT_IB_EXTENSION_EVENT_DATA data;
	DAT_EVENT ev;

	side_needs(DAT_IB_ATTR_IMMED_DATA);
	sides_connect();
	assert_ok(dat_ep_post_recv(b.ep, 1, &recv, cookie, 0));
	assert_ok(dat_ib_post_rdma_write_immed(a.ep, 0, NULL, cookie, NULL, 0x1234, 0));
	ev = side_wait(b.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	memcpy(&data, ev.event_extension_data, sizeof(data));
	cr_assert_eq(data.val.immed.data, 0x1234);
	cr_assert_eq(ev.event_data.dto_completion_event_data.transfered_length, 0);
	ev = side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
}

#define BAD_FLAGS ((DAT_COMPLETION_FLAGS)0x4000)

Test(extension, posts__number_their_own_arguments, .init = sides_open, .fini = sides_close)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 8, 8);
	DAT_RMR_TRIPLET to = side_remote(&b, 16, 8);
	DAT_DTO_COOKIE cookie = { .as_64 = 5 };

	side_needs(DAT_IB_ATTR_FETCH_AND_ADD);
	sides_connect();
	assert_code(dat_ib_post_rdma_write_immed(a.ep, 1, NULL, cookie, &to, 7, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cookie, NULL, 7, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	assert_code(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cookie, &to, 7, BAD_FLAGS),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
	assert_code(dat_ib_post_fetch_and_add(a.ep, 2, NULL, cookie, &to, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	assert_code(dat_ib_post_fetch_and_add(a.ep, 2, &from, cookie, &to, BAD_FLAGS),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	assert_code(dat_ib_post_cmp_and_swap(a.ep, 1, 2, NULL, cookie, &to, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	assert_code(dat_ib_post_cmp_and_swap(a.ep, 1, 2, &from, cookie, NULL, 0),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	assert_code(dat_ib_post_cmp_and_swap(a.ep, 1, 2, &from, cookie, &to, BAD_FLAGS),
		    DAT_INVALID_PARAMETER, DAT_INVALID_ARG7);
}

static bool stop;

static void *count_and_reset(void *evd)
{
	DAT_UINT64 v[DCNT_EVD_ALL_COUNTERS];
	DAT_EVENT ev;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		dat_evd_dequeue(evd, &ev);
		dat_ib_query_counters(evd, DCNT_EVD_DEQUEUE, v, 1);
	}
	return NULL;
}

/* A query may read the counter before the other thread's dequeue, and the value at the reset after it. */
Test(extension, query_counters__beside_a_reset_returns_no_negative_number, .init = sides_open,
     .fini = sides_close)
{
	enum { QUERIES = 4000000 };
	DAT_UINT64 v[DCNT_EVD_ALL_COUNTERS], most = 0;
	DAT_EVD_HANDLE evd;
	pthread_t thread;

	side_needs(DAT_IB_ATTR_IMMED_DATA);	/* otherwise libdat2 knows no extension */
	assert_ok(dat_evd_create(a.ia, 4, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	cr_assert_eq(pthread_create(&thread, NULL, count_and_reset, evd), 0);
	for (int i = 0; i < QUERIES; i++) {
		assert_ok(dat_ib_query_counters(evd, DCNT_EVD_DEQUEUE, v, 0));
		most = v[DCNT_EVD_DEQUEUE] > most ? v[DCNT_EVD_DEQUEUE] : most;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	cr_assert_leq(most, INT64_MAX, "the counter was -%llu", (unsigned long long)-most);
}
