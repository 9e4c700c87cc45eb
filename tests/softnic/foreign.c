/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections to RoCE devices that are not ours, at UDP port 4791. Two software devices with different
 * addresses of this host are such devices for each other. Each test has addresses of its own, which its
 * process number is a part of, since one process has the port of an address.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/rc_wire.h"
#include "tests/harness/capture.h"
#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum { ROCE_PORT_UDP = 4791, NO_RESOURCES = 0x0f, HOSTS = 3 };

static struct rig ra, rb;
static struct rig_qp a, b;
static char ip[HOSTS][20];

static void choose_addresses(void)
{
	unsigned int n = (unsigned int)getpid();

	for (unsigned int i = 0; i < HOSTS; i++)
		snprintf(ip[i], sizeof(ip[i]), "127.%u.%u.%u", 1 + (n >> 14) % 254, n >> 6 & 255,
			 (n & 63) * 4 + i + (n & 63 ? 0 : 1));
	rig_foreign = true;
}

static void open_rig(struct rig *rig, const char *address, uint64_t seed)
{
	rig_udp = address;
	rig_open(rig, SOFTNIC_NO_THREAD, seed);
}

static void open_foreign(void)
{
	choose_addresses();
	open_rig(&ra, ip[0], 1);
	open_rig(&rb, ip[1], 2);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
	rig_connect(&a, &b, NULL);
}

static void close_foreign(void)
{
	rig_close_pair(&ra, &rb, "", "");
}

static void move(const struct rig_wr *wr)
{
	struct rig_cqe cqe;

	rig_post_ring(&a, wr);
	cqe = rig_wait(&ra, &rb);
	cr_assert_eq(cqe.op, 0, "opcode %u of %u bytes failed with syndrome %#x", wr->op, wr->len,
		     cqe.syndrome);
}

static void write_and_read(uint32_t len)
{
	struct rig_wr wr = {.op = RIG_WRITE, .va = ra.data, .len = len, .raddr = rb.data, .rkey = rb.key};

	rig_fill(ra.data, len, len);
	move(&wr);
	cr_assert(rig_filled(rb.data, len, len));
	memset(ra.data, 0, len);
	wr.op = RIG_READ;
	move(&wr);
	cr_assert(rig_filled(ra.data, len, len));
}

Test(foreign, transfer__of_any_length_arrives, .init = open_foreign, .fini = close_foreign, .timeout = 60)
{
	static const uint32_t lens[] = {1, 7, 1023, 1024, 1025, 65536, 300 << 10};

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		write_and_read(lens[i]);
	cr_assert_eq(rig_counters(&ra).drops + rig_counters(&rb).drops, 0);
}

Test(foreign, transfer__survives_loss, .init = open_foreign, .fini = close_foreign, .timeout = 60)
{
	cr_assert_eq(softnic_fault(ra.nic, "drop=0.02,seed=1"), 0);
	cr_assert_eq(softnic_fault(rb.nic, "drop=0.02,seed=2"), 0);
	write_and_read(300 << 10);
}

/* After a loss rdma_rxe answers each repeated read in full, so only a window of responses is outstanding. */
Test(foreign, reads__with_loss_repeat_few_packets, .init = open_foreign, .fini = close_foreign, .timeout = 60)
{
	enum { READS = 16, LEN = 64 << 10, NEEDED = READS * LEN / 1024 };

	cr_assert_eq(softnic_fault(rb.nic, "drop=0.02,seed=2"), 0);
	rig_fill(rb.data, READS * LEN, 1);
	for (uint32_t i = 0; i < READS; i++)
		rig_post(&a, &(struct rig_wr){.op = RIG_READ, .va = ra.data + i * LEN, .len = LEN,
					      .raddr = rb.data + i * LEN, .rkey = rb.key});
	rig_ring(&a);
	for (uint32_t i = 0; i < READS; i++)
		cr_assert_eq(rig_wait(&ra, &rb).op, 0);
	cr_assert(rig_filled(ra.data, READS * LEN, 1));
	cr_assert_lt(rig_counters(&rb).tx_packets, 2 * NEEDED, "%u packets were needed", NEEDED);
}

