/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of reliable connections and datagrams, as in RoCEv2 behind UDP port 4791: IBTA volume 1,
 * chapter 9.2 to 9.6 and annex A17. BTH, extended headers, payload padded to 4 bytes, ICRC.
 */
#ifndef SN_RC_WIRE_H
#define SN_RC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "softnic/be.h"

#define SN_PSN_MASK 0xffffffu
#define SN_PKEY_DEFAULT 0xffffu
#define SN_UDP_PORT 4791

enum sn_bth_opcode {
	SN_BTH_SEND_FIRST = 0x00,
	SN_BTH_SEND_MIDDLE = 0x01,
	SN_BTH_SEND_LAST = 0x02,
	SN_BTH_SEND_LAST_IMM = 0x03,
	SN_BTH_SEND_ONLY = 0x04,
	SN_BTH_SEND_ONLY_IMM = 0x05,
	SN_BTH_WRITE_FIRST = 0x06,
	SN_BTH_WRITE_MIDDLE = 0x07,
	SN_BTH_WRITE_LAST = 0x08,
	SN_BTH_WRITE_LAST_IMM = 0x09,
	SN_BTH_WRITE_ONLY = 0x0a,
	SN_BTH_WRITE_ONLY_IMM = 0x0b,
	SN_BTH_READ_REQUEST = 0x0c,
	SN_BTH_READ_RESP_FIRST = 0x0d,
	SN_BTH_READ_RESP_MIDDLE = 0x0e,
	SN_BTH_READ_RESP_LAST = 0x0f,
	SN_BTH_READ_RESP_ONLY = 0x10,
	SN_BTH_ACK = 0x11,
	SN_BTH_ATOMIC_ACK = 0x12,
	SN_BTH_COMPARE_SWAP = 0x13,
	SN_BTH_FETCH_ADD = 0x14,
	SN_BTH_SEND_LAST_INV = 0x16,
	SN_BTH_SEND_ONLY_INV = 0x17,
	SN_BTH_OPCODES = 0x18,		/* number of opcodes of reliable connections */
	SN_BTH_UD_SEND_ONLY = 0x64,
	SN_BTH_UD_SEND_ONLY_IMM = 0x65,
};

struct sn_bth {
	uint8_t opcode;
	uint8_t flags;		/* SE 0x80, M 0x40, pad count 0x30, version 0x0f */
	be16_t pkey;
	be32_t dqpn;		/* reserved(8) destination QPN(24) */
	be32_t psn;		/* AckReq(1) reserved(7) PSN(24); here the 7 bits hold the train length */
};
SN_SIZE(struct sn_bth, 12);

#define SN_BTH_SE 0x80u
#define SN_BTH_PAD_SHIFT 4
#define SN_BTH_ACKREQ 0x80000000u
#define SN_BTH_TRAIN_SHIFT 24
#define SN_BTH_TRAIN_MAX 128u

struct sn_reth {
	be64_t va;
	be32_t rkey;
	be32_t len;
} __attribute__((packed, aligned(4)));
SN_SIZE(struct sn_reth, 16);

struct sn_aeth {
	be32_t word;		/* syndrome(8) MSN(24) */
};
SN_SIZE(struct sn_aeth, 4);

struct sn_deth {
	be32_t qkey;
	be32_t sqpn;		/* reserved(8) source QPN(24) */
};
SN_SIZE(struct sn_deth, 8);

/*
 * After the DETH within a host: fields of the GRH or IP header for the receiver. The fabric itself carries
 * only the addresses.
 */
struct sn_ip {
	be32_t tclass_flow;	/* 6(4) traffic class(8) flow label(20) */
	uint8_t rsvd[3], hop_limit;
};
SN_SIZE(struct sn_ip, 8);

struct sn_atomiceth {
	be64_t va;
	be32_t rkey;
	be64_t swap_add;
	be64_t compare;
} __attribute__((packed, aligned(4)));
SN_SIZE(struct sn_atomiceth, 28);

struct sn_atomicacketh {
	be64_t original;
} __attribute__((packed, aligned(4)));
SN_SIZE(struct sn_atomicacketh, 8);

/* AETH syndromes: ACK with the credit field "not counted", RNR NAK, NAK */
#define SN_AETH_KIND 0xe0u
#define SN_AETH_ACK 0x00u
#define SN_AETH_RNR 0x20u
#define SN_AETH_NAK 0x60u
#define SN_AETH_VALUE 0x1fu
#define SN_AETH_NO_CREDIT 0x1fu

