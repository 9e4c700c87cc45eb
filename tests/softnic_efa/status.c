/* SPDX-License-Identifier: BSD-2-Clause */
/* Every completion status, provoked as on a real EFA. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "softnic/efa/nic.h"
#include "tests/softnic_efa/rig.h"

static struct side a, b;
static struct wqe w;

static void open_with(const struct setup *setup)
{
	pair_open(&a, &b, setup);
}

static void setup(void)
{
	open_with(&(struct setup){ 0 });
}

static void teardown(void)
{
	pair_close(&a, &b);
}

static void expect(uint8_t status, const char *here, const char *there)
{
	struct cqe c = cqe_wait(&a, &b);

	cr_assert_eq(c.status, status, "the completion has status %u instead of %u", c.status,
		     status);
	cr_assert_eq(c.queue, 1);
	expect_violations(&a, here);
	expect_violations(&b, there);
}

TestSuite(status, .init = setup, .fini = teardown);

static void send_to_nobody(uint32_t len)
{
	w_send(&a, &w, 1, 0, len);
	post(&a, &w);
}

Test(status, error_state__flushes_each_request_with_status_1)
{
	struct cqe c;

	send_to_nobody(10);
	rx_post(&a, 7, 0, 10);
	side_modify(&a, SOFTNIC_EFA_ERR, 0);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 1);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 1);
	/* Posts that come later fail too. */
	send_to_nobody(10);
	expect(1, "", "");
	rx_post(&a, 8, 0, 10);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 1);
	cr_assert_eq(c.req_id, 8);
}

/* A QP as pair_open() creates them. */
static void new_qp(struct side *s)
{
	const struct softnic_efa_qp_attr attr = { .pd = s->pd, .send_cq = s->cq.cq, .recv_cq = s->cq.cq,
						  .sq_depth = 64, .rq_depth = 64 };

	cr_assert_eq(softnic_efa_qp_create(s->nic, &attr, &s->qp), 0);
	s->sq_pc = s->rq_pc = 0;
}

/* The CQEs are on the CQ when the command returns, so a driver that drains the CQ then sees none later. */
Test(status, qp_destroy__flushes_each_request_with_status_1)
{
	uint16_t qpn = a.qp.qpn;
	struct cqe c;

	send_to_nobody(10);
	rx_post(&a, 7, 0, 10);
	rx_post(&a, 8, 0, 10);
	cr_assert_eq(softnic_efa_qp_destroy(a.nic, a.qp.handle), 0);
	for (unsigned int seen = 0; seen != 7;) {
		cr_assert(cqe_poll(&a, &c), "requests %#x of 7 were flushed", seen);
		cr_assert_eq(c.status, 1);
		cr_assert_eq(c.qpn, qpn);
		seen |= c.queue == 1 ? 1u : c.req_id == 7 ? 2u : 4u;
	}
	cr_assert_not(cqe_poll(&a, &c));
	new_qp(&a);
	cr_assert(settle(&a, &b, 200000));
	cr_assert_not(cqe_poll(&a, &c), "a completion came after the end of the QP");
}

/* libfabric destroys a QP as soon as it has posted its last send. */
Test(status, qp_destroy__follows_the_requests_that_were_rung_before)
{
	struct cqe c;

	rx_post(&b, 7, 0, 10);
	send_to_nobody(10);
	cr_assert_eq(softnic_efa_qp_destroy(a.nic, a.qp.handle), 0);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.status, 0);
	cr_assert_eq(c.req_id, 7);
	new_qp(&a);
}

/* A QP in RESET has no work, and one whose work was flushed before gets no second completion. */
Test(status, qp_destroy__of_an_idle_qp_completes_nothing)
{
	struct cqe c;

	rx_post(&a, 7, 0, 10);
	side_modify(&a, SOFTNIC_EFA_ERR, 0);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 1);
	cr_assert_eq(softnic_efa_qp_destroy(a.nic, a.qp.handle), 0);
	cr_assert_not(cqe_poll(&a, &c));
	new_qp(&a);
	cr_assert_eq(softnic_efa_qp_destroy(a.nic, a.qp.handle), 0);
	cr_assert_not(cqe_poll(&a, &c));
	new_qp(&a);
}

