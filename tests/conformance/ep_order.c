/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of completions, also of suppressed ones, and their order relative to connection events.
 */
#include <string.h>

#include "tests/conformance/fixture.h"

STATEMENT(ep_post_send__completions_in_order_of_posts, dat_evd_dequeue, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	for (uint64_t i = 0; i < DTOS; i++)
		must(do_recv(&b, i, i * 64, 64));
	for (uint64_t i = 0; i < DTOS; i++)
		must(do_send(&a, i, i * 64, 64, DEFAULT));
	for (uint64_t i = 0; i < DTOS; i++) {
		took_dto(b.recv_evd, i, DAT_DTO_SUCCESS);
		took_dto(a.req_evd, i, DAT_DTO_SUCCESS);
	}
	two_close(&a, &b);
}

STATEMENT(ep_post_send__suppressed_success_is_silent, dat_ep_post_send, PARAMETERS)
{
	struct side a, b;

	two_open(&a, &b);
	for (uint64_t round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 4; i++)
			must(do_recv(&b, i, i * 64, 64));
		for (uint64_t i = 0; i < 3; i++)
			must(do_send(&a, i, i * 64, 64, SUPPRESS));
		must(do_send(&a, 3, 0, 64, DEFAULT));
		for (uint64_t i = 0; i < 4; i++)
			took_dto(b.recv_evd, i, DAT_DTO_SUCCESS);
		took_dto(a.req_evd, 3, DAT_DTO_SUCCESS);
		nothing_on(a.req_evd);
	}
	two_close(&a, &b);
}

/* Posts more sends than the queue has slots, with no event that would free slots. */
STATEMENT(ep_post_send__suppressed_without_end, dat_ep_post_send, PARAMETERS)
{
	struct side a, b;
	DAT_RETURN ret;

	two_open(&a, &b);
	for (uint64_t i = 0; i < 20 * DTOS; i++) {
		check(TH_WITHIN(SOON_MS, (ret = do_write(&a, i, 0, far(&b, 64, 64), SUPPRESS),
					  !is(ret, DAT_INSUFFICIENT_RESOURCES))));
		must_be(DAT_SUCCESS, ret);
	}
	nothing_on(a.req_evd);
	two_close(&a, &b);
}

STATEMENT(ep_post_send__suppression_hides_no_error, dat_ep_post_send, PARAMETERS)
{
	struct side a, b;

	two_open(&a, &b);
	must(do_write(&a, 1, 0, far(&b, 0, 64), SUPPRESS));
	must(do_write(&a, 2, 0, through(b.rmr_context ^ 0x5a00, &b, 0, 64), SUPPRESS));
	must(do_write(&a, 3, 0, far(&b, 0, 64), SUPPRESS));
	same(took_any(a.req_evd, 2).status, DAT_DTO_ERR_REMOTE_ACCESS);
	took_dto(a.req_evd, 3, FLUSHED);
	nothing_on(a.req_evd);
	two_close(&a, &b);
}

STATEMENT(ep_post_send__flushed_is_not_suppressed, dat_ep_post_send, PARAMETERS)
{
	struct bring b;

	bring(&b, DAT_EP_STATE_DISCONNECTED);
	must(do_send(&b.s, 1, 0, 64, SUPPRESS));
	took_dto(b.s.req_evd, 1, FLUSHED);
	bring_done(&b);
}

