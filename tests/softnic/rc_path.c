/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths between two hosts with a long delay, or that lose every n-th packet. The tests count packets and
 * round trips; only the lower limit of the delay is a time.
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/softnic/pcap.h"
#include "tests/softnic/rc_rig.h"

/* Each packet is delayed by half a millisecond. The receiving adapter holds it, so no socket can
 * overflow. */
#define PATH_OF_1_MS "delay:dir=in,every=1,us=500"

/* The PSN wraps on the way. No stall of this process is as long as LONG_TIMEOUT, 17 seconds. */
enum { MTU = 256, PSN = 0xfffff0, LONG_TIMEOUT = 22 };

static struct rig ra, rb;
static struct rig_qp a, b;

static void open_path(unsigned int timeout, const char *fault_a, const char *fault_b)
{
	rig_udp = "127.0.0.1";
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD,
		      &(struct rig_conn){.mtu = 1, .psn_a = PSN, .timeout = timeout});
	cr_assert_eq(softnic_fault(ra.nic, fault_a), 0);
	cr_assert_eq(softnic_fault(rb.nic, fault_b), 0);
}

static void complete(uint16_t index)
{
	struct rig_cqe cqe = rig_wait(&ra, &rb);

	cr_assert_eq(cqe.op, 0, "syndrome %#x", cqe.syndrome);
	cr_assert_eq(cqe.counter, index);
}

static void expect_no_completion(struct rig *rig)
{
	struct rig_cqe cqe;

	rig_settle(&ra, &rb);
	cr_assert_not(rig_poll(rig, &cqe));
}

/* ---- A path of 1 ms */

enum { WRITES = 128, PACKETS = 4, LEN = PACKETS * MTU };

static void write_all(void)
{
	uint16_t index[WRITES];

	rig_fill(ra.data, WRITES * LEN, a.sq_pi);
	for (unsigned int i = 0; i < WRITES; i++)
		index[i] = rig_post(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data + i * LEN, .len = LEN,
							 .raddr = rb.data + i * LEN, .rkey = rb.key});
	rig_ring(&a);
	for (unsigned int i = 0; i < WRITES; i++)
		complete(index[i]);
	expect_no_completion(&ra);
	cr_assert(rig_filled(rb.data, WRITES * LEN, (uint32_t)(index[0])));
}

struct course {
	unsigned int round_trips;
	uint32_t most;			/* most packets that were sent and not acknowledged */
};

/*
 * Follows the packets that a captured. A round trip ends with the ACK of a packet that was sent after the end
 * of the one before. Fails the test if a packet is repeated.
 */
static struct course course_of(const char *text)
{
	struct course c = {0};
	uint32_t sent = 0, acked = 0, begin = 0, psn;
	char direction, op[32];

	for (; sscanf(text, "%c %31s %u", &direction, op, &psn) == 3; text = strchr(text, '\n') + 1) {
		if (direction == '>') {
			cr_assert_eq(psn, sent++, "packet %u was sent again", psn);
		} else {
			cr_assert_str_eq(op, "ACK");
			acked = psn + 1;
		}
		if (sent - acked > c.most)
			c.most = sent - acked;
		if (acked > begin) {
			c.round_trips++;
			begin = sent;
		}
	}
	cr_assert_eq(sent, WRITES * PACKETS);
	cr_assert_eq(acked, sent);
	return c;
}

/* At most two round trips for each window of 32 packets. With one message outstanding at a time, each
 * message would take a round trip. */
Test(rc_path, writes__on_a_path_of_1_ms_share_round_trips_and_repeat_no_packet, .timeout = 60)
{
	enum { WINDOW = 32, ROUND_TRIPS = 2 * WRITES * PACKETS / WINDOW };
	char path[] = "/tmp/softnic-path-XXXXXX", *text = malloc(1 << 16);
	struct pcap_conn conn = {.psn = PSN};
	uint64_t begin, ms;
	struct course c;

	close(mkstemp(path));
	open_path(LONG_TIMEOUT, PATH_OF_1_MS, PATH_OF_1_MS);
	cr_assert_eq(softnic_capture(ra.nic, path), 0);
	begin = th_now_ms();
	write_all();
	ms = th_now_ms() - begin;
	conn.qpn_a = a.qpn;
	conn.qpn_b = b.qpn;
	conn.data_b = rb.data;
	pcap_describe(path, &conn, text, 1 << 16);
	unlink(path);
	c = course_of(text);
	free(text);
	fprintf(stderr, "note: %u packets in %u round trips of 1 ms, at most %u in flight, %u ms\n",
		WRITES * PACKETS, c.round_trips, c.most, (unsigned int)ms);
	cr_assert_geq(c.most, WINDOW);
	cr_assert_leq(c.round_trips, ROUND_TRIPS);
	cr_assert_geq(ms + 1, c.round_trips, "the path has no delay");
	cr_assert_eq(rig_counters(&ra).retransmits + rig_counters(&rb).naks, 0);
	rig_close_pair(&ra, &rb, "", "");
}

/*
 * The timeout of 8 us is far shorter than the path, but the device keeps none below 16 ms. If this process
 * stalls, a packet may be repeated all the same, but not in each of ten transfers.
 */
