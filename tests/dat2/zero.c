/* SPDX-License-Identifier: BSD-2-Clause */
/* LMRs and RMRs with zero-based addresses. b owns the memory, a accesses it. */
#include <pthread.h>
#include <string.h>

#include "tests/dat2/dat2.h"
#include "tests/harness/harness.h"

enum { AT = 1001, LEN = 3000 };		/* an offset and a length that are no page boundaries */

static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;

static const DAT_DTO_COOKIE cookie = { .as_64 = 4 };
static const DAT_RMR_COOKIE bind_cookie = { .as_64 = 9 };

/* Part of b's memory, starting at AT. */
static void setup(void)
{
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR at = 99;
	DAT_VLEN size;

	sides_open();
	side_needs_zero_based();
	region.for_va = b.mem + AT;
	assert_ok(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, LEN, b.pz,
				 DAT_MEM_PRIV_ALL_FLAG |
				 (DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC,
				 DAT_VA_TYPE_ZB, &lmr, &lmr_context, &rmr_context, &size, &at));
	cr_assert_eq(at, 0);
	cr_assert_eq(size, LEN);
	sides_connect();
}

TestSuite(zero, .init = setup, .fini = sides_close, .timeout = 60);

static DAT_DTO_COMPLETION_STATUS dto(const struct side *s)
{
	return side_wait(s->dto, DAT_DTO_COMPLETION_EVENT)
		.event_data.dto_completion_event_data.status;
}

static DAT_DTO_COMPLETION_STATUS write_at(DAT_RMR_CONTEXT context, DAT_VADDR at, DAT_SEG_LENGTH len,
					  int byte)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, len);
	DAT_RMR_TRIPLET to = { at, len, context };

	memset(a.mem, byte, len);
	assert_ok(dat_ep_post_rdma_write(a.ep, 1, &from, cookie, &to, 0));
	return dto(&a);
}

/* Checks that only b's bytes from the LMR's offset on have changed. */
static void landed(DAT_VADDR offset, DAT_SEG_LENGTH len, int byte)
{
	const char *p = b.mem + AT + offset;

	for (DAT_SEG_LENGTH i = 0; i < len; i++)
		cr_assert_eq(p[i], (char)byte, "wrong byte at offset %u", i);
	cr_assert_neq(p[-1], (char)byte);
	cr_assert_neq(p[len], (char)byte);
}

static DAT_RMR_CONTEXT bind_it(DAT_RMR_HANDLE rmr, DAT_LMR_HANDLE of, DAT_LMR_TRIPLET part,
			       DAT_VA_TYPE type)
{
	DAT_RMR_CONTEXT context = 0;
	DAT_EVENT ev;

	assert_ok(dat_rmr_bind(rmr, of, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, type, b.ep,
			       bind_cookie, 0, &context));
	ev = side_wait(b.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	cr_assert_eq(ev.event_data.rmr_completion_event_data.status, DAT_RMR_BIND_SUCCESS);
	return context;
}

Test(zero, lmr__zero_based_is_reported)
{
	DAT_LMR_PARAM param;

	assert_ok(dat_lmr_query(lmr, DAT_LMR_FIELD_ALL, &param));
	cr_assert_eq(param.va_type, DAT_VA_TYPE_ZB);
	cr_assert_eq(param.registered_address, 0);
	cr_assert_eq(param.region_desc.for_va, b.mem + AT);
	assert_ok(dat_lmr_query(b.lmr, DAT_LMR_FIELD_ALL, &param));
	cr_assert_eq(param.va_type, DAT_VA_TYPE_VA);
	assert_ok(dat_lmr_free(lmr));
}

Test(zero, lmr__is_written_from_outside)
{
	cr_assert_eq(write_at(rmr_context, 0, 8, 1), DAT_DTO_SUCCESS);
	landed(0, 8, 1);
	cr_assert_eq(write_at(rmr_context, LEN - 700, 700, 2), DAT_DTO_SUCCESS);
	landed(LEN - 700, 700, 2);
	cr_assert_eq(write_at(rmr_context, LEN - 7, 8, 3), DAT_DTO_ERR_REMOTE_ACCESS);
}

Test(zero, lmr__has_no_virtual_addresses)
{
	cr_assert_eq(write_at(rmr_context, (DAT_VADDR)(unsigned long)b.mem + AT, 8, 1),
		     DAT_DTO_ERR_REMOTE_ACCESS);
}

Test(zero, lmr__is_sent_from)
{
	static const DAT_SEG_LENGTH lens[] = { 8, 20, 64, 200, 2000 };

	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		DAT_LMR_TRIPLET from = { 100, lens[i], lmr_context };
		DAT_LMR_TRIPLET to = side_segment(&a, 0, lens[i]);

		memset(b.mem + AT + 100, (int)i + 1, lens[i]);
		assert_ok(dat_ep_post_recv(a.ep, 1, &to, cookie, 0));
		assert_ok(dat_ep_post_send(b.ep, 1, &from, cookie, 0));
		cr_assert_eq(dto(&b), DAT_DTO_SUCCESS);
		cr_assert_eq(dto(&a), DAT_DTO_SUCCESS);
		cr_assert_eq(memcmp(a.mem, b.mem + AT + 100, lens[i]), 0,
			     "wrong data of a message of %u bytes", lens[i]);
	}
}

