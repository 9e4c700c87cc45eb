/* SPDX-License-Identifier: BSD-2-Clause */
/* Errors: each NAK, each exhausted retry, completions and events of both sides, and the flush. */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include "softnic/clock.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum { RTS = 3, ERR = 6 };

static struct rig ra, rb;
static struct rig_qp a, b;

static void setup_with(const struct rig_conn *conn)
{
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD, conn);
}

static void setup(void)
{
	setup_with(NULL);
}

static void finish(const char *violations_a, const char *violations_b)
{
	struct rig_cqe cqe;

	rig_settle(&ra, &rb);
	cr_assert_not(rig_poll(&ra, &cqe));
	cr_assert_not(rig_poll(&rb, &cqe));
	cr_assert_eq(rig_event(&ra), -1);
	cr_assert_eq(rig_event(&rb), -1);
	rig_close_pair(&ra, &rb, violations_a, violations_b);
}

static void expect(struct rig *rig, struct rig *other, unsigned int op, unsigned int syndrome,
		   unsigned int counter)
{
	struct rig_cqe cqe = rig_wait(rig, other);

	cr_assert_eq(cqe.op, op);
	cr_assert_eq(cqe.syndrome, syndrome, "the completion has the wrong syndrome %#x",
		     cqe.syndrome);
	cr_assert_eq(cqe.counter, counter);
}

static void write_to(void *raddr, uint32_t rkey, uint32_t len)
{
	rig_post(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = len, .raddr = raddr,
				      .rkey = rkey});
}

/*
 * Posts three WQEs, the middle one bad. The first completes, the second ends with a remote
 * access error (0x13), and the third is flushed. The responder's QP is in ERR, its posted receive is
 * flushed, and the event 0x11 comes.
 */
static void bad_write(void *raddr, uint32_t rkey, uint32_t len)
{
	rig_recv(&b, rb.data, 64);
	write_to(rb.data, rb.key, 8);
	write_to(raddr, rkey, len);
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	expect(&ra, &rb, 13, 0x13, 1);
	expect(&ra, &rb, 13, 5, 2);
	expect(&rb, &ra, 14, 5, 0);
	cr_assert_eq(rig_qp_state(&a), ERR);
	cr_assert_eq(rig_qp_state(&b), ERR);
	cr_assert_eq(rig_event(&rb), 0x11);
}

Test(rc_error, write__with_a_wrong_key_is_refused, .init = setup)
{
	bad_write(rb.data, rb.key ^ 1, 8);
	finish("", "remote.access,mkey.stale");
}

Test(rc_error, write__beyond_the_key_is_refused, .init = setup)
{
	bad_write(rb.data + RIG_DATA - 4, rb.key, 8);
	finish("", "remote.access,mkey.bounds");
}

/* The first packet names the whole range, so the write is refused before any byte is written. */
Test(rc_error, write__beyond_the_key_in_the_last_packet_writes_nothing, .init = setup)
{
	uint8_t *at = rb.data + RIG_DATA - 5000;

	rig_fill(ra.data, 5001, 1);
	memset(at, 0x33, 5000);
	bad_write(at, rb.key, 5001);
	cr_assert(at[0] == 0x33 && at[4999] == 0x33);
	finish("", "remote.access,mkey.bounds");
}

Test(rc_error, write__without_the_right_is_refused, .init = setup)
{
	bad_write(rb.data, rig_key(&rb, rb.data, 4096, 1 | 2 | 4), 8);
	finish("", "remote.access,mkey.rights");
}

Test(rc_error, write__through_a_destroyed_key_is_refused, .init = setup)
{
	uint32_t key = rig_key(&rb, rb.data, 4096, 15);

	rig_destroy_key(&rb, key);
	bad_write(rb.data, key, 8);
	finish("", "remote.access,mkey.stale");
}

Test(rc_error, write__of_nothing_needs_no_key, .init = setup)
{
	write_to(NULL, 0x12345678, 0);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	finish("", "");
}

Test(rc_error, write__to_a_qp_that_grants_none_is_refused)
{
	setup_with(&(struct rig_conn){.rights = RIG_RRE});
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 13, 0x12, 0);
	cr_assert_eq(rig_qp_state(&b), ERR);
	cr_assert_eq(rig_event(&rb), 0x10);
	finish("", "remote.invalid_request");
}

static void read_from(void *raddr, uint32_t rkey, uint32_t len)
{
	rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data, .len = len, .raddr = raddr,
				      .rkey = rkey});
}

