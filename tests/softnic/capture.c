/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packets of each verb, and of each repair after a scripted fault, read from the capture: the order of
 * opcodes, PSNs and acknowledgements that IBTA volume 1, chapter 9.7, demands. Each scene runs within a host
 * and by UDP.
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "softnic/clock.h"
#include "tests/harness/harness.h"
#include "tests/softnic/pcap.h"
#include "tests/softnic/rc_rig.h"

TestSuite(capture, .timeout = 60);

/*
 * The PSN wraps in the middle of most scenes. The MTU is 1024. Only scenes that wait for the ACK timeout have
 * a short one, an eighth of a second, and a clock of their own: a busy machine adds no retransmission.
 */
enum { PSN = 0xffffff, SHORT_TIMEOUT = 15, LONG_TIMEOUT = 22 };

static struct rig ra, rb;
static struct rig_qp a, b;
static char path_a[64], path_b[64];

/* at_a, at_b: the packets that both devices must have captured; NULL: not compared. */
struct scene {
	const char *fault_a, *fault_b;
	void (*act)(void);
	const char *at_a, *at_b;
	bool waits;			/* the scene waits for the ACK timeout */
};

/*
 * 0: the kernel's clock. Else this time, which only time_out() moves. So neither a stall of this process nor
 * a datagram that the kernel delivers late is a timeout, and repeats a packet.
 */
static uint64_t own_ns;

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	int (*get)(clockid_t, struct timespec *) = __atomic_load_n(&real, __ATOMIC_RELAXED);

	if (!get) {
		get = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
		__atomic_store_n(&real, get, __ATOMIC_RELAXED);
	}
	if (id != CLOCK_MONOTONIC || !own_ns)
		return get(id, ts);
	*ts = (struct timespec){(time_t)(own_ns / 1000000000), (long)(own_ns % 1000000000)};
	return 0;
}

static void begin_capture(struct rig *rig, char path[64])
{
	struct stat st;
	int fd;

	strcpy(path, "/tmp/softnic-capture-XXXXXX");
	fd = mkstemp(path);
	cr_assert(fd >= 0 && !fchmod(fd, 0644));
	close(fd);
	cr_assert_eq(softnic_capture(rig->nic, path), 0);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_mode & 07777, 0600, "others may read the data of the packets");
}

static void begin(const struct scene *s, const char *ip)
{
	rig_udp = ip;
	own_ns = s->waits ? sn_now() : 0;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD,
		      &(struct rig_conn){.psn_a = PSN, .psn_b = 77,
					 .timeout = s->waits ? SHORT_TIMEOUT : LONG_TIMEOUT});
	begin_capture(&ra, path_a);
	begin_capture(&rb, path_b);
	cr_assert_eq(softnic_fault(ra.nic, s->fault_a ? s->fault_a : ""), 0);
	cr_assert_eq(softnic_fault(rb.nic, s->fault_b ? s->fault_b : ""), 0);
}

static const char *captured(const char *path)
{
	struct pcap_conn conn = {.qpn_a = a.qpn, .qpn_b = b.qpn, .psn = PSN, .data_b = rb.data};
	static char text[8192];

	pcap_describe(path, &conn, text, sizeof(text));
	return text;
}

/* A datagram may arrive later than the next pump: pumps until b has captured n packets. */
static void until_captured(unsigned int n)
{
	unsigned int have;

	do {
		softnic_pump(ra.nic);
		softnic_pump(rb.nic);
		have = 0;
		for (const char *c = captured(path_b); *c; c++)
			have += *c == '\n';
	} while (have < n);
}

/* Lets the ACK timeout pass, once b has captured n packets. */
static void time_out(unsigned int n)
{
	until_captured(n);
	own_ns += 1000000000;
}

static void expect_capture(const char *path, const char *expected, const char *side, const char *ip)
{
	const char *text = captured(path);

	if (expected)
		cr_assert_str_eq(text, expected, "%s by %s captured\n%s\ninstead of\n%s", side,
				 ip ? ip : "memory", text, expected);
	unlink(path);
}

static bool has_ipv6(void)
{
	return !access("/proc/net/if_inet6", F_OK);
}

