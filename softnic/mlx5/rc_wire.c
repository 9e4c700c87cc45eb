/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <zlib.h>

#include "softnic/bytes.h"
#include "softnic/fabric/fabric.h"
#include "softnic/mlx5/rc_wire.h"

#define F SN_P_FIRST
#define L SN_P_LAST
#define FL (SN_P_FIRST | SN_P_LAST)
#define D SN_P_PAYLOAD

/* IBTA table 38, figures 64 and following: the headers after the BTH. */
const struct sn_bth_shape sn_bth_shapes[SN_BTH_OPCODES] = {
	[SN_BTH_SEND_FIRST] = {SN_C_SEND, 12, F | D},
	[SN_BTH_SEND_MIDDLE] = {SN_C_SEND, 12, D},
	[SN_BTH_SEND_LAST] = {SN_C_SEND, 12, L | D},
	[SN_BTH_SEND_LAST_IMM] = {SN_C_SEND, 16, L | D | SN_P_IMM},
	[SN_BTH_SEND_ONLY] = {SN_C_SEND, 12, FL | D},
	[SN_BTH_SEND_ONLY_IMM] = {SN_C_SEND, 16, FL | D | SN_P_IMM},
	[SN_BTH_SEND_LAST_INV] = {SN_C_SEND, 16, L | D | SN_P_INV},
	[SN_BTH_SEND_ONLY_INV] = {SN_C_SEND, 16, FL | D | SN_P_INV},
	[SN_BTH_WRITE_FIRST] = {SN_C_WRITE, 28, F | D | SN_P_RETH},
	[SN_BTH_WRITE_MIDDLE] = {SN_C_WRITE, 12, D},
	[SN_BTH_WRITE_LAST] = {SN_C_WRITE, 12, L | D},
	[SN_BTH_WRITE_LAST_IMM] = {SN_C_WRITE, 16, L | D | SN_P_IMM},
	[SN_BTH_WRITE_ONLY] = {SN_C_WRITE, 28, FL | D | SN_P_RETH},
	[SN_BTH_WRITE_ONLY_IMM] = {SN_C_WRITE, 32, FL | D | SN_P_RETH | SN_P_IMM},
	[SN_BTH_READ_REQUEST] = {SN_C_READ, 28, FL | SN_P_RETH},
	[SN_BTH_READ_RESP_FIRST] = {SN_C_READ_RESP, 16, F | D | SN_P_AETH},
	[SN_BTH_READ_RESP_MIDDLE] = {SN_C_READ_RESP, 12, D},
	[SN_BTH_READ_RESP_LAST] = {SN_C_READ_RESP, 16, L | D | SN_P_AETH},
	[SN_BTH_READ_RESP_ONLY] = {SN_C_READ_RESP, 16, FL | D | SN_P_AETH},
	[SN_BTH_ACK] = {SN_C_ACK, 16, FL | SN_P_AETH},
	[SN_BTH_ATOMIC_ACK] = {SN_C_ATOMIC_ACK, 24, FL | SN_P_AETH | SN_P_ATOMIC_ACK},
	[SN_BTH_COMPARE_SWAP] = {SN_C_ATOMIC, 40, FL | SN_P_ATOMIC},
	[SN_BTH_FETCH_ADD] = {SN_C_ATOMIC, 40, FL | SN_P_ATOMIC},
};

/* Within a host, and from another host */
static const struct sn_bth_shape datagrams[2][2] = {
	{{SN_C_DATAGRAM, 28, FL | D | SN_P_DETH | SN_P_IP},
	 {SN_C_DATAGRAM, 32, FL | D | SN_P_DETH | SN_P_IP | SN_P_IMM}},
	{{SN_C_DATAGRAM, 20, FL | D | SN_P_DETH}, {SN_C_DATAGRAM, 24, FL | D | SN_P_DETH | SN_P_IMM}},
};

static const struct sn_bth_shape *shape_of(uint8_t opcode, bool far)
{
	if (opcode < SN_BTH_OPCODES)
		return &sn_bth_shapes[opcode];
	if (opcode == SN_BTH_UD_SEND_ONLY || opcode == SN_BTH_UD_SEND_ONLY_IMM)
		return &datagrams[far][opcode - SN_BTH_UD_SEND_ONLY];
	return NULL;
}