static DAT_LMR_HANDLE lmr_of(DAT_VA_TYPE type, DAT_LMR_CONTEXT *context)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b.mem + AT };
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE made;
	DAT_VADDR at;
	DAT_VLEN size;

	assert_ok(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, LEN, b.pz, DAT_MEM_PRIV_ALL_FLAG, type,
				 &made, context, &remote, &size, &at));
	return made;
}

static void send_8(DAT_VADDR at, DAT_LMR_CONTEXT context)
{
	DAT_LMR_TRIPLET from = { at, 8, context }, to = side_segment(&a, 0, 8);

	assert_ok(dat_ep_post_recv(a.ep, 1, &to, cookie, 0));
	assert_ok(dat_ep_post_send(b.ep, 1, &from, cookie, 0));
	cr_assert_eq(dto(&b), DAT_DTO_SUCCESS);
	cr_assert_eq(dto(&a), DAT_DTO_SUCCESS);
	cr_assert_arr_eq(a.mem, b.mem + AT, 8);
}

/* The endpoint has used the freed LMR, whose addresses were virtual. */
Test(zero, lmr__with_the_handle_of_a_freed_one_is_sent_from)
{
	DAT_LMR_CONTEXT context;
	DAT_LMR_HANDLE freed = lmr_of(DAT_VA_TYPE_VA, &context), now;

	memset(b.mem + AT, 0x3c, 8);
	send_8((DAT_VADDR)(unsigned long)b.mem + AT, context);
	assert_ok(dat_lmr_free(freed));
	now = lmr_of(DAT_VA_TYPE_ZB, &context);
	for (int i = 0; i < 10000 && now != freed; i++) {
		assert_ok(dat_lmr_free(now));
		now = lmr_of(DAT_VA_TYPE_ZB, &context);
	}
	cr_assert_eq(now, freed);
	memset(b.mem + AT, 0x5a, 8);
	send_8(0, context);
}

Test(zero, lmr__takes_receives_and_reads)
{
	DAT_LMR_TRIPLET to = { 0, 64, lmr_context }, from = side_segment(&a, 0, 64);
	DAT_RMR_TRIPLET there = side_remote(&a, 64, 64);

	memset(a.mem, 5, 64);
	memset(a.mem + 64, 6, 64);
	assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	assert_ok(dat_ep_post_send(a.ep, 1, &from, cookie, 0));
	cr_assert_eq(dto(&b), DAT_DTO_SUCCESS);
	landed(0, 64, 5);
	to.virtual_address = 1500;
	assert_ok(dat_ep_post_rdma_read(b.ep, 1, &to, cookie, &there, 0));
	cr_assert_eq(dto(&b), DAT_DTO_SUCCESS);
	landed(1500, 64, 6);
	cr_assert_eq(dto(&a), DAT_DTO_SUCCESS);
}

Test(zero, lmr__takes_atomics)
{
	DAT_LMR_TRIPLET result = side_segment(&a, 8, 8);
	DAT_UINT64 *now = (DAT_UINT64 *)(void *)(b.mem + AT + 7);
	DAT_RMR_TRIPLET at = { 0, 8, 0 };
	DAT_REGION_DESCRIPTION region;
	DAT_VADDR base;
	DAT_VLEN size;

	side_needs(DAT_IB_ATTR_FETCH_AND_ADD);
	/* The range is aligned for the device, too. */
	region.for_va = now;
	assert_ok(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, b.pz, DAT_MEM_PRIV_ALL_FLAG |
				 (DAT_MEM_PRIV_FLAGS)DAT_IB_MEM_PRIV_REMOTE_ATOMIC,
				 DAT_VA_TYPE_ZB, &lmr, &lmr_context, &at.rmr_context, &size, &base));
	*now = 40;
	assert_ok(dat_ib_post_fetch_and_add(a.ep, 2, &result, cookie, &at, 0));
	side_wait(a.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	cr_assert_eq(*now, 42);
}

