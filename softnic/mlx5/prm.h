/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Command layouts as the manual's tables give them: bit offsets, see struct sn_fld. Offsets that
 * start with the name of a context (CQC_, QPC_, ...) count from the start of that context; the
 * AT_ constants are byte offsets of contexts and lists inside their command.
 */
#ifndef SN_PRM_H
#define SN_PRM_H

#include "softnic/be.h"

/* PRM "Command opcodes" */
enum {
	CMD_QUERY_HCA_CAP = 0x100,
	CMD_QUERY_ADAPTER = 0x101,
	CMD_INIT_HCA = 0x102,
	CMD_TEARDOWN_HCA = 0x103,
	CMD_ENABLE_HCA = 0x104,
	CMD_DISABLE_HCA = 0x105,
	CMD_QUERY_PAGES = 0x107,
	CMD_MANAGE_PAGES = 0x108,
	CMD_SET_HCA_CAP = 0x109,
	CMD_QUERY_ISSI = 0x10a,
	CMD_SET_ISSI = 0x10b,
	CMD_CREATE_MKEY = 0x200,
	CMD_QUERY_MKEY = 0x201,
	CMD_DESTROY_MKEY = 0x202,
	CMD_QUERY_SPECIAL_CONTEXTS = 0x203,
	CMD_CREATE_EQ = 0x301,
	CMD_DESTROY_EQ = 0x302,
	CMD_QUERY_EQ = 0x303,
	CMD_CREATE_CQ = 0x400,
	CMD_DESTROY_CQ = 0x401,
	CMD_QUERY_CQ = 0x402,
	CMD_MODIFY_CQ = 0x403,
	CMD_CREATE_QP = 0x500,
	CMD_DESTROY_QP = 0x501,
	CMD_RST2INIT_QP = 0x502,
	CMD_INIT2RTR_QP = 0x503,
	CMD_RTR2RTS_QP = 0x504,
	CMD_RTS2RTS_QP = 0x505,
	CMD_SQERR2RTS_QP = 0x506,
	CMD_2ERR_QP = 0x507,
	CMD_2RST_QP = 0x50a,
	CMD_QUERY_QP = 0x50b,
	CMD_MAD_IFC = 0x50d,
	CMD_INIT2INIT_QP = 0x50e,
	CMD_CREATE_XRC_SRQ = 0x705,
	CMD_DESTROY_XRC_SRQ = 0x706,
	CMD_QUERY_VPORT_STATE = 0x750,
	CMD_QUERY_NIC_VPORT_CONTEXT = 0x754,
	CMD_MODIFY_NIC_VPORT_CONTEXT = 0x755,
	CMD_QUERY_ROCE_ADDRESS = 0x760,
	CMD_SET_ROCE_ADDRESS = 0x761,
	CMD_QUERY_HCA_VPORT_CONTEXT = 0x762,
	CMD_QUERY_HCA_VPORT_GID = 0x764,
	CMD_QUERY_HCA_VPORT_PKEY = 0x765,
	CMD_ALLOC_PD = 0x800,
	CMD_DEALLOC_PD = 0x801,
	CMD_ALLOC_UAR = 0x802,
	CMD_DEALLOC_UAR = 0x803,
	CMD_ACCESS_REG = 0x805,
	CMD_ALLOC_XRCD = 0x80e,
	CMD_DEALLOC_XRCD = 0x80f,
	CMD_QUERY_LAG = 0x842,
	CMD_CREATE_RMP = 0x90c,
	CMD_MODIFY_RMP = 0x90d,
	CMD_DESTROY_RMP = 0x90e,
	CMD_QUERY_RMP = 0x90f,
	CMD_CREATE_UCTX = 0xa04,
	CMD_DESTROY_UCTX = 0xa06,
	CMD_CREATE_UMEM = 0xa08,
	CMD_DESTROY_UMEM = 0xa0a,
};