static void play(const struct scene *s)
{
	const char *const ips[] = {NULL, "127.0.0.1", "::1"};

	for (unsigned int i = 0; i < (has_ipv6() ? 3 : 2); i++) {
		begin(s, ips[i]);
		s->act();
		rig_settle(&ra, &rb);
		expect_capture(path_a, s->at_a, "a", ips[i]);
		expect_capture(path_b, s->at_b, "b", ips[i]);
		rig_close(&ra);
		rig_close(&rb);
		own_ns = 0;
	}
}

static void post(unsigned int op, uint32_t len)
{
	rig_post_ring(&a, &(struct rig_wr){.op = op, .va = ra.data, .len = len, .raddr = rb.data,
					   .rkey = rb.key, .swap_add = 1});
}

static void complete(void)
{
	struct rig_cqe cqe = rig_wait(&ra, &rb);

	cr_assert_eq(cqe.op, 0, "syndrome %#x", cqe.syndrome);
}

static void transfer(unsigned int op, uint32_t len)
{
	uint8_t *from = op == RIG_READ ? rb.data : ra.data, *to = op == RIG_READ ? ra.data : rb.data;

	rig_fill(from, len, len);
	post(op, len);
	complete();
	cr_assert(rig_filled(to, len, len));
}

/* ---- Verbs */

static void send_both(void)
{
	rig_recv(&b, rb.data, 4096);
	rig_recv(&b, rb.data, 4096);
	transfer(RIG_SEND, 100);
	transfer(RIG_SEND, 2500);
}

/* The ACK of a message has the PSN of its last packet and the number of completed messages. */
Test(capture, send__has_consecutive_psns_and_one_ack)
{
	const char *packets = "> SEND_ONLY 0 A: 100\n< ACK 0 msn 1\n"
			      "> SEND_FIRST 1: 1024\n> SEND_MIDDLE 2: 1024\n> SEND_LAST 3 A: 452\n"
			      "< ACK 3 msn 2\n";

	play(&(struct scene){.act = send_both, .at_a = packets, .at_b = packets});
}

static void send_with_immediate(void)
{
	for (unsigned int i = 0; i < 3; i++)
		rig_recv(&b, rb.data, 4096);
	transfer(RIG_SEND_IMM, 10);
	transfer(RIG_SEND_IMM, 1500);
	transfer(RIG_WRITE_IMM, 0);
}

Test(capture, immediate__is_in_the_last_packet)
{
	const char *packets = "> SEND_ONLY_IMM 0 A: 10\n< ACK 0 msn 1\n"
			      "> SEND_FIRST 1: 1024\n> SEND_LAST_IMM 2 A: 476\n< ACK 2 msn 2\n"
			      "> WRITE_ONLY_IMM 3 A at 0 of 0\n< ACK 3 msn 3\n";

	play(&(struct scene){.act = send_with_immediate, .at_a = packets, .at_b = packets});
}

static void write_both(void)
{
	transfer(RIG_WRITE, 8);
	transfer(RIG_WRITE, 3073);
}

Test(capture, write__has_its_address_in_the_first_packet_only)
{
	const char *packets = "> WRITE_ONLY 0 A at 0 of 8: 8\n< ACK 0 msn 1\n"
			      "> WRITE_FIRST 1 at 0 of 3073: 1024\n> WRITE_MIDDLE 2: 1024\n"
			      "> WRITE_MIDDLE 3: 1024\n> WRITE_LAST 4 A: 1\n< ACK 4 msn 2\n";

	play(&(struct scene){.act = write_both, .at_a = packets, .at_b = packets});
}

static void read_three(void)
{
	transfer(RIG_READ, 50);
	transfer(RIG_READ, 2050);
	transfer(RIG_WRITE, 1);
}

/* A READ takes as many PSNs as its response has packets, and these have them. */
Test(capture, read__response_has_the_psns_of_the_request)
{
	const char *packets = "> READ 0 A at 0 of 50\n< RESPONSE_ONLY 0: 50\n"
			      "> READ 1 A at 0 of 2050\n< RESPONSE_FIRST 1: 1024\n< RESPONSE_MIDDLE 2: 1024\n"
			      "< RESPONSE_LAST 3: 2\n"
			      "> WRITE_ONLY 4 A at 0 of 1: 1\n< ACK 4 msn 3\n";

	play(&(struct scene){.act = read_three, .at_a = packets, .at_b = packets});
}

