/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors of an EFA, little-endian, as in efa_io_defs.h of rdma-core and of the kernel driver.
 * A WQE is one slot of the send queue: 64 bytes, or 128 in a QP created with wide WQEs.
 */
#ifndef EFA_WQE_H
#define EFA_WQE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/endian.h"

struct dap_ia;

static inline uint32_t efa_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns the least power of two that is not below n. */
static inline uint32_t efa_pow2_up(uint32_t n)
{
	return n > 1 ? 1u << (32 - __builtin_clz(n - 1)) : 1;
}

enum efa_op { EFA_OP_SEND, EFA_OP_RDMA_READ, EFA_OP_RDMA_WRITE };

enum {					/* efa_io_tx_meta_desc.ctrl1 */
	EFA_TX_HAS_IMM = 0x10, EFA_TX_INLINE = 0x20, EFA_TX_META = 0x80,
	/* efa_io_tx_meta_desc.ctrl2 */
	EFA_TX_PHASE = 0x01, EFA_TX_FIRST = 0x04, EFA_TX_LAST = 0x08, EFA_TX_COMP_REQ = 0x10,
	/* efa_io_cdesc_common.flags */
	EFA_CQE_PHASE = 0x01, EFA_CQE_QUEUE_SHIFT = 1, EFA_CQE_QUEUE_MASK = 0x06,
	EFA_CQE_HAS_IMM = 0x08, EFA_CQE_OP_SHIFT = 4, EFA_CQE_OP_MASK = 0x70,
	EFA_CQE_SQ = 1, EFA_CQE_RQ = 2,
};

#define EFA_RX_FIRST (1u << 30)		/* efa_io_rx_desc.lkey_ctrl */
#define EFA_RX_LAST (1u << 31)
#define EFA_NO_AH 0xffff		/* ah of a CQE whose sender has no address handle here */

struct efa_tx_meta {			/* efa_io_tx_meta_desc */
	le16_t req_id;
	uint8_t ctrl1, ctrl2;
	le16_t dest_qp;
	le16_t length;			/* local segments, or bytes when they are inline */
	le32_t imm;
	le16_t ah;
	uint8_t ctrl3, zero0;
	le32_t qkey;
	uint8_t zero1[12];
};
WIRE_SIZE(struct efa_tx_meta, 32);
WIRE_AT(struct efa_tx_meta, dest_qp, 4);
WIRE_AT(struct efa_tx_meta, imm, 8);
WIRE_AT(struct efa_tx_meta, ah, 12);
WIRE_AT(struct efa_tx_meta, qkey, 16);

struct efa_tx_segment { le32_t length, key, addr_lo, addr_hi; };
WIRE_SIZE(struct efa_tx_segment, 16);

/* efa_wqe_write (sq.h) stores a WQE in words of 64 bits, because the ring is write-combined. */
struct efa_wqe {
	struct efa_tx_meta meta;
	union {
		struct efa_tx_segment seg[2];	/* RDMA: the remote segment, then the local one */
		uint8_t inl[96];	/* 32 bytes in a WQE of 64, 80 in a wide one */
	};
};
WIRE_SIZE(struct efa_wqe, 128);
WIRE_AT(struct efa_wqe, seg[1], 48);

struct efa_rx_desc {			/* efa_io_rx_desc */
	union {
		struct {
			le32_t addr_lo, addr_hi;
			le16_t req_id, length;
			le32_t lkey_ctrl;
		};
		uint64_t word[2];	/* the fast path stores both words, little-endian */
	};
};
WIRE_SIZE(struct efa_rx_desc, 16);
WIRE_AT(struct efa_rx_desc, lkey_ctrl, 12);

struct efa_cqe {			/* 16 or 32 bytes; only a receive has the fields after qp_num */
	le16_t req_id;
	uint8_t status, flags;
	le16_t qp_num;
	le16_t length, ah, src_qp;
	le32_t imm;
	/* in the CQE of a write, the first two bytes are the high bits of its length */
	uint8_t sgid[16];
};
WIRE_SIZE(struct efa_cqe, 32);
WIRE_AT(struct efa_cqe, length, 6);
WIRE_AT(struct efa_cqe, ah, 8);
WIRE_AT(struct efa_cqe, imm, 12);

/* The address handle and the QP number of the sender in one word. */
static inline uint32_t efa_cqe_from(const struct efa_cqe *cqe)
{
	uint32_t from;

	__builtin_memcpy(&from, &cqe->ah, sizeof(from));
	return le32toh(from);
}

static inline unsigned int efa_cqe_op(const struct efa_cqe *cqe)
{
	return (cqe->flags & EFA_CQE_OP_MASK) >> EFA_CQE_OP_SHIFT;
}

enum efa_status {			/* efa_io_comp_status */
	EFA_ST_OK, EFA_ST_FLUSHED, EFA_ST_LOCAL_QP, EFA_ST_UNSUPPORTED_OP, EFA_ST_INVALID_AH,
	EFA_ST_INVALID_LKEY, EFA_ST_LOCAL_LENGTH, EFA_ST_REMOTE_ADDRESS, EFA_ST_REMOTE_ABORT,
	EFA_ST_REMOTE_QPN, EFA_ST_RNR, EFA_ST_REMOTE_LENGTH, EFA_ST_REMOTE_STATUS,
	EFA_ST_UNRESPONSIVE, EFA_ST_UNKNOWN_PEER, EFA_ST_UNREACHABLE,
	EFA_ST_FEATURE_MISMATCH = 18,
};

/* CQ doorbell, efa_io_regs_defs.h. */
static inline uint32_t efa_cq_doorbell(uint16_t consumed, unsigned int cmd_sn, bool arm)
{
	return consumed | (cmd_sn & 3) << 29 | (uint32_t)arm << 31;
}

/* ---- decode.c: text for messages ---- */
struct efa_status_info {
	const char *name, *cure;	/* cure: the likely cause, or a remedy */
	uint8_t dto_status;		/* enum dap_dto_status of a request that fails with it */
};
const struct efa_status_info *efa_status_info(unsigned int status);
#define EFA_CQE_TEXT 240u		/* bytes of a CQE as text */
const char *efa_decode_cqe(const struct efa_cqe *cqe, char *buf, size_t len);
void efa_log_dropped(unsigned int level, const struct dap_ia *ia, const char *what,
		     const struct efa_cqe *cqe);

#endif