/* PRM "Command status" */
enum {
	STAT_OK = 0x00,
	STAT_INT_ERR = 0x01,
	STAT_BAD_OP = 0x02,
	STAT_BAD_PARAM = 0x03,
	STAT_BAD_SYS_STATE = 0x04,
	STAT_BAD_RES = 0x05,
	STAT_RES_BUSY = 0x06,
	STAT_LIM = 0x08,
	STAT_BAD_RES_STATE = 0x09,
	STAT_NO_RES = 0x0f,
	STAT_BAD_QP_STATE = 0x10,
	STAT_BAD_SIZE = 0x40,		/* the CQ has more CQEs than fit the new size */
	STAT_BAD_INP_LEN = 0x50,
};

#define CMD_OPCODE	SN_FLD(0x00, 16)
#define CMD_UID		SN_FLD(0x10, 16)
#define CMD_OP_MOD	SN_FLD(0x30, 16)
/* The number of an object (PDN, UAR, CQN, QPN, mkey index, umem id) is always in this place, in
 * input and output */
#define CMD_NUMBER	SN_FLD(0x48, 24)
/* The port of a command: other_vport(1) reserved(11) port_num(4) vport_number(16) */
#define CMD_PORT	SN_FLD(0x4c, 4)
#define PKEY_INDEX	SN_FLD(0x70, 16)
#define GID_INDEX	SN_FLD(0x70, 16)
#define GID_COUNT	SN_FLD(0x60, 16)	/* output */
/* the number of an EQ has eight bits */
#define CMD_EQN		SN_FLD(0x58, 8)

/* UCTX: number and capabilities of a user context, in CREATE_ and DESTROY_UCTX */
#define UCTX_UID	SN_FLD(0x50, 16)
#define UCTX_CAP	SN_FLD(0x80, 32)

/* Bytes before the list of addresses at the end of CREATE_EQ, _CQ, _QP and _MKEY */
enum { AT_PAS = 0x110, AT_CTX = 0x10 };

/* UMEM: PRM umem context, at AT_CTX of CREATE_UMEM */
#define UMEM_LOG_PAGE	SN_FLD(0x9b, 5)		/* log2 minus 12 */
enum { UMEM_PAGE_OFFSET = 0x14, UMEM_NUM_MTT = 0x18, UMEM_MTT = 0x20 };

/* PRM MTT entry */
enum { MTT_RD = 1 << 0, MTT_WR = 1 << 1, MTT_FLAGS = 0xff };

/* MKC: PRM mkey context, at AT_CTX of CREATE_MKEY; the UMR WQE carries the same 64 bytes */
#define MKC_FREE	SN_FLD(0x01, 1)
#define MKC_MODE_4_2	SN_FLD(0x03, 3)
#define MKC_UMR_EN	SN_FLD(0x10, 1)
#define MKC_A		SN_FLD(0x11, 1)
#define MKC_RW		SN_FLD(0x12, 1)
#define MKC_RR		SN_FLD(0x13, 1)
#define MKC_LW		SN_FLD(0x14, 1)
#define MKC_LR		SN_FLD(0x15, 1)
#define MKC_MODE_1_0	SN_FLD(0x16, 2)
#define MKC_QPN		SN_FLD(0x20, 24)
#define MKC_KEY		SN_FLD(0x38, 8)
#define MKC_LENGTH64	SN_FLD(0x60, 1)
#define MKC_BSF_EN	SN_FLD(0x61, 1)
#define MKC_EN_RINVAL	SN_FLD(0x67, 1)
#define MKC_PD		SN_FLD(0x68, 24)
#define MKC_LOG_PAGE	SN_FLD(0x1db, 5)
enum { MKC_START = 0x10, MKC_LEN = 0x18, MKC_BSF_SIZE = 0x20, MKC_XLT_SIZE = 0x34 };
enum { MODE_PA = 0, MODE_MTT = 1, MODE_KLM = 2, MODE_KSM = 3 };
#define MKEY_PG_ACCESS	SN_FLD(0x60, 1)	/* the low bits of MTTs are rights */
#define MKEY_UMEM_VALID	SN_FLD(0x61, 1)
enum { MKEY_XLT_ACTUAL = 0x60, MKEY_UMEM_ID = 0x64, MKEY_UMEM_OFFSET = 0x68 };