static void parse_extended(const uint8_t *at, struct sn_packet *pkt)
{
	unsigned int parts = pkt->shape->parts;

	if (parts & SN_P_DETH) {
		memcpy(&pkt->deth, at, sizeof(pkt->deth));
		at += sizeof(pkt->deth);
	}
	if (parts & SN_P_IP) {
		memcpy(&pkt->ip, at, sizeof(pkt->ip));
		at += sizeof(pkt->ip);
	}
	if (parts & SN_P_RETH) {
		memcpy(&pkt->reth, at, sizeof(pkt->reth));
		at += sizeof(pkt->reth);
	}
	if (parts & SN_P_AETH) {
		memcpy(&pkt->aeth, at, sizeof(pkt->aeth));
		at += sizeof(pkt->aeth);
	}
	if (parts & SN_P_ATOMIC)
		memcpy(&pkt->atomic, at, sizeof(pkt->atomic));
	if (parts & SN_P_ATOMIC_ACK)
		memcpy(&pkt->original, at, sizeof(pkt->original));
	if (parts & (SN_P_IMM | SN_P_INV))
		memcpy(&pkt->imm, at, sizeof(pkt->imm));
}

bool sn_packet_parse(const void *bytes, size_t len, bool far, struct sn_packet *pkt)
{
	struct sn_bth bth;
	uint32_t pad, header;

	if (len < sizeof(bth) + SN_ICRC)
		return false;
	memcpy(&bth, bytes, sizeof(bth));
	sn_end_copy();
	pkt->shape = shape_of(bth.opcode, far);
	if (!pkt->shape || (bth.flags & 0x0f))
		return false;
	header = pkt->shape->header;
	pad = bth.flags >> SN_BTH_PAD_SHIFT & 3;
	if (pkt->shape->class == SN_C_NONE || len < header + pad + SN_ICRC || len % 4)
		return false;
	pkt->opcode = bth.opcode;
	pkt->pkey = from_be16(bth.pkey);
	pkt->dqpn = from_be32(bth.dqpn) & 0xffffff;
	pkt->psn = from_be32(bth.psn) & SN_PSN_MASK;
	pkt->ackreq = from_be32(bth.psn) & SN_BTH_ACKREQ;
	pkt->train = (uint8_t)((from_be32(bth.psn) >> SN_BTH_TRAIN_SHIFT) % SN_BTH_TRAIN_MAX + 1);
	pkt->solicited = bth.flags & SN_BTH_SE;
	pkt->payload = (const uint8_t *)bytes + header;
	pkt->len = (uint32_t)len - header - pad - SN_ICRC;
	parse_extended((const uint8_t *)bytes + sizeof(bth), pkt);
	sn_end_copy();
	return pkt->len == 0 || (pkt->shape->parts & SN_P_PAYLOAD);
}

/* names in the order of enum sn_bth_class; then two kinds of acknowledgement that are no class */
const char *const sn_packet_ops[] = {"send", "write", "read", "atomic", "read_response", "ack",
				     "atomic_response", "datagram", "nak", "rnr_nak", NULL};
enum { OP_NAK = SN_C_DATAGRAM, OP_RNR_NAK };

bool sn_packet_label(const void *bytes, size_t len, struct sn_fab_label *label)
{
	struct sn_packet pkt;
	uint32_t kind;

	if (!sn_packet_parse(bytes, len, false, &pkt) && !sn_packet_parse(bytes, len, true, &pkt))
		return false;
	*label = (struct sn_fab_label){pkt.shape->class - SN_C_SEND, pkt.dqpn, pkt.psn};
	kind = pkt.shape->class == SN_C_ACK ? from_be32(pkt.aeth.word) >> 24 & SN_AETH_KIND : SN_AETH_ACK;
	if (kind != SN_AETH_ACK)
		label->op = kind == SN_AETH_RNR ? OP_RNR_NAK : OP_NAK;
	return true;
}

static uint8_t *put16(uint8_t *p, uint16_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}

