/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of the InfiniBand extension: their values equal the number of operations. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tests/dat2/dat2.h"
#include "tests/harness/harness.h"

#define UNKNOWN ((DAT_UINT64)-1)

TestSuite(counters, .init = sides_open, .fini = sides_close, .timeout = 60);

/* Calls the extension through the provider's table: libdat2 passes no extension call to an EFA,
 * which lacks a part of the extension. */
static DAT_RETURN by_table(DAT_HANDLE handle, DAT_EXTENDED_OP op, ...)
{
	/* The table takes the provider's own IA handle. */
	extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE, DAT_IA_HANDLE *);
	DAT_IA_HANDLE raw = handle;
	DAT_RETURN ret;
	va_list args;

	if (handle == a.ia || handle == b.ia)
		assert_ok(dats_get_ia_handle(handle, &raw));
	va_start(args, op);
	ret = PROVIDER(raw)->handle_extendedop_func(raw, op, args);
	va_end(args);
	return ret;
}

/* Defines calls like the macros of dat_ib_extensions.h, through libdat2 or through the table. */
#define extension(handle, op, all, ...)                                                            \
	(strstr(side_ia_name(), "efa") ?                                                           \
		 by_table(handle, (DAT_EXTENDED_OP)(op), (int)(all), __VA_ARGS__) :                \
		 dat_extension_op(handle, (DAT_EXTENDED_OP)(op), (int)(all), __VA_ARGS__))
#define query_counters(handle, all, to, reset)                                                     \
	extension(handle, DAT_IB_QUERY_COUNTERS_OP, all, (DAT_UINT64 *)(to), (int)(reset))
#define print_counters(handle, all, reset)                                                         \
	extension(handle, DAT_IB_PRINT_COUNTERS_OP, all, (int)(reset))

static void all_of(DAT_HANDLE handle, int all, DAT_UINT64 *to)
{
	assert_ok(query_counters(handle, all, to, 0));
}

/* The counter of an EFA may be unknown: then its value is all ones. */
static void needs_known(DAT_HANDLE handle, int all, int which)
{
	DAT_UINT64 v[DCNT_IA_ALL_COUNTERS];

	all_of(handle, all, v);
	if (v[which] == UNKNOWN)
		side_skip("the adapter says that counter %d is unknown", which);
}

static void needs_posts(void)
{
	needs_known(a.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_POST_RECV);
}

static void needs_dequeues(void)
{
	needs_known(a.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE_FOUND);
}

