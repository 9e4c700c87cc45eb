/* SPDX-License-Identifier: BSD-2-Clause */
/* Every message arrives once and in order, whatever faults a seeded script injects. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/rc.h"
#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

struct script {
	char faults[80];
	char ip[16];			/* the packets go by UDP at this address; empty: by memory */
};

static struct script scripts[] = {
	{.faults = "drop=0.02,seed=1"},
	{.faults = "drop=0.1,seed=2"},
	{.faults = "dup=0.1,seed=3"},
	{.faults = "reorder=0.1,seed=4"},
	{.faults = "corrupt=0.02,seed=5"},
	{.faults = "delay=0.002,seed=6"},
	{.faults = "rnr=0.2,seed=7"},
	{.faults = "drop=0.02,dup=0.02,reorder=0.02,corrupt=0.01,delay=0.001,rnr=0.2,seed=8"},
	{.faults = "drop=0.02,dup=0.02,reorder=0.02,corrupt=0.01,delay=0.001,rnr=0.2,seed=9"},
	{.faults = "drop=0.05,dup=0.02,reorder=0.05,seed=10", .ip = "127.0.0.1"},
	{.faults = "drop=0.02,dup=0.02,reorder=0.02,corrupt=0.01,delay=0.001,rnr=0.2,seed=11",
	 .ip = "127.0.0.1"},
};

enum { MESSAGES = 120, SLOT = 16384, STUCK_MS = 60000 };

static struct rig ra, rb;
static struct rig_qp a, b;

static uint32_t longest = SLOT;

static uint32_t length(unsigned int i)
{
	return (i * UINT32_C(2654435761) >> 18) % longest;
}

/* Posts the i-th message of an ordered stream of SENDs, WRITEs, READs and atomics. The receiver
 * checks order and content. */
static void post(unsigned int i)
{
	uint8_t *from = ra.data + (i % 32) * SLOT, *to = rb.data + (32 + i % 32) * SLOT;
	uint64_t *word = (uint64_t *)(void *)(rb.data + 100 * SLOT);

	switch (i % 4) {
	case 0:
		rig_fill(from, length(i), i);
		rig_post(&a, &(struct rig_wr){.op = RIG_SEND_IMM, .va = from, .len = length(i),
					      .imm = i});
		break;
	case 1:
		rig_fill(from, length(i), i);
		rig_post(&a, &(struct rig_wr){.op = RIG_WRITE, .va = from, .len = length(i),
					      .raddr = to, .rkey = rb.key});
		break;
	case 2:	/* reads the data of the WRITE before it */
		rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = from, .len = length(i - 1),
					      .raddr = rb.data + (32 + (i - 1) % 32) * SLOT,
					      .rkey = rb.key});
		break;
	default:
		rig_post(&a, &(struct rig_wr){.op = RIG_FA, .va = from, .len = 8, .raddr = word,
					      .rkey = rb.key, .swap_add = 1});
		break;
	}
}

static void check(unsigned int i)
{
	const uint8_t *at = ra.data + (i % 32) * SLOT;
	uint64_t was;

	if (i % 4 == 1) {
		cr_assert(rig_filled(rb.data + (32 + i % 32) * SLOT, length(i), i),
			  "WRITE %u placed wrong data", i);
	} else if (i % 4 == 2) {
		cr_assert(rig_filled(at, length(i - 1), i - 1), "READ %u returned wrong data", i);
	} else if (i % 4 == 3) {
		memcpy(&was, at, sizeof(was));
		cr_assert_eq(was, i / 4, "fetch-add %u was executed twice or never", i);
	}
}

static void check_receive(const struct rig_cqe *cqe, unsigned int n)
{
	unsigned int i = 4 * n;

	cr_assert_eq(cqe->op, 3);
	cr_assert_eq(cqe->imm, i, "SEND %u arrived instead of SEND %u", cqe->imm, i);
	cr_assert_eq(cqe->len, length(i));
	cr_assert(rig_filled(rb.data + (64 + n % 8) * SLOT, length(i), i),
		  "SEND %u brought wrong data", i);
	rig_recv(&b, rb.data + (64 + n % 8) * SLOT, SLOT);
}

