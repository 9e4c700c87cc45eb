/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol between two software EFAs. SRD's own format is not public; this one has its public
 * properties: each packet arrives at most once and is acknowledged by itself, with the responder's
 * status. Both devices are on one host, so fields are in host byte order.
 */
#ifndef SNE_WIRE_H
#define SNE_WIRE_H

#include <stdint.h>

#include "softnic/be.h"

#define SNE_MAGIC UINT32_C(0x53454641)
enum { SNE_VERSION = 2, SNE_MTU = 8928 };

enum sne_kind {
	SNE_K_ACK = 1,
	SNE_K_DATAGRAM,		/* a datagram of a UD QP, neither numbered nor acknowledged */
	SNE_K_SEND,
	SNE_K_WRITE,		/* one piece of a write */
	SNE_K_READ,		/* a read request */
	SNE_K_DATA,		/* one piece of a read's data, or the status of its failure */
};

enum {
	SNE_F_IMM = 1,
	SNE_F_UNSOLICITED = 2,	/* set if the sending QP allows unsolicited writes */
};

struct sne_hdr {
	uint32_t magic;
	uint8_t version, kind, flags, status;
	/* random numbers of both devices, chosen when they open; dst is 0 until the peer's is known */
	uint32_t src_life, dst_life;
	/* number of this packet in the flow; in an ACK, number of the first acknowledged packet */
	uint32_t seq;
	/* all packets before this number are complete and will not be sent again */
	uint32_t una;
	uint16_t src_qpn, dst_qpn;
	uint32_t qkey;
	/* number of the message, counted by the sender for each QP */
	uint32_t msg;
	/* the length of the message; offset and length of this piece */
	uint32_t msg_len, off, len;
	uint32_t imm, rkey;
	uint64_t addr;			/* address of the message's first byte at the target */
};
SN_SIZE(struct sne_hdr, 64);

/* The payload of an ACK: further packets that it acknowledges, each with its own status. */
struct sne_ack {
	uint32_t seq, status;
};
SN_SIZE(struct sne_ack, 8);

#endif
