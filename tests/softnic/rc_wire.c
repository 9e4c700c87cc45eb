/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet codec alone, and with packets of other implementations. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "softnic/mlx5/rc_wire.h"

/* RFC 1071: a carry out of the addition of carries counts, too. */
Test(rc_wire, checksum__adds_each_carry)
{
	cr_expect_eq(from_be16(sn_checksum(0x1fffe, NULL, 0)), 0x0000);
	cr_expect_eq(from_be16(sn_checksum(0x1ffff, NULL, 0)), 0xfffe);
}

/* A congestion notification sent by a ConnectX-4 Lx, with the ICRC computed by hardware. */
Test(rc_wire, icrc__of_a_captured_packet_is_that_of_hardware)
{
	static const uint8_t packet[] = {
		0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00,
		0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	};
	static const uint8_t expected[] = {0x82, 0xfd, 0x00, 0x2a};
	struct sn_outer outer = {
		.src = {[10] = 0xff, 0xff, 10, 0, 0x11, 1},
		.dst = {[10] = 0xff, 0xff, 10, 0, 0x12, 1},
		.ident = 0x718c, .sport = 0,
	};
	uint32_t icrc = sn_icrc(&outer, packet, sizeof(packet));

	cr_assert_arr_eq(&icrc, expected, sizeof(expected));
}

/* The five reserved or variant bits of a BTH do not change the ICRC; every other bit does. */
Test(rc_wire, icrc__covers_invariant_fields)
{
	struct sn_outer outer = {.src = {0xfe, 0x80, [15] = 1}, .dst = {0xfe, 0x80, [15] = 2}};
	uint8_t packet[64];
	uint32_t good, icrc;
	size_t bit;

	memset(packet, 0x5a, sizeof(packet));
	good = sn_icrc(&outer, packet, sizeof(packet));
	for (bit = 0; bit < 8 * sizeof(packet); bit++) {
		bool variant = bit / 8 == 4;

		packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
		icrc = sn_icrc(&outer, packet, sizeof(packet));
		cr_assert_eq(icrc == good, variant,
			     "the ICRC ignores bit %zu of an invariant field, or covers a variant "
			     "one",
			     bit);
		packet[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	outer.dst[7] ^= 1;
	icrc = sn_icrc(&outer, packet, sizeof(packet));
	cr_assert_neq(icrc, good);
}

static size_t header(uint8_t *p, uint8_t opcode, unsigned int pad)
{
	struct sn_bth bth = {.opcode = opcode, .flags = (uint8_t)(pad << SN_BTH_PAD_SHIFT),
			     .dqpn = to_be32(0x123456), .psn = to_be32(0x83abcdefu)};

	memset(p, 0, 128);
	memcpy(p, &bth, sizeof(bth));
	return sizeof(bth);
}

Test(rc_wire, parse__write_with_immediate_returns_its_fields)
{
	struct sn_reth reth = {to_be64(0x1122334455667788), to_be32(0xaabbccdd), to_be32(5)};
	be32_t imm = to_be32(99);
	struct sn_packet pkt;
	uint8_t p[128];
	size_t n = header(p, SN_BTH_WRITE_ONLY_IMM, 3);

	memcpy(p + n, &reth, 16);
	memcpy(p + n + 16, &imm, 4);
	memcpy(p + n + 20, "hello", 5);
	cr_assert(sn_packet_parse(p, n + 20 + 8 + SN_ICRC, false, &pkt));
	cr_assert_eq(pkt.dqpn, 0x123456);
	cr_assert_eq(pkt.psn, 0xabcdef);
	cr_assert_eq(pkt.train, 4);
	cr_assert(pkt.ackreq);
	cr_assert_not(pkt.solicited);
	cr_assert_eq(from_be64(pkt.reth.va), 0x1122334455667788);
	cr_assert_eq(from_be32(pkt.reth.len), 5);
	cr_assert_eq(from_be32(pkt.imm), 99);
	cr_assert_eq(pkt.len, 5);
	cr_assert_eq(memcmp(pkt.payload, "hello", 5), 0);
}

/* For each opcode, a packet one byte shorter than its headers is refused, and so is one with an
 * invalid payload length. */
Test(rc_wire, parse__refuses_packets_shorter_than_their_headers)
{
	struct sn_packet pkt;
	unsigned int opcode;
	uint8_t p[128];

	for (opcode = 0; opcode < 256; opcode++) {
		bool known = opcode < SN_BTH_OPCODES && sn_bth_shapes[opcode].class != SN_C_NONE;
		size_t len = known ? sn_bth_shapes[opcode].header + SN_ICRC : 16;

		header(p, (uint8_t)opcode, 0);
		cr_assert_eq(sn_packet_parse(p, len, false, &pkt), known,
			     "opcode %#x: an unknown packet was accepted, or a known one refused",
			     opcode);
		if (!known)
			continue;
		cr_assert_eq(pkt.len, 0);
		cr_assert_not(sn_packet_parse(p, len - 4, false, &pkt),
			      "opcode %#x: a packet shorter than its headers was accepted", opcode);
		cr_assert_eq(sn_packet_parse(p, len + 4, false, &pkt),
			     !!(sn_bth_shapes[opcode].parts & SN_P_PAYLOAD),
			     "opcode %#x: wrong result for a packet with a payload", opcode);
	}
}

Test(rc_wire, parse__refuses_misaligned_and_other_versions)
{
	struct sn_packet pkt;
	uint8_t p[128];

	header(p, SN_BTH_SEND_ONLY, 0);
	cr_assert(sn_packet_parse(p, 20, false, &pkt));
	cr_assert_not(sn_packet_parse(p, 21, false, &pkt));
	cr_assert_not(sn_packet_parse(p, 0, false, &pkt));
	cr_assert_not(sn_packet_parse(p, 12, false, &pkt));
	p[1] = 1;
	cr_assert_not(sn_packet_parse(p, 20, false, &pkt));
	header(p, SN_BTH_SEND_ONLY, 3);
	cr_assert_not(sn_packet_parse(p, 16, false, &pkt),
		      "a packet with more padding than payload was accepted");
}

/* Random bytes: the parser never reads outside of the packet. */
Test(rc_wire, parse__of_noise_stays_inside)
{
	unsigned int i, j, accepted = 0;

	srand(3);
	for (i = 0; i < 20000; i++) {
		size_t len = (size_t)(rand() % 80);
		uint8_t *p = malloc(len ? len : 1);
		struct sn_packet pkt;

		for (j = 0; j < len; j++)
			p[j] = (uint8_t)rand();
		if (len > 1) {
			p[0] %= 0x20;
			p[1] &= 0xf0;
		}
		if (sn_packet_parse(p, len, false, &pkt)) {
			accepted++;
			cr_assert(pkt.payload >= p && pkt.payload + pkt.len <= p + len - SN_ICRC);
		}
		free(p);
	}
	cr_assert_gt(accepted, 500);
}

Test(rc_wire, psn__compares_across_the_wrap)
{
	cr_assert_eq(sn_psn_diff(0, 0xffffff), 1);
	cr_assert_eq(sn_psn_diff(0xffffff, 0), -1);
	cr_assert_eq(sn_psn_diff(5, 5), 0);
	cr_assert_eq(sn_psn_diff(0x7fffff, 0), 0x7fffff);
	cr_assert_eq(sn_psn_diff(0x800000, 0), -0x800000);
	cr_assert_eq(sn_psn_add(0xffffff, 2), 1);
}