Test(foreign, send_and_atomics__arrive, .init = open_foreign, .fini = close_foreign, .timeout = 60)
{
	uint64_t *word = (uint64_t *)(void *)rb.data, *old = (uint64_t *)(void *)(ra.data + 4096);
	struct rig_wr wr = {.op = RIG_FA, .va = old, .len = 8, .raddr = word, .rkey = rb.key, .swap_add = 5};

	*word = 37;
	move(&wr);
	cr_assert_eq(*old, 37);
	cr_assert_eq(*word, 42);
	rig_fill(ra.data, 3000, 3);
	rig_recv(&b, rb.data + 8192, 3000);
	move(&(struct rig_wr){.op = RIG_SEND, .va = ra.data, .len = 3000});
	cr_assert_eq(rig_wait(&rb, &ra).op, 2);
	cr_assert(rig_filled(rb.data + 8192, 3000, 3));
}

/* The GID of the MAC is still one of this host, which packets reach by memory. */
Test(foreign, is_local__finds_the_gid_of_the_mac_only, .init = open_foreign, .fini = close_foreign)
{
	uint8_t gid[16] = {0xfe, 0x80, [8] = rb.mac[0] ^ 2, rb.mac[1], rb.mac[2], 0xff, 0xfe, rb.mac[3],
			   rb.mac[4], rb.mac[5]};

	cr_assert_eq(softnic_is_local(ra.nic, gid), 1);
	cr_assert_eq(softnic_is_local(ra.nic, rb.gid), 0);
}

