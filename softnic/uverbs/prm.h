/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PRM commands as this front sends them: written from the manual independently of the backend and the
 * model. A field is described by its dword, its first bit (0 is the most significant) and its width,
 * as in the manual's tables.
 */
#ifndef SOFTNIC_UVERBS_PRM_H
#define SOFTNIC_UVERBS_PRM_H

#include "softnic/be.h"

#define PRM(dword, bit, width) SN_FLD((dword) * 8 + (bit), (width))

enum prm_opcode {
	PRM_QUERY_HCA_CAP = 0x100,
	PRM_QUERY_ADAPTER = 0x101,
	PRM_QUERY_ISSI = 0x10a,
	PRM_CREATE_MKEY = 0x200,
	PRM_QUERY_MKEY = 0x201,
	PRM_DESTROY_MKEY = 0x202,
	PRM_CREATE_EQ = 0x301,
	PRM_CREATE_CQ = 0x400,
	PRM_DESTROY_CQ = 0x401,
	PRM_QUERY_CQ = 0x402,
	PRM_MODIFY_CQ = 0x403,
	PRM_CREATE_QP = 0x500,
	PRM_DESTROY_QP = 0x501,
	PRM_RST2INIT_QP = 0x502,
	PRM_INIT2RTR_QP = 0x503,
	PRM_RTR2RTS_QP = 0x504,
	PRM_RTS2RTS_QP = 0x505,
	PRM_SQERR2RTS_QP = 0x506,
	PRM_2ERR_QP = 0x507,
	PRM_2RST_QP = 0x50a,
	PRM_QUERY_QP = 0x50b,
	PRM_INIT2INIT_QP = 0x50e,
	PRM_QUERY_VPORT_STATE = 0x750,
	PRM_QUERY_NIC_VPORT_CONTEXT = 0x754,
	PRM_QUERY_ROCE_ADDRESS = 0x760,
	PRM_SET_ROCE_ADDRESS = 0x761,
	PRM_QUERY_HCA_VPORT_CONTEXT = 0x762,
	PRM_ALLOC_PD = 0x800,
	PRM_DEALLOC_PD = 0x801,
	PRM_ALLOC_UAR = 0x802,
	PRM_DEALLOC_UAR = 0x803,
	PRM_QUERY_LAG = 0x842,
	PRM_CREATE_RMP = 0x90c,
	PRM_MODIFY_RMP = 0x90d,
	PRM_DESTROY_RMP = 0x90e,
	PRM_QUERY_RMP = 0x90f,
	PRM_CREATE_UCTX = 0xa04,
	PRM_DESTROY_UCTX = 0xa06,
	PRM_CREATE_UMEM = 0xa08,
	PRM_DESTROY_UMEM = 0xa0a,
};

/* Every command: opcode(16) uid(16), rsvd(16) op_mod(16); most have a number in the third dword. */
#define PRM_OPCODE		PRM(0x00, 0, 16)
#define PRM_UID			PRM(0x00, 16, 16)
#define PRM_UID_SHARED		0xffff	/* of an object that all programs may name */
#define PRM_OP_MOD		PRM(0x04, 16, 16)
#define PRM_NUMBER		PRM(0x08, 8, 24)
#define PRM_STATUS		PRM(0x00, 0, 8)
#define PRM_EQ_NUMBER		PRM(0x08, 24, 8)
#define PRM_ROCE_INDEX		PRM(0x08, 0, 16)
#define PRM_ROCE_PORT		PRM(0x08, 28, 4)
#define PRM_VPORT_PORT		PRM(0x08, 12, 4)

