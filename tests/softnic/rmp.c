/* SPDX-License-Identifier: BSD-2-Clause */
/* Receives shared by several QPs: their order, the limit, errors, and refusals. */
#include <criterion/criterion.h>

#include "tests/harness/harness.h"
#include "tests/softnic/drv.h"

enum { LIMIT = 0x14, LAST_WQE = 0x13, CATASTROPHIC = 0x12 };

static struct drv *d;
static struct drv_cq scq, rcq;
static struct drv_srq srq;
static struct drv_qp a, b, to_a, to_b;	/* a and b share one SRQ; to_a and to_b send to them */
static struct drv_mr mr;

static void open_all(void)
{
	d = drv_open(0);
	drv_cq(d, &scq, 7, false);
	drv_cq(d, &rcq, 7, false);
	drv_srq(d, &srq);
	drv_qp_of_srq(d, &a, &scq, &rcq, &srq);
	drv_qp_of_srq(d, &b, &scq, &rcq, &srq);
	drv_qp(d, &to_a, &scq, &scq);
	drv_qp(d, &to_b, &scq, &scq);
	drv_connect(&a, &to_a);
	drv_connect(&b, &to_b);
	drv_mr(d, &mr, 16384, DRV_ALL);
}

static void close_all(void)
{
	drv_qp_free(&a);
	drv_qp_free(&b);
	drv_qp_free(&to_a);
	drv_qp_free(&to_b);
	drv_srq_free(&srq);
	drv_cq_free(&scq);
	drv_cq_free(&rcq);
	drv_mr_free(d, &mr);
	drv_close(d);
}

TestSuite(rmp, .init = open_all, .fini = close_all);

static void send(struct drv_qp *qp, uint32_t off, uint32_t len)
{
	struct drv_wqe w;

	drv_ctrl(qp, &w, 0x0a, CE_ALWAYS << 2, 0);
	drv_data(&w, mr.mem + off, len, mr.key);
	drv_post(qp, &w);
}

static void settle(void)
{
	for (int i = 0; i < 200; i++)
		softnic_pump(d->nic);
}

/* Was there an event of this type for this number? */
static bool event(uint8_t want, uint32_t number)
{
	uint8_t type, data[28];
	unsigned int found = 0;

	settle();
	while (drv_event(d, &type, data))
		found += type == want && sn_get32(data, 24) == number;
	cr_expect_leq(found, 1, "the event 0x%x of 0x%x came %u times", want, number, found);
	return found;
}

/* Returns a field of QUERY_RMP: state, remaining WQEs or armed limit. */
static unsigned int query(struct sn_fld fld, bool of_wq)
{
	cr_assert_eq(drv_simple(d, CMD_QUERY_RMP, srq.rmpn), 0);
	return sn_get(d->out + (of_wq ? AT_WQ : AT_RMPC), fld);
}

static unsigned int left(void)
{
	cr_assert_eq(drv_simple(d, CMD_QUERY_RMP, srq.rmpn), 0);
	return sn_get32(d->out + AT_WQ, WQ_SW_COUNTER) - sn_get32(d->out + AT_WQ, WQ_HW_COUNTER);
}

Test(rmp, receives__go_to_whoever_gets_a_message)
{
	static const struct { struct drv_qp *by, *at; } turns[] = {
		{ &to_b, &b }, { &to_a, &a }, { &to_a, &a }, { &to_b, &b },
	};
	struct drv_cqe e;

	for (uint32_t i = 0; i < 4; i++)
		drv_srq_recv(&srq, &mr, 8192 + 100 * i, 100);
	for (uint32_t i = 0; i < 400; i++)
		mr.mem[i] = (uint8_t)(i * 7);
	for (uint16_t i = 0; i < 4; i++) {
		send(turns[i].by, 100u * i, 100);
		drv_wait(&rcq, &e);
		cr_expect_eq(e.opcode, 2);
		cr_expect_eq(e.counter, i, "the CQE has the wrong WQE index %u", e.counter);
		cr_expect_eq(e.qpn, turns[i].at->qpn);
		cr_expect_eq(e.uidx, 0xabc, "the CQE does not have the user index of the QP");
	}
	cr_expect_eq(memcmp(mr.mem, mr.mem + 8192, 400), 0);
}

/* WQEs that were freed in another order are taken in that order, by their links. */
Test(rmp, order__is_that_of_the_links)
{
	static const uint16_t back[] = { 2, 0, 1 };
	struct drv_cqe e;

	for (int i = 0; i < 7; i++)
		drv_srq_recv(&srq, &mr, 8192, 100);
	for (int i = 0; i < 7; i++) {
		send(&to_a, 0, 8);
		drv_wait(&rcq, &e);
	}
	for (int i = 0; i < 3; i++)
		drv_srq_done(&srq, back[i]);
	for (int i = 0; i < 3; i++)
		drv_srq_recv(&srq, &mr, 8192, 100);
	/* Posts the last WQE of the list first. */
	for (int i = 0; i < 3; i++) {
		send(&to_a, 0, 8);
		drv_wait(&rcq, &e);
		cr_expect_eq(e.counter, i ? back[i - 1] : 7,
			     "receive %d took the WQE with index %u", i, e.counter);
	}
}