Test(counters, ia__counts_objects_and_connections)
{
	DAT_UINT64 at_a[DCNT_IA_ALL_COUNTERS], at_b[DCNT_IA_ALL_COUNTERS];
	DAT_PZ_HANDLE pz;

	sides_connect();
	assert_ok(dat_pz_create(a.ia, &pz));
	assert_ok(dat_pz_free(pz));
	all_of(a.ia, DCNT_IA_ALL_COUNTERS, at_a);
	all_of(b.ia, DCNT_IA_ALL_COUNTERS, at_b);
	cr_assert_eq(at_a[DCNT_IA_PZ_CREATE], 2);
	cr_assert_eq(at_a[DCNT_IA_PZ_FREE], 1);
	cr_assert_eq(at_a[DCNT_IA_EP_CREATE], 1);
	cr_assert_eq(at_a[DCNT_IA_EP_FREE], 0);
	cr_assert_eq(at_a[DCNT_IA_LMR_CREATE], 1);
	cr_assert_eq(at_a[DCNT_IA_CM_REQ_TX], 1);
	cr_assert_eq(at_a[DCNT_IA_CM_REP_RX], 1);
	cr_assert_eq(at_a[DCNT_IA_CM_RTU_TX], 1);
	cr_assert_eq(at_a[DCNT_IA_CM_ACTIVE_EST], 1);
	cr_assert_eq(at_a[DCNT_IA_CM_PASSIVE_EST], 0);
	cr_assert_eq(at_b[DCNT_IA_CM_LISTEN], 1);
	cr_assert_eq(at_b[DCNT_IA_SP_CR], 1);
	cr_assert_eq(at_b[DCNT_IA_SP_CR_ACCEPTED], 1);
	cr_assert_eq(at_b[DCNT_IA_SP_CR_REJECTED], 0);
	cr_assert_eq(at_b[DCNT_IA_CM_PASSIVE_EST], 1);
	cr_assert_eq(at_a[DCNT_IA_ASYNC_ERROR] + at_b[DCNT_IA_ASYNC_ERROR], 0);
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	side_wait(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	side_wait(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	all_of(a.ia, DCNT_IA_ALL_COUNTERS, at_a);
	all_of(b.ia, DCNT_IA_ALL_COUNTERS, at_b);
	cr_assert_eq(at_a[DCNT_IA_CM_DREQ_TX], 1);
	cr_assert_eq(at_b[DCNT_IA_CM_DREQ_RX], 1);
}

Test(counters, ia__counts_rejections)
{
	DAT_UINT64 at_a[DCNT_IA_ALL_COUNTERS], at_b[DCNT_IA_ALL_COUNTERS];

	assert_ok(dat_cr_reject(side_request(a.ep), 0, NULL));
	side_wait(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED);
	all_of(a.ia, DCNT_IA_ALL_COUNTERS, at_a);
	all_of(b.ia, DCNT_IA_ALL_COUNTERS, at_b);
	cr_assert_eq(at_a[DCNT_IA_CM_USER_REJ_RX], 1);
	cr_assert_eq(at_b[DCNT_IA_CM_USER_REJ_TX], 1);
	cr_assert_eq(at_b[DCNT_IA_PSP_CREATE_ANY], 1);
	cr_assert_eq(at_b[DCNT_IA_PSP_CREATE], 0);
	cr_assert_eq(at_b[DCNT_IA_SP_CR_REJECTED], 1);
	cr_assert_eq(at_b[DCNT_IA_SP_CR_ACCEPTED], 0);
}

Test(counters, ia__counts_a_failed_psp_under_its_call)
{
	DAT_UINT64 v[DCNT_IA_ALL_COUNTERS];
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;

	cr_assert_eq(th_fds_limit(0), 0);
	ret = dat_psp_create_any(a.ia, &qual, a.cr, DAT_PSP_CONSUMER_FLAG, &psp);
	th_fds_restore();
	assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
	all_of(a.ia, DCNT_IA_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_IA_PSP_CREATE_ANY], 1);
	cr_assert_eq(v[DCNT_IA_PSP_CREATE], 0);
}

Test(counters, ep__counts_receives_and_connections)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 5), to = side_segment(&b, 0, 64);
	DAT_UINT64 at_a[DCNT_EP_ALL_COUNTERS], at_b[DCNT_EP_ALL_COUNTERS];
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

	needs_posts();
	sides_connect();
	for (int i = 0; i < 3; i++)
		assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	for (int i = 0; i < 2; i++) {
		assert_ok(dat_ep_post_send(a.ep, 1, &from, cookie, 0));
		side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
	}
	all_of(a.ep, DCNT_EP_ALL_COUNTERS, at_a);
	all_of(b.ep, DCNT_EP_ALL_COUNTERS, at_b);
	cr_assert_eq(at_a[DCNT_EP_CONNECT], 1);
	cr_assert_eq(at_b[DCNT_EP_CONNECT], 0);
	cr_assert_eq(at_b[DCNT_EP_POST_RECV], 3);
	cr_assert_eq(at_b[DCNT_EP_RECV], 2);
	cr_assert_eq(at_a[DCNT_EP_RECV], 0);
	cr_assert_eq(at_a[DCNT_EP_POST_SEND], 2);
	cr_assert_eq(at_b[DCNT_EP_POST_SEND], 0);
	assert_ok(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
	all_of(a.ep, DCNT_EP_ALL_COUNTERS, at_a);
	cr_assert_eq(at_a[DCNT_EP_DISCONNECT], 1);
}

Test(counters, evd__counts_waits_and_events)
{
	DAT_UINT64 v[DCNT_EVD_ALL_COUNTERS];

	sides_connect();
	all_of(a.conn, DCNT_EVD_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EVD_WAIT], 1);
	cr_assert_eq(v[DCNT_EVD_CONN_CALLBACK], 1);
	cr_assert_eq(v[DCNT_EVD_WAIT_NOTIFY], 1);
	cr_assert_leq(v[DCNT_EVD_WAIT_BLOCKED], 2);
}