enum prm_size {
	PRM_SHORT = 16,			/* length of a command or output without a context */
	/* length of CREATE_x with its context; the page list follows */
	PRM_OBJECT_IN = 0x110,
	PRM_UCTX_IN = 0x40,
	PRM_CTX = 0x10,			/* offset of the context in CREATE_{MKEY,CQ,EQ} */
	PRM_MKC_LEN = 0x40,
	PRM_QPC = 0x18,			/* in CREATE_QP, transitions and QUERY_QP */
	PRM_RMPC = 0x20,		/* in CREATE_, MODIFY_ and QUERY_RMP */
	PRM_WQ = 0x50,			/* offset of the work queue in the context */
	PRM_QP_OUT = 0x110,
	PRM_CAP_OUT = 16 + 4096,
	PRM_ROCE_OUT = 0x30,
	PRM_VPORT_OUT = 0x210,
};

/* QUERY_HCA_CAP: op_mod is the type shifted by one; the low bit selects the current values. */
enum prm_cap_type { PRM_CAP_GENERAL = 0, PRM_CAP_ROCE = 4 };

#define CAP_LOG_MAX_SRQ_SZ	PRM(0x10, 0, 8)
#define CAP_LOG_MAX_QP_SZ	PRM(0x10, 8, 8)
#define CAP_LOG_MAX_QP		PRM(0x10, 27, 5)
#define CAP_LOG_MAX_SRQ		PRM(0x14, 11, 5)
#define CAP_LOG_MAX_CQ_SZ	PRM(0x18, 8, 8)
#define CAP_LOG_MAX_CQ		PRM(0x18, 27, 5)
#define CAP_LOG_MAX_MKEY	PRM(0x1c, 10, 6)
#define CAP_LOG_MAX_RA_REQ_QP	PRM(0x28, 10, 6)
#define CAP_LOG_MAX_RA_RES_QP	PRM(0x28, 26, 6)
#define CAP_LOCAL_CA_ACK_DELAY	PRM(0x34, 11, 5)
#define CAP_PORT_TYPE		PRM(0x34, 22, 2)
#define CAP_NUM_PORTS		PRM(0x34, 24, 8)
#define CAP_LOG_MAX_MSG		PRM(0x38, 3, 5)
#define CAP_CQ_MODERATION	PRM(0x44, 2, 1)
#define CAP_PG			PRM(0x44, 7, 1)
#define CAP_CQE_VERSION		PRM(0x3c, 28, 4)
#define CAP_ATOMIC		PRM(0x40, 30, 1)
#define CAP_BF			PRM(0x4c, 0, 1)
#define CAP_LOG_BF_REG_SIZE	PRM(0x4c, 11, 5)
#define CAP_MAX_WQE_SZ_SQ	PRM(0x50, 16, 16)
#define CAP_MAX_WQE_SZ_RQ	PRM(0x54, 16, 16)
#define CAP_FREQUENCY_KHZ	PRM(0x9c, 0, 32)
#define CAP_LOG_MAX_PD		PRM(0x64, 11, 5)
#define CAP_LOG_MAX_UCTX	PRM(0x8c, 3, 5)
#define CAP_SQ_TS_FORMAT	PRM(0x88, 0, 2)
#define CAP_ROCE_TS_FORMAT	PRM(0x00, 30, 2)
#define CAP_ROCE_TABLE_SIZE	PRM(0x1c, 16, 16)

/* fields of CREATE_MKEY */
#define MKEY_PG_ACCESS		PRM(0x0c, 0, 1)
#define MKEY_UMEM_VALID		PRM(0x0c, 1, 1)
#define MKEY_OCTOWORDS		PRM(0x60, 0, 32)
#define MKC_FREE		PRM(0x00, 1, 1)
#define MKC_UMR_EN		PRM(0x00, 16, 1)
#define MKC_A			PRM(0x00, 17, 1)
#define MKC_RW			PRM(0x00, 18, 1)
#define MKC_RR			PRM(0x00, 19, 1)
#define MKC_LW			PRM(0x00, 20, 1)
#define MKC_LR			PRM(0x00, 21, 1)
#define MKC_ACCESS_MODE		PRM(0x00, 22, 2)
#define MKC_QPN			PRM(0x04, 0, 24)
#define MKC_KEY			PRM(0x04, 24, 8)
#define MKC_EN_RINVAL		PRM(0x0c, 7, 1)
#define MKC_PD			PRM(0x0c, 8, 24)
#define MKC_TRANSLATIONS	PRM(0x34, 0, 32)
#define MKC_LOG_PAGE_SIZE	PRM(0x38, 27, 5)
enum { MKC_START = 0x10, MKC_LEN = 0x18 };
enum { MTT_READ = 1 << 0, MTT_WRITE = 1 << 1 };
enum prm_access_mode { PRM_ACCESS_PA = 0, PRM_ACCESS_MTT = 1, PRM_ACCESS_KLM = 2 };
enum { PRM_ANY_QPN = 0xffffff };