static int bound_socket(const char *address, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	inet_pton(AF_INET, address, &at.sin_addr);
	cr_assert_eq(bind(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	return sock;
}

static uint16_t port_of(int sock)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	cr_assert_eq(getsockname(sock, (struct sockaddr *)&at, &len), 0);
	return ntohs(at.sin_port);
}

/* The CRC of Ethernet, bit by bit. */
static uint32_t crc_bits(uint32_t crc, const uint8_t *p, size_t len)
{
	for (size_t i = 0; i < 8 * len; i++) {
		crc ^= p[i / 8] >> i % 8 & 1;
		crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

/* A WRITE of 8 bytes of ones to b, by the sender's own reading of annex A17. */
struct forged {
	int sock;
	const char *from;
	uint32_t qpn, psn;
	uint16_t ident;
	uint32_t flip;			/* flipped bits of the ICRC */
	unsigned int damage;		/* bit of the payload that the ICRC has otherwise; 0: none */
	size_t cut, extra;		/* bytes cut off the end, and bytes added there */
};

static void send_forged(const struct forged *f)
{
	enum { MASK = 8, IP = 20, UDP = 8, BTH = 12, RETH = 16, DATA = 8 };
	enum { AT_UDP = MASK + IP, AT_BTH = AT_UDP + UDP, AT_RETH = AT_BTH + BTH };
	enum { END = AT_RETH + RETH + DATA };
	uint8_t p[END + 4 + 64] = {0}, *ip4 = p + MASK, *udp = p + AT_UDP, *bth = p + AT_BTH;
	uint8_t *reth = p + AT_RETH;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ROCE_PORT_UDP)};
	uint32_t icrc;

	memset(p, 0xff, MASK);
	memcpy(ip4, (uint8_t[]){0x45, 0xff, 0, IP + UDP + END - AT_BTH + 4}, 4);
	ip4[4] = (uint8_t)(f->ident >> 8);
	ip4[5] = (uint8_t)f->ident;
	memcpy(ip4 + 6, (uint8_t[]){0x40, 0, 0xff, 17, 0xff, 0xff}, 6);
	inet_pton(AF_INET, f->from, ip4 + 12);
	inet_pton(AF_INET, ip[1], ip4 + 16);
	sn_set(udp, SN_FLD(0, 16), port_of(f->sock));
	sn_set(udp, SN_FLD(16, 16), ROCE_PORT_UDP);
	sn_set(udp, SN_FLD(32, 16), UDP + END - AT_BTH + 4);
	sn_set(udp, SN_FLD(48, 16), 0xffff);
	memcpy(bth, (uint8_t[]){0x0a, 0, 0xff, 0xff, 0xff}, 5);
	sn_set(bth, SN_FLD(40, 24), f->qpn);
	sn_set(bth, SN_FLD(64, 32), 0x80000000u | f->psn);
	sn_set64(reth, 0, (uintptr_t)rb.data);
	sn_set32(reth, 8, rb.key);
	sn_set32(reth, 12, DATA);
	memset(reth + RETH, 0xff, DATA);
	icrc = htole32(~crc_bits(~0u, p, END)) ^ f->flip;
	memcpy(p + END, &icrc, sizeof(icrc));
	bth[4] = 0;
	if (f->damage)
		reth[RETH + f->damage / 8] ^= (uint8_t)(1u << f->damage % 8);
	inet_pton(AF_INET, ip[1], &to.sin_addr);
	cr_assert_gt(sendto(f->sock, bth, END + 4 - AT_BTH + f->extra - f->cut, 0, (struct sockaddr *)&to,
			    sizeof(to)), 0);
	rig_settle(&ra, &rb);
}

static bool was_written(void)
{
	static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	bool written = !memcmp(rb.data, ones, sizeof(ones));

	memset(rb.data, 0, sizeof(ones));
	return written;
}

/* The receiver cannot see the identification of the IP header, so it must accept any; and any port of the
 * sender. */
Test(foreign, packet__with_any_identification_is_executed, .init = open_foreign, .fini = close_foreign)
{
	static const uint16_t idents[] = {0, 1, 0x8000, 0x1234, 0xfffe, 0xffff};
	struct forged f = {.sock = bound_socket(ip[0], 0), .from = ip[0], .qpn = b.qpn};

	for (size_t i = 0; i < sizeof(idents) / sizeof(idents[0]); i++) {
		f.ident = idents[i];
		send_forged(&f);
		cr_assert(was_written(), "identification %#x", f.ident);
		f.psn++;
	}
	close(f.sock);
}

Test(foreign, packet__with_a_wrong_icrc_is_dropped, .init = open_foreign, .fini = close_foreign)
{
	struct forged f = {.sock = bound_socket(ip[0], 0), .from = ip[0], .qpn = b.qpn};
	unsigned int sent = 0;

	for (f.damage = 1; f.damage < 64; f.damage++, sent++) {
		f.ident = (uint16_t)(f.damage * 0x3039);
		send_forged(&f);
	}
	f.damage = 0;
	for (f.flip = 1; f.flip; f.flip <<= 1, sent++)
		send_forged(&f);
	cr_assert_not(was_written());
	cr_assert_eq(rig_counters(&rb).bad_icrc, sent);
	cr_assert_eq(rig_counters(&rb).drops, sent);
	cr_assert_eq(rig_counters(&rb).tx_packets, 0);
	close(f.sock);
}

Test(foreign, packets__of_a_stranger_are_counted_and_dropped, .init = open_foreign, .fini = close_foreign)
{
	struct forged f = {.sock = bound_socket(ip[2], 0), .from = ip[2], .qpn = b.qpn};
	struct softnic_counters c;

	send_forged(&f);
	f.qpn = 0xabcdef;
	send_forged(&f);
	f.qpn = b.qpn;
	f.cut = 4;
	send_forged(&f);
	f.cut = 36;
	send_forged(&f);
	f.cut = 0;
	f.extra = 64;
	send_forged(&f);
	c = rig_counters(&rb);
	cr_assert_not(was_written());
	cr_assert_eq(c.rx_packets, 5);
	cr_assert_eq(c.drops, 5);
	cr_assert_eq(c.strangers, 2);
	cr_assert_eq(c.bad_icrc, 3);
	cr_assert_eq(c.tx_packets, 0);
	write_and_read(64);
	close(f.sock);
}

/* A QP that is connected to a port of our own device takes no packets that come to 4791. */
Test(foreign, packet__for_a_qp_of_our_own_devices_is_dropped, .init = open_foreign, .fini = close_foreign)
{
	struct forged f = {.sock = bound_socket(ip[0], 0), .from = ip[0]};
	struct rig_peer peer = rig_peer(&a);
	struct rig_qp qp;

	rig_foreign = false;
	rig_qp(&rb, &qp);
	peer.udp_port = port_of(f.sock);
	rig_connect_to(&qp, &peer, NULL);
	f.qpn = qp.qpn;
	send_forged(&f);
	cr_assert_not(was_written());
	cr_assert_eq(rig_counters(&rb).strangers, 1);
	close(f.sock);
}

/* Tries all identifications, with short and long packets. The ICRC of a packet with one damaged bit fits
 * none of them. */
Test(foreign, icrc__fits_each_identification_and_no_damaged_bit)
{
	static const size_t lens[] = {24, 64, 1048, 4124};
	uint8_t packet[4200];

	srand(7);
	for (size_t i = 0; i < sizeof(packet); i++)
		packet[i] = (uint8_t)rand();
	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		struct sn_outer outer = {.src = {[10] = 0xff, 0xff, 10, 0, 0, 1},
					 .dst = {[10] = 0xff, 0xff, 10, 0, 0, 2}};
		uint32_t seen, computed = sn_icrc(&outer, packet, lens[i]);

		for (unsigned int step = i ? 251 : 1, ident = 0; ident < 65536; ident += step) {
			outer.ident = (uint16_t)ident;
			seen = sn_icrc(&outer, packet, lens[i]);
			cr_assert(sn_icrc_fits_ident(seen, computed, lens[i]), "identification %#x", ident);
		}
		for (size_t bit = 0; bit < 8 * lens[i]; bit++) {
			if (bit / 8 == 4)
				continue;		/* reserved in the BTH: no part of the ICRC */
			packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
			seen = sn_icrc(&outer, packet, lens[i]);
			packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
			cr_assert_not(sn_icrc_fits_ident(seen, computed, lens[i]), "bit %zu of %zu bytes",
				      bit, lens[i]);
		}
	}
}

