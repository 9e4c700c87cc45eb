/* SPDX-License-Identifier: BSD-2-Clause */
/* Reliable connections to another host: datagrams that are lost, forged or misdirected. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softnic/mlx5/rc_wire.h"
#include "tests/harness/harness.h"
#include "tests/softnic/rc_rig.h"

enum { SYND_RETRY = 0x15 };

static struct rig ra, rb;
static struct rig_qp a, b;

static void open_both(unsigned int flags, const struct rig_conn *conn)
{
	rig_udp = "127.0.0.1";
	rig_open_pair(&ra, &rb, &a, &b, flags, conn);
}

static void open_udp(void)
{
	open_both(SOFTNIC_NO_THREAD, NULL);
}

static void close_udp(void)
{
	rig_close_pair(&ra, &rb, "", "");
}

static void move(unsigned int op, uint32_t len)
{
	struct rig_cqe cqe;

	rig_fill(op == RIG_READ ? rb.data : ra.data, len, len);
	rig_post_ring(&a, &(struct rig_wr){.op = op, .va = ra.data, .len = len, .raddr = rb.data,
					   .rkey = rb.key});
	cqe = rig_wait(&ra, &rb);
	cr_assert_eq(cqe.op, 0, "opcode %u of %u bytes failed with syndrome %#x", op, len, cqe.syndrome);
	cr_assert(rig_filled(op == RIG_READ ? ra.data : rb.data, len, len));
}

Test(udp, transfer__of_any_length_arrives, .init = open_udp, .fini = close_udp)
{
	static const uint32_t lens[] = {1, 7, 1023, 1024, 1025, 4096, 65536, 1 << 20, RIG_DATA / 2};

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		move(RIG_WRITE, lens[i]);
		move(RIG_READ, lens[i]);
	}
}

/* The response of a long READ would overrun the socket: it is requested in parts. */
Test(udp, read__of_many_packets_survives_loss, .timeout = 60)
{
	open_both(SOFTNIC_NO_THREAD, &(struct rig_conn){.mtu = 1, .log_rd = RIG_NO, .psn_a = 0xfffff0});
	cr_assert_eq(softnic_fault(ra.nic, "drop=0.02,seed=1"), 0);
	cr_assert_eq(softnic_fault(rb.nic, "drop=0.02,seed=2"), 0);
	move(RIG_READ, 400 * 1024 + 3);
	close_udp();
}

static uint16_t port_of(int sock)
{
	struct sockaddr_in at = {.sin_family = AF_UNSPEC};
	socklen_t len = sizeof(at);

	return getsockname(sock, (struct sockaddr *)&at, &len) || at.sin_family != AF_INET ? 0
											: ntohs(at.sin_port);
}

static void shrink_buffer_of(uint16_t port)
{
	const int bytes = 1 << 16;

	for (int fd = 3; fd < 64; fd++)
		if (port_of(fd) == port)
			cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)), 0);
}

/* Queue pairs that together send more than a socket holds, to a host that is busy elsewhere. */
Test(udp, sockets__that_overflow_lose_no_message, .timeout = 60)
{
	enum { QPS = 12, LEN = 128 << 10 };
	struct rig_qp from[QPS], to[QPS];
	struct rig_cqe cqe;

	open_udp();
	shrink_buffer_of(rb.udp_port);
	rig_fill(ra.data, LEN, 5);
	for (unsigned int i = 0; i < QPS; i++) {
		rig_qp(&ra, &from[i]);
		rig_qp(&rb, &to[i]);
		rig_connect(&from[i], &to[i], &(struct rig_conn){.mtu = 5});
		rig_post_ring(&from[i], &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = LEN,
							 .raddr = rb.data + i * LEN, .rkey = rb.key});
	}
	for (unsigned int i = 0; i < 200; i++)
		softnic_pump(ra.nic);
	for (unsigned int i = 0; i < QPS; i++) {
		cqe = rig_wait(&ra, &rb);
		cr_assert_eq(cqe.op, 0, "syndrome %#x", cqe.syndrome);
	}
	for (unsigned int i = 0; i < QPS; i++)
		cr_assert(rig_filled(rb.data + i * LEN, LEN, 5));
	cr_assert_gt(rig_counters(&ra).retransmits, 0, "the socket did not overflow");
	close_udp();
}

Test(udp, write__to_a_sleeping_host_completes, .timeout = 30)
{
	struct rig_cqe cqe;

	open_both(0, NULL);
	rig_fill(ra.data, 100000, 1);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 100000, .raddr = rb.data,
					   .rkey = rb.key});
	cqe = rig_wait(&ra, NULL);
	cr_assert_eq(cqe.op, 0);
	cr_assert(rig_filled(rb.data, 100000, 1));
	close_udp();
}

Test(udp, write__to_a_host_that_vanished_fails_after_its_retries, .init = open_udp, .timeout = 30)
{
	struct rig_cqe cqe;

	move(RIG_WRITE, 64);
	rig_close(&rb);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = ra.data, .len = 64, .raddr = rb.data,
					   .rkey = rb.key});
	cqe = rig_wait(&ra, NULL);
	cr_assert_eq(cqe.op, 13);
	cr_assert_eq(cqe.syndrome, SYND_RETRY);
	rig_close(&ra);
}

/* A datagram to b with a WRITE of 8 bytes, its ICRC, and variations of both. */
struct forged {
	int sock;			/* the sender's socket */
	uint32_t qpn, psn, key;
	uint32_t flip;			/* flipped bits of the ICRC */
	size_t cut, extra;		/* bytes cut off the end, and bytes added there */
};

