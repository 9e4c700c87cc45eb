/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer sends random packets: half of them are valid with the right PSN, half are noise. It can
 * break its own connection and nothing else.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "softnic/fabric/fabric.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/rc_wire.h"
#include "tests/softnic/rc_rig.h"

enum { PACKETS = 60000, RTS = 3, ERR = 6, MTU = 256, TRAIN = 8 };

static struct rig rig;
static struct rig_qp victim, a, b;
static struct sn_fab *evil;
static struct sn_fab_dest dest;
static struct sn_addr self;
static uint32_t psn, heard;
static uint64_t rng = 99;

static uint32_t draw(uint32_t below)
{
	rng = rng * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(rng >> 33) % below;
}

static void hear(void *ctx, const struct sn_addr *src, const void *pkt, size_t len)
{
	(void)ctx, (void)src, (void)pkt, (void)len;
	heard++;
}

static void gone(void *ctx, const struct sn_addr *peer)
{
	(void)ctx, (void)peer;
}

static void connect_victim(void)
{
	struct rig_peer peer = {.qpn = 0x111, .psn = draw(1 << 24), .mac = {2}};

	rig_qp_to(&victim, CMD_2RST_QP);
	memset(victim.dbr, 0, 8);
	victim.rq_pi = victim.sq_pi = 0;
	victim.psn = draw(1 << 24);
	psn = peer.psn;
	memcpy(peer.gid, self.raw, sizeof(peer.gid));
	rig_connect_to(&victim, &peer, &(struct rig_conn){.mtu = 1, .timeout = 20});
	for (int i = 0; i < 20; i++)
		rig_recv(&victim, rig.data + 4096 * i, draw(3000) + 1);
	/* Gives the victim work that needs acknowledgements and responses. The requester gets
	 * noise, too. */
	rig_post(&victim, &(struct rig_wr){.op = RIG_READ, .va = rig.data, .len = 2000});
	rig_post(&victim, &(struct rig_wr){.op = RIG_SEND, .va = rig.data, .len = 700});
	rig_post(&victim, &(struct rig_wr){.op = RIG_FA, .va = rig.data, .len = 8});
	rig_ring(&victim);
}

static size_t make(uint8_t *p)
{
	uint8_t opcode = (uint8_t)draw(SN_BTH_OPCODES);
	const struct sn_bth_shape *shape = &sn_bth_shapes[opcode];
	bool response = shape->class >= SN_C_READ_RESP;
	uint32_t base = response ? victim.psn : psn, n, train = draw(3) ? 1 : 1 + draw(TRAIN);
	struct sn_bth bth = {.opcode = opcode, .flags = (uint8_t)(draw(16) << 4),
			     .pkey = to_be16(0xffff), .dqpn = to_be32(victim.qpn)};
	struct sn_reth reth = {to_be64((uintptr_t)rig.data + draw(8192)),
			       to_be32(draw(8) ? rig.key : draw(1u << 31)),
			       to_be32(draw(4) ? draw(2000) : draw(1u << 31) * 2)};

	bth.psn = to_be32((draw(2) << 31) | ((train - 1) << SN_BTH_TRAIN_SHIFT) |
			  ((base + (draw(3) ? 0 : draw(8))) & SN_PSN_MASK));
	n = draw(3) ? shape->header + (draw(2) ? train * MTU : draw(MTU + 20)) : draw(300);
	n = n < 12 ? 12 : n;
	for (uint32_t i = 0; i < n + 8; i++)
		p[i] = (uint8_t)draw(256);
	if (draw(20))
		memcpy(p, &bth, sizeof(bth));
	if (shape->parts & SN_P_RETH && draw(10))
		memcpy(p + 12, &reth, sizeof(reth));
	n = (n + 3) & ~3u;
	memset(p + n, 0, SN_ICRC);
	return n + SN_ICRC;
}

