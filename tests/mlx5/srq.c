/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared receive queue as the device sees it: the links, the record, the limit; and which slots
 * are in use. */
#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "hw_mlx5/ctl/soft.h"
#include "hw_mlx5/ops.h"
#include "softnic/softnic.h"
#include "tests/harness/harness.h"
#include "tests/mlx5/rig.h"

#define RECVS 4

static struct rig r;
static struct dap_srq *srq;
static struct rig_side sender;
static struct dap_ep *from, *to;

static void open_rig(void)
{
	struct rig_config c = { 0 };

	cr_assert_eq(rig_open(&r, &c), 0);
	cr_assert_eq(rig_srq(&r, RECVS, 2, &srq), 0);
	r.b.srq = srq;
	cr_assert_eq(rig_ep(&r, &r.b, &to), 0);
	r.b.srq = NULL;
	sender = r.a;
	cr_assert_eq(rig_ep(&r, &sender, &from), 0);
	cr_assert_eq(rig_connect(from, to), 0);
}

static void close_rig(void)
{
	rig_ep_free(from);
	rig_ep_free(to);
	rig_srq_free(srq);
	rig_close(&r, NULL);
}

TestSuite(srq, .timeout = 60);

static DAT_RETURN give(uint64_t cookie)
{
	DAT_LMR_TRIPLET l = rig_local(&r.b, 0, 64);

	return r.hot->srq_post_recv(srq, 1, &l, rig_cookie(cookie));
}

/* Sends a message and dequeues its completion; returns the receive's cookie. */
static uint64_t arrive(void)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	DAT_EVENT ev;

	cr_assert(TH_WITHIN(20000, r.hot->post_send(from, 1, &l, rig_cookie(1),
						   DAT_COMPLETION_SUPPRESS_FLAG) == DAT_SUCCESS));
	cr_assert(rig_event(&r, r.b.recv, &ev));
	cr_assert_eq(ev.event_data.dto_completion_event_data.ep_handle, to);
	cr_assert_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_SUCCESS);
	return ev.event_data.dto_completion_event_data.user_cookie.as_64;
}

static uint32_t left(void)
{
	uint32_t available = ~0u, outstanding;

	cr_assert_eq(m5_hw.srq_count(srq, &available, &outstanding), 0);
	return available;
}

static unsigned int next_of(uint32_t index)
{
	const struct m5_srq *q = m5_srq(srq);

	return be16_to_cpu(((struct m5_next_seg *)(q->ring + ((size_t)index << q->shift)))
				   ->next_wqe_index);
}

RIG_TEST(srq, srq_post_recv__writes_link_data_and_end)
{
	DAT_LMR_TRIPLET l = rig_local(&r.b, 0x40, 0x99);
	struct m5_srq *q = m5_srq(srq);
	const uint8_t want[48] = {
		/* index of the next WQE: 1 */
		0, 0, 0, 1,
		[16] = 0, 0, 0, 0x99,
		[20] = (uint8_t)(l.lmr_context >> 24), (uint8_t)(l.lmr_context >> 16),
		[22] = (uint8_t)(l.lmr_context >> 8), (uint8_t)l.lmr_context,
		/* key 0x100 ends the list */
		[38] = 1,
	};
	uint64_t va = htobe64(l.virtual_address);

	memset(q->ring, 0xee, (size_t)q->size << q->shift);
	cr_assert_eq(r.hot->srq_post_recv(srq, 1, &l, rig_cookie(9)), DAT_SUCCESS);
	cr_expect_eq(q->shift, 6);
	cr_expect_arr_eq(q->ring, want, 24);
	cr_expect_arr_eq(q->ring + 24, &va, 8);
	cr_expect_arr_eq(q->ring + 32, want + 32, 16);
	cr_expect_eq(be32toh(q->dbrec[0]), 1);
}

/* Makes more posts than the record's counter can count, in a queue that is full all the time. */
static void srq_srq_post_recv__past_the_end_of_the_counters_keeps_the_order(void)
{
	uint64_t posted = 0;

	for (; posted < RECVS; posted++)
		cr_assert_eq(give(posted), DAT_SUCCESS);
	for (; posted < 66000; posted++) {
		cr_assert_neq(give(posted), DAT_SUCCESS);
		cr_assert_eq(arrive(), posted - RECVS);
		cr_assert_eq(give(posted), DAT_SUCCESS);
	}
	cr_expect_eq(be32toh(m5_srq(srq)->dbrec[0]), 66000 & 0xffff);
}