Test(rc_error, read__with_a_wrong_key_is_refused, .init = setup)
{
	read_from(rb.data, rb.key, 8);
	read_from(rb.data, rb.key ^ 1, 8);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	expect(&ra, &rb, 13, 0x13, 1);
	cr_assert_eq(rig_event(&rb), 0x11);
	finish("", "remote.access,mkey.stale");
}

/* The responder answers the requests before the bad one first. */
Test(rc_error, read__before_a_bad_write_is_answered, .init = setup)
{
	rig_fill(rb.data, 100000, 4);
	read_from(rb.data, rb.key, 100000);
	write_to(rb.data, rb.key ^ 1, 8);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	cr_assert(rig_filled(ra.data, 100000, 4));
	expect(&ra, &rb, 13, 0x13, 1);
	cr_assert_eq(rig_event(&rb), 0x11);
	finish("", "remote.access,mkey.stale");
}

Test(rc_error, read__without_the_right_is_refused, .init = setup)
{
	read_from(rb.data, rig_key(&rb, rb.data, 4096, 1 | 2 | 8), 8);
	rig_ring(&a);
	expect(&ra, &rb, 13, 0x13, 0);
	cr_assert_eq(rig_event(&rb), 0x11);
	finish("", "remote.access,mkey.rights");
}

/* The requester uses more reads than the responder has granted. */
Test(rc_error, read__beyond_the_granted_resources_is_refused)
{
	unsigned int i;
	struct rig_cqe cqe;

	setup_with(&(struct rig_conn){.log_rd = 4, .log_rd_b = 1});
	for (i = 0; i < 8; i++)
		read_from(rb.data, rb.key, 100000);
	rig_ring(&a);
	do {
		cqe = rig_wait(&ra, &rb);
	} while (cqe.op == 0);
	cr_assert_eq(cqe.syndrome, 0x12);
	while (cqe.counter != 7) {
		cqe = rig_wait(&ra, &rb);
		cr_assert_eq(cqe.syndrome, 5);
	}
	cr_assert_eq(rig_event(&rb), 0x10);
	finish("", "remote.invalid_request");
}

Test(rc_error, send__longer_than_the_receive_breaks_both_qps, .init = setup)
{
	rig_recv(&b, rb.data, 1500);
	rig_recv(&b, rb.data, 1500);
	rb.data[1500] = 0x44;
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 1501});
	expect(&rb, &ra, 14, 0x01, 0);
	expect(&rb, &ra, 14, 5, 1);
	expect(&ra, &rb, 13, 0x12, 0);
	cr_assert_eq(rb.data[1500], 0x44);
	cr_assert_eq(rig_qp_state(&b), ERR);
	finish("", "remote.invalid_request");
}

Test(rc_error, send__into_memory_without_right_breaks_both_qps, .init = setup)
{
	uint32_t key = rb.key;

	rb.key = rig_key(&rb, rb.data, 4096, 1);
	rig_recv(&b, rb.data, 100);
	rb.key = key;
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 100});
	expect(&rb, &ra, 14, 0x04, 0);
	expect(&ra, &rb, 13, 0x14, 0);
	finish("", "remote.operational,mkey.rights");
}

Test(rc_error, send__from_a_wrong_key_breaks_only_the_sender, .init = setup)
{
	rig_recv(&b, rb.data, 100);
	write_to(rb.data, rb.key, 8);
	rig_post(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 100,
				      .lkey = ra.key ^ 1});
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	expect(&ra, &rb, 13, 0x04, 1);
	expect(&ra, &rb, 13, 5, 2);
	cr_assert_eq(rig_qp_state(&b), RTS, "the peer's QP has left the state RTS");
	finish("mkey.stale", "");
}

Test(rc_error, read__into_a_wrong_key_is_refused, .init = setup)
{
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data, .len = 100,
					   .lkey = ra.key ^ 1, .raddr = rb.data, .rkey = rb.key});
	expect(&ra, &rb, 13, 0x04, 0);
	finish("mkey.stale", "");
}

/* PRM "atomic_mode": 0 means none. Linux and UCX set it wherever they set rae. */
Test(rc_error, atomic__to_a_qp_without_an_atomic_mode_is_refused)
{
	setup_with(&(struct rig_conn){.rights = RIG_RRE | RIG_RAE | RIG_NO_MODE});
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_FA, .va = ra.data, .len = 8, .raddr = rb.data,
					   .rkey = rb.key, .swap_add = 1});
	expect(&ra, &rb, 13, 0x12, 0);
	cr_assert_eq(rig_event(&rb), 0x10);
	finish("", "remote.invalid_request");
}

