/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queue and completion queue elements (PRM, "Work Request (WQE) Formats" and "Completion
 * Queue Entry").
 */
#ifndef M5_WQE_H
#define M5_WQE_H

#include "core/endian.h"

#define M5_BB 64			/* size of the blocks of a send WQE */
#define M5_BB_SHIFT 6
#define M5_DS 16			/* unit of a WQE's length */
#define M5_BF_BLOCKS 4			/* a BlueFlame buffer has 256 bytes */
#define M5_MAX_IOV 30			/* ctrl, remote address and 30 segments fill 8 blocks */
#define M5_LONGEST_WQE ((2 + M5_MAX_IOV) * M5_DS)

enum m5_wqe_opcode {
	M5_OP_NOP = 0x00,
	M5_OP_SEND_INVAL = 0x01,
	M5_OP_RDMA_WRITE = 0x08,
	M5_OP_RDMA_WRITE_IMM = 0x09,
	M5_OP_SEND = 0x0a,
	M5_OP_SEND_IMM = 0x0b,
	M5_OP_RDMA_READ = 0x10,
	M5_OP_ATOMIC_CS = 0x11,
	M5_OP_ATOMIC_FA = 0x12,
	M5_OP_UMR = 0x25,
};

/* fm_ce_se: fence in bits 7:5, completion mode in 3:2, solicited in bit 1 */
enum {
	M5_FENCE_SMALL = 1 << 5,	/* wait for key changes on this queue */
	M5_FENCE_READ = 2 << 5,		/* wait for RDMA reads and atomics */
	M5_FENCE_STRONG = 3 << 5,	/* wait for all previous work */
	M5_FENCE_SMALL_READ = 4 << 5,	/* wait for key changes, and for RDMA reads and atomics */
	M5_CE_ERROR = 0 << 2,		/* CQE only if it fails */
	M5_CE_ALWAYS = 2 << 2,
	M5_SE = 1 << 1,
};

struct m5_ctrl_seg {
	be32_t opmod_idx_opcode;	/* fields: opmod 31:24, index 23:8, opcode 7:0 */
	be32_t qpn_ds;			/* fields: qpn 31:8, ds 5:0 */
	uint8_t signature, stream[2], fm_ce_se;
	be32_t imm;			/* immediate, rkey to invalidate, or mkey of a UMR */
};
WIRE_SIZE(struct m5_ctrl_seg, 16);
WIRE_AT(struct m5_ctrl_seg, fm_ce_se, 11);

struct m5_raddr_seg {
	be64_t va;
	be32_t rkey, rsvd;
};
WIRE_SIZE(struct m5_raddr_seg, 16);

/* byte_count 0 means 2 GiB, so empty segments are never written. */
struct m5_data_seg {
	be32_t byte_count, lkey;
	be64_t va;
};
WIRE_SIZE(struct m5_data_seg, 16);

/* First segment of a receive in an SRQ. */
struct m5_next_seg {
	be16_t rsvd0, next_wqe_index;
	uint8_t signature, rsvd5[11];
};
WIRE_SIZE(struct m5_next_seg, 16);
WIRE_AT(struct m5_next_seg, next_wqe_index, 2);
#define M5_NULL_LKEY 0x100u		/* ends the list of a receive */
#define M5_INLINE_SEG 0x80000000u	/* bit of byte_count: data follows, padded to 16 bytes */

struct m5_umr_ctrl_seg {
	uint8_t flags, rsvd[3];		/* flags M5_UMR_* */
	be16_t klm_octowords, translation_offset;
	be64_t mkey_mask;		/* bits M5_MASK_* */
	uint8_t rsvd16[32];
};
WIRE_SIZE(struct m5_umr_ctrl_seg, 48);
enum {
	M5_UMR_INLINE = 1 << 7,
	M5_UMR_CHECK_FREE = 1 << 5,
	M5_UMR_TRANSLATION_OFFSET = 1 << 4,
	M5_UMR_CHECK_QPN = 1 << 3,
};
enum {
	M5_MASK_LEN = 1 << 0,
	M5_MASK_START = 1 << 6,
	M5_MASK_KEY = 1 << 13,
	M5_MASK_QPN = 1 << 14,
	M5_MASK_LW = 1 << 18,
	M5_MASK_RR = 1 << 19,
	M5_MASK_RW = 1 << 20,
	M5_MASK_FREE = 1 << 29,
};

struct m5_mkey_seg {
	uint8_t free, rsvd1, access, rsvd3;
	be32_t qpn_key;			/* fields: qpn 31:8, key 7:0 */
	be32_t rsvd8, flags_pd;
	be64_t start, len;
	uint8_t rsvd32[32];
};
WIRE_SIZE(struct m5_mkey_seg, 64);
WIRE_AT(struct m5_mkey_seg, start, 16);
enum { M5_SEG_FREE = 1 << 6, M5_SEG_RR = 1 << 4, M5_SEG_RW = 1 << 5 };

struct m5_klm_seg {
	be32_t byte_count, mkey;
	be64_t va;
};
WIRE_SIZE(struct m5_klm_seg, 16);
#define M5_KLM_SLOTS 4			/* an inline list is padded to 64 bytes */
#define M5_KLM_MAX (1u << 30)		/* a KLM holds less than 2 GiB */

/* ctrl + umr ctrl, mkey, KLM list: each fills one block. */
#define M5_BIND_BLOCKS 3
#define M5_UNBIND_BLOCKS 2

enum m5_cqe_opcode {
	M5_CQE_REQ = 0,
	M5_CQE_RESP_WRITE_IMM = 1,
	M5_CQE_RESP_SEND = 2,
	M5_CQE_RESP_SEND_IMM = 3,
	M5_CQE_RESP_SEND_INV = 4,
	M5_CQE_RESIZE = 5,
	M5_CQE_REQ_ERR = 13,
	M5_CQE_RESP_ERR = 14,
	M5_CQE_INVALID = 15,
};

struct m5_cqe {
	uint8_t small[32];		/* data, in format M5_CQE_SMALL32 */
	be32_t uidx;			/* user index in bits 23:0 */
	be32_t imm;
	be32_t rsvd40;
	be32_t byte_cnt;
	be64_t timestamp;
	be32_t opcode_qpn;		/* fields: opcode of the send WQE 31:24, qpn 23:0 */
	be16_t wqe_counter;		/* index of the WQE's first block, or of the receive */
	uint8_t signature;
	uint8_t op_own;			/* fields: opcode 7:4, format 3:2, solicited 1, owner 0 */
};
WIRE_SIZE(struct m5_cqe, 64);
WIRE_AT(struct m5_cqe, uidx, 32);
WIRE_AT(struct m5_cqe, byte_cnt, 44);
WIRE_AT(struct m5_cqe, opcode_qpn, 56);
WIRE_AT(struct m5_cqe, wqe_counter, 60);
WIRE_AT(struct m5_cqe, op_own, 63);

/* Offset in an error CQE, within the eight bytes of the timestamp. */
#define M5_CQE_AT_VENDOR 54
#define M5_CQE_AT_SYNDROME 55

/* PRM, scatter to CQE: the CQE begins with up to 32 bytes of data. */
#define M5_CQE_FORMAT 0x0c
#define M5_CQE_SMALL32 0x04

/* True for errors and for all formats but the plain one: a single test for the hot path. */
static inline int m5_cqe_is_slow(uint8_t op_own)
{
	return (op_own & (0x80 | M5_CQE_FORMAT)) != 0;
}

enum m5_syndrome {
	M5_SYN_LOCAL_LENGTH = 0x01,
	M5_SYN_LOCAL_QP_OP = 0x02,
	M5_SYN_LOCAL_PROT = 0x04,
	M5_SYN_FLUSHED = 0x05,
	M5_SYN_MW_BIND = 0x06,
	M5_SYN_BAD_RESP = 0x10,
	M5_SYN_LOCAL_ACCESS = 0x11,
	M5_SYN_REMOTE_INVAL_REQ = 0x12,
	M5_SYN_REMOTE_ACCESS = 0x13,
	M5_SYN_REMOTE_OP = 0x14,
	M5_SYN_RETRY_EXCEEDED = 0x15,
	M5_SYN_RNR_EXCEEDED = 0x16,
	M5_SYN_REMOTE_ABORTED = 0x22,
};

#endif
