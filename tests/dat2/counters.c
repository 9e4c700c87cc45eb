/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of the InfiniBand extension: what was done is what they say. */
#include "tests/dat2/dat2.h"

TestSuite(counters, .init = sides_open, .fini = sides_close, .timeout = 60);

#define UNKNOWN ((DAT_UINT64)-1)

static void all_of(DAT_HANDLE handle, int all, DAT_UINT64 *to)
{
	assert_ok(dat_ib_query_counters(handle, all, to, 0));
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
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	assert_ok(dat_psp_create_any(b.ia, &qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ok(dat_ep_connect(a.ep, side_address(0), qual, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
				 DAT_CONNECT_DEFAULT_FLAG));
	ev = side_wait(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	assert_ok(dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	side_wait(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED);
	all_of(a.ia, DCNT_IA_ALL_COUNTERS, at_a);
	all_of(b.ia, DCNT_IA_ALL_COUNTERS, at_b);
	cr_assert_eq(at_a[DCNT_IA_CM_USER_REJ_RX], 1);
	cr_assert_eq(at_b[DCNT_IA_CM_USER_REJ_TX], 1);
	cr_assert_eq(at_b[DCNT_IA_SP_CR_REJECTED], 1);
	cr_assert_eq(at_b[DCNT_IA_SP_CR_ACCEPTED], 0);
}

Test(counters, ep__counts_receives_and_connections)
{
	DAT_LMR_TRIPLET from = side_segment(&a, 0, 5), to = side_segment(&b, 0, 64);
	DAT_UINT64 at_a[DCNT_EP_ALL_COUNTERS], at_b[DCNT_EP_ALL_COUNTERS];
	DAT_DTO_COOKIE cookie = { .as_64 = 1 };

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
	cr_assert_eq(at_a[DCNT_EP_POST_SEND], UNKNOWN);
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

/* One alone goes to its own place, and the others stay as they are. */
Test(counters, one__has_its_own_place)
{
	DAT_UINT64 v[DCNT_EP_ALL_COUNTERS] = { 11, 12, 13 };

	sides_connect();
	assert_ok(dat_ib_query_counters(a.ep, DCNT_EP_CONNECT, v, 0));
	cr_assert_eq(v[DCNT_EP_CONNECT], 1);
	cr_assert_eq(v[DCNT_EP_DISCONNECT], 12);
	cr_assert_eq(v[DCNT_EP_POST_SEND], 13);
}

Test(counters, bad__handle_number_and_reset)
{
	DAT_UINT64 v[DCNT_IA_ALL_COUNTERS];

	assert_ret(dat_ib_query_counters(a.pz, 0, v, 0), DAT_INVALID_HANDLE);
	assert_ret(dat_ib_query_counters(a.ep, DCNT_EP_ALL_COUNTERS + 1, v, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ib_query_counters(a.ep, -1, v, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ib_query_counters(a.ep, 0, NULL, 0), DAT_INVALID_PARAMETER);
	assert_ret(dat_ib_query_counters(a.ep, 0, v, 1), DAT_MODEL_NOT_SUPPORTED);
	assert_ok(dat_ib_print_counters(a.ep, DCNT_EP_ALL_COUNTERS, 0));
}
