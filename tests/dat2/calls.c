/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls that uDAPL 1.2 has too, through the table of 2.0. Their slots, arguments and parameters
 * differ. The tests of 1.2 check their effects.
 */
#include "tests/dat2/dat2.h"
#include "tests/harness/harness.h"

TestSuite(calls, .init = sides_open, .fini = sides_close, .timeout = 60);

static DAT_EP_STATE state_of(DAT_EP_HANDLE ep)
{
	DAT_BOOLEAN recv_idle, request_idle;
	DAT_EP_STATE state;

	assert_ok(dat_ep_get_status(ep, &state, &recv_idle, &request_idle));
	cr_assert_eq(recv_idle, DAT_TRUE);
	cr_assert_eq(request_idle, DAT_TRUE);
	return state;
}

Test(calls, context__is_kept)
{
	DAT_CONTEXT in = { .as_64 = 0x1234567890abcdef }, out = { .as_64 = 0 };

	assert_ok(dat_set_consumer_context(a.ep, in));
	assert_ok(dat_get_consumer_context(a.ep, &out));
	cr_assert_eq(out.as_64, in.as_64);
}

Test(calls, cno__is_triggered)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT }, got;
	DAT_EVD_HANDLE evd, told;
	DAT_CNO_HANDLE cno;

	assert_ok(dat_cno_create(a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	assert_ok(dat_cno_modify_agent(cno, DAT_OS_WAIT_PROXY_AGENT_NULL));
	assert_ok(dat_evd_create(a.ia, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	assert_ok(dat_evd_modify_cno(evd, cno));
	assert_ok(dat_evd_post_se(evd, &ev));
	assert_ok(dat_cno_wait(cno, SOON, &told));
	cr_assert_eq(told, evd);
	assert_ok(dat_evd_dequeue(evd, &got));
	assert_ok(dat_evd_disable(evd));
	assert_ok(dat_evd_post_se(evd, &ev));
	assert_ret(dat_cno_wait(cno, 0, &told), DAT_QUEUE_EMPTY);
	cr_assert_null(told);
	assert_ok(dat_evd_enable(evd));
	assert_ok(dat_evd_post_se(evd, &ev));
	assert_ok(dat_cno_wait(cno, SOON, &told));
	assert_ok(dat_evd_free(evd));
	assert_ok(dat_cno_free(cno));
}

Test(calls, evd__is_unwaitable)
{
	DAT_EVENT ev = { .event_number = DAT_SOFTWARE_EVENT };
	DAT_EVD_HANDLE evd;
	DAT_COUNT more;

	assert_ok(dat_evd_create(a.ia, 8, NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
	assert_ok(dat_evd_post_se(evd, &ev));
	assert_ok(dat_evd_set_unwaitable(evd));
	assert_ret(dat_evd_wait(evd, 0, 1, &ev, &more), DAT_INVALID_STATE);
	assert_ok(dat_evd_clear_unwaitable(evd));
	assert_ok(dat_evd_wait(evd, SOON, 1, &ev, &more));
	assert_ok(dat_evd_free(evd));
}

/* The bits of the mask differ from 1.2's. */
Test(calls, ep_modify__changes_the_field_of_its_bit)
{
	DAT_EP_PARAM before, to, after;
	DAT_PZ_HANDLE pz;

	assert_ok(dat_pz_create(a.ia, &pz));
	assert_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &before));
	to = before;
	to.pz_handle = pz;
	to.ep_attr.max_recv_dtos = before.ep_attr.max_recv_dtos / 2;
	to.ep_attr.max_request_dtos = before.ep_attr.max_request_dtos / 2;
	to.ep_attr.max_request_iov = before.ep_attr.max_request_iov - 1;
	assert_ok(dat_ep_modify(a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &to));
	assert_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &after));
	cr_assert_geq(after.ep_attr.max_recv_dtos, to.ep_attr.max_recv_dtos);
	cr_assert_eq(after.pz_handle, a.pz);
	cr_assert_eq(after.ep_attr.max_request_dtos, before.ep_attr.max_request_dtos);
	cr_assert_eq(after.ep_attr.max_request_iov, before.ep_attr.max_request_iov);
	assert_ok(dat_ep_modify(a.ep, DAT_EP_FIELD_PZ_HANDLE, &to));
	assert_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &after));
	cr_assert_eq(after.pz_handle, pz);
	assert_ok(dat_ep_modify(a.ep, DAT_EP_FIELD_PZ_HANDLE, &before));
	assert_ok(dat_pz_free(pz));
}

