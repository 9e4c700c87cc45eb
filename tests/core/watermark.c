/* SPDX-License-Identifier: BSD-2-Clause */
/* An EVD whose receives are counted: neither its events nor its waiters are affected. */
#include <errno.h>

#include "tests/core/fixture.h"

#define QLEN 8			/* length of the EVDs of fake_open_objects() */

static void setup(void)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	fake_open_objects(&t, DAT_EVD_DEFAULT_FLAG);
	cr_assert_eq(dat_ia_query(t.ia, &t.async, 0, NULL, 0, NULL), DAT_SUCCESS);
	assert_ret(dat_evd_wait(t.async, 0, 1, &ev, &more), DAT_TIMEOUT_EXPIRED);
}

TestSuite(watermark, .init = setup, .fini = teardown, .timeout = 60);

static void set(DAT_COUNT soft, DAT_COUNT hard)
{
	cr_assert_eq(dat_ep_set_watermark(t.ep, soft, hard), DAT_SUCCESS);
}

static void receive(uint64_t cookie, uint32_t status)
{
	struct dap_event ev = {.number = DAP_EV_DTO, .receive = status == DAP_DTO_SUCCESS,
			       .dto = {.ep = t.ep, .cookie = cookie, .status = (uint16_t)status}};

	fake_complete(t.evd, &ev);
}

static uint64_t dequeued(void)
{
	DAT_EVENT ev;

	cr_assert_eq(dat_evd_dequeue(t.evd, &ev), DAT_SUCCESS);
	return ev.event_data.dto_completion_event_data.user_cookie.as_64;
}

static void expect_told(void)
{
	DAT_EVENT ev;
	DAT_COUNT more;

	cr_assert_eq(dat_evd_wait(t.async, LONG, 1, &ev, &more), DAT_SUCCESS);
	cr_expect_eq(ev.event_number, DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR);
	cr_expect_eq(ev.event_data.asynch_error_event_data.dat_handle, t.ep);
	cr_expect_eq(ev.event_data.asynch_error_event_data.reason,
		     DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
}

static void expect_not_told(void)
{
	DAT_EVENT ev;

	assert_ret(dat_evd_dequeue(t.async, &ev), DAT_QUEUE_EMPTY);
}

Test(watermark, dequeue__keeps_the_order_of_completion)
{
	DAT_EVENT ev;

	receive(1, DAP_DTO_SUCCESS);
	set(100, 100);
	receive(2, DAP_DTO_SUCCESS);
	fake_complete_dto(t.evd, t.ep, 3, false);
	receive(4, DAP_DTO_SUCCESS);
	for (uint64_t i = 1; i <= 4; i++)
		cr_expect_eq(dequeued(), i);
	assert_ret(dat_evd_dequeue(t.evd, &ev), DAT_QUEUE_EMPTY);
	expect_not_told();
}

Test(watermark, more_than_there_is_room_for__nothing_is_lost)
{
	set(100, 100);
	for (uint64_t i = 0; i < 4 * QLEN; i++)
		receive(i, DAP_DTO_SUCCESS);
	for (uint64_t i = 0; i < 4 * QLEN; i++)
		cr_assert_eq(dequeued(), i);
}

/* The number of receives passed the peak and returned between two polls. */
Test(watermark, peak_seen_only_by_the_dequeuer__is_reported)
{
	set(2, DAT_WATERMARK_INFINITE);
	for (uint64_t i = 0; i < 3; i++)
		receive(i, DAP_DTO_SUCCESS);
	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(dequeued(), i);
	expect_told();
}

Test(watermark, requests_and_failures__are_not_counted)
{
	set(0, DAT_WATERMARK_INFINITE);
	fake_complete_dto(t.evd, t.ep, 1, false);
	receive(2, DAP_DTO_FLUSHED);
	cr_expect_eq(dequeued(), 1);
	cr_expect_eq(dequeued(), 2);
	receive(3, DAP_DTO_SUCCESS);
	expect_told();
	expect_not_told();
}

static void *wait_for_three(void *evd)
{
	static DAT_EVENT ev;
	DAT_COUNT more;

	return dat_evd_wait(evd, LONG, 3, &ev, &more) == DAT_SUCCESS && more == 2 ? &ev : NULL;
}

Test(watermark, waiter__gets_its_events)
{
	pthread_t thread;
	void *got;

	set(1, DAT_WATERMARK_INFINITE);
	cr_assert_eq(pthread_create(&thread, NULL, wait_for_three, t.evd), 0);
	receive(1, DAP_DTO_SUCCESS);
	receive(2, DAP_DTO_SUCCESS);
	expect_told();
	receive(3, DAP_DTO_SUCCESS);
	cr_assert_eq(pthread_join(thread, &got), 0);
	cr_assert_not_null(got);
	cr_expect_eq(dequeued(), 2);
	cr_expect_eq(dequeued(), 3);
}

Test(watermark, cno__is_triggered)
{
	DAT_EVD_HANDLE who = NULL;
	DAT_CNO_HANDLE cno;

	cr_assert_eq(dat_cno_create(t.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno), DAT_SUCCESS);
	cr_assert_eq(dat_evd_modify_cno(t.evd, cno), DAT_SUCCESS);
	set(0, DAT_WATERMARK_INFINITE);
	receive(1, DAP_DTO_SUCCESS);
	expect_told();
	cr_assert_eq(dat_cno_wait(cno, LONG, &who), DAT_SUCCESS);
	cr_expect_eq(who, t.evd);
	cr_expect_eq(dequeued(), 1);
}

/* Once all watermarks are reported, dequeues use the fast path again. */
Test(watermark, reported__counts_no_more)
{
	const struct dap_evd *evd = t.evd;

	set(0, DAT_WATERMARK_INFINITE);
	cr_expect(evd->slow & DAP_SLOW_COUNT);
	receive(1, DAP_DTO_SUCCESS);
	expect_told();
	cr_expect_eq(dequeued(), 1);
	cr_expect(TH_WITHIN(20000, !__atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE)));
}