RIG_TEST_ON(srq, srq_post_recv__past_the_end_of_the_counters_keeps_the_order, RIG_MODEL, model)
RIG_TEST_ON(srq, srq_post_recv__past_the_end_of_the_counters_keeps_the_order, RIG_LOCKED, locked)

RIG_TEST(srq, srq_post_recv__full_calls_core_once)
{
	fake.reap_count = 0;
	for (uint64_t i = 0; i < RECVS; i++)
		cr_assert_eq(give(i), DAT_SUCCESS);
	cr_expect_eq(fake.reap_count, 0);
	cr_expect_neq(give(9), DAT_SUCCESS);
	cr_expect_eq(DAP_ERR_TYPE(fake.err), DAP_INSUFFICIENT_RESOURCES);
	cr_expect_eq(fake.reap_count, 1);
}

/* A link never leads to a WQE in use. */
RIG_TEST(srq, srq_post_recv__links_to_free_wqes)
{
	for (uint64_t i = 0; i < RECVS; i++)
		cr_assert_eq(give(i), DAT_SUCCESS);
	arrive();
	arrive();
	cr_assert_eq(give(10), DAT_SUCCESS);
	cr_expect_eq(next_of(4), 0);
	cr_assert_eq(give(11), DAT_SUCCESS);
	cr_expect_eq(next_of(0), 1);
	cr_expect_eq(arrive(), 2);
	cr_expect_eq(arrive(), 3);
	cr_expect_eq(arrive(), 10);
	cr_expect_eq(arrive(), 11);
}

RIG_TEST(srq, srq_resize__uses_the_reserved_wqes)
{
	uint64_t n;

	cr_expect_eq(m5_hw.srq_resize(srq, srq->room + 1), -ENOMEM);
	cr_expect_eq(srq->max_recv_dtos, RECVS);
	cr_assert_eq(m5_hw.srq_resize(srq, srq->room), 0);
	for (n = 0; n < srq->room; n++)
		cr_assert_eq(give(n), DAT_SUCCESS);
	cr_expect_neq(give(n), DAT_SUCCESS);
	cr_expect_eq(m5_hw.srq_resize(srq, srq->room - 1), -EBUSY);
	for (uint64_t i = 0; i < n; i++)
		cr_assert_eq(arrive(), i);
	cr_assert_eq(m5_hw.srq_resize(srq, 1), 0);
	for (n = 0; n < srq->max_recv_dtos; n++)
		cr_assert_eq(give(n), DAT_SUCCESS);
	cr_expect_neq(give(n), DAT_SUCCESS);
	for (uint64_t i = 0; i < n; i++)
		cr_assert_eq(arrive(), i);
}

/* Another SRQ of the adapter is not concerned. */
RIG_TEST(srq, srq_limit__is_reported_by_the_device)
{
	struct dap_srq *other;

	cr_assert_eq(rig_srq(&r, RECVS, 2, &other), 0);
	fake.low_count = 0;
	cr_assert_eq(give(1), DAT_SUCCESS);
	cr_assert_eq(give(2), DAT_SUCCESS);
	cr_assert_eq(m5_hw.srq_limit(srq, 2), 0);
	m5_hw.async_handle(r.ia);
	cr_expect_eq(fake.low_count, 0);
	arrive();
	cr_expect(TH_WITHIN(20000, (m5_hw.async_handle(r.ia), fake.low_count == 1)));
	cr_expect_eq(fake.low, srq);
	rig_srq_free(other);
}

/* A machine under load may deliver an event too late. Each event shows that it is worth a wait. */
RIG_TEST(srq, qp_destroy__waits_again_after_a_late_event)
{
	struct softnic *nic = m5_ia(r.ia)->ctl->soft;
	unsigned int *limit = &m5_ia(r.ia)->last_wqe_ms;

	__atomic_store_n(limit, M5_LAST_WQE_AGAIN_MS, __ATOMIC_RELAXED);
	cr_assert_eq(m5_cmd_qp_error(&m5_ep(to)->qp), 0);
	cr_expect(TH_WITHIN(20000, (softnic_pump(nic), m5_hw.async_handle(r.ia),
				   __atomic_load_n(limit, __ATOMIC_RELAXED) == M5_LAST_WQE_MS)));
}

/* Moves many QPs of the SRQ to the error state. Each reports its last WQE before a thread reads the
 * events. */