/* A single counter is written to its own element. The other elements stay unchanged. */
Test(counters, one__has_its_own_place)
{
	DAT_UINT64 v[DCNT_EP_ALL_COUNTERS] = { 11, 12, 13 };

	sides_connect();
	assert_ok(query_counters(a.ep, DCNT_EP_CONNECT, v, 0));
	cr_assert_eq(v[DCNT_EP_CONNECT], 1);
	cr_assert_eq(v[DCNT_EP_DISCONNECT], 12);
	cr_assert_eq(v[DCNT_EP_POST_SEND], 13);
}

Test(counters, query_counters__invalid_handle_or_number_is_refused)
{
	DAT_UINT64 v[DCNT_IA_ALL_COUNTERS];

	assert_ret(query_counters(a.pz, 0, v, 0), DAT_INVALID_HANDLE);
	assert_ret(query_counters(a.ep, DCNT_EP_ALL_COUNTERS + 1, v, 0), DAT_INVALID_PARAMETER);
	assert_ret(query_counters(a.ep, -1, v, 0), DAT_INVALID_PARAMETER);
	assert_ret(query_counters(a.ep, 0, NULL, 0), DAT_INVALID_PARAMETER);
	assert_ok(print_counters(a.ep, DCNT_EP_ALL_COUNTERS, 0));
}

/* ---- completions and dequeues, on any IA ---- */

static const DAT_DTO_COOKIE cookie = { .as_64 = 1 };

static DAT_UINT64 one_of(DAT_HANDLE handle, int all, int which)
{
	DAT_UINT64 v[DCNT_IA_ALL_COUNTERS];

	all_of(handle, all, v);
	return v[which];
}

static void write_some(unsigned int n, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 8);
	DAT_RMR_TRIPLET to = side_remote(&b, 0, 64);

	while (n--)
		assert_ok(dat_ep_post_rdma_write(a.ep, 1, &from, cookie, &to, flags));
}

/* Dequeues n events; returns how often the EVD was empty. */
static DAT_UINT64 dequeue_some(DAT_EVD_HANDLE evd, unsigned int n)
{
	DAT_UINT64 missed = 0;
	DAT_EVENT ev;

	while (n) {
		DAT_RETURN ret = dat_evd_dequeue(evd, &ev);

		if (ret == DAT_SUCCESS)
			n--;
		else
			missed++;
		cr_assert(ret == DAT_SUCCESS || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY);
	}
	return missed;
}

/* The ring wraps many times, with completions that the consumer does not see, and with events taken
 * by a wait. */
Test(counters, evd__counts_events_dequeued)
{
	DAT_UINT64 v[DCNT_EVD_ALL_COUNTERS];
	unsigned int found = 0;

	needs_dequeues();
	sides_connect();
	for (int i = 0; i < 100; i++) {
		write_some(5, DAT_COMPLETION_SUPPRESS_FLAG);
		write_some(5, 0);
		dequeue_some(a.dto, 4);
		side_wait(a.dto, DAT_DTO_COMPLETION_EVENT);
		found += 4;
		all_of(a.dto, DCNT_EVD_ALL_COUNTERS, v);
		cr_assert_eq(v[DCNT_EVD_DEQUEUE_FOUND], found,
			     "the counter of found events is %llu after %u dequeues",
			     (unsigned long long)v[DCNT_EVD_DEQUEUE_FOUND], found);
	}
	cr_assert_eq(v[DCNT_EVD_WAIT], 100);
	cr_assert_leq(v[DCNT_EVD_DEQUEUE_POLL_FOUND], found);
}