Test(rmp, empty__makes_senders_wait)
{
	struct softnic_counters c;
	struct drv_cqe e;

	send(&to_a, 0, 8);
	settle();
	cr_expect_not(drv_poll(&rcq, &e));
	softnic_counters(d->nic, &c);
	cr_expect_gt(c.rnr_naks, 0);
	drv_srq_recv(&srq, &mr, 8192, 100);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 2);
}

Test(rmp, limit__raises_one_event_when_fewer_are_left)
{
	struct drv_cqe e;

	for (int i = 0; i < 4; i++)
		drv_srq_recv(&srq, &mr, 8192, 100);
	cr_assert_eq(drv_srq_arm(&srq, 3), 0);
	send(&to_a, 0, 8);
	drv_wait(&rcq, &e);
	cr_expect_not(event(LIMIT, srq.rmpn),
		      "the limit event came with three receives left; the limit is three");
	cr_expect_eq(query(WQ_LWM, true), 3);
	send(&to_b, 0, 8);
	drv_wait(&rcq, &e);
	cr_expect(event(LIMIT, srq.rmpn));
	cr_expect_eq(query(WQ_LWM, true), 0);
	send(&to_a, 0, 8);
	drv_wait(&rcq, &e);
	cr_expect_not(event(LIMIT, srq.rmpn), "one arm caused a second limit event");
}

Test(rmp, limit__already_reached_when_armed_raises_its_event)
{
	drv_srq_recv(&srq, &mr, 8192, 100);
	cr_assert_eq(drv_srq_arm(&srq, 2), 0);
	cr_expect(event(LIMIT, srq.rmpn));
	cr_assert_eq(drv_srq_arm(&srq, 0), 0);
	cr_expect_not(event(LIMIT, srq.rmpn), "a limit event came although the limit 0 disarms");
}

/* By the number and this type, Linux finds the program that waits. */
Test(rmp, event__names_a_receive_queue)
{
	uint8_t type, data[28];

	cr_assert_eq(drv_srq_arm(&srq, 1), 0);
	settle();
	cr_assert(drv_event(d, &type, data));
	cr_expect_eq(type, 0x14);
	cr_expect_eq(data[20], 1, "the event is not of a receive queue (1)");
}

Test(rmp, query__counts_remaining_wqes)
{
	struct drv_cqe e;

	for (int i = 0; i < 3; i++)
		drv_srq_recv(&srq, &mr, 8192, 100);
	cr_expect_eq(left(), 3);
	send(&to_a, 0, 8);
	drv_wait(&rcq, &e);
	cr_expect_eq(left(), 2);
	cr_expect_eq(query(RMPC_STATE, false), RMPC_RDY);
	cr_expect_eq(query(WQ_LOG_SIZE, true), srq.log);
}

/* IBTA: WQEs that a QP in error has not taken stay for the other QPs. */
Test(rmp, error__leaves_untaken_wqes_to_others)
{
	struct drv_cqe e;

	for (int i = 0; i < 3; i++)
		drv_srq_recv(&srq, &mr, 8192, 100);
	cr_assert_eq(drv_to(&a, CMD_2ERR_QP), 0);
	cr_expect(TH_WITHIN(20000, (softnic_pump(d->nic), event(LAST_WQE, a.qpn))));
	cr_expect_not(drv_poll(&rcq, &e));
	cr_expect_eq(left(), 3);
	send(&to_b, 0, 8);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.qpn, b.qpn);
	cr_expect_eq(e.opcode, 2);
}

/* An unfinished message has taken a WQE. The flush returns that WQE with its own index. */
Test(rmp, error__flushes_the_taken_wqe)
{
	struct drv_cqe e;
	unsigned int i = 0;

	drv_srq_recv(&srq, &mr, 8192, 100);
	send(&to_b, 0, 8);
	drv_wait(&rcq, &e);
	drv_srq_recv(&srq, &mr, 0, 8192);
	cr_assert_eq(softnic_fault(d->nic, "drop:op=send,psn=+2,times=1000"), 0);
	send(&to_a, 8192, 8192);
	while (left() && i++ < 100000)
		softnic_pump(d->nic);
	cr_assert_eq(left(), 0);
	cr_assert_not(drv_poll(&rcq, &e), "a CQE was written although the message is incomplete");
	cr_assert_eq(drv_to(&a, CMD_2ERR_QP), 0);
	cr_assert(TH_WITHIN(20000, (softnic_pump(d->nic), drv_poll(&rcq, &e))));
	cr_expect_eq(e.opcode, 14);
	cr_expect_eq(e.syndrome, 0x05);
	cr_expect_eq(e.counter, 1);
	cr_expect_eq(e.qpn, a.qpn);
	cr_expect(event(LAST_WQE, a.qpn));
	cr_assert_eq(softnic_fault(d->nic, ""), 0);
}