/* Posts one lap of eight messages at a time and waits for all completions. */
static void stream(unsigned int n)
{
	unsigned int posted = 0, done = 0, received = 0, i;
	uint64_t end = th_now_ms() + STUCK_MS;
	struct rig_cqe cqe;

	for (i = 0; i < 8; i++)
		rig_recv(&b, rb.data + (64 + i) * SLOT, SLOT);
	while (done < n || received < n / 4) {
		for (; posted < n && posted < done + 8; posted++)
			post(posted);
		rig_ring(&a);
		softnic_pump(ra.nic);
		softnic_pump(rb.nic);
		while (rig_poll(&rb, &cqe))
			check_receive(&cqe, received++);
		while (rig_poll(&ra, &cqe)) {
			cr_assert_eq(cqe.op, 0, "message %u failed with syndrome %#x", done,
				     cqe.syndrome);
			check(done++);
			end = th_now_ms() + STUCK_MS;
		}
		cr_assert_lt(th_now_ms(), end, "no progress after %u of %u messages", done, n);
	}
	cr_assert_not(rig_poll(&ra, &cqe));
	cr_assert_not(rig_poll(&rb, &cqe));
}

ParameterizedTestParameters(rc_loss, script__changes_nothing_that_is_seen)
{
	return cr_make_param_array(struct script, scripts, sizeof(scripts) / sizeof(scripts[0]));
}

/* timeout: code of the ACK timeout; 0: the rig's default */
static void survive(const struct script *s, unsigned int messages, unsigned int timeout)
{
	struct softnic_counters ca, cb;

	rig_udp = *s->ip ? s->ip : NULL;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD | SOFTNIC_ADVERSARIAL,
		      &(struct rig_conn){.psn_a = 0xffff80, .psn_b = 3, .log_rd = 2, .timeout = timeout});
	cr_assert_eq(softnic_fault(ra.nic, s->faults), 0);
	cr_assert_eq(softnic_fault(rb.nic, s->faults), 0);
	stream(messages);
	ca = rig_counters(&ra);
	cb = rig_counters(&rb);
	if (strstr(s->faults, "drop") || strstr(s->faults, "reorder"))
		cr_assert_gt(ca.retransmits, 0, "the fault script caused no retransmission");
	if (strstr(s->faults, "corrupt"))
		cr_assert_gt(ca.drops + cb.drops, 0, "no packet with a wrong ICRC was dropped");
	if (strstr(s->faults, "rnr"))
		cr_assert_gt(cb.rnr_naks, 0);
	cr_assert_eq(softnic_fault(ra.nic, ""), 0);
	cr_assert_eq(softnic_fault(rb.nic, ""), 0);
	rig_close_pair(&ra, &rb, "", "");
}

ParameterizedTest(struct script *s, rc_loss, script__changes_nothing_that_is_seen, .timeout = 100)
{
	survive(s, MESSAGES, 0);
}

static unsigned int number_of(const char *variable, unsigned int otherwise)
{
	const char *value = getenv(variable);

	return value ? (unsigned int)strtoul(value, NULL, 10) : otherwise;
}

/* Sends as to another host. LOSS_OPERATIONS and LOSS_SEED in the environment change the number and the
 * seed. */
Test(rc_loss, operations__with_heavy_loss_end_once, .timeout = 7200)
{
	enum { ONE_MS = 8 };
	unsigned int n = number_of("LOSS_OPERATIONS", 2000) & ~3u, seed = number_of("LOSS_SEED", 1);
	struct script s = {.ip = "127.0.0.1"};

	longest = 2048;
	snprintf(s.faults, sizeof(s.faults), "drop=0.05,dup=0.02,reorder=0.05,seed=%u", seed);
	cr_log_info("%u operations, %s", n, s.faults);
	survive(&s, n, ONE_MS);
}

/*
 * While b delivers a NAK that the old script held, the connection ends, and b sends the acknowledgement that
 * it still owed. The new script must not take effect there.
 */