/* EQC, at AT_CTX of CREATE_EQ */
#define EQC_ST		SN_FLD(0x14, 4)
#define EQC_PAGE_OFFSET	SN_FLD(0x54, 6)
#define EQC_LOG_SIZE	SN_FLD(0x63, 5)
#define EQC_UAR		SN_FLD(0x68, 24)
#define EQC_INTR	SN_FLD(0xb8, 8)
#define EQC_LOG_PAGE	SN_FLD(0xc3, 5)
#define EQC_CI		SN_FLD(0x148, 24)
#define EQC_PI		SN_FLD(0x168, 24)
enum { EQ_BITMASK = 0x58, EQC_ARMED = 0x9, EQC_FIRED = 0xa };

/* CQC, at AT_CTX of CREATE_CQ */
#define CQC_STATUS	SN_FLD(0x00, 4)
#define CQC_DBR_UMEM	SN_FLD(0x06, 1)
#define CQC_CQE_SZ	SN_FLD(0x08, 3)
#define CQC_CC		SN_FLD(0x0b, 1)
#define CQC_OI		SN_FLD(0x0e, 1)
#define CQC_COMP_EN	SN_FLD(0x11, 1)
#define CQC_ST		SN_FLD(0x14, 4)
#define CQC_PAGE_OFFSET	SN_FLD(0x54, 6)
#define CQC_LOG_SIZE	SN_FLD(0x63, 5)
#define CQC_UAR		SN_FLD(0x68, 24)
#define CQC_PERIOD	SN_FLD(0x84, 12)
#define CQC_MAX_COUNT	SN_FLD(0x90, 16)
#define CQC_EQN		SN_FLD(0xb8, 8)
#define CQC_LOG_PAGE	SN_FLD(0xc3, 5)
#define CQC_CI		SN_FLD(0x148, 24)
#define CQC_PI		SN_FLD(0x168, 24)
enum { CQC_DBR_UMEM_ID = 0x04, CQC_DBR_ADDR = 0x38 };
enum { CQC_OVERFLOW = 0x9, CQC_WRITE_FAIL = 0xa };
enum { CQC_FIRED = 0xa, CQC_ARMED_SOL = 0x6, CQC_ARMED = 0x9 };
#define CQ_UMEM_VALID	SN_FLD(0x2e0, 1)
enum { CQ_UMEM_OFFSET = 0x50, CQ_UMEM_ID = 0x58, CQ_MODIFY_SELECT = 0x0c };
/* Field select of MODIFY_CQ with op_mod 0 */
enum { CQ_SEL_PERIOD = 1 << 0, CQ_SEL_MAX_COUNT = 1 << 1, CQ_SEL_OI = 1 << 2 };
/* op_mod 1 resizes the CQ: size, page offset and page size change together */
enum { CQ_MODIFY_RESIZE = 1, CQ_SEL_RING = 7 };