Test(rc_error, atomic__misaligned_is_refused, .init = setup)
{
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_FA, .va = ra.data, .len = 8,
					   .raddr = rb.data + 4, .rkey = rb.key});
	expect(&ra, &rb, 13, 0x12, 0);
	cr_assert_eq(rig_event(&rb), 0x10);
	finish("", "remote.invalid_request");
}

Test(rc_error, rnr__recovers_after_a_receive_is_posted, .init = setup)
{
	struct rig_cqe cqe;

	rig_fill(ra.data, 3000, 2);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 3000});
	cr_assert(TH_WITHIN(10000, (softnic_pump(ra.nic), softnic_pump(rb.nic),
				    rig_counters(&rb).rnr_naks >= 10)),
		  "the sender gave up before 10 RNR NAKs, although rnr_retry is 7 (unlimited)");
	cr_assert_not(rig_poll(&ra, &cqe));
	rig_recv(&b, rb.data, 3000);
	expect(&rb, &ra, 2, 0, 0);
	expect(&ra, &rb, 0, 0, 0);
	cr_assert(rig_filled(rb.data, 3000, 2));
	finish("", "");
}

Test(rc_error, rnr__without_a_receive_ends_the_send_after_its_retries)
{
	setup_with(&(struct rig_conn){.rnr_retry = 3});
	write_to(rb.data, rb.key, 8);
	rig_post(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	expect(&ra, &rb, 13, 0x16, 1);
	cr_assert_eq(rig_counters(&rb).rnr_naks, 4);
	cr_assert_eq(rig_qp_state(&b), RTS);
	finish("", "");
}

/* IBTA table 45: the codes of an RNR NAK and their times. */
Test(rc_error, rnr__is_repeated_after_the_time_of_its_code)
{
	static const struct {
		uint32_t code;
		uint64_t us;
	} each[] = { { RIG_NO, 655360 }, { 28, 163840 }, { 31, 491520 } };

	for (unsigned int i = 0; i < sizeof(each) / sizeof(each[0]); i++) {
		uint64_t before = sn_now(), at;

		setup_with(&(struct rig_conn){.min_rnr = each[i].code, .timeout = 22});
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
		softnic_pump(rb.nic);
		softnic_pump(ra.nic);
		cr_assert_eq(rig_counters(&rb).rnr_naks, 1);
		at = sn_timers_next(ra.nic);
		cr_assert_geq(at, before + each[i].us * 1000, "code %u", each[i].code);
		cr_assert_leq(at, sn_now() + each[i].us * 1000, "code %u", each[i].code);
		rig_recv(&b, rb.data, 8);
		expect(&rb, &ra, 2, 0, 0);
		expect(&ra, &rb, 0, 0, 0);
		finish("", "");
	}
}

Test(rc_error, rnr__with_no_retry_fails_at_once)
{
	setup_with(&(struct rig_conn){.rnr_retry = RIG_NO});
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
	expect(&ra, &rb, 13, 0x16, 0);
	finish("", "");
}

Test(rc_error, write_imm__without_a_receive_waits_for_one, .init = setup)
{
	rig_fill(ra.data, 5000, 8);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE_IMM, .va = ra.data, .len = 5000,
					   .raddr = rb.data, .rkey = rb.key, .imm = 5});
	rig_settle(&ra, &rb);
	rig_recv(&b, NULL, 0);
	expect(&rb, &ra, 1, 0, 0);
	expect(&ra, &rb, 0, 0, 0);
	cr_assert(rig_filled(rb.data, 5000, 8));
	finish("", "");
}

/* No response arrives: after retry_cnt more attempts the request has syndrome 0x15, the rest is
 * flushed, and the peer notices nothing. */
Test(rc_error, retry__without_an_answer_ends_the_write_after_its_retries)
{
	setup_with(&(struct rig_conn){.retry = 2});
	cr_assert_eq(softnic_fault(ra.nic, "drop=1"), 0);
	write_to(rb.data, rb.key, 8);
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 13, 0x15, 0);
	expect(&ra, &rb, 13, 5, 1);
	cr_assert_eq(rig_counters(&ra).retransmits, 4);
	cr_assert_eq(rig_qp_state(&b), RTS);
	finish("", "");
}