static void atomics(void)
{
	memset(rb.data, 0, 8);
	post(RIG_FA, 8);
	complete();
	post(RIG_CS, 8);
	complete();
}

Test(capture, atomic__is_answered_with_its_psn)
{
	const char *packets = "> FETCH_ADD 0 A\n< ATOMIC_ACK 0\n> CMP_SWAP 1 A\n< ATOMIC_ACK 1\n";

	play(&(struct scene){.act = atomics, .at_a = packets, .at_b = packets});
}

static void read_after_send(void)
{
	rig_recv(&b, rb.data, 64);
	post(RIG_SEND, 8);
	softnic_pump(rb.nic);
	post(RIG_READ, 8);
	complete();
	complete();
	rig_post_ring(&b, &(struct rig_wr){.op = RIG_NOP});
	cr_assert_eq(rig_wait(&rb, &ra).op, 2);
	cr_assert_eq(rig_wait(&rb, &ra).op, 0);
}

/* 9.7.5.1: the response to the READ acknowledges the SEND too, so no ACK is due when b's queue goes on. */
Test(capture, read__after_a_send_is_answered_without_another_ack)
{
	const char *packets = "> SEND_ONLY 0 A: 8\n> READ 1 A at 0 of 8\n< RESPONSE_ONLY 1: 8\n";

	play(&(struct scene){.act = read_after_send, .at_a = packets, .at_b = packets});
}

/* ---- Errors and repairs */

static void send_too_early(void)
{
	post(RIG_SEND, 20);
	until_captured(2);
	rig_recv(&b, rb.data, 100);
	complete();
}

/* 9.7.5.2.8: the RNR NAK has the PSN of the request, which is repeated with it. */
Test(capture, send__without_a_receive_gets_an_rnr_nak_and_is_repeated)
{
	const char *packets = "> SEND_ONLY 0 A: 20\n< ACK 0 rnr msn 0\n> SEND_ONLY 0 A: 20\n< ACK 0 msn 1\n";

	play(&(struct scene){.act = send_too_early, .at_a = packets, .at_b = packets});
}

static void write_four(void)
{
	transfer(RIG_WRITE, 3500);
}

/* 9.7.5.2.2: the responder names the PSN that it expects, once, and the requester goes back to it. */
Test(capture, lost_packet__gets_a_sequence_nak_and_a_retransmission_from_there)
{
	play(&(struct scene){
		.fault_a = "drop:op=write,psn=+2", .act = write_four,
		.at_a = "> WRITE_FIRST 0 at 0 of 3500: 1024\n> WRITE_MIDDLE 1: 1024\n"
			"> WRITE_MIDDLE 2: 1024\n> WRITE_LAST 3 A: 428\n< ACK 1 nak sequence msn 0\n"
			"> WRITE_MIDDLE 1: 1024\n> WRITE_MIDDLE 2: 1024\n> WRITE_LAST 3 A: 428\n"
			"< ACK 3 msn 1\n",
		.at_b = "> WRITE_FIRST 0 at 0 of 3500: 1024\n"
			"> WRITE_MIDDLE 2: 1024\n> WRITE_LAST 3 A: 428\n< ACK 1 nak sequence msn 0\n"
			"> WRITE_MIDDLE 1: 1024\n> WRITE_MIDDLE 2: 1024\n> WRITE_LAST 3 A: 428\n"
			"< ACK 3 msn 1\n",
	});
}

static void write_over(void)
{
	rig_fill(ra.data, 64, 1);
	post(RIG_WRITE, 64);
	time_out(2);
	cr_assert(rig_filled(rb.data, 64, 1));
	memset(rb.data, 0, 64);
	complete();
	cr_assert_eq(rb.data[7], 0, "the duplicate was executed");
}

/* 9.7.4.1.2 and 9.7.5.1.5: the responder acknowledges a duplicate WRITE again and does not execute it. */
Test(capture, lost_ack__makes_a_duplicate_that_is_acknowledged_again)
{
	play(&(struct scene){
		.fault_a = "drop:op=ack,dir=in", .act = write_over, .waits = true,
		.at_a = "> WRITE_ONLY 0 A at 0 of 64: 64\n> WRITE_ONLY 0 A at 0 of 64: 64\n< ACK 0 msn 1\n",
		.at_b = "> WRITE_ONLY 0 A at 0 of 64: 64\n< ACK 0 msn 1\n"
			"> WRITE_ONLY 0 A at 0 of 64: 64\n< ACK 0 msn 1\n",
	});
}