/* QPC, at AT_QPC of CREATE_QP and of the transitions */
enum { AT_QPC = 0x18, QPC_BYTES = 0xe8, QP_OPT_MASK = 0x10, QP_OPT_MASK_95_32 = 0x108 };
#define QPC_STATE	SN_FLD(0x00, 4)
#define QPC_ST		SN_FLD(0x08, 8)
#define QPC_PM_STATE	SN_FLD(0x13, 2)
#define QPC_WQ_SIGN	SN_FLD(0x20, 1)
#define QPC_PD		SN_FLD(0x28, 24)
#define QPC_MTU		SN_FLD(0x40, 3)
#define QPC_LOG_MSG_MAX	SN_FLD(0x43, 5)
#define QPC_LOG_RQ_SIZE	SN_FLD(0x49, 4)
#define QPC_LOG_RQ_STRIDE SN_FLD(0x4d, 3)	/* log2 minus 4 */
#define QPC_NO_SQ	SN_FLD(0x50, 1)
#define QPC_LOG_SQ_SIZE	SN_FLD(0x51, 4)
#define QPC_TS_FORMAT	SN_FLD(0x58, 2)
#define QPC_RLKY	SN_FLD(0x5b, 1)		/* the QP may use the reserved lkey */
#define QPC_FRE		SN_FLD(0x394, 1)	/* its UMRs may write lists of pages */
#define QPC_COUNTER_SET	SN_FLD(0x60, 8)
#define QPC_UAR		SN_FLD(0x68, 24)
#define QPC_USER_INDEX	SN_FLD(0x88, 24)
#define QPC_LOG_PAGE	SN_FLD(0xa3, 5)
#define QPC_REMOTE_QPN	SN_FLD(0xa8, 24)
#define QPC_ACK_FREQ	SN_FLD(0x380, 4)
#define QPC_LOG_SRA_MAX	SN_FLD(0x388, 3)
#define QPC_RETRY	SN_FLD(0x38d, 3)
#define QPC_RNR_RETRY	SN_FLD(0x390, 3)
#define QPC_SEND_PSN	SN_FLD(0x3c8, 24)
#define QPC_CQN_SND	SN_FLD(0x3e8, 24)
#define QPC_LOG_RRA_MAX	SN_FLD(0x488, 3)
#define QPC_ATOMIC_MODE	SN_FLD(0x48c, 4)
#define QPC_RRE		SN_FLD(0x490, 1)
#define QPC_RWE		SN_FLD(0x491, 1)
#define QPC_RAE		SN_FLD(0x492, 1)
#define QPC_PAGE_OFFSET	SN_FLD(0x494, 6)
#define QPC_MIN_RNR	SN_FLD(0x4a3, 5)
#define QPC_RCV_PSN	SN_FLD(0x4a8, 24)
#define QPC_CQN_RCV	SN_FLD(0x4e8, 24)
#define QPC_RQ_TYPE	SN_FLD(0x565, 3)
#define QPC_SRQN	SN_FLD(0x568, 24)
#define QPC_HW_SQ	SN_FLD(0x5a0, 16)
#define QPC_SW_SQ	SN_FLD(0x5b0, 16)
#define QPC_HW_RQ	SN_FLD(0x5c0, 32)
#define QPC_SW_RQ	SN_FLD(0x5e0, 32)
#define QPC_CS_REQ	SN_FLD(0x630, 8)
#define QPC_CS_RES	SN_FLD(0x638, 8)
#define QPC_DBR_UMEM	SN_FLD(0x683, 1)
enum { QPC_DBR_ADDR = 0xa0, QPC_DBR_UMEM_ID = 0xe4 };
#define QPC_QKEY	SN_FLD(0x540, 32)
enum { ST_RC = 0, ST_UD = 2, ST_QP0 = 7, ST_QP1 = 8, ST_REG_UMR = 12 };
enum { TS_FREE_RUNNING = 0, TS_DEFAULT = 1, TS_REAL_TIME = 2 };
enum { RQ_REGULAR = 0, RQ_SRQ = 1, RQ_ZERO = 3 };
#define QP_WQ_UMEM_VALID SN_FLD(0x860, 1)
enum { QP_WQ_UMEM_OFFSET = 0x100, QP_WQ_UMEM_ID = 0x108 };
/* opt_param_mask of the transitions */
enum {
	OPT_RRE = 1 << 1,
	OPT_RAE = 1 << 2,
	OPT_RWE = 1 << 3,
	OPT_PKEY_INDEX = 1 << 4,
	OPT_Q_KEY = 1 << 5,
	OPT_RNR_TIMEOUT = 1 << 6,
	OPT_PRI_PORT = 1 << 16,
};

