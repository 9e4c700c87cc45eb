/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol of two hw_efa drivers over SRD, which delivers each packet once, in any order. The
 * header of a packet is its immediate word, so that the payload starts at offset 0:
 *
 *	31:29	kind
 *	28	wakes a waiter for solicited messages (DAT_COMPLETION_SOLICITED_WAIT)
 *	27:12	sequence number
 *	11:0	acknowledgement: low bits of the number of places freed so far in the window
 *
 * Sends and RDMA writes of a direction have one sequence. A receiver delivers the longest prefix that has
 * arrived, so a message is delivered after all writes before it. Each number is one credit and takes one
 * receive and one completion at the peer. A sender without credit waits, so RNR does not occur.
 */
#ifndef EFA_PROTO_H
#define EFA_PROTO_H

#include <stdbool.h>

#include "core/endian.h"

#define EFA_PROTO_VERSION 4u
#define EFA_PROTO (0x65660000u | EFA_PROTO_VERSION)	/* the letters "ef" and the version */

enum efa_kind {
	EFA_K_MSG,			/* the packet is a whole message */
	EFA_K_FIRST,			/* efa_first, then the first bytes of a message */
	EFA_K_NEXT,			/* the next bytes of that message */
	EFA_K_CTRL,			/* an efa_ctrl_msg with a sequence number */
	EFA_K_UNSEQ,			/* an efa_ctrl_msg without a sequence number, which is 0 */
	EFA_K_WRITE,			/* the immediate of an RDMA write */
	EFA_KINDS
};

#define EFA_IMM_SE (1u << 28)
#define EFA_ACK_MASK 0xfffu
/* most packets in a window; 12 bits still distinguish old acks from new ones */
#define EFA_MAX_WINDOW 1024u
/* An ack may be this far ahead of the oldest ack in flight. Otherwise the peer could take the
 * oldest one for a new one. */
#define EFA_MAX_AHEAD (EFA_ACK_MASK - EFA_MAX_WINDOW)
#define EFA_LOOK_EACH (EFA_MAX_AHEAD / 3)	/* acks between two updates of oldest_ack */

static inline uint32_t efa_imm(enum efa_kind kind, bool se, uint32_t seq, uint32_t ack)
{
	return (uint32_t)kind << 29 | (se ? EFA_IMM_SE : 0) | (seq & 0xffff) << 12 |
	       (ack & EFA_ACK_MASK);
}

struct efa_first { le32_t total, zero; };
WIRE_SIZE(struct efa_first, 8);

enum efa_ctrl_op {
	EFA_C_RTS = 1,			/* the peer must read a message from these segments */
	EFA_C_CREDIT,			/* carries only the ack in the header */
	/* the request with this id is complete; flags: a value of enum dap_dto_status */
	EFA_C_FIN,
	EFA_C_RW,			/* emulated write to seg[0]; the data follows */
};

enum {
	EFA_CTRL_LAST = 1,		/* flag of RW: the sender waits for its FIN */
	EFA_CTRL_ASK = 1,		/* flag of CREDIT: the sender waits for acks */
};

struct efa_seg { le32_t addr_lo, addr_hi, len, rkey; };
WIRE_SIZE(struct efa_seg, 16);

#define EFA_MAX_IOV 30u			/* most segments of a DTO */

struct efa_ctrl_msg {
	uint8_t op, flags;
	le16_t nseg;
	le32_t id;			/* number of the request at its sender */
	le32_t total_lo, total_hi;
	struct efa_seg seg[];
};
WIRE_SIZE(struct efa_ctrl_msg, 16);

/*
 * The backend's part of the connection request and reply (dap_path.own), big-endian like the rest.
 */
enum { EFA_CAN_WRITE = 1, EFA_CAN_ALL = 1 };	/* bits of caps */

struct efa_own {
	be32_t qkey;
	be16_t window;
	uint8_t caps, zero;
};
WIRE_SIZE(struct efa_own, 8);

#endif