/* fields of CREATE_EQ */
#define EQC_LOG_SIZE		PRM(0x0c, 3, 5)
#define EQC_UAR_PAGE		PRM(0x0c, 8, 24)
enum { EQ_EVENT_MASK = 0x58 };		/* 256 bits; the lowest event types come last in a qword */

/* fields of CREATE_UMEM, whose context is at the usual place */
#define UMEM_LOG_PAGE_SIZE	PRM(0x10, 27, 5)
#define UMEM_PAGE_OFFSET	PRM(0x14, 0, 32)
enum { UMEM_NUM_MTT = 0x18, UMEM_MTT = 0x20 };

/* fields of CREATE_CQ */
#define CQ_UMEM_VALID		PRM(0x5c, 0, 1)
#define CQC_DBR_UMEM_VALID	PRM(0x00, 6, 1)
#define CQC_CQE_SZ		PRM(0x00, 8, 3)
#define CQC_OI			PRM(0x00, 14, 1)
#define CQC_PAGE_OFFSET		PRM(0x08, 20, 6)
#define CQC_LOG_SIZE		PRM(0x0c, 3, 5)
#define CQC_UAR_PAGE		PRM(0x0c, 8, 24)
#define CQC_EQN			PRM(0x14, 24, 8)
#define CQC_PERIOD		PRM(0x10, 4, 12)
#define CQC_MAX_COUNT		PRM(0x10, 16, 16)
enum { PRM_CQ_COUNT_MAX = 0xffff, PRM_CQ_PERIOD_MAX = 0xfff };
enum { CQC_DBR = 0x38 };

/* fields of MODIFY_CQ: a mask of the fields to modify, whose meaning depends on op_mod */
#define CQ_SELECT		PRM(0x0c, 0, 32)
enum { PRM_CQ_MODERATE = 0, PRM_CQ_RESIZE = 1 };
enum { CQ_SELECT_PERIOD = 1 << 0, CQ_SELECT_COUNT = 1 << 1 };
enum { CQ_SELECT_SIZE = 1 << 0, CQ_SELECT_OFFSET = 1 << 1, CQ_SELECT_PAGE_SIZE = 1 << 2 };

