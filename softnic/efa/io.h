/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Descriptors and completions of an EFA, from rdma-core's efa_io_defs.h; the doorbell of a CQ from
 * efa_io_regs_defs.h. This is the model's own copy, independent of the driver that it checks.
 */
#ifndef SNE_IO_H
#define SNE_IO_H

#include "softnic/be.h"
#include "softnic/le.h"

enum sne_op { SNE_SEND = 0, SNE_READ = 1, SNE_WRITE = 2 };
enum sne_queue { SNE_SQ = 1, SNE_RQ = 2 };

enum sne_status {
	SNE_OK = 0,
	SNE_FLUSHED = 1,
	SNE_QP_INTERNAL = 2,
	SNE_UNSUPPORTED_OP = 3,
	SNE_INVALID_AH = 4,
	SNE_INVALID_LKEY = 5,
	SNE_BAD_LENGTH = 6,
	SNE_REMOTE_BAD_ADDRESS = 7,
	SNE_REMOTE_ABORT = 8,
	SNE_REMOTE_BAD_QPN = 9,
	SNE_REMOTE_RNR = 10,
	SNE_REMOTE_BAD_LENGTH = 11,
	SNE_REMOTE_BAD_STATUS = 12,
	SNE_UNRESPONSIVE = 13,
	SNE_UNKNOWN_PEER = 14,
	SNE_UNREACHABLE = 15,
	SNE_FEATURE_MISMATCH = 18,
};

/* fields of sne_tx_meta.ctrl1 */
#define SNE_C1_OP 0x0f
#define SNE_C1_IMM 0x10
#define SNE_C1_INLINE 0x20
#define SNE_C1_MBZ 0x40
#define SNE_C1_META 0x80
/* fields of ctrl2 */
#define SNE_C2_PHASE 0x01
#define SNE_C2_FIRST 0x04
#define SNE_C2_LAST 0x08
#define SNE_C2_COMP 0x10
#define SNE_C2_MBZ 0xe2
/* fields of ctrl3 */
#define SNE_C3_MBZ 0xfc

struct sne_tx_meta {
	le16_t req_id;
	uint8_t ctrl1, ctrl2;
	le16_t dest_qpn;
	/* length in bytes of inline data, or the number of buffers */
	le16_t length;
	le32_t imm;
	le16_t ah;
	uint8_t ctrl3, rsvd15;
	le32_t qkey;
	uint8_t rsvd20[6];
	le16_t req_id_ex[3];
};
SN_SIZE(struct sne_tx_meta, 32);
SN_AT(struct sne_tx_meta, imm, 8);
SN_AT(struct sne_tx_meta, qkey, 16);
SN_AT(struct sne_tx_meta, req_id_ex, 26);

#define SNE_LKEY_MASK UINT32_C(0xffffff)

struct sne_tx_buf {
	le32_t length, lkey, addr_lo, addr_hi;
};
SN_SIZE(struct sne_tx_buf, 16);

struct sne_tx_remote {
	le32_t length, rkey, addr_lo, addr_hi;
};
SN_SIZE(struct sne_tx_remote, 16);

/* a WQE has all 128 bytes, or only the first 64 */
struct sne_tx_wqe {
	struct sne_tx_meta meta;
	union {
		struct sne_tx_buf buf[2];
		uint8_t data[80];
		struct {
			struct sne_tx_remote remote;
			union {
				struct sne_tx_buf local;
				uint8_t data[80];
			};
		} rdma;
		uint8_t raw[96];
	};
};
SN_SIZE(struct sne_tx_wqe, 128);
SN_AT(struct sne_tx_wqe, rdma.local, 48);

#define SNE_RX_FIRST (UINT32_C(1) << 30)
#define SNE_RX_LAST (UINT32_C(1) << 31)
#define SNE_RX_MBZ UINT32_C(0x3f000000)

struct sne_rx_desc {
	le32_t addr_lo, addr_hi;
	le16_t req_id, length;
	le32_t lkey_ctrl;
};
SN_SIZE(struct sne_rx_desc, 16);

#define SNE_CQE_PHASE 0x01
#define SNE_CQE_QUEUE_SHIFT 1
#define SNE_CQE_IMM 0x08
#define SNE_CQE_OP_SHIFT 4
#define SNE_CQE_UNSOLICITED 0x80
#define SNE_AH_UNKNOWN 0xffff

/* a CQE has all 32 bytes, or only the first 16 */
struct sne_cqe {
	le16_t req_id;
	uint8_t status, flags;
	le16_t qpn;
	union {
		struct {
			le16_t req_id_ex[3];
			uint8_t rsvd[4];
		} tx;
		struct {
			le16_t length, ah, src_qpn;
			le16_t imm_lo, imm_hi;
		} rx;
	};
	union {
		le16_t length_hi;	/* exists only in the CQE of a write */
		uint8_t sgid[16];
	};
};
SN_SIZE(struct sne_cqe, 32);
SN_AT(struct sne_cqe, rx.imm_lo, 12);
SN_AT(struct sne_cqe, sgid, 16);

#define SNE_CQ_DB_SN_SHIFT 29
#define SNE_CQ_DB_ARM (UINT32_C(1) << 31)

#endif
