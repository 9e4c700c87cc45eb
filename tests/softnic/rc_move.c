/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of every kind and size arrive whole, and complete as the PRM says. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/softnic/rc_rig.h"

static struct rig ra, rb;
static struct rig_qp a, b;

static void setup(void)
{
	rig_open(&ra, SOFTNIC_NO_THREAD, 1);
	rig_open(&rb, SOFTNIC_NO_THREAD, 2);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
}

static void setup_connected(void)
{
	setup();
	rig_connect(&a, &b, NULL);
}

static void teardown(void)
{
	rig_close_pair(&ra, &rb, "", "");
}

static struct rig_cqe expect_ok(struct rig *rig, struct rig *other, unsigned int op)
{
	struct rig_cqe cqe = rig_wait(rig, other);

	cr_assert_eq(cqe.op, op, "the CQE has the wrong opcode %u, syndrome %#x", cqe.op,
		     cqe.syndrome);
	return cqe;
}

static uint32_t sizes(unsigned int mtu, unsigned int i)
{
	const uint32_t list[] = {0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 3, 37 * mtu - 1,
				 1u << 20};

	return i < sizeof(list) / sizeof(list[0]) ? list[i] : UINT32_MAX;
}

/* Transfers each critical size with SEND, WRITE and READ, with this path MTU. */
static void every_size(unsigned int code)
{
	unsigned int mtu = 128u << code, i;
	uint32_t len;

	rig_connect(&a, &b, &(struct rig_conn){.mtu = code, .psn_a = 77, .psn_b = 0x123456});
	for (i = 0; (len = sizes(mtu, i)) != UINT32_MAX; i++) {
		struct rig_cqe cqe;
		uint8_t *from = ra.data + 3, *to = rb.data + 5;

		rig_fill(from, len, i);
		to[len] = 0x77;
		rig_recv(&b, to, 1u << 20);
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = from, .len = len});
		cqe = expect_ok(&rb, &ra, 2);
		cr_assert_eq(cqe.len, len);
		cr_assert(rig_filled(to, len, i) && to[len] == 0x77,
			  "SEND of %u bytes brought wrong data", len);
		cr_assert_eq(expect_ok(&ra, &rb, 0).len, 0);

		rig_fill(from, len, i + 100);
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = from, .len = len,
						   .raddr = to, .rkey = rb.key});
		cr_assert_eq(expect_ok(&ra, &rb, 0).len, 0);
		cr_assert(rig_filled(to, len, i + 100) && to[len] == 0x77,
			  "WRITE of %u bytes placed wrong data", len);

		rig_fill(to, len, i + 200);
		from[len] = 0x55;
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_READ, .va = from, .len = len,
						   .raddr = to, .rkey = rb.key});
		cqe = expect_ok(&ra, &rb, 0);
		cr_assert_eq(cqe.len, len);
		cr_assert(rig_filled(from, len, i + 200) && from[len] == 0x55,
			  "READ of %u bytes returned wrong data", len);
	}
	teardown();
}

Test(rc_move, every_size__with_mtu_256_arrives_unchanged, .init = setup) { every_size(1); }
Test(rc_move, every_size__with_mtu_512_arrives_unchanged, .init = setup) { every_size(2); }
Test(rc_move, every_size__with_mtu_1024_arrives_unchanged, .init = setup) { every_size(3); }
Test(rc_move, every_size__with_mtu_2048_arrives_unchanged, .init = setup) { every_size(4); }
Test(rc_move, every_size__with_mtu_4096_arrives_unchanged, .init = setup) { every_size(5); }

Test(rc_move, psn__wraps, .init = setup)
{
	unsigned int i;

	rig_connect(&a, &b, &(struct rig_conn){.mtu = 1, .psn_a = 0xfffff0, .psn_b = 0xffffff});
	for (i = 0; i < 40; i++) {
		rig_fill(ra.data, 2000, i);
		rig_recv(&b, rb.data, 2000);
		rig_post(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 2000});
		rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data + 4096, .len = 2000,
					      .raddr = rb.data,
					      .rkey = rb.key});
		rig_ring(&a);
		expect_ok(&rb, &ra, 2);
		expect_ok(&ra, &rb, 0);
		expect_ok(&ra, &rb, 0);
		cr_assert(rig_filled(rb.data, 2000, i));
		cr_assert(rig_filled(ra.data + 4096, 2000, i));
	}
	teardown();
}

