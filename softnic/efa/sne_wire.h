/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol between two software EFAs. SRD's own format is not public; this one has the properties
 * that are: each packet arrives at most once and is acknowledged by itself, with the responder's status.
 * Both ends are on one host: host byte order.
 */
#ifndef SNE_WIRE_H
#define SNE_WIRE_H

#include <stdint.h>

#include "softnic/be.h"

#define SNE_MAGIC UINT32_C(0x53454641)
enum { SNE_VERSION = 1, SNE_MTU = 8928 };

enum sne_kind {
	SNE_K_ACK = 1,
	SNE_K_DATAGRAM,		/* of a UD QP: neither numbered nor acknowledged */
	SNE_K_SEND,
	SNE_K_WRITE,		/* one piece */
	SNE_K_READ,		/* the request */
	SNE_K_DATA,		/* one piece of the data, or the status of a failure */
};

enum {
	SNE_F_IMM = 1,
	SNE_F_UNSOLICITED = 2,	/* the sending QP's setting */
};

struct sne_hdr {
	uint32_t magic;
	uint8_t version, kind, flags, status;
	uint32_t src_life, dst_life;	/* random for each open device; dst 0: unknown yet */
	uint32_t seq;			/* in the flow; ACK: of the acknowledged packet */
	uint32_t una;			/* all before are complete and will not be sent again */
	uint16_t src_qpn, dst_qpn;
	uint32_t qkey;
	uint32_t msg;			/* the sender's number of the message, in its QP */
	uint32_t msg_len, off, len;	/* of the message; of this piece */
	uint32_t imm, rkey;
	uint64_t addr;			/* start of the message, at the target */
};
SN_SIZE(struct sne_hdr, 64);

#endif