RIG_TEST(srq, srq_limit__is_reported_although_many_connections_end)
{
	struct m5_ctl *ctl = m5_ia(r.ia)->ctl;
	const unsigned int *put = &soft_of(ctl)->events.async_head;
	struct dap_ep *many[70];
	const size_t n = sizeof(many) / sizeof(many[0]);
	unsigned int before;

	r.b.srq = srq;
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(rig_ep(&r, &r.b, &many[i]), 0);
	r.b.srq = NULL;
	for (size_t i = 0; i < n; i += 2)
		cr_assert_eq(rig_connect(many[i], many[i + 1]), 0);
	m5_hw.async_handle(r.ia);
	fake.low_count = 0;
	cr_assert_eq(give(1), DAT_SUCCESS);
	cr_assert_eq(give(2), DAT_SUCCESS);
	cr_assert_eq(m5_hw.srq_limit(srq, 2), 0);
	before = __atomic_load_n(put, __ATOMIC_RELAXED);
	arrive();
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(m5_cmd_qp_error(&m5_ep(many[i])->qp), 0);
	cr_assert(TH_WITHIN(20000, (softnic_pump(ctl->soft),
				   __atomic_load_n(put, __ATOMIC_RELAXED) - before > n)));
	cr_expect(TH_WITHIN(20000, (m5_hw.async_handle(r.ia), fake.low_count == 1)));
	for (size_t i = 0; i < n; i++)
		rig_ep_free(many[i]);
}

/* The device follows no link that leads out of the list. The queue ends there, and core gets an
 * error. */
RIG_TEST(srq, broken__is_reported_by_the_device)
{
	struct m5_next_seg *first = (struct m5_next_seg *)m5_srq(srq)->ring;
	struct dap_srq *other;

	cr_assert_eq(rig_srq(&r, RECVS, 2, &other), 0);
	fake.broken_srq = NULL;
	cr_assert_eq(give(1), DAT_SUCCESS);
	cr_assert_eq(give(2), DAT_SUCCESS);
	first->next_wqe_index = cpu_to_be16(0x7fff);
	cr_assert_eq(arrive(), 1, "the receives before the invalid link were not used");
	cr_expect(TH_WITHIN(20000, (m5_hw.async_handle(r.ia), fake.broken_srq == srq)));
	softnic_violations_clear(m5_ia(r.ia)->ctl->soft);
	rig_srq_free(other);
}

