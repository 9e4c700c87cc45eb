/* SPDX-License-Identifier: BSD-2-Clause */
/* The completions and data of a correct driver, on each profile. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/softnic_efa/rig.h"

static struct side a, b;
static struct wqe w;

static void open_pair(const char *profile, unsigned int qp_flags)
{
	pair_open(&a, &b, &(struct setup){ .profile = profile, .qp_flags = qp_flags });
	fill(a.mem, MEM, 1);
	fill(b.mem, MEM, 2);
}

static void close_pair(void)
{
	expect_violations(&a, "");
	expect_violations(&b, "");
	pair_close(&a, &b);
}

static void send_and_check(uint16_t id, uint32_t len)
{
	struct cqe c;

	rx_post(&b, id, 4096 * 4, 65535);
	w_send(&a, &w, id, 512, len);
	post(&a, &w);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.status, 0);
	cr_assert_eq(c.queue, 2);
	cr_assert_eq(c.req_id, id);
	cr_assert_eq(c.length, len);
	cr_assert_eq(c.qpn, b.qp.qpn);
	cr_assert_eq(c.src_qpn, a.qp.qpn);
	cr_assert_eq(c.ah, b.ah);
	cr_assert(!memcmp(b.mem + 4096 * 4, a.mem + 512, len));
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0);
	cr_assert_eq(c.queue, 1);
	cr_assert_eq(c.req_id, id);
	cr_assert_eq(c.op, OP_SEND);
}

Test(data, sends__arrive_on_every_profile)
{
	for (const char *const *p = softnic_efa_profiles(); *p; p++) {
		open_pair(*p, 0);
		send_and_check(1, 1);
		send_and_check(2, 100);
		send_and_check(3, a.caps.mtu);
		send_and_check(4, 0);
		close_pair();
	}
}

Test(data, send__of_two_buffers_arrives_with_its_immediate)
{
	struct cqe c;

	open_pair("efa1", 0);
	rx_desc(&b, 9, b.mem, 100, b.lkey | 1u << 30);
	rx_desc(&b, 9, b.mem + 1000, 100, b.lkey | 1u << 31);
	rx_ring(&b);
	w_head(&a, &w, OP_SEND, IMM, 5, 2);
	w_buf(&w, 32, a.mem, 70, a.lkey);
	w_buf(&w, 48, a.mem + 200, 80, a.lkey);
	post(&a, &w);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.length, 150);
	cr_assert(c.has_imm);
	cr_assert_eq(c.imm, 0xabcd0005);
	cr_assert(!memcmp(b.mem, a.mem, 70));
	cr_assert(!memcmp(b.mem + 70, a.mem + 200, 30));
	cr_assert(!memcmp(b.mem + 1000, a.mem + 230, 50));
	close_pair();
}

static void send_inline(uint32_t len)
{
	struct cqe c;

	rx_post(&b, 1, 0, 100);
	w_head(&a, &w, OP_SEND, INLINE, 1, (uint16_t)len);
	fill(w.b + 32, len, len);
	post(&a, &w);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.length, len);
	cr_assert(!memcmp(b.mem, w.b + 32, len));
	cqe_wait(&a, &b);
}

Test(data, inline_sends__of_both_wqe_sizes_arrive)
{
	open_pair("efa0", 0);
	send_inline(32);
	close_pair();
	open_pair("wide", SOFTNIC_EFA_QP_WIDE);
	cr_assert_eq(a.qp.sq.entry_size, 128);
	send_inline(33);
	send_inline(80);
	close_pair();
}

Test(data, read__of_many_packets_returns_all_bytes)
{
	struct cqe c;

	open_pair("read", 0);
	w_rdma(&a, &w, OP_READ, 0, 77, 1000, 5000, 300000);
	post(&a, &w);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0);
	cr_assert_eq(c.op, OP_READ);
	cr_assert(!memcmp(a.mem + 1000, b.mem + 5000, 300000));
	cr_assert(settle(&a, &b, 100000));
	cr_assert(!cqe_poll(&b, &c), "the target got a completion for a read");
	close_pair();
}

static void write_imm(uint32_t len)
{
	struct cqe c;

	w_rdma(&a, &w, OP_WRITE, IMM, 8, 100, 3000, len);
	post(&a, &w);
	c = cqe_wait(&b, &a);
	cr_assert(!memcmp(a.mem + 100, b.mem + 3000, len),
		  "the read was reported before all bytes were placed");
	cr_assert_eq(c.op, OP_WRITE);
	cr_assert(c.has_imm);
	cr_assert_eq(c.imm, 0xabcd0008);
	cr_assert_eq(c.length, len);
	cr_assert_eq(c.unsolicited, !!(b.qp_flags & SOFTNIC_EFA_QP_UNSOLICITED));
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0);
}

Test(data, writes_with_immediate__solicited_or_not_arrive_with_it)
{
	open_pair("write", 0);
	rx_post(&b, 1, 0, 1);
	write_imm(200000);
	rx_post(&b, 2, 0, 1);
	write_imm(0);
	close_pair();
	open_pair("unsol", SOFTNIC_EFA_QP_UNSOLICITED);
	write_imm(8);
	write_imm(70000);
	close_pair();
}

Test(data, inline_write__of_a_wide_wqe_lands)
{
	struct cqe c;

	open_pair("wide", SOFTNIC_EFA_QP_WIDE);
	w_head(&a, &w, OP_WRITE, INLINE, 3, 80);
	w_remote(&w, b.mem + 9, 80, b.rkey);
	fill(w.b + 48, 80, 5);
	post(&a, &w);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0);
	cr_assert(!memcmp(b.mem + 9, w.b + 48, 80));
	close_pair();
}

Test(data, request_ids_of_64_bits__come_back)
{
	struct cqe c;

	pair_open(&a, &b,
		  &(struct setup){.profile = "reqid64",
				  .cq_flags = SOFTNIC_EFA_CQ_REQ_ID_64,
				  .qp_flags = SOFTNIC_EFA_QP_REQ_ID_64});
	rx_post(&b, 1, 0, 100);
	w_send(&a, &w, 0x3344, 0, 10);
	put16(w.b + 26, 0x1122);
	put32(w.b + 28, 0xdeadbeef);
	post(&a, &w);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.req_id_64, 0xdeadbeef11223344u);
	settle(&a, &b, 1000);
	close_pair();
}

/* AWS documents that the AH's number may be missing from a CQE at any time, mostly while the AH is
 * new. */
