/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams: addresses in the WQE, Q_Keys, the GRH in front of received data. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/softnic/drv.h"
#include "tests/softnic/pcap.h"

enum { QKEY = 0x11223344, GRH = 40 };

static struct drv *d;
static struct drv_cq cq;
static struct drv_qp a, b;
static struct drv_mr mr;
static uint8_t gid[16], mac[6];

static void make_on(struct drv_qp *qp, uint32_t qkey, const struct drv_srq *srq)
{
	uint8_t *ctx;

	drv_qp_begin(d, qp, &cq, &cq);
	sn_set(d->in + AT_QPC, QPC_ST, ST_UD);
	if (srq) {
		sn_set(d->in + AT_QPC, QPC_RQ_TYPE, RQ_SRQ);
		sn_set(d->in + AT_QPC, QPC_SRQN, srq->rmpn);
		sn_set(d->in + AT_QPC, QPC_LOG_RQ_SIZE, 0);
		sn_set(d->in + AT_QPC, QPC_LOG_RQ_STRIDE, 0);
		qp->sq = qp->mem;
	}
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	qp->qpn = sn_get(d->out, CMD_NUMBER);
	ctx = drv_modify(qp, CMD_RST2INIT_QP);
	sn_set(ctx + AT_ADS, ADS_PORT, 1);
	sn_set(ctx, QPC_QKEY, qkey);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	ctx = drv_modify(qp, CMD_INIT2RTR_QP);
	sn_set(ctx, QPC_MTU, 5);
	sn_set(ctx, QPC_LOG_MSG_MAX, 12);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	ctx = drv_modify(qp, CMD_RTR2RTS_QP);
	sn_set(ctx, QPC_SEND_PSN, 7);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
}

static void make(struct drv_qp *qp, uint32_t qkey)
{
	make_on(qp, qkey, NULL);
}

static void open_objects(struct drv *device)
{
	d = device;
	drv_cq(d, &cq, 5, false);
	a = b = (struct drv_qp){ 0 };
	make(&a, QKEY);
	make(&b, QKEY);
	drv_mr(d, &mr, 8192, DRV_ALL);
}

static void open_on(struct drv *device)
{
	open_objects(device);
	drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
	cr_assert_eq(drv_run(d, 16), 0);
	memcpy(gid, d->out + AT_CTX + ROCE_GID, sizeof(gid));
	memcpy(mac, d->out + AT_CTX + ROCE_MAC, sizeof(mac));
}

static void open_both(void)
{
	open_on(drv_open(0));
}

static void close_both(void)
{
	drv_qp_free(&a);
	drv_qp_free(&b);
	drv_mr_free(d, &mr);
	drv_cq_free(&cq);
	drv_close(d);
}

TestSuite(ud, .init = open_both, .fini = close_both, .timeout = 60);

/* PRM, datagram segment: the 48 bytes after the control segment. */
static void begin(struct drv_wqe *w, uint8_t opcode, uint32_t qkey, uint32_t imm)
{
	drv_ctrl(&a, w, opcode, CE_ALWAYS << 2, imm);
	sn_set32(w->b, 16, qkey);
	sn_set32(w->b, 24, 1u << 31 | b.qpn);
	memcpy(w->b + 36, mac, sizeof(mac));
	w->b[43] = 64;
	sn_set32(w->b, 44, 1u << 30);
	memcpy(w->b + 48, gid, sizeof(gid));
	w->ds = 4;
}

static void sent(uint8_t syndrome)
{
	struct drv_cqe e;

	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, syndrome ? 13 : 0);
	cr_expect_eq(e.syndrome, syndrome);
	cr_expect_eq(e.qpn, a.qpn);
}

static void send_text(uint32_t qkey, const char *text)
{
	struct drv_wqe w;

	begin(&w, 0x0a, qkey, 0);
	drv_inline(&w, text, (uint32_t)strlen(text));
	drv_post(&a, &w);
	sent(0);
}

/* Takes b's receive completion. Returns its index in the CQ, for access to the raw bytes. */
static const uint8_t *received(unsigned int opcode, uint32_t len)
{
	const uint8_t *raw = cq.ring + 64ul * (cq.ci & ((1u << cq.log) - 1));
	struct drv_cqe e;

	drv_wait(&cq, &e);
	cr_assert_eq(e.opcode, opcode);
	cr_expect_eq(e.byte_cnt, len);
	return raw;
}