/* Moves the QP to RTR. Returns the status of the command, and in *text what it wrote to stderr. */
static unsigned int connect_status(struct rig_qp *qp, const struct rig_peer *peer, const char **text)
{
	uint8_t in[0x110] = {0}, out[16], *ctx = in + AT_QPC, *ads = ctx + AT_ADS;

	sn_set(in, CMD_OPCODE, CMD_RST2INIT_QP);
	sn_set(in, CMD_NUMBER, qp->qpn);
	sn_set(ads, ADS_PORT, 1);
	cr_assert_eq(softnic_cmd(qp->rig->nic, in, sizeof(in), out, sizeof(out)), 0);
	sn_set(in, CMD_OPCODE, CMD_INIT2RTR_QP);
	sn_set(ctx, QPC_MTU, 3);
	sn_set(ctx, QPC_LOG_MSG_MAX, 30);
	sn_set(ctx, QPC_REMOTE_QPN, peer->qpn);
	sn_set(ads, ADS_GRH, 1);
	sn_set(ads, ADS_SRC_INDEX, 1);
	sn_set(ads, ADS_UDP_SPORT, 0xc123);
	memcpy(ads + ADS_RGID, peer->gid, 16);
	memcpy(ads + ADS_RMAC, peer->mac, 6);
	capture_begin(STDERR_FILENO);
	cr_assert_eq(softnic_cmd(qp->rig->nic, in, sizeof(in), out, sizeof(out)), 0);
	*text = capture_end();
	return out[0];
}

Test(foreign, connect__while_the_port_is_taken_names_it_and_fails)
{
	struct rig_peer peer;
	struct rig_qp qp;
	const char *text;
	int sock;

	choose_addresses();
	sock = bound_socket(ip[0], ROCE_PORT_UDP);
	open_rig(&ra, ip[0], 1);
	open_rig(&rb, ip[1], 2);
	rig_qp(&ra, &a);
	rig_qp(&rb, &b);
	peer = rig_peer(&b);
	cr_assert_eq(connect_status(&a, &peer, &text), NO_RESOURCES);
	cr_assert_not_null(strstr(text, "UDP port 4791 of "), "\"%s\"", text);
	cr_assert_not_null(strstr(text, ip[0]), "\"%s\"", text);
	cr_assert_not_null(strstr(text, "rdma_rxe"), "\"%s\"", text);
	close(sock);
	rig_qp(&ra, &qp);
	cr_assert_eq(connect_status(&qp, &peer, &text), 0);
	close_foreign();
}

/* The reason is printed once, even if several QPs fail to connect. */
Test(foreign, connect__without_a_descriptor_for_the_port_names_the_reason)
{
	enum { OF_CAPTURE = 2 };
	struct rig_peer peer;
	struct rig_qp qp[3];
	const char *text;

	choose_addresses();
	open_rig(&ra, ip[0], 1);
	open_rig(&rb, ip[1], 2);
	rig_qp(&rb, &b);
	peer = rig_peer(&b);
	for (unsigned int i = 0; i < 3; i++)
		rig_qp(&ra, &qp[i]);
	cr_assert_eq(th_fds_limit(OF_CAPTURE), 0);
	cr_assert_eq(connect_status(&qp[0], &peer, &text), NO_RESOURCES);
	cr_assert_not_null(strstr(text, "cannot be opened: Too many open files"), "\"%s\"", text);
	cr_assert_eq(connect_status(&qp[1], &peer, &text), NO_RESOURCES);
	cr_assert_str_empty(text);
	th_fds_restore();
	cr_assert_eq(connect_status(&qp[2], &peer, &text), 0);
	close_foreign();
}

/* Only a QP that needs the port takes it: a second device of the same address works without the port. */
Test(foreign, open__does_not_take_the_port, .init = open_foreign, .fini = close_foreign)
{
	struct rig other;

	open_rig(&other, ip[0], 3);
	rig_close(&other);
	write_and_read(64);
}