Test(data, known_sender__without_an_ah_number_is_named_by_its_gid, .init = NULL)
{
	unsigned int unnamed = 0;

	pair_open(&a, &b, &(struct setup){ .cq_flags = SOFTNIC_EFA_CQ_SGID });
	cr_assert_eq(softnic_efa_fault(b.nic, "unnamed=0.5"), 0);
	for (uint16_t i = 0; i < 100; i++) {
		struct cqe c;

		rx_post(&b, i, 0, 100);
		w_send(&a, &w, i, 0, 10);
		post(&a, &w);
		c = cqe_wait(&b, &a);
		cqe_wait(&a, &b);
		cr_assert(c.ah == b.ah || c.ah == 0xffff);
		unnamed += c.ah == 0xffff;
		if (c.ah == 0xffff)
			cr_assert(!memcmp(c.sgid, a.caps.gid, 16));
	}
	cr_assert(unnamed && unnamed < 100,
		  "%u of 100 receives came without an AH; some, but not all, should", unnamed);
	settle(&a, &b, 1000);
	close_pair();
}

Test(data, unknown_sender__is_named_by_its_gid)
{
	struct cqe c;

	pair_open(&a, &b, &(struct setup){ .cq_flags = SOFTNIC_EFA_CQ_SGID });
	cr_assert_eq(softnic_efa_ah_destroy(b.nic, b.pd, b.ah), 0);
	rx_post(&b, 1, 0, 100);
	w_send(&a, &w, 1, 0, 10);
	post(&a, &w);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.ah, 0xffff);
	cr_assert(!memcmp(c.sgid, a.caps.gid, 16));
	cr_assert_eq(softnic_efa_ah_create(b.nic, b.pd, a.caps.gid, &b.ah), 0);
	settle(&a, &b, 1000);
	close_pair();
}

/* Every ring wraps many times, with completions out of order. */
Test(data, cq_of_16_entries__wraps)
{
	struct cqe c;

	pair_open(&a, &b, &(struct setup){ .profile = "efa1", .cq = 16, .sq = 16, .rq = 16,
					   .cqe_size = 16 });
	for (uint16_t i = 0; i < 500; i++) {
		for (uint16_t k = 0; k < 5; k++) {
			rx_post(&b, (uint16_t)(5 * i + k), 0, 100);
			w_send(&a, &w, (uint16_t)(5 * i + k), 0, 10);
			post(&a, &w);
		}
		for (uint16_t k = 0; k < 5; k++) {
			c = cqe_wait(&b, &a);
			cr_assert_eq(c.status, 0);
			c = cqe_wait(&a, &b);
			cr_assert_eq(c.status, 0);
		}
	}
	close_pair();
}

/* The CQ has one entry, as in ib_send_lat. */
Test(data, cq_of_1_entry__wraps)
{
	pair_open(&a, &b, &(struct setup){ .cq = 1 });
	for (uint16_t i = 0; i < 10; i++)
		send_and_check(i, 100);
	close_pair();
}

Test(data, datagrams__have_a_header_and_no_answer)
{
	struct cqe c;

	open_pair("efa1", SOFTNIC_EFA_QP_UD);
	w_send(&a, &w, 1, 0, 10);
	post(&a, &w);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0,
		     "the datagram failed, although a missing receive must not be reported");
	settle(&a, &b, 1000);
	rx_post(&b, 2, 0, 100);
	post(&a, &w);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.length, 50);
	cr_assert(!memcmp(b.mem + 8, a.caps.gid, 16));
	cr_assert(!memcmp(b.mem + 40, a.mem, 10));
	settle(&a, &b, 1000);
	close_pair();
}

Test(data, bar__is_the_same_memory)
{
	size_t size;

	open_pair("wide", 0);
	cr_assert_geq(softnic_efa_bar_fd(a.nic, &size), 0);
	cr_assert_lt(a.qp.rq.ring_bar_offset + a.qp.rq.ring_bytes, size);
	cr_assert_eq((uint8_t *)a.qp.rq.ring - (uint8_t *)a.cq.ring,
		     (ptrdiff_t)(a.qp.rq.ring_bar_offset - a.cq.ring_bar_offset));
	close_pair();
}