/* A CNO on which no thread waits leaves the completions in the CQ. Without a CNO the hot path polls it. */
Test(counters, evd__counts_dequeues_that_poll_the_cq)
{
	DAT_UINT64 missed = 0;
	DAT_CNO_HANDLE cno;

	needs_dequeues();
	sides_connect();
	assert_ok(dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	for (unsigned int i = 0; i < 2; i++) {
		assert_ok(dat_evd_modify_cno(a.dto, i ? DAT_HANDLE_NULL : cno));
		write_some(5, 0);
		missed += dequeue_some(a.dto, 5);
		cr_assert_eq(one_of(a.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE_POLL_FOUND), 5 * i + 5);
		cr_assert_eq(one_of(a.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE_POLL), 5 * i + 5 + missed);
	}
}

/* The ring grows while it has completions. Other completions disappear together with their
 * endpoint. */
Test(counters, evd__counts_on_when_its_ring_changes)
{
	DAT_EVD_PARAM param;
	DAT_EVENT ev;

	needs_dequeues();
	sides_connect();
	write_some(8, DAT_COMPLETION_SUPPRESS_FLAG);
	write_some(7, 0);
	dequeue_some(a.dto, 3);
	assert_ok(dat_evd_query(a.dto, DAT_EVD_FIELD_ALL, &param));
	assert_ok(dat_evd_resize(a.dto, 4 * param.evd_qlen));
	dequeue_some(a.dto, 4);
	cr_assert_eq(one_of(a.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE_FOUND), 7);
	for (int i = 0; i < 60; i++) {
		write_some(6, 0);
		dequeue_some(a.dto, 6);
	}
	write_some(5, 0);
	dequeue_some(a.dto, 1);
	assert_ok(dat_ep_free(a.ep));
	assert_ret(dat_evd_dequeue(a.dto, &ev), DAT_QUEUE_EMPTY);
	cr_assert_eq(one_of(a.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE_FOUND), 7 + 360 + 1);
}

Test(counters, evd__of_software_counts_all_dequeues)
{
	DAT_EVENT se = { .event_number = DAT_SOFTWARE_EVENT }, ev;
	DAT_UINT64 v[DCNT_EVD_ALL_COUNTERS];
	DAT_EVD_HANDLE evd;

	assert_ok(dat_evd_create(a.ia, 4, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	for (int i = 0; i < 5; i++) {
		assert_ok(dat_evd_post_se(evd, &se));
		assert_ok(dat_evd_dequeue(evd, &ev));
		assert_ret(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
		assert_ret(dat_evd_dequeue(evd, &ev), DAT_QUEUE_EMPTY);
	}
	all_of(evd, DCNT_EVD_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EVD_DEQUEUE], 15);
	cr_assert_eq(v[DCNT_EVD_DEQUEUE_FOUND], 5);
	cr_assert_eq(v[DCNT_EVD_DEQUEUE_NOT_FOUND], 10);
}

Test(counters, ep__counts_immediates_and_atomics)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 24), result = side_segment(&a, 64, 8);
	DAT_LMR_TRIPLET recv = side_segment(&b, 4096, 64);
	DAT_RMR_TRIPLET to = side_remote(&b, 0, 64), at = side_remote(&b, 64, 8);
	DAT_UINT64 at_a[DCNT_EP_ALL_COUNTERS], at_b[DCNT_EP_ALL_COUNTERS];

	side_needs(DAT_IB_ATTR_FETCH_AND_ADD);
	sides_connect();
	for (int i = 0; i < 4; i++) {
		assert_ok(dat_ep_post_recv(b.ep, 1, &recv, cookie, 0));
		assert_ok(dat_ib_post_rdma_write_immed(a.ep, 1, &from, cookie, &to, 7, 0));
		side_wait(b.dto, (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	}
	for (int i = 0; i < 3; i++)
		assert_ok(dat_ib_post_fetch_and_add(a.ep, 2, &result, cookie, &at, 0));
	assert_ok(dat_ib_post_cmp_and_swap(a.ep, 6, 7, &result, cookie, &at, 0));
	assert_ret(dat_ib_post_cmp_and_swap(a.ep, 6, 7, &result, cookie, NULL, 0),
		   DAT_INVALID_PARAMETER);
	all_of(a.ep, DCNT_EP_ALL_COUNTERS, at_a);
	all_of(b.ep, DCNT_EP_ALL_COUNTERS, at_b);
	cr_assert_eq(at_a[DCNT_EP_POST_WRITE_IMM], 4);
	cr_assert_eq(at_a[DCNT_EP_POST_WRITE_IMM_DATA], 4 * 24);
	cr_assert_eq(at_a[DCNT_EP_POST_FETCH_ADD], 3);
	cr_assert_eq(at_a[DCNT_EP_POST_CMP_SWAP], 1);
	cr_assert_eq(at_b[DCNT_EP_RECV_RDMA_IMM], 4);
	cr_assert_eq(at_b[DCNT_EP_RECV_RDMA_IMM_DATA], 4 * 24);
	cr_assert_eq(at_b[DCNT_EP_RECV], 0);
	cr_assert_eq(at_b[DCNT_EP_POST_RECV], 4);
}

/* Flushed work was not received, and a reset endpoint keeps its counters. */
Test(counters, ep__counts_over_a_reset_of_it)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 5), to = side_segment(&b, 0, 64);
	DAT_UINT64 v[DCNT_EP_ALL_COUNTERS];
	DAT_EVENT ev;

	needs_posts();
	sides_connect();
	for (int i = 0; i < 5; i++)
		assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	assert_ok(dat_ep_post_send(a.ep, 1, &from, cookie, 0));
	side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
	assert_ok(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	for (int i = 0; i < 4; i++) {
		ev = side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
		cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
	}
	all_of(b.ep, DCNT_EP_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EP_POST_RECV], 5);
	cr_assert_eq(v[DCNT_EP_RECV], 1);
	side_wait(b.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_ok(dat_ep_reset(b.ep));
	assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	all_of(b.ep, DCNT_EP_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EP_POST_RECV], 6);
	cr_assert_eq(v[DCNT_EP_POST_RECV_DATA], 6 * 64);
	cr_assert_eq(v[DCNT_EP_RECV], 1);
	cr_assert_eq(v[DCNT_EP_RECV_DATA], 5);
	cr_assert_eq(v[DCNT_EP_DISCONNECT], 1);
	side_wait(a.conn, DAT_CONNECTION_EVENT_DISCONNECTED);
	assert_ok(dat_ep_reset(a.ep));
	all_of(a.ep, DCNT_EP_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EP_POST_SEND], 1);
	cr_assert_eq(v[DCNT_EP_POST_SEND_DATA], 5);
}