/* Another opening of the same adapter may have the connect EVD, as for dat_ep_create(). */
Test(calls, ep_modify__connect_evd_of_another_opening_gets_the_events)
{
	DAT_EP_PARAM to = { .connect_evd_handle = b.conn }, after;
	DAT_EVENT ev;

	assert_ok(dat_ep_modify(a.ep, DAT_EP_FIELD_CONNECT_EVD_HANDLE, &to));
	assert_ok(dat_ep_query(a.ep, DAT_EP_FIELD_ALL, &after));
	cr_assert_eq(after.connect_evd_handle, b.conn);
	assert_ok(dat_evd_free(a.conn));
	assert_ok(dat_cr_reject(side_request(a.ep), 0, NULL));
	ev = side_wait(b.conn, DAT_CONNECTION_EVENT_PEER_REJECTED);
	cr_assert_eq(ev.event_data.connect_event_data.ep_handle, a.ep);
	assert_ret(dat_evd_free(b.conn), DAT_INVALID_STATE);
}

Test(calls, ep_recv__is_counted_and_bounded)
{
	DAT_LMR_TRIPLET segment = side_segment(&a, 0, 64);
	DAT_COUNT buffers = -5, span = -5;

	assert_ok(dat_ep_set_watermark(a.ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
	assert_ok(dat_ep_post_recv(a.ep, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = 7 }, 0));
	assert_ok(dat_ep_recv_query(a.ep, &buffers, &span));
	cr_assert_eq(buffers, 1);
	cr_assert_eq(span, 1);
}

Test(calls, srq__calls_from_create_to_free_succeed)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 16, .max_recv_iov = 2,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	DAT_EP_ATTR ep_attr = { .max_recv_dtos = 7, .max_request_dtos = 8, .max_request_iov = 2 };
	DAT_LMR_TRIPLET segment = side_segment(&b, 0, 64);
	DAT_SRQ_PARAM srq_param;
	DAT_EP_PARAM ep_param;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	side_needs_srq();
	assert_ok(dat_srq_create(b.ia, b.pz, &attr, &srq));
	assert_ok(dat_ep_create_with_srq(b.ia, b.pz, b.dto, b.dto, b.conn, srq, &ep_attr,
					 &ep));
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &ep_param));
	cr_assert_eq(ep_param.srq_handle, srq);
	assert_ok(dat_srq_post_recv(srq, 1, &segment, (DAT_DTO_COOKIE){ .as_64 = 7 }));
	assert_ok(dat_srq_set_lw(srq, 1));
	assert_ok(dat_srq_resize(srq, 32));
	assert_ok(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &srq_param));
	cr_assert_eq(srq_param.available_dto_count, 1);
	cr_assert_eq(srq_param.low_watermark, 1);
	cr_assert_geq(srq_param.max_recv_dtos, 32);
	cr_assert_eq(srq_param.pz_handle, b.pz);
	assert_ret(dat_srq_free(srq), DAT_INVALID_STATE);
	assert_ok(dat_ep_free(ep));
	assert_ok(dat_srq_free(srq));
}