Test(watermark, ep_free__ends_the_count)
{
	DAT_EP_HANDLE other = fake_ep(t.ia, t.pz, t.evd);

	set(1, 1);
	cr_assert_eq(dat_ep_set_watermark(other, 1, 1), DAT_SUCCESS);
	receive(1, DAP_DTO_SUCCESS);
	cr_assert_eq(dat_ep_free(t.ep), DAT_SUCCESS);
	cr_assert_eq(dat_ep_free(other), DAT_SUCCESS);
	cr_assert_eq(dat_evd_free(t.evd), DAT_SUCCESS);
	expect_not_told();
}

Test(watermark, no_memory__changes_nothing)
{
	DAT_EP_PARAM p;
	DAT_RETURN ret;

	th_fail_start(TH_FAIL_HEAP, 1);
	ret = dat_ep_set_watermark(t.ep, 3, 4);
	cr_assert_gt(th_fail_stop(), 0);
	assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
	cr_assert_eq(dat_ep_query(t.ep, DAT_EP_FIELD_ALL, &p), DAT_SUCCESS);
	cr_expect_eq(p.ep_attr.srq_soft_hw, DAT_HW_DEFAULT);
	cr_expect_eq(((struct dap_evd *)t.evd)->slow, 0);
	set(3, 4);
}

/* Without an SRQ the attribute has no effect. A new queue pair counts receives only if a watermark is set. */
Test(watermark, no_memory__does_not_set_the_attribute_as_a_watermark)
{
	DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4, .srq_soft_hw = 0};
	DAT_EVD_HANDLE evd = fake_evd(t.ia, QLEN, DAT_EVD_DEFAULT_FLAG);
	DAT_EP_PARAM p = {.ep_attr.max_request_dtos = 8};
	DAT_EP_HANDLE ep;
	DAT_RETURN ret;

	assert_ok(dat_ep_create(t.ia, t.pz, evd, evd, evd, &attr, &ep));
	th_fail_start(TH_FAIL_HEAP, 1);
	ret = dat_ep_set_watermark(ep, 3, 4);
	cr_assert_gt(th_fail_stop(), 0);
	assert_ret(ret, DAT_INSUFFICIENT_RESOURCES);
	assert_ok(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p));
	cr_expect_eq(((struct dap_evd *)evd)->slow, 0);
}

Test(watermark, ep_modify__that_is_refused_sets_none)
{
	DAT_SRQ_ATTR of_srq = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4};
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_EP_PARAM p;

	assert_ok(dat_srq_create(t.ia, t.pz, &of_srq, &srq));
	assert_ok(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.evd, srq, &attr, &ep));
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	p.ep_attr.srq_soft_hw = 3;
	p.ep_attr.max_request_dtos = 8;
	fake.recv_busy = true;
	assert_ret(dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p), DAT_INVALID_STATE);
	fake.recv_busy = false;
	assert_ok(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.ep_attr.max_request_dtos, 4);
	cr_expect_eq(p.ep_attr.srq_soft_hw, DAT_WATERMARK_INFINITE);
	cr_expect_eq(((struct dap_evd *)t.evd)->slow, 0);
}