enum sn_nak_code {
	SN_NAK_SEQUENCE = 0,
	SN_NAK_INVALID_REQUEST = 1,
	SN_NAK_REMOTE_ACCESS = 2,
	SN_NAK_REMOTE_OPERATIONAL = 3,
	SN_NAK_NONE = 4,	/* no NAK is sent, as in class J of IBTA 9.9.6.3 */
};

/* Flags of an opcode. */
enum sn_bth_part {
	SN_P_FIRST = 1 << 0,	/* first packet of a message */
	SN_P_LAST = 1 << 1,	/* last packet of a message */
	SN_P_RETH = 1 << 2,
	SN_P_AETH = 1 << 3,
	SN_P_IMM = 1 << 4,	/* the packet has an ImmDt header */
	SN_P_INV = 1 << 5,	/* the packet has an IETH header */
	SN_P_ATOMIC = 1 << 6,	/* the packet has an AtomicETH header */
	SN_P_ATOMIC_ACK = 1 << 7,
	SN_P_PAYLOAD = 1 << 8,
	SN_P_DETH = 1 << 9,
	SN_P_IP = 1 << 10,	/* struct sn_ip follows the DETH */
};

enum sn_bth_class {
	SN_C_NONE,
	SN_C_SEND,
	SN_C_WRITE,
	SN_C_READ,
	SN_C_ATOMIC,
	SN_C_READ_RESP,		/* from here on: classes of packets for the requester */
	SN_C_ACK,
	SN_C_ATOMIC_ACK,
	SN_C_DATAGRAM,		/* the datagram class: the packet belongs to no connection */
};

struct sn_bth_shape {
	uint8_t class, header;	/* header: length of all headers together */
	uint16_t parts;
};

extern const struct sn_bth_shape sn_bth_shapes[SN_BTH_OPCODES];

/* The length of the longest headers, BTH and AtomicETH. */
#define SN_HEADER_MAX 40
#define SN_ICRC 4

/* A parsed packet. Headers are copied; the payload stays in the ring. */
struct sn_packet {
	const struct sn_bth_shape *shape;
	uint32_t dqpn, psn;
	uint16_t pkey;
	uint8_t opcode, train;	/* train: number of packets behind this header */
	bool solicited, ackreq;
	struct sn_deth deth;
	struct sn_ip ip;
	struct sn_reth reth;
	struct sn_aeth aeth;
	struct sn_atomiceth atomic;
	be64_t original;
	be32_t imm;		/* the immediate or the rkey, from ImmDt or IETH */
	const uint8_t *payload;
	uint32_t len;
};

/* False: the packet is malformed, or of an unknown service. far: it came from another host. */
bool sn_packet_parse(const void *bytes, size_t len, bool far, struct sn_packet *pkt);

/* Labels a packet for the rules of a fault script, whose operations are sn_packet_ops. False: the packet is
 * malformed. */
struct sn_fab_label;
bool sn_packet_label(const void *bytes, size_t len, struct sn_fab_label *label);
extern const char *const sn_packet_ops[];

/* The outer headers of a packet; an IPv4-mapped GID means IPv4. */
struct sn_outer {
	uint8_t src[16], dst[16];
	uint16_t ident;			/* identification field of IPv4 */
	uint16_t sport, dport;		/* ports of UDP; dport 0: that of RoCEv2 */
};

#define SN_OUTER_MAX (40 + 8)
/*
 * Writes the headers of IP and UDP in front of len bytes and an ICRC. Fields that a router may change, and
 * the checksum of UDP, are ones. Returns the length of both headers.
 */
size_t sn_outer_put(const struct sn_outer *outer, size_t len, uint8_t *head);
/*
 * Fills in the fields of the IP header that a router may change, as a sender does. traffic: traffic class(8)
 * flow label(20).
 */
void sn_ip_finish(uint8_t *ip, uint32_t traffic, uint8_t hop_limit);
/* RFC 1071. sum: what is added to the sum over the bytes. */
be16_t sn_checksum(uint32_t sum, const uint8_t *bytes, size_t len);

/*
 * The invariant CRC as sent on the wire, over len bytes (everything except the ICRC itself). Fields that a
 * router may change count as ones.
 */
uint32_t sn_icrc(const struct sn_outer *outer, const void *bytes, size_t len);
/*
 * Can the identification of an IPv4 packet explain why its ICRC differs from one that sn_icrc computed for
 * another identification? len: length of what the ICRC covers from the BTH on.
 */
bool sn_icrc_fits_ident(uint32_t a, uint32_t b, size_t len);

/* Returns how far PSN a is ahead of b, in [-2^23, 2^23). */
static inline int32_t sn_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t sn_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & SN_PSN_MASK;
}

#endif