Test(zero, lmr__of_a_zero_based_lmr_can_have_virtual_addresses)
{
	DAT_REGION_DESCRIPTION region = { .for_lmr_handle = lmr };
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE second;
	DAT_VADDR at;
	DAT_VLEN size;

	/* An LMR with virtual addresses, over memory of a zero-based LMR. */
	assert_ok(dat_lmr_create(b.ia, DAT_MEM_TYPE_LMR, region, 0, b.pz, DAT_MEM_PRIV_ALL_FLAG,
				 DAT_VA_TYPE_VA, &second, &context, &remote, &size, &at));
	cr_assert_eq(at, (DAT_VADDR)(unsigned long)b.mem + AT);
	cr_assert_eq(write_at(remote, at + 10, 32, 7), DAT_DTO_SUCCESS);
	landed(10, 32, 7);
}

Test(zero, rmr__of_an_lmr_by_address_can_be_zero_based)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_PARAM param;
	DAT_RMR_CONTEXT context;

	assert_ok(dat_rmr_create(b.pz, &rmr));
	context = bind_it(rmr, b.lmr, side_segment(&b, AT + 50, 100), DAT_VA_TYPE_ZB);
	assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	cr_assert_eq(param.va_type, DAT_VA_TYPE_ZB);
	cr_assert_eq(param.lmr_triplet.virtual_address, (DAT_VADDR)(unsigned long)b.mem + AT + 50);
	cr_assert_eq(write_at(context, 0, 100, 3), DAT_DTO_SUCCESS);
	landed(50, 100, 3);
	/* Binds with virtual addresses. From the second bind on, the posts take the fast path. */
	for (int i = 0; i < 3; i++) {
		context = bind_it(rmr, b.lmr, side_segment(&b, AT + 200, 100), DAT_VA_TYPE_VA);
		assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
		cr_assert_eq(param.va_type, DAT_VA_TYPE_VA);
		cr_assert_eq(write_at(context, (DAT_VADDR)(unsigned long)b.mem + AT + 200, 100, 9 + i),
			     DAT_DTO_SUCCESS);
		landed(200, 100, 9 + i);
	}
	context = bind_it(rmr, b.lmr, side_segment(&b, AT + 50, 100), DAT_VA_TYPE_ZB);
	cr_assert_eq(write_at(context, 1, 100, 4), DAT_DTO_ERR_REMOTE_ACCESS);
}

Test(zero, rmr__of_a_zero_based_lmr_opens_its_part)
{
	const DAT_LMR_TRIPLET part = { 300, 100, lmr_context };
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	assert_ok(dat_rmr_create(b.pz, &rmr));
	for (int i = 0; i < 2; i++) {
		context = bind_it(rmr, lmr, part, DAT_VA_TYPE_VA);
		cr_assert_eq(write_at(context, 310, 20, 4 + i), DAT_DTO_SUCCESS);
		landed(310, 20, 4 + i);
	}
	context = bind_it(rmr, lmr, part, DAT_VA_TYPE_ZB);
	cr_assert_eq(write_at(context, 20, 30, 8), DAT_DTO_SUCCESS);
	landed(320, 30, 8);
	assert_ret(dat_lmr_free(lmr), DAT_INVALID_STATE);
	cr_assert_eq(write_at(context, 300, 8, 9), DAT_DTO_ERR_REMOTE_ACCESS);
}

static bool queries_end;

static void *queries(void *rmr)
{
	DAT_RMR_PARAM param;

	while (!__atomic_load_n(&queries_end, __ATOMIC_RELAXED))
		assert_ok(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param));
	return NULL;
}