static void friends_still_talk(uint32_t seed)
{
	struct rig_cqe cqe;

	while (rig_poll(&rig, &cqe))
		;
	while (rig_event(&rig) >= 0)
		;
	rig_fill(rig.data + (1u << 20), 3000, seed);
	rig_post_ring(&a, &(struct rig_wr){.op = RIG_WRITE, .va = rig.data + (1u << 20),
					   .len = 3000, .raddr = rig.data + (2u << 20),
					   .rkey = rig.key});
	do
		cqe = rig_wait(&rig, NULL);
	while (cqe.qpn != a.qpn);
	cr_assert_eq(cqe.op, 0);
	cr_assert(rig_filled(rig.data + (2u << 20), 3000, seed));
}

static void setup(void)
{
	struct sn_fab_config config = {.deliver = hear, .down = gone};

	rig_open(&rig, SOFTNIC_NO_THREAD, 5);
	cr_assert_eq(getrandom(&config.gid, 16, 0), 16);
	cr_assert_eq(sn_fab_open(&config, &evil), 0);
	self = config.gid;
	memcpy(dest.gid.raw, rig.gid, 16);
}

static void finish(void)
{
	sn_fab_close(evil);
	rig_close(&rig);
}

Test(rc_fuzz, hostile_peer__breaks_only_itself, .init = setup, .fini = finish, .timeout = 100)
{
	uint8_t packet[128 + TRAIN * MTU];
	uint32_t i, deaths = 0;

	rig_qp(&rig, &a);
	rig_qp(&rig, &b);
	rig_connect(&a, &b, NULL);
	rig_qp(&rig, &victim);
	connect_victim();
	for (i = 0; i < PACKETS; i++) {
		size_t len = make(packet);
		struct iovec iov = {packet, len};

		sn_fab_send(evil, &dest, &iov, 1);
		/* Most packets come one at a time, so that the next one can use the PSN after
		 * it. */
		if (i % 4 == 3) {
			rig_settle(&rig, NULL);
			sn_fab_poll(evil, 1000);
		}
		if (!draw(3))
			psn = (psn + 1) & SN_PSN_MASK;
		if (i % 64 == 63 && rig_qp_state(&victim) == ERR) {
			deaths++;
			connect_victim();
		}
		if (i % 4096 == 4095)
			friends_still_talk(i);
	}
	cr_assert_gt(deaths, 10, "too few of the random packets broke the connection");
	cr_assert_gt(heard, 1000);
}

static void read_at(uint32_t at)
{
	struct {
		struct sn_bth bth;
		struct sn_reth reth;
		uint8_t icrc[SN_ICRC];
	} p = {
		.bth = {.opcode = SN_BTH_READ_REQUEST, .pkey = to_be16(0xffff),
			.dqpn = to_be32(victim.qpn), .psn = to_be32((psn + at) & SN_PSN_MASK)},
		.reth = {to_be64((uintptr_t)rig.data), to_be32(rig.key), to_be32(8)},
	};
	struct iovec iov = {&p, sizeof(p)};

	cr_assert_eq(sn_fab_send(evil, &dest, &iov, 1), 0);
}

/* A request that was repeated and answered arrives once more, late, while the peer has the maximum
 * outstanding. */
Test(rc_fuzz, read__late_one_takes_no_resource_from_others, .init = setup, .fini = finish)
{
	enum { GRANTED = 16 };
	uint32_t i;

	rig_qp(&rig, &victim);
	connect_victim();
	read_at(0);
	rig_settle(&rig, NULL);
	read_at(0);
	for (i = 1; i <= GRANTED; i++)
		read_at(i);
	rig_settle(&rig, NULL);
	sn_fab_poll(evil, 1000);
	cr_assert_eq(rig_qp_state(&victim), RTS);
	cr_assert_geq(heard, 1 + GRANTED);
}