/* The responses are lost, and yet the peer executes each request only once. */
Test(rc_error, retry__with_lost_answers_executes_once)
{
	uint64_t *word;
	struct rig_cqe cqe;

	setup_with(&(struct rig_conn){.retry = 7});
	word = (uint64_t *)(void *)rb.data;
	*word = 0;
	cr_assert_eq(softnic_fault(rb.nic, "drop=1"), 0);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_FA, .va = ra.data, .len = 8, .raddr = word,
					   .rkey = rb.key, .swap_add = 1});
	cr_assert(TH_WITHIN(10000, (softnic_pump(ra.nic), softnic_pump(rb.nic),
				    rig_counters(&ra).retransmits >= 2)));
	cr_assert_not(rig_poll(&ra, &cqe));
	cr_assert_eq(softnic_fault(rb.nic, ""), 0);
	expect(&ra, &rb, 0, 0, 0);
	cr_assert_eq(*word, 1);
	finish("", "");
}

/* The ACK of a later message shows that a response was lost, so the requester need not wait for the
 * timer. */
Test(rc_error, read__with_a_lost_response_is_retried_at_the_next_ack)
{
	setup_with(&(struct rig_conn){.timeout = 21});	/* a timeout of 8.6 s */
	rig_fill(rb.data, 5000, 3);
	cr_assert_eq(softnic_fault(rb.nic, "drop=1"), 0);
	read_from(rb.data, rb.key, 5000);
	rig_ring(&a);
	rig_settle(&ra, &rb);
	cr_assert_eq(softnic_fault(rb.nic, ""), 0);
	th_watch();
	write_to(rb.data + 8192, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	expect(&ra, &rb, 0, 0, 1);
	cr_assert(rig_filled(ra.data, 5000, 3));
	cr_assert_lt(th_watched_ms(), 5000);
	finish("", "");
}

Test(rc_error, peer_qp__destroyed_or_reset_answers_nothing)
{
	setup_with(&(struct rig_conn){.retry = 1});
	rig_qp_to(&b, CMD_2RST_QP);
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 13, 0x15, 0);
	finish("", "");
}

Test(rc_error, peer_device__end_is_noticed_before_the_timeout)
{
	struct rig_cqe cqe;

	/* a timeout of 4.3 s: the test ends earlier */
	setup_with(&(struct rig_conn){.timeout = 20});
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	rig_close(&rb);
	th_watch();
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	cqe = rig_wait(&ra, NULL);
	cr_assert_eq(cqe.syndrome, 0x15);
	cr_assert_lt(th_watched_ms(), 2000);
	rig_close(&ra);
}

Test(rc_error, to_error__flushes_both_queues_in_order, .init = setup)
{
	unsigned int i;

	cr_assert_eq(softnic_fault(ra.nic, "drop=1"), 0);
	for (i = 0; i < 5; i++) {
		rig_recv(&a, ra.data, 64);
		write_to(rb.data, rb.key, 8);
	}
	rig_ring(&a);
	rig_qp_to(&a, CMD_2ERR_QP);
	for (i = 0; i < 5; i++)
		expect(&ra, &rb, 13, 5, i);
	for (i = 0; i < 5; i++)
		expect(&ra, &rb, 14, 5, i);
	finish("", "");
}

/* Posts a request, and a second one when the answer to the first waits to be read. */
static void to_error_with_an_answer(uint64_t seed)
{
	uint64_t end = th_now_ms() + 20000;

	rig_open(&ra, SOFTNIC_NO_THREAD | SOFTNIC_ADVERSARIAL, seed);
	rig_open(&rb, SOFTNIC_NO_THREAD, 1);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
	rig_connect(&a, &b, NULL);
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	do {
		softnic_pump(ra.nic);
		softnic_pump(rb.nic);
	} while (!rig_counters(&rb).tx_packets && th_now_ms() < end);
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	rig_qp_to(&a, CMD_2ERR_QP);
	expect(&ra, NULL, 0, 0, 0);
	rig_close_pair(&ra, &rb, "", "");
}

Test(rc_error, to_error__of_a_device_that_defers_work_completes_what_was_answered)
{
	for (uint64_t seed = 1; seed <= 64; seed++)
		to_error_with_an_answer(seed);
}

/* On hardware 2ERR_QP completes before the QP is flushed. */
Test(rc_error, to_error__of_a_device_that_defers_work_flushes_later)
{
	struct rig_cqe cqe;

	rig_open(&ra, SOFTNIC_NO_THREAD | SOFTNIC_ADVERSARIAL, 1);
	rig_open(&rb, SOFTNIC_NO_THREAD, 1);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
	rig_connect(&a, &b, NULL);
	rig_recv(&a, ra.data, 64);
	rig_recv(&a, ra.data, 64);
	rig_qp_to(&a, CMD_2ERR_QP);
	cr_expect_not(rig_poll(&ra, &cqe));
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, NULL, 13, 5, 0);
	expect(&ra, NULL, 14, 5, 0);
	expect(&ra, NULL, 14, 5, 1);
	rig_close_pair(&ra, &rb, "", "");
}