Test(rc_move, immediate__comes_with_its_message, .init = setup_connected)
{
	struct rig_cqe cqe;

	rig_recv(&b, rb.data, 64);
	rig_recv(&b, rb.data, 64);
	a.solicited = 1;
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND_IMM, .va = ra.data, .len = 10, .imm = 0xdeadbeef});
	cqe = expect_ok(&rb, &ra, 3);
	cr_assert_eq(cqe.imm, 0xdeadbeef);
	cr_assert_eq(cqe.len, 10);
	cr_assert(cqe.solicited);
	a.solicited = 0;
	rig_fill(ra.data, 5000, 9);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE_IMM, .va = ra.data, .len = 5000,
					   .raddr = rb.data + 4096,
					   .rkey = rb.key, .imm = 7});
	cqe = expect_ok(&rb, &ra, 1);
	cr_assert_eq(cqe.imm, 7);
	cr_assert_eq(cqe.len, 5000);
	cr_assert_not(cqe.solicited);
	cr_assert(rig_filled(rb.data + 4096, 5000, 9));
	teardown();
}

Test(rc_move, send_inval__frees_the_key, .init = setup_connected)
{
	uint32_t key = rig_key(&rb, rb.data, 4096, 15);
	struct rig_cqe cqe;

	rig_recv(&b, rb.data, 64);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND_INV, .va = ra.data, .len = 10, .imm = key});
	cqe = expect_ok(&rb, &ra, 4);
	cr_assert_eq(cqe.imm, key);
	expect_ok(&ra, &rb, 0);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 8,
					   .raddr = rb.data, .rkey = key});
	cqe = rig_wait(&ra, &rb);
	cr_assert_eq(cqe.syndrome, 0x13);
	rig_expect_violations(&rb, "remote.access,mkey.free");
	softnic_violations_clear(rb.nic);
	teardown();
}

Test(rc_move, many_pieces__are_gathered, .init = setup_connected)
{
	rig_fill(ra.data + 1, 30000, 3);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data + 1, .len = 30000,
					   .raddr = rb.data + 7,
					   .rkey = rb.key, .pieces = 13});
	expect_ok(&ra, &rb, 0);
	cr_assert(rig_filled(rb.data + 7, 30000, 3));
	memset(ra.data, 0, 30001);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data + 1, .len = 30000,
					   .raddr = rb.data + 7,
					   .rkey = rb.key, .pieces = 13});
	expect_ok(&ra, &rb, 0);
	cr_assert(rig_filled(ra.data + 1, 30000, 3));
	teardown();
}

Test(rc_move, atomics__return_the_old_value_and_change_the_word, .init = setup_connected)
{
	uint64_t *word = (uint64_t *)(void *)rb.data, *was = (uint64_t *)(void *)ra.data;

	*word = 40;
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_FA, .va = was, .len = 8, .raddr = word, .rkey = rb.key,
					   .swap_add = 2});
	expect_ok(&ra, &rb, 0);
	cr_assert(*was == 40 && *word == 42);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_CS, .va = was, .len = 8, .raddr = word, .rkey = rb.key,
					   .swap_add = 7, .compare = 41});
	expect_ok(&ra, &rb, 0);
	cr_assert(*was == 42 && *word == 42, "compare-and-swap swapped, or returned a wrong value, "
					     "although the values differ");
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_CS, .va = was, .len = 8, .raddr = word, .rkey = rb.key,
					   .swap_add = 7, .compare = 42});
	expect_ok(&ra, &rb, 0);
	cr_assert(*was == 42 && *word == 7);
	teardown();
}

/* Fills the ring of 256 blocks again and again with one signaled WQE in each lap. */
Test(rc_move, suppressed__complete_with_the_signalled_one, .init = setup_connected)
{
	unsigned int lap, i;

	for (lap = 0; lap < 20; lap++) {
		uint16_t index = 0;
		struct rig_cqe cqe;

		for (i = 0; i < 256; i++) {
			a.ce = i == 255 ? 2 : 0;
			ra.data[8 * i] = (uint8_t)(lap + i);
			index = rig_post(&a, &(struct rig_wr){.op = RIG_WRITE,
							      .va = ra.data + 8 * i, .len = 8,
							      .raddr = rb.data + 8 * i,
							      .rkey = rb.key});
		}
		rig_ring(&a);
		cqe = expect_ok(&ra, &rb, 0);
		cr_assert_eq(cqe.counter, index);
		cr_assert_not(rig_poll(&ra, &cqe));
		for (i = 0; i < 256; i++)
			cr_assert_eq(rb.data[8 * i], (uint8_t)(lap + i));
	}
	teardown();
}

