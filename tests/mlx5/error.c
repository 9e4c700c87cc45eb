/* SPDX-License-Identifier: BSD-2-Clause */
/* Failed work: its status, the flush of the work behind it, and that each error is reported
 * once. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"
#include "softnic/softnic.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

static struct rig r;
static const char *excused;

static void open_rig(void)
{
	struct rig_config c = { .params = "rnr_retry=1 retry_cnt=1 ack_timeout=8 min_rnr=1" };

	excused = NULL;
	cr_assert_eq(rig_open(&r, &c), 0);
}

static void close_rig(void)
{
	rig_close(&r, excused);
}

static void expect(struct dap_evd *evd, struct dap_ep *ep, uint64_t cookie,
		   DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT ev;
	DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;

	cr_assert(rig_event(&r, evd, &ev), "the request with cookie %lu got no event", cookie);
	cr_assert_eq(ev.event_number, DAT_DTO_COMPLETION_EVENT);
	cr_assert_eq(d->ep_handle, ep);
	cr_assert_eq(d->user_cookie.as_64, cookie);
	cr_assert_eq(d->status, status, "the request with cookie %lu has status %d instead of %d",
		     cookie, d->status, status);
}

static DAT_RETURN write_to(uint64_t cookie, DAT_RMR_TRIPLET t, DAT_COMPLETION_FLAGS flags)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, t.segment_length);

	return r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(cookie), &t, flags);
}

RIG_TEST(error, remote_access__fails_it_and_flushes_the_rest_once)
{
	DAT_RMR_TRIPLET bad = rig_remote(&r.b, 0, 300), good = bad;
	DAT_LMR_TRIPLET b = rig_local(&r.a, 0, 64);

	excused = "remote.access";
	bad.rmr_context ^= 0x55;
	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(r.hot->post_recv(r.a.ep, 1, &b, rig_cookie(100 + i), 0), DAT_SUCCESS);
	cr_assert_eq(write_to(1, good, 0), DAT_SUCCESS);
	cr_assert_eq(write_to(2, bad, 0), DAT_SUCCESS);
	/* Suppressed work that fails is reported nevertheless. */
	for (uint64_t i = 3; i < 9; i++)
		cr_assert_eq(write_to(i, good, i & 1 ? DAT_COMPLETION_SUPPRESS_FLAG : 0),
			     DAT_SUCCESS);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_SUCCESS);
	expect(r.a.request, r.a.ep, 2, DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert_eq(fake.broken, r.a.ep);
	for (uint64_t i = 3; i < 9; i++)
		expect(r.a.request, r.a.ep, i, DAT_DTO_ERR_FLUSHED);
	for (uint64_t i = 0; i < 3; i++)
		expect(r.a.recv, r.a.ep, 100 + i, DAT_DTO_ERR_FLUSHED);
	cr_assert(rig_empty(&r, r.a.request));
	cr_assert(rig_empty(&r, r.a.recv));
	cr_assert_eq(fake.broken_count, 1);
	cr_assert(strstr(fake.log, "remote access") && strstr(fake.log, "RDMA_WRITE"),
		  "the log does not explain the error: %s", fake.log);
}

static bool has_cq;

static void look_at_cq(struct dap_ep *ep)
{
	struct m5_cq *cq = m5_cq(ep->request_evd);

	has_cq = __atomic_load_n(&cq->in_poll, __ATOMIC_RELAXED) ||
		 __atomic_load_n(&cq->lock, __ATOMIC_RELAXED);
}

/* A thread that resets the endpoint takes the CQ. Behind it, the failure would be one of the next
 * connection. */
RIG_TEST(error, dequeue__reports_a_failure_before_another_thread_can_take_the_cq)
{
	DAT_RMR_TRIPLET bad = rig_remote(&r.b, 0, 300);

	excused = "remote.access";
	bad.rmr_context ^= 0x55;
	fake.on_broken = look_at_cq;
	cr_assert_eq(write_to(1, bad, 0), DAT_SUCCESS);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert_eq(fake.broken_count, 1);
	cr_expect(has_cq);
}