static void nothing_more(void)
{
	struct drv_cqe e;

	for (int i = 0; i < 1000; i++)
		softnic_pump(d->nic);
	cr_expect_not(drv_poll(&cq, &e));
}

Test(ud, send__arrives_behind_a_header_with_its_sender)
{
	const uint8_t *raw;

	drv_recv(&b, &mr, 0, 256);
	send_text(QKEY, "datagram");
	raw = received(2, GRH + 8);
	cr_expect_eq(sn_get32(raw, 24) >> 28, 1);
	cr_expect_eq(sn_get32(raw, 24) & 0xffffff, a.qpn);
	cr_expect_arr_eq(mr.mem + 8, gid, 16);
	cr_expect_arr_eq(mr.mem + 24, gid, 16);
	cr_expect_arr_eq(mr.mem + GRH, "datagram", 8);
}

/* The device sends to itself, so a packet is captured once. */
static void expect_captured(void (*send)(void))
{
	char path[] = "/tmp/softnic-ud-XXXXXX", text[200];
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
	cr_assert_eq(softnic_capture(d->nic, path), 0);
	drv_recv(&b, &mr, 0, 256);
	send();
	received(2, GRH + 8);
	pcap_describe(path, &(struct pcap_conn){.qpn_a = a.qpn, .qpn_b = b.qpn, .psn = 7}, text,
		      sizeof(text));
	cr_assert_str_eq(text, "> UD_SEND_ONLY 0: 8\n");
	unlink(path);
}

static void send_captured(void)
{
	send_text(QKEY, "captured");
}

/* What the fabric adds for the header of a receive is not in the packet of the capture. */
Test(ud, send__is_captured_as_it_is_on_a_network)
{
	expect_captured(send_captured);
}

/* The command that moves a datagram QP to RTR has no path. */
Test(ud, query__has_the_port_of_the_qp)
{
	cr_assert_eq(drv_simple(d, CMD_QUERY_QP, a.qpn), 0);
	cr_expect_eq(sn_get(d->out + AT_QPC + AT_ADS, ADS_PORT), 1);
}

Test(ud, send__without_data_brings_its_immediate)
{
	const uint8_t *raw;
	struct drv_wqe w;

	drv_recv(&b, &mr, 0, GRH);
	begin(&w, 0x0b, QKEY, 0xcafe0123);
	drv_post(&a, &w);
	sent(0);
	raw = received(3, GRH);
	cr_expect_eq(sn_get32(raw, 36), 0xcafe0123);
}

Test(ud, send__of_a_whole_packet_from_memory_arrives)
{
	struct drv_wqe w;

	memset(mr.mem, 0x5a, 4096);
	drv_recv(&b, &mr, 4096, 4096);
	begin(&w, 0x0a, QKEY, 0);
	drv_data(&w, mr.mem, 4096 - GRH, mr.key);
	drv_post(&a, &w);
	sent(0);
	received(2, 4096);
	cr_expect_eq(mr.mem[4096 + GRH], 0x5a);
	cr_expect_eq(mr.mem[8191], 0x5a);
}

/* Sends 32 datagrams under a fault script. Returns a bit for each that arrives. */
static uint32_t arrivals(const char *script)
{
	struct drv_cqe e;
	uint32_t bits = 0;

	cr_assert_eq(softnic_fault(d->nic, script), 0);
	drv_recv(&b, &mr, 0, 256);
	for (unsigned int i = 0; i < 32; i++) {
		send_text(QKEY, "datagram");
		for (int k = 0; k < 100; k++)
			softnic_pump(d->nic);
		if (!drv_poll(&cq, &e))
			continue;
		bits |= UINT32_C(1) << i;
		drv_recv(&b, &mr, 0, 256);
	}
	return bits;
}

/* drv.c opens the device with this seed. */
Test(ud, fault__script_without_a_seed_has_that_of_the_device)
{
	const uint32_t seeded = arrivals("drop=0.5,seed=42");

	cr_expect_eq(arrivals("drop=0.5"), seeded);
	cr_expect_neq(arrivals("drop=0.5,seed=43"), seeded);
}

/* IBTA 10.2.5: a packet with a wrong Q_Key is dropped silently. */
Test(ud, send__with_another_q_key_goes_nowhere)
{
	drv_recv(&b, &mr, 0, 256);
	send_text(QKEY + 1, "lost");
	nothing_more();
	send_text(1u << 31, "mine");
	received(2, GRH + 4);
}