/* A write has several packets, some of which the peer has acknowledged. */
Test(status, ah_destroy__flushes_the_requests_that_use_it_with_status_1)
{
	static const uint8_t absent[16] = { 0xfe, 0x80, [8] = 1, [15] = 0x77 };
	uint16_t other;

	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, absent, &other), 0);
	w_rdma(&a, &w, OP_WRITE, 0, 1, 0, 0, MEM);
	post(&a, &w);
	pair_turns(&a, &b, 20);
	cr_assert_eq(softnic_efa_ah_destroy(a.nic, a.pd, other), 0);
	cr_assert_eq(softnic_efa_ah_destroy(a.nic, a.pd, a.ah), 0);
	expect(1, "", "");
	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, b.caps.gid, &a.ah), 0);
	w_rdma(&a, &w, OP_WRITE, 0, 2, 0, 0, 8);
	post(&a, &w);
	expect(0, "", "");
}

/* The read continues although the QP is in error, until it is flushed or destroyed. */
Test(status, error_state__with_a_late_flush_lets_the_read_end_first)
{
	struct cqe c;

	cr_assert_eq(softnic_efa_fault(a.nic, "flush=200000"), 0);
	rx_post(&a, 7, 0, 10);
	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, 8);
	post(&a, &w);
	side_modify(&a, SOFTNIC_EFA_ERR, 0);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0);
	cr_assert_eq(c.req_id, 1);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 1);
	cr_assert_eq(c.req_id, 7);
}

Test(status, wqe__with_a_reserved_bit_gets_status_2_qp_internal)
{
	w_send(&a, &w, 1, 0, 10);
	w.b[20] = 1;
	post(&a, &w);
	expect(2, "wqe.reserved_bits", "");
}

Test(status, rdma__on_a_device_without_it_gets_status_3_unsupported, .init = NULL)
{
	open_with(&(struct setup){ .profile = "efa1" });
	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, 8);
	post(&a, &w);
	expect(3, "wqe.opcode", "");
}

Test(status, send__by_an_unknown_ah_gets_status_4_invalid_ah)
{
	w_send(&a, &w, 1, 0, 10);
	put16(w.b + 12, 999);
	post(&a, &w);
	expect(4, "wqe.ah", "");
}

Test(status, send__beyond_its_region_gets_status_5_invalid_lkey)
{
	w_send(&a, &w, 1, MEM - 5, 10);
	post(&a, &w);
	expect(5, "wqe.lkey", "");
}

Test(status, send__above_the_mtu_gets_status_6_bad_length)
{
	send_to_nobody(a.caps.mtu + 1);
	expect(6, "wqe.length", "");
}

/* The sum of the lengths is 10 if it is kept in 32 bits. Nothing reads the region, which is longer than the
 * memory. */
Test(status, send__of_two_buffers_above_4_gib_gets_status_6_bad_length)
{
	uint32_t lkey, rkey;

	cr_assert_eq(softnic_efa_mr_reg(a.nic, a.pd, a.mem, UINT64_C(5) << 30, (uintptr_t)a.mem, 0, &lkey,
					&rkey), 0);
	w_head(&a, &w, OP_SEND, 0, 1, 2);
	w_buf(&w, 32, a.mem, UINT32_MAX, lkey);
	w_buf(&w, 48, a.mem, 11, lkey);
	post(&a, &w);
	expect(6, "wqe.length", "");
	cr_assert_eq(softnic_efa_mr_dereg(a.nic, lkey), 0);
}

Test(status, rdma__with_a_wrong_range_right_or_key_gets_status_7_remote_address)
{
	uint32_t lkey, rkey;

	w_rdma(&a, &w, OP_WRITE, 0, 1, 0, MEM - 4, 8);
	post(&a, &w);
	expect(7, "", "rx.bad_address");
	cr_assert_eq(softnic_efa_mr_reg(b.nic, b.pd, b.mem, 64, 0, 1, &lkey, &rkey), 0);
	w_rdma(&a, &w, OP_READ, 0, 2, 0, 0, 8);
	w_remote(&w, NULL, 8, rkey);
	post(&a, &w);
	expect(7, "", "rx.rights");
	cr_assert_eq(softnic_efa_mr_dereg(b.nic, lkey), 0);
	w.b[0] = 3;
	post(&a, &w);
	expect(7, "", "rx.bad_address");
}

Test(status, read__whose_key_is_revoked_meanwhile_gets_status_7_remote_address)
{
	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, MEM);
	post(&a, &w);
	pair_turns(&a, &b, 20);
	cr_assert_eq(softnic_efa_mr_dereg(b.nic, b.lkey), 0);
	expect(7, "", "");
	cr_assert_eq(softnic_efa_mr_reg(b.nic, b.pd, b.mem, MEM, 0, 1, &b.lkey, &b.rkey), 0);
}