RIG_TEST(error, post_send__with_an_invalid_key_gets_local_protection)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 300);

	excused = "mkey.stale";
	l.lmr_context ^= 0x77;
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
	cr_assert_eq(fake.broken, r.a.ep);
}

/* The write is short enough to be inlined, but the device still checks it. */
RIG_TEST(error, local_protection__is_checked_also_for_an_inline_write)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, RIG_BYTES - 4, 8);
	DAT_RMR_TRIPLET t = rig_remote(&r.b, 0, 8);

	excused = "mkey.bounds";
	cr_assert_eq(r.hot->rdma_write(r.a.ep, 1, &l, rig_cookie(1), &t, 0), DAT_SUCCESS);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_ERR_LOCAL_PROTECTION);
}

RIG_TEST(error, receive_too_small__fails_both_sides)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 300), b = rig_local(&r.b, 0, 299);

	excused = "remote.invalid_request";
	cr_assert_eq(r.hot->post_recv(r.b.ep, 1, &b, rig_cookie(2), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
	expect(r.b.recv, r.b.ep, 2, DAT_DTO_ERR_LOCAL_LENGTH);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_ERR_REMOTE_RESPONDER);
	cr_assert_eq(fake.broken_count, 2);
}

RIG_TEST(error, receiver_not_ready__ends_the_send_when_the_retries_are_used_up)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);

	cr_assert_eq(r.hot->post_send(r.a.ep, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_ERR_RECEIVER_NOT_READY);
}

RIG_TEST(error, transport__error_ends_the_write_when_the_peer_is_gone)
{
	rig_ep_free(r.b.ep);
	cr_assert_eq(write_to(1, rig_remote(&r.b, 0, 8), 0), DAT_SUCCESS);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_ERR_TRANSPORT);
	cr_assert_eq(rig_ep(&r, &r.b, &r.b.ep), 0);
}

RIG_TEST(error, qp_error__flushes_earlier_and_later_posts)
{
	DAT_LMR_TRIPLET b = rig_local(&r.a, 0, 64);

	for (uint64_t i = 0; i < 4; i++)
		r.hot->post_recv(r.a.ep, 1, &b, rig_cookie(i), 0);
	r.a.ep->state = DAP_EP_DISCONNECTED;
	cr_assert_eq(m5_hw.qp_error(r.a.ep), 0);
	for (uint64_t i = 4; i < 8; i++)
		r.hot->post_recv(r.a.ep, 1, &b, rig_cookie(i), 0);
	for (uint64_t i = 0; i < 4; i++)
		cr_assert_eq(write_to(i, rig_remote(&r.b, 0, 8), DAT_COMPLETION_SUPPRESS_FLAG),
			     DAT_SUCCESS);
	for (uint64_t i = 0; i < 8; i++)
		expect(r.a.recv, r.a.ep, i, DAT_DTO_ERR_FLUSHED);
	for (uint64_t i = 0; i < 4; i++)
		expect(r.a.request, r.a.ep, i, DAT_DTO_ERR_FLUSHED);
	cr_assert_eq(fake.broken_count, 0, "flushes after a disconnect were reported as a failure");
	/* Afterwards the queues have room for the same number of requests again. */
	for (uint64_t i = 0; i < 40; i++) {
		cr_assert_eq(write_to(i, rig_remote(&r.b, 0, 8), 0), DAT_SUCCESS);
		expect(r.a.request, r.a.ep, i, DAT_DTO_ERR_FLUSHED);
	}
}

static uint32_t cqes_in(struct dap_evd *evd)
{
	return m5_cq_end(m5_cq(evd)) - m5_cq(evd)->ci;
}