static void send_forged(const struct forged *f)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(rb.udp_port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct {
		struct sn_bth bth;
		struct sn_reth reth;
		uint32_t data[2];
		uint32_t icrc;
		uint8_t room[64];
	} p = {
		.bth = {SN_BTH_WRITE_ONLY, 0, to_be16(SN_PKEY_DEFAULT), to_be32(f->qpn),
			to_be32(SN_BTH_ACKREQ | f->psn)},
		.reth = {to_be64((uintptr_t)rb.data), to_be32(f->key), to_be32(8)},
		.data = {UINT32_MAX, UINT32_MAX},
	};
	struct sn_outer outer = {.sport = port_of(f->sock), .dport = rb.udp_port};
	const size_t len = offsetof(__typeof__(p), icrc);

	memcpy(outer.src, ra.gid, 16);
	memcpy(outer.dst, rb.gid, 16);
	p.icrc = sn_icrc(&outer, &p, len) ^ f->flip;
	cr_assert_gt(sendto(f->sock, &p, len + SN_ICRC + f->extra - f->cut, 0,
			    (struct sockaddr *)&to, sizeof(to)), 0);
}

static int bound_socket(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	cr_assert_eq(bind(sock, (struct sockaddr *)&at, sizeof(at)), 0);
	return sock;
}

/* The packets have only one fault: their sender is not the peer of the QP. */
Test(udp, packets__of_a_stranger_change_nothing_and_are_counted, .init = open_udp, .fini = close_udp)
{
	int sock = bound_socket();
	const struct forged forged[] = {
		{.sock = sock, .qpn = b.qpn, .key = rb.key},
		{.sock = sock, .qpn = 0xabcdef, .key = rb.key},
		{.sock = sock, .qpn = b.qpn, .key = rb.key, .flip = 1},
		{.sock = sock, .qpn = b.qpn, .key = rb.key, .cut = 4},
		{.sock = sock, .qpn = b.qpn, .key = rb.key, .cut = 36},
		{.sock = sock, .qpn = b.qpn, .key = rb.key, .extra = 64},
	};
	size_t n = sizeof(forged) / sizeof(forged[0]);
	struct softnic_counters c;

	for (size_t i = 0; i < n; i++)
		send_forged(&forged[i]);
	rig_settle(&ra, &rb);
	c = rig_counters(&rb);
	cr_assert_eq(c.rx_packets, n);
	cr_assert_eq(c.drops, n);
	cr_assert_eq(c.bad_icrc, 4);
	cr_assert_eq(c.strangers, 2);
	cr_assert_eq(c.tx_packets, 0);
	for (size_t i = 0; i < 8; i++)
		cr_assert_eq(rb.data[i], 0);
	move(RIG_WRITE, 64);
	close(sock);
}

/* Random bytes from anyone never reach a QP. */
Test(udp, noise__changes_nothing, .init = open_udp, .fini = close_udp)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(rb.udp_port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int sock = bound_socket();
	uint8_t bytes[120];

	srand(5);
	for (unsigned int i = 0; i < 5000; i++) {
		size_t len = (size_t)rand() % sizeof(bytes);

		for (size_t j = 0; j < len; j++)
			bytes[j] = (uint8_t)rand();
		cr_assert_eq(sendto(sock, bytes, len, 0, (struct sockaddr *)&to, sizeof(to)), (ssize_t)len);
		softnic_pump(rb.nic);
	}
	rig_settle(&ra, &rb);
	cr_assert_eq(rig_counters(&rb).bad_icrc, rig_counters(&rb).rx_packets);
	cr_assert_eq(rig_counters(&rb).drops, 5000);
	move(RIG_WRITE, 64);
	close(sock);
}

/* The control: a QP whose peer is that socket executes the packet, unless a bit of it is wrong. */
Test(udp, packet__of_the_peer_is_executed_if_its_icrc_fits, .init = open_udp, .fini = close_udp)
{
	struct forged f = {.sock = bound_socket(), .key = rb.key, .flip = 0x100};
	struct rig_peer peer = rig_peer(&a);
	struct rig_qp qp;

	rig_qp(&rb, &qp);
	peer.udp_port = port_of(f.sock);
	rig_connect_to(&qp, &peer, NULL);
	f.qpn = qp.qpn;
	send_forged(&f);
	rig_settle(&ra, &rb);
	cr_assert_eq(rb.data[0], 0);
	cr_assert_eq(rig_counters(&rb).bad_icrc, 1);
	f.flip = 0;
	send_forged(&f);
	rig_settle(&ra, &rb);
	for (size_t i = 0; i < 8; i++)
		cr_assert_eq(rb.data[i], 0xff);
	cr_assert_eq(rig_counters(&rb).tx_packets, 1, "the packet is not acknowledged");
	close(f.sock);
}

/* A device of this host with an IP address is still reached by memory. */
Test(udp, is_local__tells_this_host_from_others, .init = open_udp, .fini = close_udp)
{
	uint8_t gid[16] = {0xfe, 0x80, [8] = rb.mac[0] ^ 2, rb.mac[1], rb.mac[2], 0xff, 0xfe, rb.mac[3],
			   rb.mac[4], rb.mac[5]};

	cr_assert_eq(softnic_is_local(ra.nic, gid), 1);
	gid[9] ^= 1;
	cr_assert_eq(softnic_is_local(ra.nic, gid), 0);
}