Test(ud, send__where_no_receive_is_posted_goes_nowhere)
{
	send_text(QKEY, "lost");
	nothing_more();
	cr_expect_eq(drv_state(&b), 3);
	drv_recv(&b, &mr, 0, 256);
	send_text(QKEY, "found");
	received(2, GRH + 5);
}

Test(ud, send__to_a_missing_qp_is_dropped)
{
	struct drv_wqe w;

	begin(&w, 0x0a, QKEY, 0);
	sn_set32(w.b, 24, 1u << 31 | (b.qpn ^ 1));
	drv_post(&a, &w);
	sent(0);
	gid[8] ^= 0x40;
	send_text(QKEY, "no such port");
	nothing_more();
}

/* IBTA 9.9.6.3, class D: the datagram is dropped, and the receive stays for the next one. */
Test(ud, receive__too_short_drops_the_datagram)
{
	drv_recv(&b, &mr, 0, GRH + 4);
	send_text(QKEY, "datagram");
	nothing_more();
	cr_expect_eq(drv_state(&b), 3);
	send_text(QKEY, "fits");
	received(2, GRH + 4);
	cr_expect_arr_eq(mr.mem + GRH, "fits", 4);
}

/* A byte count of 0 is no valid segment. The receive must not vanish without a completion. */
Test(ud, receive__with_an_invalid_segment_moves_the_qp_to_error)
{
	struct drv_cqe e;

	drv_recv(&b, &mr, 0, 0);
	send_text(QKEY, "datagram");
	drv_wait(&cq, &e);
	cr_expect_eq(e.opcode, 14);
	cr_expect_eq(e.syndrome, 5);
	cr_expect_eq(e.counter, 0);
	cr_expect_eq(drv_state(&b), 6);
	drv_expect(d, "rq.segment");
}

Test(ud, receive__too_short_of_an_srq_drops_the_datagram)
{
	struct drv_srq srq = { 0 };

	drv_srq(d, &srq);
	drv_qp_free(&b);
	b = (struct drv_qp){ 0 };
	make_on(&b, QKEY, &srq);
	drv_srq_recv(&srq, &mr, 0, GRH + 4);
	drv_srq_recv(&srq, &mr, 256, GRH + 4);
	send_text(QKEY, "datagram");
	nothing_more();
	send_text(QKEY, "1st.");
	received(2, GRH + 4);
	send_text(QKEY, "2nd.");
	received(2, GRH + 4);
	cr_expect_arr_eq(mr.mem + GRH, "1st.", 4);
	cr_expect_arr_eq(mr.mem + 256 + GRH, "2nd.", 4);
	drv_qp_free(&b);
	b = (struct drv_qp){ 0 };
	make(&b, QKEY);
	drv_srq_free(&srq);
}

/* The address vector of the sender has all three fields, and no router changes them on the way. */
Test(ud, receive__grh_has_the_traffic_class_flow_label_and_hop_limit_of_the_sender)
{
	struct drv_wqe w;

	drv_recv(&b, &mr, 0, 256);
	begin(&w, 0x0a, QKEY, 0);
	w.b[42] = 0x5b;
	w.b[43] = 17;
	sn_set32(w.b, 44, 1u << 30 | 0xabcde);
	drv_inline(&w, "path", 4);
	drv_post(&a, &w);
	sent(0);
	received(2, GRH + 4);
	cr_expect_eq(sn_get32(mr.mem, 0), 6u << 28 | 0x5b << 20 | 0xabcde);
	cr_expect_eq(mr.mem[7], 17);
	cr_expect_arr_eq(mr.mem + GRH, "path", 4);
}

Test(ud, send__longer_than_a_packet_is_refused)
{
	struct drv_wqe w;

	begin(&w, 0x0a, QKEY, 0);
	drv_data(&w, mr.mem, 4097, mr.key);
	drv_post(&a, &w);
	sent(1);
	drv_expect(d, "wqe.segment");
}

Test(ud, write__is_no_operation_of_datagrams)
{
	struct drv_wqe w;

	begin(&w, 0x08, QKEY, 0);
	drv_post(&a, &w);
	sent(2);
	drv_expect(d, "wqe.opcode");
}