/* ---- reset ---- */

Test(counters, reset__clears_one_counter_or_all)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 5), to = side_segment(&b, 0, 64);
	DAT_UINT64 v[DCNT_IA_ALL_COUNTERS];

	needs_posts();
	sides_connect();
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 2; i++) {
			assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
			assert_ok(dat_ep_post_send(a.ep, 1, &from, cookie, 0));
			side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
		}
		/* The call returned the counter's value, and the counter starts from 0 again. */
		assert_ok(query_counters(b.ep, DCNT_EP_RECV, v, 1));
		cr_assert_eq(v[DCNT_EP_RECV], 2);
		all_of(b.ep, DCNT_EP_ALL_COUNTERS, v);
		cr_assert_eq(v[DCNT_EP_RECV], 0);
		cr_assert_eq(v[DCNT_EP_POST_RECV], 2 * (DAT_UINT64)(round + 1));
	}
	assert_ok(query_counters(b.ep, DCNT_EP_ALL_COUNTERS, v, 1));
	cr_assert_eq(v[DCNT_EP_POST_RECV], 6);
	all_of(b.ep, DCNT_EP_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EP_POST_RECV], 0);
	cr_assert_eq(v[DCNT_EP_RECV_DATA], 0);
	assert_ok(query_counters(a.ep, DCNT_EP_POST_SEND, v, 1));
	cr_assert_eq(v[DCNT_EP_POST_SEND], 6);
	cr_assert_eq(one_of(a.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_POST_SEND), 0);
	cr_assert_eq(one_of(a.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_POST_SEND_DATA), 6 * 5);
	assert_ok(print_counters(b.ia, DCNT_IA_ALL_COUNTERS, 1));
	cr_assert_eq(one_of(b.ia, DCNT_IA_ALL_COUNTERS, DCNT_IA_EP_CREATE), 0);
	cr_assert_eq(one_of(b.ia, DCNT_IA_ALL_COUNTERS, DCNT_IA_LMR_FREE), 0);
	assert_ok(dat_lmr_free(b.lmr));
	cr_assert_eq(one_of(b.ia, DCNT_IA_ALL_COUNTERS, DCNT_IA_LMR_FREE), 1);
	assert_ok(query_counters(b.dto, DCNT_EVD_ALL_COUNTERS, v, 1));
	cr_assert_eq(v[DCNT_EVD_WAIT], 6);
	cr_assert_eq(one_of(b.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_WAIT), 0);
	/* A counter that is not reset is unchanged. */
	cr_assert_eq(one_of(a.ia, DCNT_IA_ALL_COUNTERS, DCNT_IA_EP_CREATE), 1);
}