/* fields of CREATE_QP, transitions and QUERY_QP */
#define QP_OPT_PARAM		PRM(0x10, 0, 32)
#define QP_WQ_UMEM_VALID	PRM(0x10c, 0, 1)
#define QPC_STATE		PRM(0x00, 0, 4)
#define QPC_ST			PRM(0x00, 8, 8)
#define QPC_PM_STATE		PRM(0x00, 19, 2)
#define QPC_PD			PRM(0x04, 8, 24)
#define QPC_MTU			PRM(0x08, 0, 3)
#define QPC_LOG_MSG_MAX		PRM(0x08, 3, 5)
#define QPC_LOG_RQ_SIZE		PRM(0x08, 9, 4)
#define QPC_LOG_RQ_STRIDE	PRM(0x08, 13, 3)
#define QPC_NO_SQ		PRM(0x08, 16, 1)
#define QPC_LOG_SQ_SIZE		PRM(0x08, 17, 4)
#define QPC_TS_FORMAT		PRM(0x08, 24, 2)
#define QPC_COUNTER_SET		PRM(0x0c, 0, 8)
#define QPC_UAR_PAGE		PRM(0x0c, 8, 24)
#define QPC_USER_INDEX		PRM(0x10, 8, 24)
#define QPC_CS_REQ		PRM(0xc4, 16, 8)
#define QPC_CS_RES		PRM(0xc4, 24, 8)
#define QPC_REMOTE_QPN		PRM(0x14, 8, 24)
#define QPC_LOG_ACK_REQ_FREQ	PRM(0x70, 0, 4)
#define QPC_LOG_SRA_MAX		PRM(0x70, 8, 3)
#define QPC_RETRY_COUNT		PRM(0x70, 13, 3)
#define QPC_RNR_RETRY		PRM(0x70, 16, 3)
#define QPC_NEXT_SEND_PSN	PRM(0x78, 8, 24)
#define QPC_CQN_SND		PRM(0x7c, 8, 24)
#define QPC_LOG_RRA_MAX		PRM(0x90, 8, 3)
#define QPC_ATOMIC_MODE		PRM(0x90, 12, 4)
#define QPC_RRE			PRM(0x90, 16, 1)
#define QPC_RWE			PRM(0x90, 17, 1)
#define QPC_RAE			PRM(0x90, 18, 1)
#define QPC_PAGE_OFFSET		PRM(0x90, 20, 6)
#define QPC_MIN_RNR_NAK		PRM(0x94, 3, 5)
#define QPC_NEXT_RCV_PSN	PRM(0x94, 8, 24)
#define QPC_CQN_RCV		PRM(0x9c, 8, 24)
#define QPC_Q_KEY		PRM(0xa8, 0, 32)
#define QPC_RQ_TYPE		PRM(0xac, 5, 3)
#define QPC_RMPN		PRM(0xac, 8, 24)
#define QPC_DBR_UMEM_VALID	PRM(0xd0, 3, 1)
enum { QPC_DBR = 0xa0, QPC_PATH = 0x18 };

/* fields of CREATE_, MODIFY_ and QUERY_RMP and the work queue in them */
#define RMP_STATE		PRM(0x08, 0, 4)
#define RMP_SELECT_LWM		PRM(0x14, 31, 1)
#define RMPC_STATE		PRM(0x00, 8, 4)
enum { PRM_RMP_READY = 1 };
#define WQ_TYPE			PRM(0x00, 0, 4)
#define WQ_PAGE_OFFSET		PRM(0x04, 11, 5)
#define WQ_LWM			PRM(0x04, 16, 16)
#define WQ_PD			PRM(0x08, 8, 24)
#define WQ_LOG_STRIDE		PRM(0x20, 12, 4)
#define WQ_LOG_SIZE		PRM(0x20, 27, 5)
#define WQ_DBR_UMEM_VALID	PRM(0x24, 0, 1)
#define WQ_UMEM_VALID		PRM(0x24, 1, 1)
enum { WQ_DBR = 0x10, PRM_WQ_LINKED_LIST = 0 };

/* fields of an address path, inside of the QP context */
#define ADS_PKEY_INDEX		PRM(0x00, 16, 16)
#define ADS_GRH			PRM(0x04, 8, 1)
#define ADS_RLID		PRM(0x04, 16, 16)
#define ADS_ACK_TIMEOUT		PRM(0x08, 0, 5)
#define ADS_SRC_ADDR_INDEX	PRM(0x08, 8, 8)
#define ADS_HOP_LIMIT		PRM(0x08, 24, 8)
#define ADS_TCLASS		PRM(0x0c, 4, 8)
#define ADS_FLOW_LABEL		PRM(0x0c, 12, 20)
#define ADS_DSCP		PRM(0x20, 10, 6)
#define ADS_UDP_SPORT		PRM(0x20, 16, 16)
#define ADS_ETH_PRIO		PRM(0x24, 1, 3)
#define ADS_SL			PRM(0x24, 4, 4)
#define ADS_PORT		PRM(0x24, 8, 8)
#define ADS_RMAC_HIGH		PRM(0x24, 16, 16)
#define ADS_RMAC_LOW		PRM(0x28, 0, 32)
enum { ADS_RGID = 0x10 };