/* PRM, compact_address_vector: an address vector of 16 bytes, for InfiniBand without a GRH. UCX uses it. */
Test(ud, send__with_a_short_address_vector_arrives_by_lid)
{
	struct drv_wqe w;

	close_both();
	open_objects(drv_open(SOFTNIC_INFINIBAND));
	drv_begin(d, CMD_QUERY_HCA_VPORT_CONTEXT);
	cr_assert_eq(drv_run(d, 16), 0);
	drv_recv(&b, &mr, 0, 256);
	drv_ctrl(&a, &w, 0x0a, CE_ALWAYS << 2, 0);
	sn_set32(w.b, 16, QKEY);
	sn_set32(w.b, 24, b.qpn);
	sn_set32(w.b, 28, sn_get(d->out + AT_CTX, SN_FLD(0x300, 16)));
	w.ds = 2;
	drv_inline(&w, "short", 5);
	drv_post(&a, &w);
	sent(0);
	received(2, GRH + 5);
	cr_expect_arr_eq(mr.mem + GRH, "short", 5);
}

Test(ud, send__without_a_way_is_refused)
{
	struct drv_wqe w;

	memset(mac, 0, sizeof(mac));
	begin(&w, 0x0a, QKEY, 0);
	drv_post(&a, &w);
	sent(2);
	drv_expect(d, "wqe.segment");
}

/*
 * Datagrams to devices that are not ours, by UDP port 4791 of an address that only this process has. The
 * device sends to itself.
 */
static void open_ip(const uint8_t ip[16])
{
	open_on(drv_open_ip(ip));
	memcpy(gid, ip, sizeof(gid));
}

static void open_ipv4(void)
{
	uint32_t n = (uint32_t)getpid();

	open_ip((uint8_t[16]){[10] = 0xff, 0xff, 127, (uint8_t)(1 + (n >> 14) % 254), (uint8_t)(n >> 6),
			      (uint8_t)((n & 63) * 4 + (n & 63 ? 3 : 4))});
}

TestSuite(ud_foreign, .init = open_ipv4, .fini = close_both, .timeout = 60);

static void send_by_ip(uint8_t opcode, uint32_t imm, const char *text)
{
	struct drv_wqe w;

	begin(&w, opcode, QKEY, imm);
	sn_set32(w.b, 44, 1u << 30 | 1u << 20);
	drv_inline(&w, text, (uint32_t)strlen(text));
	drv_post(&a, &w);
	sent(0);
}

/* RFC 1071: the sum of a header with its checksum is all ones. */
static uint32_t sum_of(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* PRM, CQE: the type of the IP header in place of the GRH. Linux finds the sender's GID by it. */
Test(ud, receive__names_the_type_of_its_ip_header)
{
	static const uint8_t v4[16] = { [10] = 0xff, 0xff, 192, 0, 2, 1 }, zero[20];
	const uint8_t *raw;

	drv_recv(&b, &mr, 0, 256);
	send_text(QKEY, "IPv6");
	raw = received(2, GRH + 4);
	cr_expect_eq(sn_get32(raw, 24) >> 24 & 3, 1);
	cr_expect_eq(mr.mem[0] >> 4, 6);
	drv_begin(d, CMD_SET_ROCE_ADDRESS);
	memcpy(d->in + AT_CTX + ROCE_GID, v4, sizeof(v4));
	memcpy(d->in + AT_CTX + ROCE_MAC, mac, sizeof(mac));
	sn_set(d->in + AT_CTX, ROCE_VERSION, 2);
	cr_assert_eq(drv_run(d, AT_PAS), 0);
	memcpy(gid, v4, sizeof(gid));
	memset(mr.mem, 0xee, 256);
	drv_recv(&b, &mr, 0, 256);
	send_text(QKEY, "IPv4");
	raw = received(2, GRH + 4);
	cr_expect_eq(sn_get32(raw, 24) >> 24 & 3, 2);
	cr_expect_arr_eq(mr.mem, zero, 20);
	cr_expect_eq(mr.mem[20], 0x45);
	/* IPv4, UDP, BTH, DETH, data, ICRC */
	cr_expect_eq(mr.mem[22] << 8 | mr.mem[23], 20 + 8 + 12 + 8 + 4 + 4);
	cr_expect_arr_eq(mr.mem + 32, v4 + 12, 4);
	cr_expect_arr_eq(mr.mem + 36, v4 + 12, 4);
	cr_expect_arr_eq(mr.mem + GRH, "IPv4", 4);
}

/* Annex A17: the 20 bytes of an IPv4 header are the end of the place of the GRH. */
Test(ud_foreign, send__arrives_behind_an_ipv4_header)
{
	static const uint8_t zero[20];
	const uint8_t *raw, *ip = mr.mem + 20;

	memset(mr.mem, 0xee, 256);
	drv_recv(&b, &mr, 0, 256);
	send_by_ip(0x0a, 0, "datagram!");
	raw = received(2, GRH + 9);
	cr_expect_eq(sn_get32(raw, 24) >> 28, 1);
	cr_expect_eq(sn_get32(raw, 24) & 0xffffff, a.qpn);
	cr_expect_arr_eq(mr.mem, zero, 20);
	cr_expect_eq(ip[0], 0x45);
	/* IPv4, UDP, BTH, DETH, data and its padding, ICRC */
	cr_expect_eq(ip[2] << 8 | ip[3], 20 + 8 + 12 + 8 + 12 + 4);
	cr_expect_eq(ip[9], 17);
	cr_expect_eq(sum_of(ip), 0xffff);
	cr_expect_arr_eq(ip + 12, gid + 12, 4);
	cr_expect_arr_eq(ip + 16, gid + 12, 4);
	cr_expect_arr_eq(mr.mem + GRH, "datagram!", 9);
}

static bool port_is_free(void)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(4791),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int sock = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_free = sock >= 0 && !bind(sock, (struct sockaddr *)&at, sizeof(at));

	if (sock >= 0)
		close(sock);
	return is_free;
}