Test(counters, reset__without_memory_fails_and_changes_nothing)
{
	DAT_UINT64 v[DCNT_EP_ALL_COUNTERS] = { 11 };

	th_fail_start(TH_FAIL_HEAP, 1);
	assert_ret(query_counters(a.ep, DCNT_EP_ALL_COUNTERS, v, 1),
		   DAT_INSUFFICIENT_RESOURCES);
	cr_assert_eq(th_fail_stop(), 1);
	cr_assert_eq(v[DCNT_EP_CONNECT], 11);
	assert_ok(query_counters(a.ep, DCNT_EP_ALL_COUNTERS, v, 1));
}

/* ---- posts, and dequeues with and without an event ---- */

/* Posts writes of 8 bytes, sends of up to 200 bytes and reads of 32 bytes, and returns the expected
 * sums. */
static DAT_UINT64 post_each_kind(void)
{
	DAT_LMR_TRIPLET from[2], to = side_segment(&b, 0, 512), sink = side_segment(&a, 4096, 64);
	DAT_UINT64 at_a[DCNT_EP_ALL_COUNTERS], at_b[DCNT_EP_ALL_COUNTERS], sent = 0, found = 0;
	DAT_RMR_TRIPLET there = side_remote(&b, 1024, 32);

	sides_connect();
	for (unsigned int i = 0; i < 200; i++) {
		write_some(1, i % 3 ? 0 : DAT_COMPLETION_SUPPRESS_FLAG);
		from[0] = side_segment(&a, 0, i);
		from[1] = side_segment(&a, 300, i % 7);
		sent += i + i % 7;
		assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
		assert_ok(dat_ep_post_send(a.ep, 2, from, cookie, 0));
		assert_ok(dat_ep_post_rdma_read(a.ep, 1, &sink, cookie, &there, 0));
		dequeue_some(a.dto, i % 3 ? 3 : 2);
		found += i % 3 ? 3 : 2;
		if (i % 2)
			dequeue_some(b.dto, 1);
		else
			side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
	}
	/* A refused post is not counted. */
	assert_ret(dat_ep_post_send(a.ep, 99, from, cookie, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ep_post_rdma_write(a.ep, 1, from, cookie, NULL, 0), DAT_INVALID_PARAMETER);
	all_of(a.ep, DCNT_EP_ALL_COUNTERS, at_a);
	all_of(b.ep, DCNT_EP_ALL_COUNTERS, at_b);
	cr_assert_eq(at_a[DCNT_EP_POST_SEND], 200);
	cr_assert_eq(at_a[DCNT_EP_POST_SEND_DATA], sent);
	cr_assert_eq(at_a[DCNT_EP_POST_WRITE], 200);
	cr_assert_eq(at_a[DCNT_EP_POST_WRITE_DATA], 1600);
	cr_assert_eq(at_a[DCNT_EP_POST_READ], 200);
	cr_assert_eq(at_a[DCNT_EP_POST_READ_DATA], 6400);
	cr_assert_eq(at_b[DCNT_EP_POST_RECV], 200);
	cr_assert_eq(at_b[DCNT_EP_POST_RECV_DATA], 200 * 512);
	cr_assert_eq(at_b[DCNT_EP_RECV], 200);
	cr_assert_eq(at_b[DCNT_EP_RECV_DATA], sent);
	cr_assert_eq(at_b[DCNT_EP_POST_SEND], 0);
	return found;
}

Test(counters, ep__counts_each_kind_and_its_bytes)
{
	DAT_UINT64 found;

	needs_posts();
	needs_dequeues();
	found = post_each_kind();
	cr_assert_eq(one_of(a.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE_FOUND), found);
	cr_assert_eq(one_of(b.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE_FOUND), 100);
}

/* Inline data, data by reference, lists and empty requests take different paths, which all must
 * count. */
Test(counters, ep__counts_posts_of_each_shape)
{
	static const DAT_SEG_LENGTH sizes[] = { 0, 1, 8, 64, 65, 4096 };
	DAT_RMR_TRIPLET there = side_remote(&b, 0, 4096 * 4);
	DAT_UINT64 v[DCNT_EP_ALL_COUNTERS], posted = 0, bytes = 0;
	DAT_LMR_TRIPLET from[4];

	needs_posts();
	sides_connect();
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (int n = 1; n <= 4; n++) {
			for (int k = 0; k < n; k++)
				from[k] = side_segment(&a, 0, sizes[i]);
			assert_ok(dat_ep_post_rdma_write(a.ep, n, from, cookie, &there, 0));
			posted++;
			bytes += (DAT_UINT64)n * sizes[i];
			dequeue_some(a.dto, 1);
		}
	}
	all_of(a.ep, DCNT_EP_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EP_POST_WRITE], posted);
	cr_assert_eq(v[DCNT_EP_POST_WRITE_DATA], bytes);
	cr_assert_eq(v[DCNT_EP_POST_SEND], 0);
	cr_assert_eq(v[DCNT_EP_POST_READ], 0);
}