Test(calls, rsp__reserves_its_endpoint)
{
	DAT_RSP_PARAM param;
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;

	/* The provider chooses an unused qualifier. */
	assert_ok(dat_psp_create_any(b.ia, &qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	assert_ok(dat_psp_free(psp));
	assert_ok(dat_rsp_create(b.ia, qual, b.ep, b.cr, &rsp));
	assert_ok(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &param));
	cr_assert_eq(param.ia_handle, b.ia);
	cr_assert_eq(param.conn_qual, qual);
	cr_assert_eq(param.evd_handle, b.cr);
	cr_assert_eq(param.ep_handle, b.ep);
	cr_assert_eq(state_of(b.ep), DAT_EP_STATE_RESERVED);
	assert_ok(dat_rsp_free(rsp));
	cr_assert_eq(state_of(b.ep), DAT_EP_STATE_UNCONNECTED);
}

/* b has two service points. The request goes to the first, which hands it off to the second. */
Test(calls, cr__is_queried_and_handed_off)
{
	DAT_CONN_QUAL qual, other;
	DAT_PSP_HANDLE psp[2];
	DAT_PSP_PARAM point;
	DAT_CR_PARAM param;
	DAT_CR_HANDLE cr;
	char say[] = "hello";
	DAT_EVENT ev;

	assert_ok(dat_psp_create_any(b.ia, &other, b.cr, DAT_PSP_CONSUMER_FLAG, &psp[0]));
	assert_ok(dat_psp_free(psp[0]));
	assert_ok(dat_psp_create_any(b.ia, &qual, b.cr, DAT_PSP_CONSUMER_FLAG, &psp[0]));
	assert_ok(dat_psp_create(b.ia, other, b.cr, DAT_PSP_CONSUMER_FLAG, &psp[1]));
	assert_ok(dat_psp_query(psp[1], DAT_PSP_FIELD_ALL, &point));
	cr_assert_eq(point.ia_handle, b.ia);
	cr_assert_eq(point.conn_qual, other);
	cr_assert_eq(point.evd_handle, b.cr);
	cr_assert_eq(point.psp_flags, DAT_PSP_CONSUMER_FLAG);
	assert_ok(dat_ep_connect(a.ep, side_address(0), qual, SOON, sizeof(say), say,
				 DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	ev = side_wait(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	assert_ok(dat_cr_handoff(ev.event_data.cr_arrival_event_data.cr_handle, other));
	ev = side_wait(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	cr_assert_eq(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle, psp[1]);
	assert_ok(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param));
	cr_assert_geq(param.private_data_size, (DAT_COUNT)sizeof(say));
	cr_assert_str_eq(param.private_data, say);
	cr_assert_null(param.local_ep_handle);
	assert_ok(dat_cr_accept(cr, b.ep, 0, NULL));
	side_wait(b.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	side_wait(a.conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	cr_assert_eq(state_of(a.ep), DAT_EP_STATE_CONNECTED);
}

Test(calls, dup_connect__reaches_the_same_remote_end)
{
	DAT_EP_HANDLE more;
	DAT_EVENT ev;

	sides_connect();
	assert_ok(dat_ep_create(a.ia, a.pz, a.dto, a.dto, a.conn, NULL, &more));
	assert_ok(dat_ep_dup_connect(more, a.ep, SOON, 0, NULL, DAT_QOS_BEST_EFFORT));
	ev = side_wait(b.cr, DAT_CONNECTION_REQUEST_EVENT);
	assert_ok(dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
	side_wait(a.conn, DAT_CONNECTION_EVENT_PEER_REJECTED);
}

Test(calls, lmr_sync__invalid_segment_is_refused)
{
	DAT_LMR_TRIPLET segment = side_segment(&a, 8, 64);

	assert_ok(dat_lmr_sync_rdma_read(a.ia, &segment, 1));
	assert_ok(dat_lmr_sync_rdma_write(a.ia, &segment, 1));
	segment.lmr_context ^= 0x5500;
	assert_ret(dat_lmr_sync_rdma_read(a.ia, &segment, 1), DAT_INVALID_PARAMETER);
	assert_ret(dat_lmr_sync_rdma_write(a.ia, &segment, 1), DAT_INVALID_PARAMETER);
}

/* 1.2 has only the first of these flags. */
Test(calls, connect__knows_both_flags_of_multipath)
{
	const DAT_CONNECT_FLAGS flags[] = {
		DAT_CONNECT_MULTIPATH_REQUESTED_FLAG, DAT_CONNECT_MULTIPATH_REQUIRED_FLAG,
	};

	for (int i = 0; i < 2; i++)
		assert_ret(dat_ep_connect(a.ep, side_address(0), 77777, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
					  flags[i]), DAT_MODEL_NOT_SUPPORTED);
	assert_ret(dat_ep_connect(a.ep, side_address(0), 77777, SOON, 0, NULL, DAT_QOS_BEST_EFFORT,
				  (DAT_CONNECT_FLAGS)4), DAT_INVALID_PARAMETER);
}

/* ---- Calls of 2.0 alone, while memory or descriptors are lacking ---- */

static struct {
	DAT_IA_HANDLE raw;
	DAT_IA_ADDRESS_PTR address;
	DAT_PZ_HANDLE pz;
} of;

static DAT_RETURN make_cno(DAT_HANDLE *out)
{
	DAT_FD fd;

	return PROVIDER(b.pz)->cno_fd_create_func(of.raw, &fd, out);
}

static DAT_RETURN make_csp(DAT_HANDLE *out)
{
	DAT_COMM comm = { of.address->sa_family, SOCK_STREAM, 0 };

	return PROVIDER(b.pz)->csp_create_func(of.raw, &comm, of.address, b.cr, out);
}

static DAT_RETURN free_csp(DAT_HANDLE csp)
{
	return PROVIDER(csp)->csp_free_func(csp);
}

static DAT_RETURN make_rmr(DAT_HANDLE *out)
{
	return PROVIDER(of.pz)->rmr_create_for_ep_func(of.pz, out);
}

/* Returns the number of failures. */
static unsigned int each_shortage(DAT_RETURN (*make)(DAT_HANDLE *), DAT_RETURN (*unmake)(DAT_HANDLE))
{
	DAT_HANDLE made = DAT_HANDLE_NULL;
	unsigned int failures = 0;
	struct th_usage before, after;
	unsigned long n = 0, seen;
	DAT_RETURN ret;

	assert_ok(make(&made));
	assert_ok(unmake(made));
	th_usage(&before);
	do {
		made = DAT_HANDLE_NULL;
		th_fail_start(TH_FAIL_HEAP | TH_FAIL_MMAP | TH_FAIL_MINE, ++n);
		ret = make(&made);
		seen = th_fail_stop();
		if (seen >= n) {
			assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
			cr_assert_null(made);
			failures++;
		}
	} while (seen >= n && n < 100);
	assert_ok(ret);
	assert_ok(unmake(made));
	for (unsigned int room = 0;; room++) {
		cr_assert_eq(th_fds_limit(room), 0);
		made = DAT_HANDLE_NULL;
		ret = make(&made);
		th_fds_restore();
		if (ret == DAT_SUCCESS || room == 16)
			break;
		assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
		cr_assert_null(made);
		failures++;
	}
	assert_ok(ret);
	assert_ok(unmake(made));
	cr_assert(TH_WITHIN(SOON / 1000, (th_usage(&after), after.fds == before.fds)),
		  "%u descriptors, not %u", after.fds, before.fds);
	cr_assert_eq(after.threads, before.threads);
	return failures;
}

Test(calls, cno_fd_create__each_shortage_is_reported_and_leaks_nothing)
{
	of.raw = side_own_handle(&b);
	cr_assert_gt(each_shortage(make_cno, dat_cno_free), 3);
}

Test(calls, csp_create__each_shortage_is_reported_and_leaks_nothing)
{
	of.raw = side_own_handle(&b);
	of.address = side_address((in_port_t)(16384 + 16 * th_number()));
	cr_assert_gt(each_shortage(make_csp, free_csp), 3);
}

Test(calls, rmr_create_for_ep__each_shortage_is_reported_and_leaks_nothing)
{
	side_needs_windows();
	assert_ok(dat_pz_create(b.ia, &of.pz));
	cr_assert_gt(each_shortage(make_rmr, dat_rmr_free), 3);
	assert_ok(dat_pz_free(of.pz));		/* so no RMR is left in it */
}