Test(zero, rmr_query__beside_an_unbind_in_another_thread_does_not_crash)
{
	const DAT_LMR_TRIPLET none = { 0, 0, b.lmr_context };
	pthread_t thread;
	DAT_RMR_HANDLE rmr;

	assert_ok(dat_rmr_create(b.pz, &rmr));
	cr_assert_eq(pthread_create(&thread, NULL, queries, rmr), 0);
	for (int i = 0; i < 10000; i++) {
		bind_it(rmr, b.lmr, side_segment(&b, 0, 100), DAT_VA_TYPE_ZB);
		bind_it(rmr, b.lmr, none, DAT_VA_TYPE_ZB);
	}
	__atomic_store_n(&queries_end, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

Test(zero, rmr__of_one_endpoint_can_be_zero_based)
{
	DAT_RMR_HANDLE rmr;
	DAT_RMR_CONTEXT context;

	assert_ok(PROVIDER(b.pz)->rmr_create_for_ep_func(b.pz, &rmr));
	context = bind_it(rmr, b.lmr, side_segment(&b, AT + 50, 100), DAT_VA_TYPE_ZB);
	cr_assert_eq(write_at(context, 10, 10, 3), DAT_DTO_SUCCESS);
	landed(60, 10, 3);
	context = bind_it(rmr, b.lmr, side_segment(&b, AT + 50, 100), DAT_VA_TYPE_VA);
	cr_assert_eq(write_at(context, 10, 10, 3), DAT_DTO_ERR_REMOTE_ACCESS);
}

static DAT_RETURN post_bind(DAT_RMR_HANDLE rmr, DAT_EP_HANDLE ep, DAT_SEG_LENGTH len)
{
	DAT_LMR_TRIPLET part = side_segment(&b, 0, len);
	DAT_RMR_CONTEXT context;

	return dat_rmr_bind(rmr, b.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_ZB, ep,
			    bind_cookie, 0, &context);
}

/*
 * The last bind has completed, and nothing has been dequeued. A bind through an endpoint whose queue is full
 * is refused, and changes nothing: a bind through a third endpoint still finds the completion.
 */
static void bind_behind_a_refused_one(DAT_RMR_HANDLE rmr, DAT_SEG_LENGTH last)
{
	DAT_LMR_TRIPLET from = side_segment(&b, 0, 8);
	DAT_EP_HANDLE of_a, full, third;
	int n = 0;

	sides_connect_more(&of_a, &full);
	sides_connect_more(&of_a, &third);
	/* a has posted no receive, so the sends stay outstanding */
	while (dat_ep_post_send(full, 1, &from, cookie, 0) == DAT_SUCCESS)
		cr_assert_lt(n++, 10000);
	assert_ok(post_bind(rmr, b.ep, last));
	for (int i = 0; i < 20; i++)
		assert_ret(post_bind(rmr, full, 100), DAT_INSUFFICIENT_RESOURCES);
	cr_expect(TH_WITHIN(SOON / 1000, post_bind(rmr, third, 100) == DAT_SUCCESS));
}

Test(zero, bind__refused_leaves_the_rmr_with_the_endpoint_of_the_last_bind)
{
	DAT_RMR_HANDLE rmr;

	assert_ok(dat_rmr_create(b.pz, &rmr));
	bind_behind_a_refused_one(rmr, 100);
}

Test(zero, bind__refused_leaves_the_rmr_of_one_endpoint_with_that_of_the_last_bind)
{
	DAT_RMR_HANDLE rmr;

	assert_ok(PROVIDER(b.pz)->rmr_create_for_ep_func(b.pz, &rmr));
	bind_it(rmr, b.lmr, side_segment(&b, 0, 100), DAT_VA_TYPE_ZB);
	bind_behind_a_refused_one(rmr, 0);
}

/* Each allocation fails in turn: nothing leaks, and the next call succeeds. */
Test(zero, lmr_create__without_memory_returns_insufficient_resources)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b.mem };
	struct th_usage before, after;
	DAT_PZ_HANDLE pz;
	DAT_RETURN ret;
	DAT_LMR_CONTEXT c;
	DAT_RMR_CONTEXT context;
	DAT_LMR_HANDLE made;
	unsigned long n = 0;
	DAT_VADDR at;
	DAT_VLEN size;

	assert_ok(dat_pz_create(b.ia, &pz));
	th_usage(&before);
	do {
		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP, ++n);
		ret = dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, pz,
				     DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &made, &c, &context,
				     &size, &at);
		if (th_fail_stop() >= n)
			assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
	} while (ret != DAT_SUCCESS && n < 100);
	cr_assert_gt(n, 2);
	assert_ok(dat_lmr_free(made));
	assert_ok(dat_pz_free(pz));		/* so no other LMR is left in it */
	th_usage(&after);
	cr_assert_eq(after.fds, before.fds);
}

Test(zero, lmr_and_rmr__invalid_type_or_range_is_refused)
{
	DAT_REGION_DESCRIPTION region = { .for_va = b.mem };
	DAT_LMR_TRIPLET beyond = { LEN - 8, 9, lmr_context }, part = { 0, 8, lmr_context };
	DAT_LMR_CONTEXT c;
	DAT_RMR_CONTEXT context = 7;
	DAT_LMR_HANDLE none;
	DAT_RMR_HANDLE rmr;
	DAT_VADDR at;
	DAT_VLEN size;

	assert_ret(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, b.pz,
				  DAT_MEM_PRIV_ALL_FLAG, (DAT_VA_TYPE)2, &none, &c, &context, &size,
				  &at), DAT_INVALID_PARAMETER);
	region.for_va = NULL;
	assert_ret(dat_lmr_create(b.ia, DAT_MEM_TYPE_VIRTUAL, region, 64, b.pz,
				  DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_ZB, &none, &c, &context, &size,
				  &at), DAT_INVALID_PARAMETER);
	assert_ok(dat_rmr_create(b.pz, &rmr));
	assert_ret(dat_rmr_bind(rmr, lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, (DAT_VA_TYPE)2,
				b.ep, bind_cookie, 0, &context), DAT_INVALID_PARAMETER);
	assert_ret(dat_rmr_bind(rmr, lmr, &beyond, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_ZB,
				b.ep, bind_cookie, 0, &context), DAT_INVALID_PARAMETER);
	cr_assert_eq(context, 7);
}