Test(counters, evd__counts_empty_dequeues)
{
	DAT_UINT64 v[DCNT_EVD_ALL_COUNTERS], missed;
	DAT_EVENT ev;

	needs_dequeues();
	sides_connect();
	for (int i = 0; i < 10; i++)
		assert_ret(dat_evd_dequeue(a.dto, &ev), DAT_QUEUE_EMPTY);
	write_some(5, 0);
	missed = 10 + dequeue_some(a.dto, 5);
	all_of(a.dto, DCNT_EVD_ALL_COUNTERS, v);
	cr_assert_eq(v[DCNT_EVD_DEQUEUE_FOUND], 5);
	cr_assert_eq(v[DCNT_EVD_DEQUEUE_NOT_FOUND], missed,
		     "the counter of empty dequeues is %llu instead of %llu",
		     (unsigned long long)v[DCNT_EVD_DEQUEUE_NOT_FOUND], (unsigned long long)missed);
	cr_assert_eq(v[DCNT_EVD_DEQUEUE], missed + 5);
}

Test(counters, ep__counts_sends_that_end_a_context)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 16), to = side_segment(&b, 0, 64);
	DAT_LMR_TRIPLET part = side_segment(&b, 0, 64);
	DAT_RMR_CONTEXT context;
	DAT_RMR_HANDLE rmr;

	side_needs_windows();
	sides_connect();
	assert_ok(PROVIDER(b.pz)->rmr_create_for_ep_func(b.pz, &rmr));
	assert_ok(dat_rmr_bind(rmr, b.lmr, &part, DAT_MEM_PRIV_REMOTE_WRITE_FLAG, DAT_VA_TYPE_VA,
			       b.ep, cookie, 0, &context));
	side_wait(b.dto, DAT_RMR_BIND_COMPLETION_EVENT);
	assert_ok(dat_ep_post_recv(b.ep, 1, &to, cookie, 0));
	assert_ok(PROVIDER(a.ep)->ep_post_send_with_invalidate_func(a.ep, 1, &from, cookie, 0,
								     DAT_TRUE, context));
	side_wait(b.dto, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(one_of(a.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_POST_SEND), 1);
	cr_assert_eq(one_of(a.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_POST_SEND_DATA), 16);
	cr_assert_eq(one_of(b.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_RECV), 1);
	cr_assert_eq(one_of(b.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_RECV_DATA), 16);
}

/* ---- An EFA does not count dequeues ---- */

static void open_efa(void)
{
	setenv("DAPL_TEST_IA", "soft-efa-0", 1);
	sides_open();
}

TestSuite(efa, .init = open_efa, .fini = sides_close, .timeout = 60);

Test(efa, ep__counts_each_kind_and_its_bytes)
{
	post_each_kind();
}

Test(efa, evd__reports_unknown_dequeues)
{
	sides_connect();
	cr_assert_eq(one_of(a.ep, DCNT_EP_ALL_COUNTERS, DCNT_EP_CONNECT), 1);
	cr_assert_eq(one_of(a.dto, DCNT_EVD_ALL_COUNTERS, DCNT_EVD_DEQUEUE), UNKNOWN);
}