static void read_four(void)
{
	transfer(RIG_READ, 3500);
}

/* 9.7.5.1.9: a READ is retried from the first PSN without a response, for the rest of its bytes. */
Test(capture, lost_read_response__is_requested_again_from_there)
{
	play(&(struct scene){
		.fault_b = "drop:op=read_response,psn=+2", .act = read_four,
		.at_a = "> READ 0 A at 0 of 3500\n< RESPONSE_FIRST 0: 1024\n< RESPONSE_MIDDLE 2: 1024\n"
			"< RESPONSE_LAST 3: 428\n> READ 1 A at 1024 of 2476\n< RESPONSE_FIRST 1: 1024\n"
			"< RESPONSE_MIDDLE 2: 1024\n< RESPONSE_LAST 3: 428\n",
	});
}

static void add_once(void)
{
	memset(rb.data, 0, 8);
	post(RIG_FA, 8);
	time_out(2);
	complete();
	cr_assert_eq(rb.data[0] + rb.data[7], 1, "the duplicate was executed");
	cr_assert_eq(ra.data[0] + ra.data[7], 0);
}

/* 9.7.5.1.4: the response to a duplicate atomic is the saved one. */
Test(capture, lost_atomic_response__is_repeated_without_execution)
{
	const char *packets = "> FETCH_ADD 0 A\n< ATOMIC_ACK 0\n> FETCH_ADD 0 A\n< ATOMIC_ACK 0\n";

	play(&(struct scene){.fault_b = "drop:op=atomic_response", .act = add_once, .at_b = packets,
			     .waits = true});
}

static void write_corrupted(void)
{
	rig_fill(ra.data, 700, 700);
	post(RIG_WRITE, 700);
	time_out(1);
	complete();
	cr_assert(rig_filled(rb.data, 700, 700));
}

/* 9.6: a packet with a wrong ICRC is dropped silently. */
Test(capture, corrupted_packet__has_a_wrong_icrc_and_no_answer)
{
	play(&(struct scene){
		.fault_a = "corrupt:op=write", .act = write_corrupted, .waits = true,
		.at_a = "> WRITE_ONLY 0 A at 0 of 700: 700\n> WRITE_ONLY 0 A at 0 of 700: 700\n"
			"< ACK 0 msn 1\n",
		.at_b = "> WRITE_ONLY 0 A at 0 of 700: 700 bad\n> WRITE_ONLY 0 A at 0 of 700: 700\n"
			"< ACK 0 msn 1\n",
	});
}

static void write_refused(void)
{
	struct rig_cqe cqe;

	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 8, .raddr = rb.data,
					   .rkey = rb.key ^ 1});
	cqe = rig_wait(&ra, &rb);
	cr_assert_eq(cqe.op, 13);
}

Test(capture, write__with_a_wrong_key_gets_an_access_nak)
{
	const char *packets = "> WRITE_ONLY 0 A at 0 of 8: 8\n< ACK 0 nak access msn 0\n";

	play(&(struct scene){.act = write_refused, .at_a = packets, .at_b = packets});
}

static void write_two(void)
{
	rig_fill(ra.data, 30, 3);
	post(RIG_WRITE, 10);
	post(RIG_WRITE, 20);
	complete();
	complete();
	cr_assert(rig_filled(rb.data, 20, 3));
}

/* The second packet is early, so it gets a NAK; the first one was only late. */
Test(capture, reordered_packet__comes_after_the_next_one)
{
	play(&(struct scene){
		.fault_a = "reorder:op=write", .act = write_two,
		.at_b = "> WRITE_ONLY 1 A at 0 of 20: 20\n> WRITE_ONLY 0 A at 0 of 10: 10\n"
			"< ACK 1 nak sequence msn 1\n> WRITE_ONLY 1 A at 0 of 20: 20\n< ACK 1 msn 2\n",
	});
}