/* A failed QP, reset and connected again, works like a new one. */
Test(rc_error, reset__makes_the_qp_usable_again, .init = setup)
{
	bad_write(rb.data, rb.key ^ 1, 8);
	softnic_violations_clear(rb.nic);
	rig_qp_to(&a, CMD_2RST_QP);
	rig_qp_to(&b, CMD_2RST_QP);
	memset(a.dbr, 0, 8);
	memset(b.dbr, 0, 8);
	a.sq_pi = a.rq_pi = b.sq_pi = b.rq_pi = 0;
	rig_connect(&a, &b, &(struct rig_conn){.psn_a = 9, .psn_b = 99});
	write_to(rb.data, rb.key, 8);
	rig_ring(&a);
	expect(&ra, &rb, 0, 0, 0);
	finish("", "");
}

static void bad_write_imm(void)
{
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE_IMM, .va = ra.data, .len = 8,
					   .raddr = rb.data, .rkey = rb.key ^ 1, .imm = 5});
}

/* IBTA 11.6.2: the receive that the immediate would have completed ends with a local access
 * error. */
Test(rc_error, write_imm__with_a_wrong_key_fails_the_receive, .init = setup)
{
	rig_recv(&b, rb.data, 64);
	rig_recv(&b, rb.data, 64);
	bad_write_imm();
	expect(&rb, &ra, 14, 0x11, 0);
	expect(&rb, &ra, 14, 5, 1);
	expect(&ra, &rb, 13, 0x13, 0);
	cr_assert_eq(rig_qp_state(&b), ERR);
	finish("", "remote.access");
}

Test(rc_error, write_imm__with_a_wrong_key_and_no_receive_raises_an_event, .init = setup)
{
	bad_write_imm();
	expect(&ra, &rb, 13, 0x13, 0);
	cr_assert_eq(rig_qp_state(&b), ERR);
	cr_assert_eq(rig_event(&rb), 0x11);
	finish("", "remote.access");
}

/* The refused write takes a receive of its own QP while a long message arrives at another one. */
Test(rc_error, write_imm__that_is_refused_leaves_the_message_of_another_qp_alone, .init = setup)
{
	enum { LONG = 300000, OTHER = 1 << 19 };
	struct rig_qp c, d;

	rig_qp(&ra, &c);
	rig_qp(&rb, &d);
	rig_connect(&c, &d, NULL);
	rig_recv(&d, rb.data, LONG);
	rig_recv(&b, rb.data + OTHER, LONG);
	rig_fill(ra.data, LONG, 1);
	rig_post_ring(&c, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = LONG});
	bad_write_imm();
	expect(&rb, &ra, 14, 0x11, 0);
	expect(&rb, &ra, 2, 0, 0);
	cr_assert(rig_filled(rb.data, LONG, 1), "the message is not in the receive of its QP");
	expect(&ra, &rb, 13, 0x13, 0);
	expect(&ra, &rb, 0, 0, 0);
	finish("", "remote.access");
}

/*
 * IBTA 9.9.6.3, class J: the receive ends with a memory management operation error, the QP goes to
 * ERR, and the requester gets no answer.
 */
static void inval_is_refused(uint32_t key)
{
	rig_recv(&b, rb.data, 64);
	rig_recv(&b, rb.data, 64);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND_INV, .va = ra.data, .len = 10, .imm = key});
	expect(&rb, &ra, 14, 0x06, 0);
	expect(&rb, &ra, 14, 5, 1);
	cr_assert_eq(rig_qp_state(&b), ERR);
	expect(&ra, &rb, 13, 0x15, 0);
	cr_assert_eq(rig_counters(&rb).naks, 0);
	finish("", "remote.access");
}

Test(rc_error, send_inval__of_a_wrong_key_fails_the_receive_without_a_nak)
{
	setup_with(&(struct rig_conn){.retry = 1});
	inval_is_refused(rb.key ^ 1);
}

Test(rc_error, send_inval__of_a_window_of_another_qp_fails_the_receive_without_a_nak)
{
	struct rig_qp other;

	setup_with(&(struct rig_conn){.retry = 1});
	rig_qp(&rb, &other);
	inval_is_refused(rig_key_of(&rb, other.qpn, rb.data, 64, 0xf));
}