Test(status, read__whose_target_is_destroyed_meanwhile_gets_status_8_abort)
{
	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, MEM);
	post(&a, &w);
	pair_turns(&a, &b, 20);
	cr_assert_eq(softnic_efa_qp_destroy(b.nic, b.qp.handle), 0);
	expect(8, "", "");
	new_qp(&b);
}

/* A read of MEM bytes has 118 packets. The window has 64 when the target learns of the end. */
Test(status, reads__whose_initiator_is_destroyed_meanwhile_get_no_more_data)
{
	struct softnic_efa_counters ctr;

	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, MEM);
	post(&a, &w);
	w.b[0] = 2;
	post(&a, &w);
	pair_turns(&a, &b, 10);
	cr_assert_eq(softnic_efa_qp_destroy(a.nic, a.qp.handle), 0);
	cr_assert(settle(&a, &b, 20000));
	softnic_efa_counters(b.nic, &ctr);
	cr_expect_lt(ctr.tx_packets, 200, "the target sent %llu packets", (unsigned long long)ctr.tx_packets);
	new_qp(&a);
}

Test(status, send__to_a_wrong_number_or_state_gets_status_9_bad_qpn)
{
	w_send(&a, &w, 1, 0, 10);
	put16(w.b + 4, (uint16_t)(b.qp.qpn + 1));
	post(&a, &w);
	expect(9, "", "");
	side_modify(&b, SOFTNIC_EFA_ERR, 0);
	send_to_nobody(10);
	expect(9, "", "");
}

Test(status, send__without_a_receive_or_retries_gets_status_10_rnr)
{
	send_to_nobody(10);
	expect(10, "", "");
}

Test(status, send__with_a_receive_posted_in_time_succeeds_after_an_rnr, .init = NULL)
{
	struct softnic_efa_counters ctr;

	open_with(&(struct setup){ .rnr_retry = 7 });
	send_to_nobody(10);
	settle(&a, &b, 500);
	softnic_efa_counters(a.nic, &ctr);
	cr_assert_gt(ctr.rnrs, 0);
	rx_post(&b, 1, 0, 100);
	expect(0, "", "");
}

/* The region of the send is deregistered while the send waits for its retry. */
Test(status, send__of_a_region_that_went_before_a_retry_gets_status_5_invalid_lkey, .init = NULL)
{
	uint32_t lkey, rkey;

	open_with(&(struct setup){ .rnr_retry = 7 });
	cr_assert_eq(softnic_efa_mr_reg(a.nic, a.pd, a.mem, 64, (uintptr_t)a.mem, 1, &lkey, &rkey), 0);
	w_head(&a, &w, OP_SEND, 0, 1, 1);
	w_buf(&w, 32, a.mem, 10, lkey);
	post(&a, &w);
	settle(&a, &b, 500);
	cr_assert_eq(softnic_efa_mr_dereg(a.nic, lkey), 0);
	expect(5, "", "");
}

Test(status, send__without_a_receive_gets_status_10_rnr_after_its_retries, .init = NULL)
{
	struct softnic_efa_counters ctr;

	open_with(&(struct setup){ .rnr_retry = 3 });
	send_to_nobody(10);
	expect(10, "", "");
	softnic_efa_counters(a.nic, &ctr);
	cr_assert_eq(ctr.rnrs, 4);
}

Test(status, send__to_a_short_receive_gets_status_11_and_spends_it)
{
	struct cqe c;

	rx_post(&b, 5, 0, 9);
	send_to_nobody(10);
	expect(11, "", "rx.short_buffer");
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.req_id, 5);
	cr_assert_eq(c.status, 6);
}

Test(status, send__to_a_receive_with_a_dead_key_gets_status_12_bad_status)
{
	struct cqe c;
	uint32_t lkey, rkey;

	cr_assert_eq(softnic_efa_mr_reg(b.nic, b.pd, b.mem, 64, (uintptr_t)b.mem, 1, &lkey, &rkey),
		     0);
	rx_desc(&b, 5, b.mem, 64, lkey | 3u << 30);
	rx_ring(&b);
	cr_assert_eq(softnic_efa_mr_dereg(b.nic, lkey), 0);
	send_to_nobody(10);
	expect(12, "", "");
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.status, 5);
}