enum prm_qp_state {
	PRM_QPS_RST = 0, PRM_QPS_INIT = 1, PRM_QPS_RTR = 2, PRM_QPS_RTS = 3, PRM_QPS_SQER = 4,
	PRM_QPS_SQD = 5, PRM_QPS_ERR = 6,
};
enum prm_qp_service { PRM_ST_RC = 0, PRM_ST_UD = 2 };
enum { PRM_PM_MIGRATED = 3 };
enum prm_rq_type { PRM_RQ_NORMAL = 0, PRM_RQ_SRQ = 1, PRM_RQ_ZERO = 3 };
enum { PRM_ATOMIC_MODE_IB = 1 };

/* opt_param_mask: optional parameters that a transition changes. */
enum prm_optpar {
	PRM_OPT_RRE = 1 << 1,
	PRM_OPT_RAE = 1 << 2,
	PRM_OPT_RWE = 1 << 3,
	PRM_OPT_PKEY_INDEX = 1 << 4,
	PRM_OPT_Q_KEY = 1 << 5,
	PRM_OPT_RNR_TIMEOUT = 1 << 6,
	PRM_OPT_PRI_PORT = 1 << 16,
};

/* offsets in QUERY_ROCE_ADDRESS and SET_ROCE_ADDRESS */
enum { ROCE_ADDRESS = 0x10, ROCE_GID = ROCE_ADDRESS };
#define ROCE_L3_TYPE		PRM(0x18, 20, 4)	/* 0: IPv4, 1: IPv6 */
#define ROCE_VERSION		PRM(0x18, 24, 8)
/* offsets in QUERY_HCA_VPORT_CONTEXT, for an InfiniBand port */
enum { VPORT_CONTEXT = 0x10, VPORT_PORT_GUID = VPORT_CONTEXT + 0x30 };
#define VPORT_LID		PRM(0x60, 0, 16)
#define VPORT_SM_LID		PRM(0x64, 0, 16)

enum prm_roce_version { PRM_ROCE_V1 = 0, PRM_ROCE_V2 = 2 };

/* offsets in an EQE */
enum {
	EQE_SIZE = 64, EQE_TYPE = 1, EQE_SUBTYPE = 3, EQE_DATA = 32, EQE_NUMBER = EQE_DATA + 24,
	EQE_PORT = EQE_DATA + 8,	/* for a port change, the port number is in the upper half */
	EQE_OWNER = 63,
};
enum prm_event {
	PRM_EV_COMPLETION = 0x00,
	PRM_EV_PATH_MIG = 0x01,
	PRM_EV_COMM_EST = 0x02,
	PRM_EV_SQ_DRAINED = 0x03,
	PRM_EV_CQ_ERROR = 0x04,
	PRM_EV_WQ_CATAS = 0x05,
	PRM_EV_PATH_MIG_FAILED = 0x07,
	PRM_EV_INTERNAL = 0x08,
	PRM_EV_PORT_CHANGE = 0x09,
	PRM_EV_WQ_INVAL_REQ = 0x10,
	PRM_EV_WQ_ACCESS = 0x11,
	PRM_EV_SRQ_CATAS = 0x12,
	PRM_EV_LAST_WQE = 0x13,
	PRM_EV_SRQ_LIMIT = 0x14,
};
enum { PRM_PORT_DOWN = 1, PRM_PORT_ACTIVE = 4 };

/* Registers of a UAR page. */
enum { UAR_EQ_DOORBELL = 0x40, UAR_PAGE = 4096 };

#endif