STATEMENT(ep_post_send__unsignalled_still_completes, dat_ep_post_send, PARAMETERS)
{
	DAT_EP_ATTR attr = side_attr();
	struct side a, b;

	attr.request_completion_flags = UNSIGNALLED;
	two_open_with(&a, &b, &attr);
	must(do_recv(&b, 1, 0, 64));
	must(do_send(&a, 2, 0, 64, UNSIGNALLED));
	took_dto(a.req_evd, 2, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

/* The write must send the data of the read before it. */
STATEMENT(ep_post_rdma_write__barrier_waits_for_reads, dat_ep_post_rdma_write, PARAMETERS)
{
	struct side a, b;

	two_open(&a, &b);
	for (uint64_t i = 1; i <= 50; i++) {
		memset(a.mem, 0, 4096);
		memset(b.mem, (int)i, 4096);
		must(do_read(&a, 1, 0, far(&b, 0, 4096), DEFAULT));
		must(do_write(&a, 2, 0, far(&b, 8192, 4096), BARRIER));
		took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
		took_dto(a.req_evd, 2, DAT_DTO_SUCCESS);
		same(memcmp(b.mem, b.mem + 8192, 4096), 0);
	}
	two_close(&a, &b);
}

/* ---- Order after an error, and after the end ---- */

STATEMENT(ep_post_rdma_write__all_after_an_error_fail, dat_ep_disconnect, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	must(do_recv(&a, 50, 0, 64));
	must(do_write(&a, 0, 0, far(&b, 0, 64), DEFAULT));
	must(do_write(&a, 1, 0, through(b.rmr_context ^ 0x5a00, &b, 0, 64), DEFAULT));
	for (uint64_t i = 2; i < 8; i++)
		must(do_write(&a, i, 0, far(&b, 0, 64), DEFAULT));
	took_dto(a.req_evd, 0, DAT_DTO_SUCCESS);
	same(took_any(a.req_evd, 1).status, DAT_DTO_ERR_REMOTE_ACCESS);
	for (uint64_t i = 2; i < 8; i++)
		took_dto(a.req_evd, i, FLUSHED);
	took_dto(a.recv_evd, 50, FLUSHED);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_BROKEN);
	same(state_of(a.ep), DAT_EP_STATE_DISCONNECTED);
	two_close(&a, &b);
}

STATEMENT(ep_disconnect__receives_are_flushed_in_order, dat_ep_disconnect, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	for (uint64_t i = 0; i < 6; i++)
		must(do_recv(&b, i, i * 64, 64));
	must(do_send(&a, 1, 0, 64, DEFAULT));
	took_dto(a.req_evd, 1, DAT_DTO_SUCCESS);
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	took_dto(b.recv_evd, 0, DAT_DTO_SUCCESS);
	for (uint64_t i = 1; i < 6; i++)
		took_dto(b.recv_evd, i, FLUSHED);
	nothing_on(b.recv_evd);
	two_close(&a, &b);
}

static void post_each_kind(struct bring *b)
{
	must(do_recv(&b->s, 1, 0, 64));
	must(do_send(&b->s, 2, 0, 64, DEFAULT));
	must(do_write(&b->s, 3, 0, far(&b->peer, 0, 64), DEFAULT));
	must(do_read(&b->s, 4, 0, far(&b->peer, 0, 64), DEFAULT));
	took_dto(b->s.recv_evd, 1, FLUSHED);
	took_dto(b->s.req_evd, 2, FLUSHED);
	took_dto(b->s.req_evd, 3, FLUSHED);
	took_dto(b->s.req_evd, 4, FLUSHED);
}

STATEMENT(ep_post_send__flushed_when_disconnected, dat_ep_post_send, DESCRIPTION)
{
	struct bring b;

	bring(&b, DAT_EP_STATE_DISCONNECTED);
	for (int i = 0; i < 20; i++)
		post_each_kind(&b);
	bring_done(&b);
}

STATEMENT(ep_disconnect__follows_all_successes_on_one_evd, dat_ep_disconnect, DESCRIPTION)
{
	const int all = DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_RMR_BIND_FLAG;
	DAT_EP_ATTR attr = side_attr();
	struct side a, b;
	DAT_EVENT ev;

	two_open_apart(&a, &b);
	if (!a.attr.evd_stream_merging_supported[2][3] || !a.attr.evd_stream_merging_supported[3][4])
		skip("evd_stream_merging_supported does not allow completions and connections on "
		     "one EVD");
	a.recv_evd = a.req_evd = a.conn_evd = side_evd(&a, 64, all);
	a.ep = side_ep(&a, &attr);
	join(&a, a.ep, &b, b.ep);
	for (uint64_t i = 0; i < 8; i++)
		must(do_recv(&b, i, i * 64, 64));
	for (uint64_t i = 0; i < 8; i++)
		must(do_send(&a, i, 0, 64, DEFAULT));
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	check(gets_to(a.ep, DAT_EP_STATE_DISCONNECTED));
	for (uint64_t i = 0; i < 8; i++)
		took_dto(a.req_evd, i, DAT_DTO_SUCCESS);
	ev = took(a.conn_evd);
	same(ev.event_number, DAT_CONNECTION_EVENT_DISCONNECTED);
	two_close(&a, &b);
}

STATEMENT(ep_disconnect__graceful_completes_requests, dat_ep_disconnect, DESCRIPTION)
{
	struct side a, b;

	two_open(&a, &b);
	for (uint64_t i = 0; i < 8; i++)
		must(do_write(&a, i, 0, far(&b, 0, 4096), DEFAULT));
	must(do_send(&a, 8, 0, 64, DEFAULT));
	must(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	must(do_recv(&b, 1, 0, 64));
	took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
	took_conn(&a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	took_conn(&b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	for (uint64_t i = 0; i <= 8; i++)
		took_dto(a.req_evd, i, DAT_DTO_SUCCESS);
	two_close(&a, &b);
}

/* When the first receive has completed, ESTABLISHED is already on its EVD. */
STATEMENT(ep_connect__no_receive_before_established, dat_ep_connect, DESCRIPTION)
{
	struct side a, b;
	DAT_EVENT ev;

	for (int i = 0; i < 10; i++) {
		two_open_apart(&a, &b);
		must(do_recv(&b, 1, 0, 64));
		side_listen(&b);
		must(dial(a.ep, &b, b.qual, SOON));
		must(dat_cr_accept(side_request(&b), b.ep, 0, NULL));
		took_conn(&a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		must(do_send(&a, 2, 0, 64, DEFAULT));
		took_dto(b.recv_evd, 1, DAT_DTO_SUCCESS);
		must(dat_evd_dequeue(b.conn_evd, &ev));
		same(ev.event_number, DAT_CONNECTION_EVENT_ESTABLISHED);
		two_close(&a, &b);
	}
}

/* ---- Overflow ---- */

STATEMENT(evd_dequeue__overflow_is_an_async_event, dat_evd_post_se, DESCRIPTION)
{
	DAT_EP_ATTR attr = side_attr();
	DAT_EVD_PARAM param;
	struct side a, b;
	DAT_EVENT ev;

	two_open_apart(&a, &b);
	b.recv_evd = side_evd(&b, 2, DAT_EVD_DTO_FLAG);
	must(dat_evd_query(b.recv_evd, DAT_EVD_FIELD_ALL, &param));
	attr.max_recv_dtos = a.ia_attr.max_dto_per_ep < 512 ? a.ia_attr.max_dto_per_ep : 512;
	if (param.evd_qlen >= attr.max_recv_dtos)
		skip("the shortest EVD holds all completions that an endpoint can have: evd_qlen %d",
		     param.evd_qlen);
	b.ep = side_ep(&b, &attr);
	join(&a, a.ep, &b, b.ep);
	for (DAT_COUNT i = 0; i < attr.max_recv_dtos; i++)
		must(do_recv(&b, (uint64_t)i, 0, 64));
	must(dat_ep_disconnect(b.ep, DAT_CLOSE_ABRUPT_FLAG));
	check(TH_WITHIN(SOON_MS, dat_evd_dequeue(b.async, &ev) == DAT_SUCCESS));
	same(ev.event_number, DAT_ASYNC_ERROR_EVD_OVERFLOW);
	check(ev.event_data.asynch_error_event_data.dat_handle == b.recv_evd);
	two_close(&a, &b);
}