/* ::1 is the only address of its kind on each host, so no other test has its port. */
Test(ud, receive__of_ipv6_has_its_header)
{
	static const uint8_t ip[16] = {[15] = 1};
	/* UDP, BTH, DETH, data and its padding, ICRC; the next header is UDP */
	static const uint8_t head[8] = {0x60, [5] = 8 + 12 + 8 + 12 + 4, 17, 64};

	if (!port_is_free())
		cr_skip_test("UDP port 4791 of ::1 is taken, or there is no IPv6");
	close_both();
	open_ip(ip);
	memset(mr.mem, 0xee, 256);
	drv_recv(&b, &mr, 0, 256);
	send_by_ip(0x0a, 0, "datagram!");
	received(2, GRH + 9);
	cr_expect_arr_eq(mr.mem, head, sizeof(head));
	cr_expect_arr_eq(mr.mem + 8, ip, sizeof(ip));
	cr_expect_arr_eq(mr.mem + 24, ip, sizeof(ip));
	cr_expect_arr_eq(mr.mem + GRH, "datagram!", 9);
}

static void send_captured_by_ip(void)
{
	send_by_ip(0x0a, 0, "captured");
}

Test(ud_foreign, send__to_itself_is_captured_once)
{
	expect_captured(send_captured_by_ip);
}

Test(ud_foreign, send__with_immediate_arrives)
{
	const uint8_t *raw;

	drv_recv(&b, &mr, 0, 256);
	send_by_ip(0x0b, 0xcafe0123, "datagram");
	raw = received(3, GRH + 8);
	cr_expect_eq(sn_get32(raw, 36), 0xcafe0123);
	cr_expect_arr_eq(mr.mem + GRH, "datagram", 8);
}

Test(ud_foreign, send__with_another_q_key_goes_nowhere)
{
	struct drv_wqe w;

	drv_recv(&b, &mr, 0, 256);
	begin(&w, 0x0a, QKEY + 1, 0);
	sn_set32(w.b, 44, 1u << 30 | 1u << 20);
	drv_inline(&w, "lost", 4);
	drv_post(&a, &w);
	sent(0);
	nothing_more();
}

/* One QP sends by UDP and by memory in turn. */
Test(ud_foreign, send__to_both_kinds_of_addresses_arrives)
{
	uint8_t ip[16];

	memcpy(ip, gid, sizeof(ip));
	for (unsigned int i = 0; i < 4; i++) {
		drv_recv(&b, &mr, 0, 256);
		memcpy(gid, ip, sizeof(gid));
		send_by_ip(0x0a, 0, "by udp");
		received(2, GRH + 6);
		cr_expect_eq(mr.mem[20], 0x45);
		drv_recv(&b, &mr, 0, 256);
		drv_begin(d, CMD_QUERY_ROCE_ADDRESS);
		cr_assert_eq(drv_run(d, 16), 0);
		memcpy(gid, d->out + AT_CTX + ROCE_GID, sizeof(gid));
		send_text(QKEY, "by memory");
		received(2, GRH + 9);
		cr_expect_eq(mr.mem[0] >> 4, 6);
	}
}