/* An endpoint with an SRQ whose soft watermark is soft. */
static DAT_EP_HANDLE srq_ep(DAT_COUNT soft)
{
	DAT_SRQ_ATTR of_srq = {.max_recv_dtos = 4, .max_recv_iov = 1};
	DAT_EP_ATTR attr = {.max_recv_dtos = 4, .max_request_dtos = 4, .srq_soft_hw = soft};
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;

	assert_ok(dat_srq_create(t.ia, t.pz, &of_srq, &srq));
	assert_ok(dat_ep_create_with_srq(t.ia, t.pz, t.evd, t.evd, t.evd, srq, &attr, &ep));
	return ep;
}

/* Only a watermark whose event is still to come keeps its EVD off the fast path. */
Test(watermark, ep_modify__that_is_refused_does_not_request_a_reported_event_again)
{
	const struct dap_evd *evd = t.evd;
	DAT_EP_PARAM p = {.ep_attr.srq_soft_hw = 3, .ep_attr.max_request_dtos = 8};

	assert_ok(dat_ep_free(t.ep));
	t.ep = srq_ep(1);
	receive(1, DAP_DTO_SUCCESS);
	receive(2, DAP_DTO_SUCCESS);
	expect_told();
	cr_expect_eq(dequeued(), 1);
	cr_expect_eq(dequeued(), 2);
	fake.recv_busy = true;
	assert_ret(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p), DAT_INVALID_STATE);
	fake.recv_busy = false;
	cr_expect(TH_WITHIN(20000, !__atomic_load_n(&evd->slow, __ATOMIC_ACQUIRE)));
	assert_ok(dat_ep_query(t.ep, DAT_EP_FIELD_ALL, &p));
	cr_expect_eq(p.ep_attr.srq_soft_hw, 1);
}

/* The old queue pair returns, and with it the watermark whose event was not posted yet. */
Test(watermark, ep_modify__that_fails_keeps_the_old_watermark)
{
	DAT_EP_PARAM p = {.ep_attr.srq_soft_hw = 100, .ep_attr.max_request_dtos = 8};

	assert_ok(dat_ep_free(t.ep));
	t.ep = srq_ep(1);
	fake.fail_at = fake.calls + 1;
	fake.fail_with = -ENOMEM;
	assert_ret(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW |
				 DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p), DAT_INSUFFICIENT_RESOURCES);
	receive(1, DAP_DTO_SUCCESS);
	receive(2, DAP_DTO_SUCCESS);
	expect_told();
}

/* dat_ep_set_watermark(3): each call requests the event again. */
Test(watermark, ep_modify__to_the_same_value_requests_the_event_again)
{
	DAT_EP_PARAM p = {.ep_attr.srq_soft_hw = 1};

	t.ep = srq_ep(1);
	for (int round = 0; round < 2; round++) {
		receive(1, DAP_DTO_SUCCESS);
		receive(2, DAP_DTO_SUCCESS);
		expect_told();
		cr_expect_eq(dequeued(), 1);
		cr_expect_eq(dequeued(), 2);
		assert_ok(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &p));
	}
}

/* dat_ep_create(3): the attribute is ignored without an SRQ. */
Test(watermark, ep_modify__without_an_srq_keeps_the_watermark)
{
	DAT_EP_PARAM p = {.ep_attr.srq_soft_hw = 100};

	set(1, DAT_WATERMARK_INFINITE);
	assert_ok(dat_ep_modify(t.ep, DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, &p));
	receive(1, DAP_DTO_SUCCESS);
	receive(2, DAP_DTO_SUCCESS);
	expect_told();
}

Test(watermark, recv_query__returns_the_backends_count)
{
	DAT_COUNT n = -7, span = -7;

	fake.recvs = 5;
	cr_assert_eq(dat_ep_recv_query(t.ep, &n, &span), DAT_SUCCESS);
	cr_expect_eq(n, 5);
	cr_expect_eq(span, 5);
	fake.fail_at = fake.calls + 1;
	fake.fail_with = -EAGAIN;
	cr_assert_eq(dat_ep_recv_query(t.ep, &n, &span), DAT_SUCCESS);
	cr_expect_eq(n, DAT_VALUE_UNKNOWN);
	cr_expect_eq(span, DAT_VALUE_UNKNOWN);
	n = -7;
	fake.fail_at = fake.calls + 1;
	fake.fail_with = -ENOMEM;
	assert_ret(dat_ep_recv_query(t.ep, &n, NULL), DAT_INSUFFICIENT_RESOURCES);
	cr_expect_eq(n, -7);
}