Test(status, send__to_a_peer_that_falls_silent_gets_status_13_unresponsive)
{
	rx_post(&b, 1, 0, 100);
	send_to_nobody(10);
	expect(0, "", "");
	cr_assert_eq(softnic_efa_fault(b.nic, "silence"), 0);
	w.b[0] = 2;
	post(&a, &w);
	expect(13, "", "");
}

Test(status, read__whose_peer_falls_silent_meanwhile_gets_status_13_unresponsive)
{
	w_rdma(&a, &w, OP_READ, 0, 1, 0, 0, MEM);
	post(&a, &w);
	pair_turns(&a, &b, 20);
	cr_assert_eq(softnic_efa_fault(b.nic, "drop=1"), 0);
	expect(13, "", "");
}

/* The peer has got the packets that were sent while it was stopped, and answers. So it does not
 * count as dead. */
Test(status, send__to_a_peer_stopped_for_long_succeeds)
{
	rx_post(&b, 1, 0, 100);
	send_to_nobody(10);
	for (int i = 0; i < 600; i++)
		softnic_efa_pump(a.nic);
	softnic_efa_pump(b.nic);
	expect(0, "", "");
}

Test(status, rdma__to_a_device_without_our_ah_gets_status_14_unknown_peer)
{
	cr_assert_eq(softnic_efa_ah_destroy(b.nic, b.pd, b.ah), 0);
	w_rdma(&a, &w, OP_WRITE, 0, 1, 0, 0, 8);
	post(&a, &w);
	expect(14, "", "rx.unknown_peer");
	rx_post(&b, 1, 0, 100);
	w_send(&a, &w, 2, 0, 10);
	post(&a, &w);
	expect(0, "", "");
	cr_assert_eq(softnic_efa_ah_create(b.nic, b.pd, a.caps.gid, &b.ah), 0);
}

Test(status, send__to_a_peer_silent_from_the_start_gets_status_15_unreachable)
{
	cr_assert_eq(softnic_efa_fault(b.nic, "silence"), 0);
	send_to_nobody(10);
	expect(15, "", "");
}

Test(status, send__to_a_gid_that_no_device_has_gets_status_15_unreachable)
{
	static const uint8_t absent[16] = { 0xfe, 0x80, [8] = 1, [15] = 0x77 };
	uint16_t ah;

	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, absent, &ah), 0);
	w_send(&a, &w, 1, 0, 10);
	put16(w.b + 12, ah);
	post(&a, &w);
	expect(15, "", "");
	cr_assert_eq(softnic_efa_ah_destroy(a.nic, a.pd, ah), 0);
}

Test(status, write_imm__with_one_side_unsolicited_gets_status_18_feature)
{
	struct softnic_efa_qp_attr attr = { .pd = b.pd, .send_cq = b.cq.cq, .recv_cq = b.cq.cq,
					    .sq_depth = 64, .rq_depth = 64,
					    .flags = SOFTNIC_EFA_QP_UNSOLICITED };

	cr_assert_eq(softnic_efa_qp_destroy(b.nic, b.qp.handle), 0);
	cr_assert_eq(softnic_efa_qp_create(b.nic, &attr, &b.qp), 0);
	side_ready(&b, 0);
	w_rdma(&a, &w, OP_WRITE, IMM, 1, 0, 0, 8);
	post(&a, &w);
	expect(18, "", "rx.feature");
	w_rdma(&a, &w, OP_WRITE, 0, 2, 0, 0, 8);
	post(&a, &w);
	expect(0, "", "");
}

/* SRD.txt of amzn-drivers: what fails a check of its QP is dropped and acknowledged as dropped. */
Test(status, qkey__that_is_wrong_fails_the_send_at_once)
{
	rx_post(&b, 1, 0, 100);
	w_send(&a, &w, 1, 0, 10);
	put32(w.b + 16, QKEY + 1);
	post(&a, &w);
	expect(9, "", "rx.qkey");
	w_send(&a, &w, 2, 0, 10);
	post(&a, &w);
	expect(0, "", "");
	cr_expect_eq(cqe_wait(&b, &a).req_id, 1, "the packet with a wrong qkey took a receive");
}

/* ---- Statuses that a fault script causes */