/* The command completes before the QP is flushed. If the QP is destroyed by then, nothing is
 * flushed. */
Test(rmp, destroy__before_last_wqe_loses_the_taken_wqe)
{
	struct drv_cqe e;
	unsigned int i = 0;
	uint32_t qpn = a.qpn;

	drv_srq_recv(&srq, &mr, 0, 8192);
	cr_assert_eq(softnic_fault(d->nic, "drop:op=send,psn=+2,times=1000"), 0);
	send(&to_a, 8192, 8192);
	while (left() && i++ < 100000)
		softnic_pump(d->nic);
	cr_assert_eq(left(), 0);
	cr_assert_eq(drv_to(&a, CMD_2ERR_QP), 0);
	cr_assert_eq(drv_simple(d, CMD_DESTROY_QP, qpn), 0);
	a.qpn = 0;
	th_sleep_ms(5);
	softnic_pump(d->nic);
	cr_expect_not(drv_poll(&rcq, &e));
	cr_expect_not(event(LAST_WQE, qpn));
	cr_assert_eq(softnic_fault(d->nic, ""), 0);
}

Test(rmp, receive__too_short_fails_only_its_qp)
{
	struct drv_cqe e;

	drv_srq_recv(&srq, &mr, 8192, 10);
	drv_srq_recv(&srq, &mr, 8192, 100);
	send(&to_a, 0, 100);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 14);
	cr_expect_eq(e.syndrome, 0x01);
	cr_expect_eq(drv_state(&a), 6);
	send(&to_b, 0, 100);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 2);
	cr_expect_eq(e.counter, 1);
	softnic_violations_clear(d->nic);
}

/* The PD of the RMP applies, not that of the QP that takes the WQE. */
Test(rmp, receive__uses_the_pd_of_the_rmp)
{
	struct drv_srq foreign = { 0 };
	struct drv_qp qp = { 0 }, by = { 0 };
	struct drv_mr theirs = { 0 };
	uint32_t own = d->pd;
	struct drv_cqe e;

	cr_assert_eq(drv_simple(d, CMD_ALLOC_PD, 0), 0);
	foreign.pd = sn_get(d->out, CMD_NUMBER);
	drv_srq(d, &foreign);
	d->pd = foreign.pd;
	drv_mr(d, &theirs, 4096, DRV_ALL);
	d->pd = own;
	drv_qp_of_srq(d, &qp, &scq, &rcq, &foreign);
	drv_qp(d, &by, &scq, &scq);
	drv_connect(&qp, &by);
	drv_srq_recv(&foreign, &theirs, 0, 100);
	drv_srq_recv(&foreign, &mr, 0, 100);
	send(&by, 0, 50);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 2);
	send(&by, 0, 50);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.syndrome, 0x04, "the completion has the wrong syndrome %#x", e.syndrome);
	drv_qp_free(&qp);
	drv_qp_free(&by);
	drv_srq_free(&foreign);
	drv_mr_free(d, &theirs);
	cr_expect_eq(drv_simple(d, CMD_DEALLOC_PD, foreign.pd), 0);
	cr_expect_gt(drv_count(d, "mkey.pd"), 0);
	softnic_violations_clear(d->nic);
}

/* The device must not follow a link to a WQE that a QP has taken, nor one out of the list. */
Test(rmp, link__to_nowhere_ends_the_queue)
{
	struct drv_cqe e;

	drv_srq_recv(&srq, &mr, 8192, 100);
	drv_srq_recv(&srq, &mr, 8192, 100);
	sn_set32(srq.mem, 0, 8);
	send(&to_a, 0, 8);
	drv_wait(&rcq, &e);
	cr_expect_eq(e.opcode, 2, "the WQE was not used; only its link is invalid");
	cr_expect(event(CATASTROPHIC, srq.rmpn));
	drv_expect(d, "srq.link");
	cr_expect_eq(query(RMPC_STATE, false), RMPC_ERR);
	cr_expect_eq(drv_srq_arm(&srq, 1), 0x09);
	drv_expect(d, "cmd.state");
	send(&to_b, 0, 8);
	settle();
	cr_expect_eq(drv_state(&b), 6);
	softnic_violations_clear(d->nic);
}

