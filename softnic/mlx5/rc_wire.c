/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <zlib.h>

#include "softnic/mlx5/rc_wire.h"

#define F SN_P_FIRST
#define L SN_P_LAST
#define FL (SN_P_FIRST | SN_P_LAST)
#define D SN_P_PAYLOAD

/* IBTA table 38 and figure 64 ff.: which headers follow the BTH. */
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

static void parse_extended(const uint8_t *at, struct sn_packet *pkt)
{
	unsigned int parts = pkt->shape->parts;

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

bool sn_packet_parse(const void *bytes, size_t len, struct sn_packet *pkt)
{
	uint8_t head[SN_HEADER_MAX];
	struct sn_bth bth;
	uint32_t pad, header;

	if (len < sizeof(bth) + SN_ICRC)
		return false;
	memcpy(head, bytes, len < sizeof(head) ? len : sizeof(head));
	/* The sender may still write: from here on only the copy counts, whatever gcc would like. */
	__asm__ volatile("" ::: "memory");
	memcpy(&bth, head, sizeof(bth));
	if (bth.opcode >= SN_BTH_OPCODES || (bth.flags & 0x0f))
		return false;
	pkt->shape = &sn_bth_shapes[bth.opcode];
	header = pkt->shape->header;
	pad = bth.flags >> SN_BTH_PAD_SHIFT & 3;
	if (pkt->shape->class == SN_C_NONE || len < header + pad + SN_ICRC || len % 4)
		return false;
	pkt->opcode = bth.opcode;
	pkt->dqpn = from_be32(bth.dqpn) & 0xffffff;
	pkt->psn = from_be32(bth.psn) & SN_PSN_MASK;
	pkt->ackreq = from_be32(bth.psn) & SN_BTH_ACKREQ;
	pkt->solicited = bth.flags & SN_BTH_SE;
	pkt->payload = (const uint8_t *)bytes + header;
	pkt->len = (uint32_t)len - header - pad - SN_ICRC;
	parse_extended(head + sizeof(bth), pkt);
	return pkt->len == 0 || (pkt->shape->parts & SN_P_PAYLOAD);
}

/* IP, UDP and the leading ones of annex A17.3.3, with what routers change masked out. */
static uint32_t crc_of_outer(const uint8_t src[16], const uint8_t dst[16], size_t len)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t h[8 + 40 + 8], *ip = h + 8, *udp;
	uint16_t udp_len = (uint16_t)(len + SN_ICRC + 8);
	bool v4 = !memcmp(src, mapped, 12) && !memcmp(dst, mapped, 12);

	memset(h, 0xff, 8);
	if (v4) {
		uint16_t total = (uint16_t)(udp_len + 20);

		memcpy(ip, (uint8_t[]){0x45, 0xff, (uint8_t)(total >> 8), (uint8_t)total, 0, 0,
				       0x40, 0, 0xff, 17, 0xff, 0xff}, 12);
		memcpy(ip + 12, src + 12, 4);
		memcpy(ip + 16, dst + 12, 4);
		udp = ip + 20;
	} else {
		memcpy(ip, (uint8_t[]){0x6f, 0xff, 0xff, 0xff, (uint8_t)(udp_len >> 8),
				       (uint8_t)udp_len, 17, 0xff}, 8);
		memcpy(ip + 8, src, 16);
		memcpy(ip + 24, dst, 16);
		udp = ip + 40;
	}
	/* Source port 0xc000, destination 4791, checksum masked. */
	memcpy(udp, (uint8_t[]){0xc0, 0x00, 0x12, 0xb7, (uint8_t)(udp_len >> 8), (uint8_t)udp_len,
				0xff, 0xff}, 8);
	return (uint32_t)crc32(0, h, (uInt)(udp + 8 - h));
}

uint32_t sn_icrc(const uint8_t src[16], const uint8_t dst[16], const struct iovec *iov,
		 unsigned int n)
{
	struct sn_bth bth;
	uint32_t crc;
	size_t len = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	crc = crc_of_outer(src, dst, len);
	memcpy(&bth, iov[0].iov_base, sizeof(bth));
	bth.dqpn.be |= htobe32(0xff000000u);
	crc = (uint32_t)crc32(crc, (const uint8_t *)&bth, sizeof(bth));
	for (i = 0; i < n; i++) {
		size_t skip = i ? 0 : sizeof(bth);

		crc = (uint32_t)crc32(crc, (const uint8_t *)iov[i].iov_base + skip,
				      (uInt)(iov[i].iov_len - skip));
	}
	return crc;
}