Test(status, script__status_ends_the_nth_wqe_with_each_status)
{
	for (unsigned int s = 1; s <= 18; s++) {
		char script[32];
		struct cqe c;

		snprintf(script, sizeof(script), "status=%u:2", s);
		cr_assert_eq(softnic_efa_fault(a.nic, script), 0);
		for (uint16_t i = 0; i < 3; i++) {
			if (i != 1)
				rx_post(&b, i, 0, 100);
			w_send(&a, &w, i, 0, 10);
			post(&a, &w);
			c = cqe_wait(&a, &b);
			cr_assert_eq(c.status, i == 1 ? s : 0);
			if (i != 1)
				cqe_wait(&b, &a);
		}
	}
}

Test(status, script__dead_qp_and_rnr_fail_sends_and_bad_words_are_refused)
{
	static const char *const bad[] = {
		"drop",      "drop=2",     "drop=x",     "drop=nan", "status=0",
		"status=19", "status=5:0", "what=1",     "window=0", "window=100000",
		"deadqp=-",  "seed=",      "silence=1x", "cmd_fail=xq", "cmd_fail=qp:0", "cmd_fail",
	};

	rx_post(&b, 1, 0, 100);
	cr_assert_eq(softnic_efa_fault(b.nic, "deadqp=1"), 0);
	send_to_nobody(10);
	expect(9, "", "");
	cr_assert_eq(softnic_efa_fault(b.nic, "rnr=1"), 0);
	send_to_nobody(10);
	expect(10, "", "");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_assert_eq(softnic_efa_fault(b.nic, bad[i]), -22,
			     "softnic_efa_fault accepted the invalid text \"%s\"", bad[i]);
	send_to_nobody(10);
	expect(10, "", "");
	cr_assert_eq(softnic_efa_fault(b.nic, ""), 0);
	send_to_nobody(10);
	expect(0, "", "");
}

Test(status, script__cmd_fail_fails_the_nth_command_of_its_kind)
{
	static const int answers[] = { 0, -12, 0 };
	uint16_t pd;

	cr_assert_eq(softnic_efa_fault(a.nic, "cmd_fail=pd:2,cmd_fail=mr"), 0);
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(softnic_efa_pd_alloc(a.nic, &pd), answers[i],
			     "command %zu returned the wrong status", i + 1);
}

Test(status, script__rkey_reuse_gives_a_new_region_the_stale_key)
{
	uint32_t lkey, rkey, lkey2, rkey2;

	cr_assert_eq(softnic_efa_fault(b.nic, "rkey_reuse"), 0);
	cr_assert_eq(softnic_efa_mr_reg(b.nic, b.pd, b.mem, 64, 0, 7, &lkey, &rkey), 0);
	cr_assert_eq(softnic_efa_mr_dereg(b.nic, lkey), 0);
	cr_assert_eq(softnic_efa_mr_reg(b.nic, b.pd, b.mem + 64, 64, 0, 7, &lkey2, &rkey2), 0);
	cr_assert_eq(rkey, rkey2);
	cr_assert_eq(softnic_efa_mr_dereg(b.nic, lkey2), 0);
}

Test(status, script__unknown_refuses_the_first_rdma_of_a_peer)
{
	memset(a.mem, 0x5a, 8);
	memset(b.mem, 0, 8);
	cr_assert_eq(softnic_efa_fault(b.nic, "unknown=2"), 0);
	for (uint16_t i = 0; i < 2; i++) {
		w_rdma(&a, &w, i ? OP_READ : OP_WRITE, 0, i, 0, 0, 8);
		post(&a, &w);
		expect(14, "", "");
		cr_assert_eq(b.mem[0], 0);
		cr_assert_eq(a.mem[0], 0x5a);
	}
	send_to_nobody(10);
	expect(10, "", "");
	w_rdma(&a, &w, OP_WRITE, 0, 3, 0, 0, 8);
	post(&a, &w);
	expect(0, "", "");
	cr_assert_eq(b.mem[0], 0x5a);
}

static void send_and_hear(uint16_t id)
{
	rx_post(&b, id, 0, 100);
	send_to_nobody(10);
	expect(0, "", "");
}

/*
 * A retransmission finds the link full. Then the first copy is answered, so nothing retries the
 * retransmission. Later packets must still be sent, once there is room.
 */
Test(status, send__after_a_repetition_that_met_a_full_link_succeeds)
{
	struct sn_addr to;
	struct sne_flow *flow;

	send_and_hear(1);
	memcpy(to.raw, b.caps.gid, sizeof(to.raw));
	flow = sne_flow_find((struct sne_nic *)a.nic, &to);
	cr_assert_not_null(flow);
	flow->blocked = true;
	send_and_hear(2);
}