/* The end of a connection comes after its completions. A device flushes a QP after its command. */
RIG_TEST(error, qp_error__returns_when_the_queues_are_flushed)
{
	DAT_LMR_TRIPLET b = rig_local(&r.a, 0, 64);
	DAT_EVENT ev;

	for (uint64_t i = 0; i < 4; i++) {
		cr_assert_eq(r.hot->post_recv(r.a.ep, 1, &b, rig_cookie(i), 0), DAT_SUCCESS);
		cr_assert_eq(r.hot->post_send(r.a.ep, 1, &b, rig_cookie(i), 0), DAT_SUCCESS);
	}
	r.a.ep->state = DAP_EP_DISCONNECTED;
	cr_assert_eq(m5_hw.qp_error(r.a.ep), 0);
	cr_expect_eq(cqes_in(r.a.recv), 4);
	cr_expect_eq(cqes_in(r.a.request), 4);
	for (int i = 0; i < 4; i++)
		cr_expect(rig_event(&r, r.a.recv, &ev) && rig_event(&r, r.a.request, &ev));
}

static bool returned;

static void *end_while_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	m5_hw.qp_error(r.a.ep);
	returned = true;
	pthread_testcancel();
	return arg;
}

/* Core has the endpoint's lock during this call. The device seems to flush a receive too late. */
RIG_TEST(error, qp_error__of_a_cancelled_thread_returns_after_its_wait)
{
	pthread_t thread;

	m5_ep(r.a.ep)->rq.pi++;
	cr_assert_eq(pthread_create(&thread, NULL, end_while_cancelled, NULL), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	m5_ep(r.a.ep)->rq.pi--;
	cr_assert(returned, "the thread ended in the wait");
}

/* Suppressed requests have no completion if they succeed, so nothing waits for them. */
RIG_TEST(error, qp_error__does_not_wait_for_suppressed_requests)
{
	cr_assert_eq(write_to(1, rig_remote(&r.b, 0, 8), DAT_COMPLETION_SUPPRESS_FLAG), DAT_SUCCESS);
	r.a.ep->state = DAP_EP_DISCONNECTED;
	cr_assert_eq(m5_hw.qp_error(r.a.ep), 0);
	cr_expect_eq(m5_ia(r.ia)->flush_ms, M5_FLUSH_MS);
}

/* Requests with 30 segments can fill the ring of 32768 blocks up to the last one, which a drain then uses. */
Test(error, sq_completed__is_false_while_all_blocks_of_the_largest_ring_are_outstanding)
{
	struct rig_config c = { .attr = { .max_request_dtos = 8000 }, .qlen = 8192 };
	struct m5_done *done;
	uint16_t ci;

	cr_assert_eq(rig_open(&r, &c), 0);
	done = &m5_ep(r.a.ep)->done;
	ci = (uint16_t)done->sq_ci;
	cr_assert_eq(done->sq_mask, 32767);
	done->sq_slots[ci] = (struct m5_slot){ .end = (uint16_t)(ci + 8) };
	cr_expect(m5_sq_completed(r.a.ep, ci));
	cr_expect(m5_sq_completed(r.a.ep, (uint16_t)(ci - 1)));
	for (unsigned int n = 1; n <= 32768; n++)
		cr_assert_not(m5_sq_completed(r.a.ep, (uint16_t)(ci + n)), "%u blocks", n);
	rig_close(&r, NULL);
}

RIG_TEST(error, drain__ends_on_a_broken_queue_too)
{
	cr_assert_eq(m5_hw.qp_error(r.a.ep), 0);
	r.a.ep->state = DAP_EP_DISCONNECTED;
	m5_hw.qp_drain_begin(r.a.ep);
	cr_assert(TH_WITHIN(20000, m5_hw.qp_drain_done(r.a.ep)));
	cr_assert(rig_empty(&r, r.a.request),
		  "the drain's own completion was reported to the consumer");
}

/* The QP has failed, but no request or receive has. The consumer may dequeue what was flushed before the
 * drain is checked. */
RIG_TEST(error, drain__whose_flushed_requests_are_dequeued_breaks_the_endpoint)
{
	cr_assert_eq(m5_hw.qp_error(r.a.ep), 0);
	cr_assert_eq(write_to(1, rig_remote(&r.b, 0, 8), 0), DAT_SUCCESS);
	r.a.ep->state = DAP_EP_DISCONNECT_PENDING;
	m5_hw.qp_drain_begin(r.a.ep);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_ERR_FLUSHED);
	cr_assert(rig_empty(&r, r.a.request));
	cr_assert(TH_WITHIN(20000, m5_hw.qp_drain_done(r.a.ep)));
	cr_expect_eq(fake.broken, r.a.ep, "both ends would get DISCONNECTED");
}