Test(rc_loss, fault__replaced_while_memory_is_missing_spares_the_packet_in_delivery, .timeout = 60)
{
	enum { HELD_MS = 50 };

	rig_udp = NULL;
	rig_open(&ra, SOFTNIC_NO_THREAD, 1);
	rig_open(&rb, SOFTNIC_NO_THREAD, 2);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
	rig_connect(&a, &b, NULL);
	cr_assert_eq(softnic_fault(rb.nic, "delay:op=nak,dir=in,us=50000"), 0);
	rig_recv(&b, rb.data, 64);
	rig_post_ring(&b, &(struct rig_wr){.op = RIG_WRITE, .va = rb.data, .len = 8, .raddr = ra.data,
					   .rkey = ra.key ^ 1});
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 8});
	softnic_pump(ra.nic);
	softnic_pump(rb.nic);
	cr_assert_eq(softnic_fault(rb.nic, "delay:op=nak,dir=in"), 0);
	th_sleep_ms(HELD_MS + 10);
	th_fail_start(TH_FAIL_HEAP | TH_FAIL_MINE, 1);
	softnic_pump(rb.nic);
	th_fail_stop();
	rig_settle(&ra, &rb);
	rig_close(&ra);
	rig_close(&rb);
}

/* A device that sleeps until its timer would send the second packet as late as the first. */
Test(rc_loss, delay__shorter_than_that_of_an_earlier_packet_sets_the_timer_forward, .timeout = 60)
{
	struct sn_fabric *fabric;

	rig_udp = NULL;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD, NULL);
	cr_assert_eq(softnic_fault(ra.nic, "delay:psn=+1,us=1000000;delay:psn=+2,us=500000"), 0);
	for (unsigned int i = 0; i < 2; i++) {
		rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 8,
						   .raddr = rb.data, .rkey = rb.key});
		softnic_pump(ra.nic);
		softnic_pump(ra.nic);
	}
	fabric = ra.nic->port[0].fabric;
	cr_assert_neq(fabric->chaos.slot, 0, "no timer waits for a delayed packet");
	cr_expect_leq(fabric->chaos.deadline, sn_fab_deadline(fabric->fab));
	cr_assert_eq(softnic_fault(ra.nic, ""), 0);
	rig_close_pair(&ra, &rb, "", "");
}

/* After 2^24 packets a PSN comes again, while the result of an earlier atomic with it is still saved. */
Test(rc_loss, atomic__repeated_returns_the_result_of_the_last_one_with_its_psn, .timeout = 60)
{
	uint64_t *word, *old;
	struct sn_rc_resp *s;

	rig_udp = NULL;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD, &(struct rig_conn){.psn_a = 7});
	word = (uint64_t *)(void *)rb.data;
	old = (uint64_t *)(void *)ra.data;
	*word = 37;
	s = &sn_qp_find(rb.nic, b.qpn)->rc->resp;
	s->atomic[s->atomic_next++] = (struct sn_rc_atomic){.psn = 7, .valid = true, .original = 111};
	cr_assert_eq(softnic_fault(rb.nic, "drop:op=atomic_response,times=1"), 0);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_FA, .va = old, .len = 8, .raddr = word, .rkey = rb.key,
					   .swap_add = 5});
	cr_assert_eq(rig_wait(&ra, &rb).op, 0);
	cr_expect_eq(*old, 37);
	cr_expect_eq(*word, 42);
	rig_close_pair(&ra, &rb, "", "");
}

/* The last packet of the first WRITE is lost, so the second WRITE comes between its packets. */
Test(rc_loss, unordered__writes_of_two_qps_keep_their_data, .timeout = 60)
{
	enum { PSN = 100, LEN = 2 * 1024, OTHER = 1 << 20 };
	struct rig_qp c, d;

	rig_udp = NULL;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD, &(struct rig_conn){.psn_a = PSN});
	rig_qp(&ra, &c);
	rig_qp(&rb, &d);
	rig_connect(&c, &d, &(struct rig_conn){.psn_a = 5000});
	cr_assert_eq(softnic_fault(ra.nic, "drop:op=write,psn=101,times=1"), 0);
	cr_assert_eq(softnic_fault(rb.nic, "quirk=unordered"), 0);
	rig_fill(ra.data, LEN, 1);
	rig_fill(ra.data + OTHER, LEN, 2);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = LEN, .raddr = rb.data,
					   .rkey = rb.key});
	rig_post_ring(&c, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data + OTHER, .len = LEN,
					   .raddr = rb.data + OTHER, .rkey = rb.key});
	for (int i = 0; i < 2; i++)
		cr_assert_eq(rig_wait(&ra, &rb).op, 0);
	cr_expect(rig_filled(rb.data, LEN, 1));
	cr_expect(rig_filled(rb.data + OTHER, LEN, 2));
	rig_close_pair(&ra, &rb, "", "");
}