/* Sends a WRITE of len bytes as one train with a wrong packet count. */
static unsigned int write_of(uint32_t train, uint32_t len)
{
	struct {
		struct sn_bth bth;
		struct sn_reth reth;
		uint8_t data[4 * MTU + SN_ICRC];
	} __attribute__((packed, aligned(4))) p = {0};
	struct iovec iov = {&p, sizeof(p.bth) + sizeof(p.reth) + len + SN_ICRC};

	connect_victim();
	p.bth = (struct sn_bth){.opcode = SN_BTH_WRITE_ONLY, .pkey = to_be16(0xffff),
				.dqpn = to_be32(victim.qpn),
				.psn = to_be32(psn | (train - 1) << SN_BTH_TRAIN_SHIFT)};
	p.reth = (struct sn_reth){to_be64((uintptr_t)rig.data + 65536), to_be32(rig.key),
				  to_be32(len)};
	memset(p.data, 0x5a, len);
	memset(rig.data + 65536, 0, len);
	cr_assert_eq(sn_fab_send(evil, &dest, &iov, 1), 0);
	rig_settle(&rig, NULL);
	return rig_qp_state(&victim);
}

Test(rc_fuzz, train__is_taken_only_when_its_length_is_that_of_its_packets, .init = setup,
     .fini = finish)
{
	rig_qp(&rig, &victim);
	cr_assert_eq(write_of(3, 2 * MTU + 4), RTS);
	cr_assert_eq(rig.data[65536 + 2 * MTU + 3], 0x5a);
	cr_assert_eq(write_of(1, MTU + 4), ERR,
		     "a packet longer than the MTU has not caused an error");
	cr_assert_eq(rig.data[65536], 0);
	cr_assert_eq(write_of(2, 3 * MTU), ERR,
		     "packets longer than their header says have not caused an error");
	cr_assert_eq(write_of(3, 2 * MTU), ERR,
		     "packets shorter than their header says have not caused an error");
}

static void respond(uint8_t opcode, uint8_t syndrome, uint32_t at, uint32_t train, uint32_t len)
{
	struct {
		struct sn_bth bth;
		struct sn_aeth aeth;
		uint8_t data[TRAIN * MTU + SN_ICRC];
	} p = {
		.bth = {.opcode = opcode, .pkey = to_be16(0xffff), .dqpn = to_be32(victim.qpn),
			.psn = to_be32(((victim.psn + at) & SN_PSN_MASK) |
				       (train - 1) << SN_BTH_TRAIN_SHIFT)},
		.aeth = {to_be32((uint32_t)syndrome << 24)},
	};
	struct iovec iov = {&p, sizeof(p.bth) + sizeof(p.aeth) + len + SN_ICRC};

	memset(p.data, 0x5a, len);
	memset(rig.data, 0, 2000);
	cr_assert_eq(sn_fab_send(evil, &dest, &iov, 1), 0);
	rig_settle(&rig, NULL);
}

/* Linux's rxe: a response to a READ or an atomic whose AETH is not that of an ACK ends the connection. */
Test(rc_fuzz, response__with_the_syndrome_of_a_nak_is_not_taken, .init = setup, .fini = finish)
{
	enum { ACK = SN_AETH_ACK | SN_AETH_NO_CREDIT, NAK = SN_AETH_NAK | SN_NAK_REMOTE_ACCESS };
	struct rig_cqe cqe;

	rig_qp(&rig, &victim);
	connect_victim();
	rig_settle(&rig, NULL);
	respond(SN_BTH_READ_RESP_ONLY, NAK, 0, 8, 2000);
	cr_expect_eq(rig_qp_state(&victim), ERR);
	cr_expect_eq(rig.data[0], 0, "the data of a NAK was taken");
	cqe = rig_wait(&rig, NULL);
	cr_expect_eq(cqe.op, 13);
	cr_expect_eq(cqe.syndrome, 0x10);
	connect_victim();
	rig_settle(&rig, NULL);
	respond(SN_BTH_READ_RESP_ONLY, ACK, 0, 8, 2000);
	cr_expect_eq(rig_qp_state(&victim), RTS);
	cr_expect_eq(rig.data[1999], 0x5a);
	/* The atomic is behind the 8 packets of the READ and 3 of the SEND. */
	respond(SN_BTH_ATOMIC_ACK, NAK, 8 + 3, 1, 8);
	cr_expect_eq(rig_qp_state(&victim), ERR);
	cr_expect_eq(rig.data[0], 0, "the data of a NAK was taken");
}