/* The host waits only for the response: when that has arrived, the SEND is complete. */
Test(rc_move, answer__brings_the_ack_with_it, .init = setup_connected)
{
	struct rig_cqe cqe;

	rig_recv(&a, ra.data, 64);
	rig_recv(&b, rb.data, 64);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
	softnic_pump(rb.nic);
	cr_assert(rig_poll(&rb, &cqe));
	rig_post_ring(&b, &(struct rig_wr){.op = RIG_SEND, .va = rb.data, .len = 8});
	softnic_pump(ra.nic);
	cr_assert(rig_poll(&ra, &cqe));
	cr_assert_eq(cqe.op, 2);
	cr_assert(rig_poll(&ra, &cqe), "the response did not acknowledge the SEND");
	cr_assert_eq(cqe.op, 0);
	expect_ok(&rb, &ra, 0);
	teardown();
}

static void write_once(void)
{
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 8,
					   .raddr = rb.data, .rkey = rb.key});
	softnic_pump(rb.nic);
}

Test(rc_move, writes__share_acks_when_they_come_in_a_row, .init = setup_connected)
{
	unsigned int i;

	for (i = 0; i < 16; i++)
		write_once();
	for (i = 0; i < 16; i++)
		expect_ok(&ra, &rb, 0);
	cr_assert_leq(rig_counters(&rb).tx_packets, 8);
	teardown();
}

Test(rc_move, write__by_itself_is_acknowledged_at_once, .init = setup_connected)
{
	struct rig_cqe cqe;
	unsigned int i, j;

	for (i = 0; i < 5; i++) {
		for (j = 0; j < 100; j++)
			softnic_pump(rb.nic);
		write_once();
		softnic_pump(ra.nic);
		cr_assert(rig_poll(&ra, &cqe));
	}
	teardown();
}

/*
 * IBTA 9.7.5.1: responses have the order of their requests. b's WRITE waits for b's own READ, so b sends
 * it as soon as it has the first part of a's response in the ring. A script turns off trains.
 */
Test(rc_move, ack__comes_after_the_responses_to_earlier_reads, .init = setup_connected)
{
	struct rig_wr to_a = {.va = rb.data + 200000, .len = 8, .raddr = ra.data + 200000, .rkey = ra.key};

	cr_assert_eq(softnic_fault(rb.nic, ""), 0);
	rig_fill(rb.data, 100000, 1);
	rig_recv(&b, rb.data + 300000, 64);
	to_a.op = RIG_READ;
	rig_post(&b, &to_a);
	b.fence = 4;
	to_a.op = RIG_WRITE;
	rig_post_ring(&b, &to_a);
	softnic_pump(ra.nic);
	rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data, .len = 100000, .raddr = rb.data,
				      .rkey = rb.key});
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data + 300000, .len = 8});
	expect_ok(&ra, &rb, 0);
	expect_ok(&ra, &rb, 0);
	cr_assert(rig_filled(ra.data, 100000, 1));
	expect_ok(&rb, &ra, 0);
	expect_ok(&rb, &ra, 2);
	expect_ok(&rb, &ra, 0);
	cr_assert_eq(rig_counters(&ra).retransmits, 0, "an ACK came before the response to the READ");
	teardown();
}

static void loopback(bool forced)
{
	struct rig_qp c;

	rig_open(&ra, SOFTNIC_NO_THREAD | SOFTNIC_LOOPBACK_ONLY, 1);
	rig_qp(&ra, &a);
	rig_qp(&ra, &c);
	rig_connect(&a, &c, &(struct rig_conn){.loop = forced});
	rig_fill(ra.data, 10000, 1);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 10000,
					   .raddr = ra.data + 65536,
					   .rkey = ra.key});
	expect_ok(&ra, NULL, 0);
	cr_assert(rig_filled(ra.data + 65536, 10000, 1));
	rig_expect_violations(&ra, "");
	rig_close(&ra);
}

Test(rc_move, loopback__to_the_same_device_arrives) { loopback(false); }
Test(rc_move, loopback__that_is_forced_arrives) { loopback(true); }