/* Anyone can send a datagram of any length; the record before it is longer. */
Test(capture, datagram__of_odd_length_has_a_right_checksum)
{
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	uint8_t packet[] = {[2] = 0xff, 0xff, [12] = 1, 0xff, 0xff, 0xff, 0xff};
	int sock = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (!has_ipv6())
		cr_skip_test("there is no IPv6");
	begin(&(struct scene){0}, "::1");
	packet[0] = 4;			/* SEND_ONLY */
	packet[6] = (uint8_t)(b.qpn >> 8);
	packet[7] = (uint8_t)b.qpn;
	packet[5] = (uint8_t)(b.qpn >> 16);
	to.sin6_port = htons(rb.udp_port);
	for (uint32_t i = 1; i < 4; i++) {
		transfer(RIG_WRITE, 500);
		cr_assert_gt(sendto(sock, packet, sizeof(packet), 0, (struct sockaddr *)&to, sizeof(to)), 0);
		until_captured(3 * i);
	}
	expect_capture(path_a, NULL, "a", NULL);
	expect_capture(path_b, "> WRITE_ONLY 0 A at 0 of 500: 500\n< ACK 0 msn 1\n> SEND_ONLY 1: 1 bad\n"
			       "> WRITE_ONLY 1 A at 0 of 500: 500\n< ACK 1 msn 2\n> SEND_ONLY 1: 1 bad\n"
			       "> WRITE_ONLY 2 A at 0 of 500: 500\n< ACK 2 msn 3\n> SEND_ONLY 1: 1 bad\n",
		       "b", "::1");
	rig_close(&ra);
	rig_close(&rb);
	close(sock);
}

/* ---- The file */

Test(capture, file__that_cannot_be_written_is_an_error)
{
	struct rig_cqe cqe;

	rig_udp = NULL;
	rig_open(&ra, SOFTNIC_NO_THREAD, 1);
	rig_open(&rb, SOFTNIC_NO_THREAD, 2);
	cr_assert_eq(softnic_capture(ra.nic, "/nonexistent/file"), -2);
	cr_assert_eq(softnic_capture(ra.nic, "/tmp"), -21);
	begin_capture(&ra, path_a);
	cr_assert_eq(softnic_capture(rb.nic, path_a), -16, "two devices write to one file");
	cr_assert_eq(softnic_capture(ra.nic, path_a), -16);
	rig_close(&ra);
	cr_assert_eq(softnic_capture(rb.nic, path_a), 0, "a closed device keeps its file");
	cr_assert_not(rig_poll(&rb, &cqe));
	rig_close(&rb);
	unlink(path_a);
}

/* A peer of this host that has no fault script sends several packets as one, without ICRC. */
Test(capture, peer__without_a_capture_is_captured_too)
{
	struct pcap_conn conn = {.psn = PSN};
	char text[2048];

	rig_udp = NULL;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD,
		      &(struct rig_conn){.psn_a = PSN, .timeout = LONG_TIMEOUT});
	begin_capture(&rb, path_b);
	write_both();
	conn.qpn_a = a.qpn;
	conn.qpn_b = b.qpn;
	conn.data_b = rb.data;
	pcap_describe(path_b, &conn, text, sizeof(text));
	cr_assert_str_eq(text, "> WRITE_ONLY 0 A at 0 of 8: 8\n< ACK 0 msn 1\n"
			       "> WRITE_ONLY 1 A at 0 of 3073: 3073\n< ACK 4 msn 2\n");
	rig_close(&ra);
	rig_close(&rb);
	unlink(path_b);
}

/* RoCEv2 takes the DSCP of the address path; tclass is that of a GRH, which these packets do not have. */
Test(capture, class__of_roce_is_the_dscp)
{
	struct pcap_conn conn = {.psn = PSN};
	char text[2048];

	rig_udp = NULL;
	rig_open_pair(&ra, &rb, &a, &b, SOFTNIC_NO_THREAD,
		      &(struct rig_conn){.psn_a = PSN, .timeout = LONG_TIMEOUT, .tclass = 96, .dscp = 46});
	begin_capture(&ra, path_a);
	transfer(RIG_WRITE, 8);
	conn.qpn_a = a.qpn;
	conn.qpn_b = b.qpn;
	conn.data_b = rb.data;
	pcap_describe(path_a, &conn, text, sizeof(text));
	cr_assert_str_eq(text, "> WRITE_ONLY 0 A at 0 of 8: 8 class 184\n< ACK 0 msn 1\n");
	rig_close(&ra);
	rig_close(&rb);
	unlink(path_a);
}