/* ADS: PRM address path, primary at AT_ADS of the QPC */
enum { AT_ADS = 0x18, ADS_RGID = 0x10, ADS_RMAC = 0x26, ADS_BYTES = 0x2c };
#define ADS_FL		SN_FLD(0x00, 1)
#define ADS_PKEY_INDEX	SN_FLD(0x10, 16)
#define ADS_GRH		SN_FLD(0x28, 1)
#define ADS_RLID	SN_FLD(0x30, 16)
#define ADS_ACK_TIMEOUT	SN_FLD(0x40, 5)
#define ADS_SRC_INDEX	SN_FLD(0x48, 8)
#define ADS_HOP_LIMIT	SN_FLD(0x58, 8)
#define ADS_TCLASS	SN_FLD(0x64, 8)
#define ADS_FLOW_LABEL	SN_FLD(0x6c, 20)
#define ADS_ECN		SN_FLD(0x108, 2)
#define ADS_DSCP	SN_FLD(0x10a, 6)
#define ADS_UDP_SPORT	SN_FLD(0x110, 16)
/* Ethernet: the field behind three bits of priority */
#define ADS_DEI_CFI	SN_FLD(0x120, 1)
#define ADS_ETH_PRIO	SN_FLD(0x121, 3)
#define ADS_SL		SN_FLD(0x124, 4)	/* InfiniBand only */
#define ADS_PORT	SN_FLD(0x128, 8)

/* RMPC, at AT_RMPC of CREATE_, MODIFY_ and QUERY_RMP; offsets WQ_ count from its work queue */
enum { AT_RMPC = 0x20, AT_WQ = 0x50 };
#define RMPC_STATE	SN_FLD(0x08, 4)
#define RMPC_CYCLIC	SN_FLD(0x20, 1)
enum { RMPC_RDY = 1, RMPC_ERR = 3 };
#define RMP_STATE	SN_FLD(0x40, 4)	/* MODIFY_RMP: the current state */
#define RMP_SEL_LWM	SN_FLD(0xbf, 1)
#define WQ_TYPE		SN_FLD(0x00, 4)
#define WQ_SIGNATURE	SN_FLD(0x04, 1)
#define WQ_PAGE_OFFSET	SN_FLD(0x2b, 5)	/* in units of 1/64 page */
#define WQ_LWM		SN_FLD(0x30, 16)
#define WQ_PD		SN_FLD(0x48, 24)
#define WQ_LOG_STRIDE	SN_FLD(0x10c, 4)
#define WQ_LOG_PAGE	SN_FLD(0x113, 5)	/* log2 minus 12 */
#define WQ_LOG_SIZE	SN_FLD(0x11b, 5)
#define WQ_DBR_UMEM	SN_FLD(0x120, 1)
#define WQ_UMEM		SN_FLD(0x121, 1)
enum { WQ_LINKED_LIST = 0, WQ_CYCLIC = 1 };
enum { WQ_DBR_ADDR = 0x10, WQ_HW_COUNTER = 0x18, WQ_SW_COUNTER = 0x1c, WQ_DBR_UMEM_ID = 0x28,
       WQ_UMEM_ID = 0x2c, WQ_UMEM_OFFSET = 0x30 };

/* XRC_SRQC, at AT_CTX of CREATE_XRC_SRQ */
#define XSRQC_XRCD	SN_FLD(0x28, 24)
#define XSRQC_CQN	SN_FLD(0x48, 24)
#define XSRQC_PD	SN_FLD(0xc8, 24)

/* ROCE_ADDRESS: roce_addr_layout at AT_CTX of QUERY_ and SET_ROCE_ADDRESS */
#define ROCE_INDEX	SN_FLD(0x40, 16)
#define ROCE_PORT	SN_FLD(0x5c, 4)
enum { ROCE_GID = 0x00, ROCE_MAC = 0x12 };
#define ROCE_VLAN_VALID	SN_FLD(0x83, 1)
#define ROCE_L3_TYPE	SN_FLD(0xd4, 4)
#define ROCE_VERSION	SN_FLD(0xd8, 8)

#endif