/* Reads beyond max_rd_atomic wait. The responder never has more at a time. */
Test(rc_move, reads__obey_the_granted_resources, .init = setup)
{
	unsigned int i;

	rig_connect(&a, &b, &(struct rig_conn){.log_rd = 1});
	rig_fill(rb.data, 1u << 20, 5);
	for (i = 0; i < 40; i++)
		rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data + 20000 * i, .len = 20000,
					      .raddr = rb.data + 20000 * i, .rkey = rb.key});
	rig_ring(&a);
	for (i = 0; i < 40; i++)
		expect_ok(&ra, &rb, 0);
	cr_assert(rig_filled(ra.data, 800000, 5));
	teardown();
}

/* A WRITE with a fence is executed after the READ before it, whose source it overwrites. */
Test(rc_move, fence__waits_for_reads, .init = setup_connected)
{
	rig_fill(rb.data, 100000, 1);
	rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data, .len = 100000,
				      .raddr = rb.data, .rkey = rb.key});
	a.fence = 4;
	rig_post(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 100000,
				      .raddr = rb.data + 200000,
				      .rkey = rb.key});
	rig_ring(&a);
	expect_ok(&ra, &rb, 0);
	expect_ok(&ra, &rb, 0);
	cr_assert(rig_filled(rb.data + 200000, 100000, 1));
	teardown();
}

/* Two QPs send at once, in both directions. Neither starves. */
Test(rc_move, two_qps__share_the_link, .init = setup)
{
	struct rig_qp c, d;
	unsigned int done[2] = {0}, i;

	rig_connect(&a, &b, NULL);
	rig_qp(&ra, &c);
	rig_qp(&rb, &d);
	rig_connect(&c, &d, NULL);
	rig_fill(ra.data, 1u << 20, 6);
	for (i = 0; i < 4; i++) {
		rig_post(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 1u << 20,
					      .raddr = rb.data + (2u << 20), .rkey = rb.key});
		rig_post(&c, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 1u << 20,
					      .raddr = rb.data + (4u << 20), .rkey = rb.key});
	}
	rig_ring(&a);
	rig_ring(&c);
	for (i = 0; i < 8; i++) {
		struct rig_cqe cqe = expect_ok(&ra, &rb, 0);

		done[cqe.qpn == c.qpn]++;
		cr_assert_leq(done[0] > done[1] ? done[0] - done[1] : done[1] - done[0], 1);
	}
	cr_assert(rig_filled(rb.data + (2u << 20), 1u << 20, 6));
	cr_assert(rig_filled(rb.data + (4u << 20), 1u << 20, 6));
	teardown();
}

/* ---- Long messages of several QPs, packet by packet in turns ---- */

enum { THREE = 3, LONG = 300000, PLACE = 1 << 19 };

static struct rig_qp near[THREE], away[THREE];

static void setup_three(void)
{
	rig_open(&ra, SOFTNIC_NO_THREAD, 1);
	rig_open(&rb, SOFTNIC_NO_THREAD, 2);
	for (unsigned int i = 0; i < THREE; i++) {
		rig_qp(&ra, &near[i]);
		rig_qp(&rb, &away[i]);
		rig_connect(&near[i], &away[i], NULL);
	}
}

/* Runs three QPs at once, each with its own source and target. */
static void three_at_once(unsigned int op, const struct rig *from, const struct rig *to)
{
	for (unsigned int i = 0; i < THREE; i++) {
		rig_fill(from->data + i * PLACE, LONG, i);
		rig_recv(&away[i], rb.data + i * PLACE, LONG);
		rig_post(&near[i], &(struct rig_wr){ .op = op, .va = ra.data + i * PLACE, .len = LONG,
						     .raddr = rb.data + i * PLACE, .rkey = rb.key });
	}
	for (unsigned int i = 0; i < THREE; i++)
		rig_ring(&near[i]);
	for (unsigned int i = 0; i < THREE; i++) {
		if (op == RIG_SEND)
			cr_assert_eq(expect_ok(&rb, &ra, 2).len, LONG);
		expect_ok(&ra, &rb, 0);
	}
	for (unsigned int i = 0; i < THREE; i++)
		cr_assert(rig_filled(to->data + i * PLACE, LONG, i),
			  "message %u brought wrong data", i);
	teardown();
}

Test(rc_move, long_sends__of_three_qps_arrive, .init = setup_three) { three_at_once(RIG_SEND, &ra, &rb); }
Test(rc_move, long_writes__of_three_qps_arrive, .init = setup_three) { three_at_once(RIG_WRITE, &ra, &rb); }
Test(rc_move, long_reads__of_three_qps_arrive, .init = setup_three) { three_at_once(RIG_READ, &rb, &ra); }