RIG_TEST(srq, qp_destroy__returns_taken_receives)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 8);
	uint32_t available, outstanding;

	for (uint64_t i = 0; i < 3; i++)
		cr_assert_eq(give(i), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(from, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert_eq(r.hot->post_send(from, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert(TH_WITHIN(20000, (softnic_pump(m5_ia(r.ia)->ctl->soft), left() == 1)));
	rig_ep_free(to);
	cr_assert_eq(m5_hw.srq_count(srq, &available, &outstanding), 0);
	cr_expect_eq(available, 1);
	cr_expect_eq(outstanding, 1);
	r.b.srq = srq;
	cr_assert_eq(rig_ep(&r, &r.b, &to), 0);
	r.b.srq = NULL;
}

/* Sends a message whose first packet arrives: the WQE belongs to the QP. */
static void arrive_in_part(void)
{
	DAT_LMR_TRIPLET l = rig_local(&r.a, 0, 60000), b = rig_local(&r.b, 0, 60000);
	struct softnic *nic = m5_ia(r.ia)->ctl->soft;

	cr_assert_eq(r.hot->srq_post_recv(srq, 1, &b, rig_cookie(5)), DAT_SUCCESS);
	cr_assert_eq(softnic_fault(nic, "drop:op=send,psn=+2,times=1000"), 0);
	cr_assert_eq(r.hot->post_send(from, 1, &l, rig_cookie(1), 0), DAT_SUCCESS);
	cr_assert(TH_WITHIN(20000, (softnic_pump(nic), left() == 0)),
		  "the QP has not taken the WQE in 5 seconds");
}

/* Only the QP's flush returns the WQE. */
static void destroy_returns_it(void)
{
	uint32_t available = 1, outstanding = 0;

	cr_assert_eq(m5_hw.srq_count(srq, &available, &outstanding), 0);
	cr_assert_eq(outstanding, 1);
	rig_ep_free(to);
	cr_assert_eq(softnic_fault(m5_ia(r.ia)->ctl->soft, ""), 0);
	cr_assert_eq(m5_hw.srq_count(srq, &available, &outstanding), 0);
	cr_expect_eq(outstanding, 0);
	r.b.srq = srq;
	cr_assert_eq(rig_ep(&r, &r.b, &to), 0);
	r.b.srq = NULL;
}

RIG_TEST(srq, qp_destroy__in_the_middle_of_a_message_returns_its_receive)
{
	arrive_in_part();
	destroy_returns_it();
}

/* The event of another QP of the SRQ is there already. */
RIG_TEST(srq, qp_destroy__waits_for_its_own_event)
{
	struct m5_ctl *ctl = m5_ia(r.ia)->ctl;
	const unsigned int *put = &soft_of(ctl)->events.async_head;
	struct dap_ep *other[2];
	unsigned int before;

	r.b.srq = srq;
	cr_assert_eq(rig_ep(&r, &r.b, &other[0]), 0);
	cr_assert_eq(rig_ep(&r, &r.b, &other[1]), 0);
	r.b.srq = NULL;
	cr_assert_eq(rig_connect(other[0], other[1]), 0);
	arrive_in_part();
	before = __atomic_load_n(put, __ATOMIC_RELAXED);
	cr_assert_eq(m5_cmd_qp_error(&m5_ep(other[0])->qp), 0);
	cr_assert(TH_WITHIN(20000, (softnic_pump(ctl->soft),
				   __atomic_load_n(put, __ATOMIC_RELAXED) != before)));
	destroy_returns_it();
	rig_ep_free(other[0]);
	rig_ep_free(other[1]);
}

/* The end of a connection comes after its completions. */
RIG_TEST(srq, qp_error__returns_when_a_taken_receive_is_flushed)
{
	struct m5_cq *cq = m5_cq(r.b.recv);
	DAT_EVENT ev;

	arrive_in_part();
	to->state = DAP_EP_DISCONNECTED;
	cr_assert_eq(m5_hw.qp_error(to), 0);
	cr_expect_eq(m5_cq_end(cq) - cq->ci, 1);
	cr_assert_eq(softnic_fault(m5_ia(r.ia)->ctl->soft, ""), 0);
	cr_assert(rig_event(&r, r.b.recv, &ev));
	cr_expect_eq(ev.event_data.dto_completion_event_data.user_cookie.as_64, 5);
	cr_expect_eq(ev.event_data.dto_completion_event_data.status, DAT_DTO_ERR_FLUSHED);
}

Test(srq, srq_create__limits_of_length_and_segments_are_enforced)
{
	struct dap_srq *s;

	open_rig();
	cr_expect_eq(rig_srq(&r, 0, 1, &s), -EINVAL);
	cr_expect_eq(rig_srq(&r, 32768, 1, &s), -EINVAL);
	cr_expect_eq(rig_srq(&r, 4, M5_MAX_IOV + 1, &s), -EINVAL);
	cr_assert_eq(rig_srq(&r, 32767, M5_MAX_IOV, &s), 0);
	cr_expect_eq(m5_srq(s)->shift, 9);
	cr_expect_eq(s->room, 32767);
	rig_srq_free(s);
	cr_assert_eq(rig_srq(&r, 1, 1, &s), 0);
	cr_expect_eq(m5_srq(s)->shift, 5);
	rig_srq_free(s);
	close_rig();
}

/* Each request to the access fails once, in turn: nothing is leaked. */
Test(srq, srq_create__each_refused_request_leaks_nothing)
{
	struct softnic *nic;
	struct dap_srq *s;
	unsigned long n;
	int err = -1;
	size_t umems;

	open_rig();
	nic = m5_ia(r.ia)->ctl->soft;
	umems = softnic_object_count(nic, "umem");
	fake.quiet = true;
	for (n = 1; err && n < 20; n++) {
		hw_soft_fail(n);
		err = rig_srq(&r, 4, 1, &s);
		hw_soft_fail(0);
		cr_expect_eq(softnic_object_count(nic, "umem"), umems + !err);
		cr_expect_eq(softnic_object_count(nic, "rmp"), 1 + (size_t)!err);
	}
	cr_expect_gt(n, 2);
	cr_assert_eq(err, 0);
	rig_srq_free(s);
	fake.quiet = false;
	close_rig();
}

/* An SRQ has at least 16 bytes for each of its receives. */
Test(srq, srq_free__returns_its_memory)
{
	enum { MANY = 50, LONG = 1000 };
	struct rig_config c = { 0 };
	size_t before = 0, grown;

	cr_assert_eq(rig_open(&r, &c), 0);
	for (unsigned int i = 0; i <= MANY; i++) {
		cr_assert_eq(rig_srq(&r, LONG, 1, &srq), 0);
		rig_srq_free(srq);
		if (!i)
			before = mallinfo2().uordblks;
	}
	grown = mallinfo2().uordblks - before;
	cr_expect_lt((ptrdiff_t)grown, MANY * LONG, "%d SRQs leave %zu bytes", MANY, grown);
	rig_close(&r, NULL);
}