Test(rc_path, timeout__shorter_than_the_path_repeats_no_packet, .timeout = 60)
{
	enum { TIMEOUT = 1, TRANSFERS = 10 };
	uint64_t before, after = 0;
	unsigned int i = 0;

	open_path(TIMEOUT, PATH_OF_1_MS, PATH_OF_1_MS);
	do {
		before = after;
		write_all();
		after = rig_counters(&ra).retransmits;
	} while (after != before && ++i < TRANSFERS);
	cr_assert_eq(after, before, "each transfer repeats packets");
	rig_close_pair(&ra, &rb, "", "");
}

/* ---- Every n-th packet is lost */

/*
 * Three operations of a different length of each kind, one after another, and then all at once.
 *
 * A requester that goes back repeats a window, and a responder the rest of a response. So a path that loses
 * every n-th packet may lose the same one each time, until retry_cnt ends the connection. After two
 * repetitions without progress, only the oldest packet is repeated or requested. The path does not lose it
 * twice in a row in one direction, so at most five of seven retries are used.
 */
enum { KINDS = 4, MESSAGES = 3 * KINDS, SLOT = 8 * MTU, WORD = 2 * MESSAGES * SLOT };
/* For each PSN a repetition of eight packets, the least window and the longest message, and eight answers. */
enum { PSNS = 2 * (3 * (3 + 1 + 8) + 3), MOST_PACKETS = 16 * PSNS };

static const unsigned int ops[KINDS] = {RIG_WRITE, RIG_READ, RIG_SEND, RIG_FA};
static uint16_t posted[2 * MESSAGES];

static uint32_t length(unsigned int i)
{
	static const uint32_t packets[] = {3, 1, 8};

	return i % KINDS == 3 ? 8 : packets[i / KINDS % 3] * MTU - i;
}

static void post(unsigned int i)
{
	uint8_t *at_a = ra.data + i * SLOT, *at_b = rb.data + i * SLOT;
	struct rig_wr wr = {.op = ops[i % KINDS], .va = at_a, .len = length(i), .raddr = at_b,
			    .rkey = rb.key, .swap_add = 1};

	rig_fill(wr.op == RIG_READ ? at_b : at_a, wr.len, i);
	if (wr.op == RIG_SEND)
		rig_recv(&b, at_b, wr.len);
	else if (wr.op == RIG_FA)
		wr.raddr = rb.data + WORD;
	posted[i] = rig_post(&a, &wr);
}

static void check(unsigned int i)
{
	const uint8_t *at_a = ra.data + i * SLOT, *at_b = rb.data + i * SLOT;
	uint64_t was;

	complete(posted[i]);
	memcpy(&was, at_a, sizeof(was));
	if (ops[i % KINDS] == RIG_FA)
		cr_assert_eq(was, i / KINDS, "operation %u was executed twice or never", i);
	else
		cr_assert(rig_filled(ops[i % KINDS] == RIG_READ ? at_a : at_b, length(i), i),
			  "operation %u moved wrong data", i);
}

static void check_receives(void)
{
	struct rig_cqe cqe;

	for (unsigned int i = 0; i < 2 * MESSAGES; i++) {
		if (ops[i % KINDS] != RIG_SEND)
			continue;
		cr_assert(rig_poll(&rb, &cqe));
		cr_assert_eq(cqe.op, 2);
		cr_assert_eq(cqe.len, length(i));
	}
	expect_no_completion(&rb);
	expect_no_completion(&ra);
}

/* Counts the packets that both adapters sent, the lost ones among them. */
static void lose_every_nth(unsigned int n, bool out, bool back)
{
	unsigned int packets;
	char fault[32];

	snprintf(fault, sizeof(fault), "drop:every=%u", n);
	open_path(0, out ? fault : "", back ? fault : "");
	for (unsigned int i = 0; i < MESSAGES; i++) {
		post(i);
		rig_ring(&a);
		check(i);
	}
	for (unsigned int i = MESSAGES; i < 2 * MESSAGES; i++)
		post(i);
	rig_ring(&a);
	for (unsigned int i = MESSAGES; i < 2 * MESSAGES; i++)
		check(i);
	check_receives();
	packets = (unsigned int)(rig_counters(&ra).tx_packets + rig_counters(&rb).tx_packets);
	fprintf(stderr, "note: n %u, out %d, back %d: %u packets\n", n, out, back, packets);
	cr_assert_leq(packets, MOST_PACKETS, "%u packets for %u PSNs", packets, PSNS);
	rig_close_pair(&ra, &rb, "", "");
}

/* The first ones always run, the rest with DAPL_ALL=1. */
static unsigned int losses[] = {3, 5, 8, 12, 2, 4, 6, 7, 9, 10, 11};

ParameterizedTestParameters(rc_path, loss__of_every_nth_packet_still_delivers_all)
{
	return cr_make_param_array(unsigned int, losses,
				   getenv("DAPL_ALL") ? sizeof(losses) / sizeof(losses[0]) : 4);
}

ParameterizedTest(unsigned int *n, rc_path, loss__of_every_nth_packet_still_delivers_all, .timeout = 120)
{
	lose_every_nth(*n, true, false);
	lose_every_nth(*n, false, true);
	lose_every_nth(*n, true, true);
}
