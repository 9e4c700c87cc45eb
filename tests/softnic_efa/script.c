/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of a fault script: one packet is lost, repeated or late, and what that costs. */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/softnic_efa/rig.h"

enum { PACKET = 8928, LEN = 3 * PACKET };

static struct side a, b;
static struct wqe w;

/* In a window of one packet the device keeps the order. */
static void setup(void)
{
	pair_open(&a, &b, &(struct setup){ .profile = "wide", .window = 1 });
	fill(a.mem, MEM, 1);
	fill(b.mem, MEM, 2);
}

static void teardown(void)
{
	expect_violations(&a, "");
	expect_violations(&b, "");
	pair_close(&a, &b);
}

TestSuite(script, .init = setup, .fini = teardown, .timeout = 60);

static void set(struct side *s, const char *script)
{
	char why[256] = "";

	cr_assert_eq(softnic_efa_fault_why(s->nic, script, why, sizeof(why)), 0, "%s", why);
}

static struct softnic_efa_counters counters(const struct side *s)
{
	struct softnic_efa_counters c;

	softnic_efa_counters(s->nic, &c);
	return c;
}

static void transfer(unsigned int op)
{
	struct cqe c;

	w_rdma(&a, &w, op, 0, 1, 0, 0, LEN);
	post(&a, &w);
	c = cqe_wait(&a, &b);
	cr_assert_eq(c.status, 0, "status %u", c.status);
	cr_assert(!memcmp(a.mem, b.mem, LEN));
	cr_assert(settle(&a, &b, 100000));
}

Test(script, write__packet_lost_on_its_way_out_is_sent_again)
{
	set(&a, "unnamed=0;drop:op=write,psn=+2");
	transfer(OP_WRITE);
	cr_assert_eq(counters(&a).retransmits, 1);
	cr_assert_eq(counters(&b).rx_packets, 3);
}

Test(script, write__packets_lost_on_arrival_are_sent_again)
{
	set(&b, "unnamed=0;drop:op=write,psn=+2,times=2,dir=in");
	transfer(OP_WRITE);
	cr_assert_eq(counters(&a).retransmits, 2);
	cr_assert_eq(counters(&b).rx_packets, 3);
}

Test(script, write__lost_acknowledgement_makes_a_duplicate)
{
	set(&a, "drop:op=ack,dir=in");
	transfer(OP_WRITE);
	cr_assert_geq(counters(&a).retransmits, 1);
	cr_assert_eq(counters(&b).rx_packets, 3 + counters(&a).retransmits);
}

Test(script, read__lost_data_is_sent_again)
{
	set(&b, "drop:op=read_response,psn=+3");
	transfer(OP_READ);
	cr_assert_eq(counters(&b).retransmits, 1);
}

Test(script, read__request_lost_is_sent_again)
{
	set(&a, "drop:op=read");
	transfer(OP_READ);
	cr_assert_eq(counters(&a).retransmits, 1);
}

static void receive(uint16_t first, uint16_t second)
{
	struct cqe c;

	rx_post(&b, 1, 0, 100);
	rx_post(&b, 2, 100, 100);
	w_send(&a, &w, 1, 0, 10);
	post(&a, &w);
	w_send(&a, &w, 2, 0, 20);
	post(&a, &w);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.length, first);
	c = cqe_wait(&b, &a);
	cr_assert_eq(c.length, second);
	cr_assert_eq(cqe_wait(&a, &b).status, 0);
	cr_assert_eq(cqe_wait(&a, &b).status, 0);
	cr_assert(settle(&a, &b, 100000));
	cr_assert_not(cqe_poll(&b, &c), "a message arrived twice");
}

Test(script, send__repeated_packet_is_received_once)
{
	set(&a, "dup:op=send");
	receive(10, 20);
	cr_assert_eq(counters(&b).rx_packets, 3);
}

Test(script, send__reordered_packet_arrives_after_the_next_one)
{
	set(&a, "reorder:op=send");
	receive(20, 10);
	cr_assert_eq(counters(&b).rx_packets, 2);
}

Test(script, corrupt__is_refused_because_packets_have_no_checksum)
{
	char why[256] = "";

	cr_assert_eq(softnic_efa_fault_why(a.nic, "corrupt:op=send", why, sizeof(why)), -22);
	cr_assert(strstr(why, "corrupt: a rule of this adapter begins with one of drop, delay"), "%s", why);
	cr_assert_eq(softnic_efa_fault_why(a.nic, "drop:op=atomic", why, sizeof(why)), -22);
	cr_assert(strstr(why, "op=atomic: must be ack, datagram, send"), "%s", why);
	cr_assert_eq(softnic_efa_fault_why(a.nic, "drop:qpn=65536", why, sizeof(why)), -22);
}

/* A device that reaches only itself sends by the fabric while a script has rules. */
Test(script_loopback, write__packet_lost_is_sent_again, .timeout = 60)
{
	struct setup alone = { .profile = "wide", .window = 1,
			       .flags = SOFTNIC_EFA_NO_THREAD | SOFTNIC_EFA_LOOPBACK_ONLY };

	side_open(&a, &alone);
	cr_assert_eq(softnic_efa_ah_create(a.nic, a.pd, a.caps.gid, &a.ah), 0);
	side_name(&a, a.qp.qpn, a.mem + MEM / 2, a.rkey);
	side_ready(&a, 0);
	fill(a.mem, LEN, 1);
	set(&a, "unnamed=0;drop:op=write,psn=+2");
	w_rdma(&a, &w, OP_WRITE, 0, 1, 0, 0, LEN);
	post(&a, &w);
	cr_assert_eq(cqe_wait(&a, NULL).status, 0);
	cr_assert(!memcmp(a.mem, a.mem + MEM / 2, LEN));
	cr_assert_eq(counters(&a).retransmits, 1);
	expect_violations(&a, "");
	side_close(&a);
}