/* The program has dequeued the completion of its last request. The drain's own request, which is flushed,
 * does not count as outstanding. */
RIG_TEST(error, qp_idle__after_a_drain_that_was_flushed_is_true)
{
	DAT_RMR_TRIPLET bad = rig_remote(&r.b, 0, 300);
	bool recv, request;

	excused = "remote.access";
	bad.rmr_context ^= 0x55;
	cr_assert_eq(write_to(2, bad, 0), DAT_SUCCESS);
	m5_hw.qp_drain_begin(r.a.ep);
	expect(r.a.request, r.a.ep, 2, DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert(TH_WITHIN(20000, (m5_hw.qp_idle(r.a.ep, &recv, &request), request)));
}

/* The peer has ended the connection first. The program has posted no request. */
RIG_TEST(error, qp_idle__does_not_count_a_drain)
{
	bool recv, request;

	fake.quiet = true;
	cr_assert_eq(m5_hw.qp_error(r.a.ep), 0);
	r.a.ep->state = DAP_EP_DISCONNECT_PENDING;
	m5_hw.qp_drain_begin(r.a.ep);
	m5_hw.qp_idle(r.a.ep, &recv, &request);
	cr_assert(request);
	r.a.ep->state = DAP_EP_DISCONNECTED;
	cr_assert_eq(write_to(3, rig_remote(&r.b, 0, 300), 0), DAT_SUCCESS);
	m5_hw.qp_idle(r.a.ep, &recv, &request);
	cr_assert(!request, "the write behind the drain does not count");
	expect(r.a.request, r.a.ep, 3, DAT_DTO_ERR_FLUSHED);
	m5_hw.qp_idle(r.a.ep, &recv, &request);
	cr_assert(request);
}

/* The responder learns of a refused access by an asynchronous event only. */
RIG_TEST(error, async_handle__of_a_refused_access_breaks_the_endpoint)
{
	DAT_RMR_TRIPLET bad = rig_remote(&r.b, 0, 300);

	excused = "remote.access";
	bad.rmr_context ^= 0x55;
	cr_assert_eq(write_to(2, bad, 0), DAT_SUCCESS);
	expect(r.a.request, r.a.ep, 2, DAT_DTO_ERR_REMOTE_ACCESS);
	cr_assert(TH_WITHIN(20000, (m5_hw.async_handle(r.ia), fake.broken == r.b.ep)));
	cr_assert_eq(fake.broken_count, 2, "each end is reported once, and no other endpoint");
}

RIG_TEST(error, async_handle__of_a_dead_device_reports_it)
{
	fake.quiet = true;
	cr_assert_eq(softnic_fault(m5_ia(r.ia)->ctl->soft, "fatal"), 0);
	cr_assert(TH_WITHIN(20000, (m5_hw.async_handle(r.ia), fake.fatal == r.ia)));
	softnic_violations_clear(m5_ia(r.ia)->ctl->soft);
}

RIG_TEST(error, async_handle__of_a_port_that_is_down_reports_it_once)
{
	struct softnic *soft = m5_ia(r.ia)->ctl->soft;

	fake.quiet = true;
	cr_assert_eq(softnic_fault(soft, "link_down"), 0);
	cr_assert(TH_WITHIN(20000, (m5_hw.async_handle(r.ia), fake.async_count == 1)));
	cr_assert_eq(fake.async, DAP_EV_ASYNC_INTERNAL);
	m5_ia(r.ia)->port.up = false;
	cr_assert_eq(softnic_fault(soft, ""), 0);
	cr_assert(TH_WITHIN(20000, (m5_hw.async_handle(r.ia), m5_ia(r.ia)->port.up)));
	cr_assert_eq(fake.async_count, 1);
}

/* Writes a CQE in place of the device's next one. */
static void forge(struct dap_evd *evd, unsigned int op, uint32_t uidx)
{
	const struct m5_cq *cq = m5_cq(evd);

	*m5_cqe_at(cq, cq->ci) = (struct m5_cqe){
		.uidx = cpu_to_be32(uidx), .op_own = (uint8_t)(op << 4 | (cq->ci >> cq->log & 1)),
	};
}

static void ignored_with(const char *words)
{
	fake.quiet = true;
	cr_expect(rig_empty(&r, r.a.request));
	cr_expect(strstr(fake.log, words), "the log says: %s", fake.log);
	cr_expect_null(fake.broken);
}

Test(error, dequeue__of_an_unknown_cqe_is_no_event)
{
	enum { UNKNOWN = 7, NOBODY = 0xfffffe };

	open_rig();
	forge(r.a.request, UNKNOWN, m5_ep(r.a.ep)->uidx);
	ignored_with("ignored a CQE of unknown type: CQE opcode 7");
	forge(r.a.request, M5_CQE_REQ, NOBODY);
	ignored_with("ignored a CQE without an endpoint: CQE REQ");
	softnic_violations_clear(m5_ia(r.ia)->ctl->soft);
	rig_close(&r, NULL);
}

static const char *described(const struct dap_obj *obj)
{
	static char text[512];

	m5_hw.describe(obj, text, sizeof(text));
	return text;
}

RIG_TEST(error, describe__of_an_outstanding_write_shows_it_and_its_completion)
{
	const char *text;

	cr_assert_eq(write_to(1, rig_remote(&r.b, 0, 300), 0), DAT_SUCCESS);
	cr_assert(TH_WITHIN(20000, (m5_drive_model(m5_ia(r.ia)), m5_cq_end(m5_cq(r.a.request)))));
	text = described(&r.a.ep->obj);
	cr_expect(strstr(text, "blocks posted up to 1, completed up to 0"), "%s", text);
	/* a device may overwrite a WQE that it has executed */
	cr_expect(strstr(text, "; oldest request: "), "%s", text);
	text = described(&r.a.request->obj);
	cr_expect(strstr(text, "at 0; there: CQE REQ"), "%s", text);
	expect(r.a.request, r.a.ep, 1, DAT_DTO_SUCCESS);
	text = described(&r.a.ep->obj);
	cr_expect_null(strstr(text, "oldest request"), "%s", text);
}

RIG_TEST(error, rmr_create__that_firmware_forbids_is_refused_with_the_cure)
{
	struct dap_rmr *rmr;

	m5_ia(r.ia)->dev.windows = false;
	fake.quiet = true;
	cr_expect_eq(rig_rmr(&r, &rmr), -EPERM);
	cr_expect(strstr(fake.log, "give LMRs remote rights"), "the log says: %s", fake.log);
}

/* Every syndrome occurs once, in a CQE that the test writes in place of the device's next CQE. */
Test(error, cqe_rare__of_every_syndrome_has_its_status)
{
	static const struct {
		uint8_t syndrome;
		uint32_t status;
	} table[] = {
		{ 0x01, DAP_DTO_LOCAL_LENGTH }, { 0x02, DAP_DTO_LOCAL_EP },
		{ 0x04, DAP_DTO_LOCAL_PROTECTION }, { 0x05, DAP_DTO_FLUSHED },
		{ 0x06, DAP_RMR_OPERATION_FAILED }, { 0x10, DAP_DTO_BAD_RESPONSE },
		{ 0x11, DAP_DTO_LOCAL_PROTECTION }, { 0x12, DAP_DTO_REMOTE_RESPONDER },
		{ 0x13, DAP_DTO_REMOTE_ACCESS }, { 0x14, DAP_DTO_REMOTE_RESPONDER },
		{ 0x15, DAP_DTO_TRANSPORT }, { 0x16, DAP_DTO_RECEIVER_NOT_READY },
		{ 0x22, DAP_DTO_REMOTE_RESPONDER }, { 0x7f, DAP_DTO_LOCAL_EP },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		cr_expect_eq(m5_syndrome_status(table[i].syndrome), table[i].status,
			     "syndrome 0x%02x is mapped to the wrong status", table[i].syndrome);
}