Test(rmp, record__of_more_than_the_list_holds_breaks_the_qp)
{
	srq.dbr[0] = htobe32(9);
	send(&to_a, 0, 8);
	settle();
	cr_expect_gt(drv_count(d, "srq.overrun"), 0);
	cr_expect_eq(drv_state(&a), 6);
	softnic_violations_clear(d->nic);
}

Test(rmp, destroy__while_qps_use_it_is_refused)
{
	cr_expect_eq(drv_simple(d, CMD_DESTROY_RMP, srq.rmpn), 0x06);
	drv_expect(d, "cmd.busy");
	cr_expect_eq(softnic_object_count(d->nic, "rmp"), 1);
}

/* Posts the first WQEs of the ring, each linked to itself. In the second lap they are taken in the
 * same order. */
static void lap(struct drv_srq *ring, struct drv_qp *by)
{
	struct drv_cqe e;

	for (uint16_t i = 0; i < 8; i++) {
		ring->head = i;
		drv_srq_recv(ring, &mr, 8192 + 64u * i, 64);
		sn_set32(ring->mem + 64ul * i, 0, i);
		send(by, 64u * i, 64);
		drv_wait(&rcq, &e);
		cr_expect_eq(e.opcode, 2);
		cr_expect_eq(e.counter, i, "the CQE has the wrong WQE index %u", e.counter);
	}
}

Test(rmp, cyclic__the_next_is_the_next_in_memory)
{
	struct drv_srq ring = { 0 };
	struct drv_qp at = { 0 }, by = { 0 };

	drv_srq_begin(d, &ring);
	sn_set(d->in + AT_WQ, WQ_TYPE, WQ_CYCLIC);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	ring.rmpn = sn_get(d->out, CMD_NUMBER);
	ring.tail = UINT16_MAX;
	drv_qp_of_srq(d, &at, &scq, &rcq, &ring);
	drv_qp(d, &by, &scq, &scq);
	drv_connect(&at, &by);
	lap(&ring, &by);
	lap(&ring, &by);
	cr_assert_eq(drv_simple(d, CMD_QUERY_RMP, ring.rmpn), 0);
	cr_expect_eq(sn_get(d->out + AT_WQ, WQ_TYPE), WQ_CYCLIC);
	drv_qp_free(&at);
	drv_qp_free(&by);
	drv_srq_free(&ring);
}

static void refused(struct sn_fld fld, uint32_t v, bool of_wq, uint8_t status)
{
	struct drv_srq s = { 0 };

	drv_srq_begin(d, &s);
	sn_set(d->in + (of_wq ? AT_WQ : AT_RMPC), fld, v);
	cr_expect_eq(drv_run(d, AT_PAS), status,
		     "the value in the field at bit %u returned the wrong status %#x", fld.bit,
		     d->out[0]);
	drv_expect(d, status == 0x05 ? "cmd.resource" : "cmd.field");
	drv_srq_free(&s);
}

Test(rmp, create__invalid_fields_are_refused)
{
	refused(RMPC_STATE, 0, false, 0x03);
	refused(RMPC_CYCLIC, 1, false, 0x03);
	refused(WQ_TYPE, 2, true, 0x03);
	refused(WQ_SIGNATURE, 1, true, 0x03);
	refused(WQ_LOG_STRIDE, 4, true, 0x03);
	refused(WQ_LOG_SIZE, 16, true, 0x03);
	refused(WQ_LOG_SIZE, 9, true, 0x03);	/* the queue is longer than its umem */
	refused(WQ_LWM, 9, true, 0x03);
	refused(WQ_PD, 0x777, true, 0x05);
	cr_expect_eq(softnic_object_count(d->nic, "rmp"), 1);
}

Test(rmp, modify__invalid_fields_are_refused)
{
	cr_expect_eq(drv_srq_arm(&srq, 9), 0x03);
	drv_expect(d, "cmd.field");
	sn_set(d->in + AT_WQ, WQ_LWM, 1);
	sn_set(d->in + AT_RMPC, RMPC_STATE, RMPC_ERR);
	cr_expect_eq(drv_run(d, AT_PAS), 0x03);
	drv_expect(d, "cmd.field");
	sn_set(d->in, CMD_NUMBER, 0x777);
	cr_expect_eq(drv_run(d, AT_PAS), 0x05);
	drv_expect(d, "cmd.resource");
}

Test(rmp, create_qp__with_an_invalid_rmp_is_refused)
{
	struct drv_qp qp = { 0 };

	drv_qp_begin(d, &qp, &scq, &rcq);
	sn_set(d->in + AT_QPC, QPC_RQ_TYPE, RQ_SRQ);
	sn_set(d->in + AT_QPC, QPC_SRQN, 0x777);
	cr_expect_eq(drv_run(d, AT_PAS), 0x05);
	drv_expect(d, "cmd.resource");
	drv_qp_free(&qp);
}