/* Writes the IPv4 header. Its type of service, time to live and checksum may change on the way. */
static uint8_t *put_ipv4(uint8_t *p, const struct sn_outer *outer, uint16_t udp_len)
{
	memcpy(p, (uint8_t[]){0x45, 0xff}, 2);
	put16(put16(p + 2, (uint16_t)(udp_len + 20)), outer->ident);
	memcpy(p + 6, (uint8_t[]){0x40, 0, 0xff, 17, 0xff, 0xff}, 6);
	memcpy(p + 12, outer->src + 12, 4);
	memcpy(p + 16, outer->dst + 12, 4);
	return p + 20;
}

/* Writes the IPv6 header. Its traffic class, flow label and hop limit may change on the way. */
static uint8_t *put_ipv6(uint8_t *p, const struct sn_outer *outer, uint16_t udp_len)
{
	memcpy(p, (uint8_t[]){0x6f, 0xff, 0xff, 0xff}, 4);
	put16(p + 4, udp_len);
	memcpy(p + 6, (uint8_t[]){17, 0xff}, 2);
	memcpy(p + 8, outer->src, 16);
	memcpy(p + 24, outer->dst, 16);
	return p + 40;
}

size_t sn_outer_put(const struct sn_outer *outer, size_t len, uint8_t *head)
{
	bool v4 = sn_is_v4(outer->src) && sn_is_v4(outer->dst);
	uint16_t udp_len = (uint16_t)(len + SN_ICRC + 8);
	uint8_t *p = v4 ? put_ipv4(head, outer, udp_len) : put_ipv6(head, outer, udp_len);

	p = put16(put16(p, outer->sport), outer->dport ? outer->dport : SN_UDP_PORT);
	return (size_t)(put16(put16(p, udp_len), 0xffff) - head);
}

be16_t sn_checksum(uint32_t sum, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += (uint32_t)bytes[i] << (i % 2 ? 0 : 8);
	sum = (sum & 0xffff) + (sum >> 16);
	return to_be16((uint16_t)~(sum + (sum >> 16)));
}

void sn_ip_finish(uint8_t *ip, uint32_t traffic, uint8_t hop_limit)
{
	enum { IPV4 = 20 };
	be32_t first = to_be32(UINT32_C(6) << 28 | (traffic & 0xfffffff));
	be16_t sum;

	if (ip[0] >> 4 == 6) {
		memcpy(ip, &first, sizeof(first));
		ip[7] = hop_limit;
		return;
	}
	ip[1] = (uint8_t)(traffic >> 20);
	ip[8] = hop_limit;
	memset(ip + 10, 0, sizeof(sum));
	sum = sn_checksum(0, ip, IPV4);
	memcpy(ip + 10, &sum, sizeof(sum));
}

/* Computes the CRC of the outer headers. Annex A17.3.3: 8 bytes of ones in place of InfiniBand's
 * LRH, then IP, then UDP without its checksum. */
static uint32_t crc_of_outer(const struct sn_outer *outer, size_t len)
{
	uint8_t h[8 + SN_OUTER_MAX];

	memset(h, 0xff, 8);
	return (uint32_t)crc32(0, h, (uInt)(8 + sn_outer_put(outer, len, h + 8)));
}

uint32_t sn_icrc(const struct sn_outer *outer, const void *bytes, size_t len)
{
	uint32_t crc = crc_of_outer(outer, len);
	struct sn_bth bth;

	memcpy(&bth, bytes, sizeof(bth));
	bth.dqpn.be |= htobe32(0xff000000u);
	crc = (uint32_t)crc32(crc, (const uint8_t *)&bth, sizeof(bth));
	crc = (uint32_t)crc32(crc, (const uint8_t *)bytes + sizeof(bth), (uInt)(len - sizeof(bth)));
	return htole32(crc);
}

/*
 * A CRC is linear: another identification adds its polynomial, of a degree below 16, times
 * x^(32 + 8 * bytes behind it). So the difference is divided by that power. x has the order 2^32 - 1, and
 * crc32_combine() multiplies by a power of x^8. Bit 31 is the coefficient of x^0.
 */
bool sn_icrc_fits_ident(uint32_t a, uint32_t b, size_t len)
{
	enum { BEHIND = 14 + 8, CRC = 4 };	/* the rest of the IPv4 header, and the UDP header */
	z_off_t back = (z_off_t)UINT32_MAX - (z_off_t)(BEHIND + len + CRC);

	return !(crc32_combine(le32toh(a ^ b), 0, back) & 0xffff);
}
