/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers, admin commands and events of an EFA: offsets and bits are those of efa_regs_defs.h,
 * efa_admin_defs.h and efa_admin_cmds_defs.h of Linux's driver. All of it is little-endian.
 */
#ifndef SOFTNIC_VFIO_USER_EFA_LAYOUT_H
#define SOFTNIC_VFIO_USER_EFA_LAYOUT_H

#include <stdint.h>

#include "softnic/be.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "entries are read as they are in memory");

/* ---- Registers of BAR 0 */
enum ve_reg {
	VE_VERSION = 0x00,
	VE_CONTROLLER = 0x04,
	VE_CAPS = 0x08,
	VE_AQ_LO = 0x10,
	VE_AQ_HI = 0x14,
	VE_AQ_CAPS = 0x18,
	VE_ACQ_LO = 0x20,
	VE_ACQ_HI = 0x24,
	VE_ACQ_CAPS = 0x28,
	VE_AQ_DB = 0x2c,
	VE_AENQ_CAPS = 0x34,
	VE_AENQ_LO = 0x38,
	VE_AENQ_HI = 0x3c,
	VE_AENQ_DB = 0x40,
	VE_INTR_MASK = 0x4c,
	VE_DEV_CTL = 0x54,
	VE_DEV_STS = 0x58,
	VE_MMIO_READ = 0x5c,
	VE_MMIO_LO = 0x60,
	VE_MMIO_HI = 0x64,
	VE_EQ_DB = 0x68,
	VE_REGS_END = 0x6c,
};

enum {
	/* shifts in the register; the timeouts count in units of 100 ms */
	VE_CAPS_RESET_TIMEOUT = 1,
	VE_CAPS_DMA_WIDTH = 8,
	VE_CAPS_ADMIN_TIMEOUT = 16,
	VE_ACQ_VECTOR = 24,
	VE_INTR_MASKED = 1,
	VE_CTL_RESET = 1,
	VE_STS_READY = 1 << 0,
	VE_STS_RESET = 1 << 3,		/* the reset is in progress */
	VE_STS_FATAL = 1 << 5,
};
#define VE_EQ_DB_ARM (UINT32_C(1) << 31)

/* Response of the device to VE_MMIO_READ: the value of a register. */
struct ve_mmio_response {
	uint16_t id, offset;
	uint32_t value;
};
SN_SIZE(struct ve_mmio_response, 8);

/* ---- Layouts of the admin queue */
/* an entry of AQ or ACQ has 64 bytes; the phase is bit 0 of its flags */
enum { VE_ENTRY = 64, VE_PHASE = 1 };

struct ve_head {
	uint16_t id;
	uint8_t opcode, flags;
};
enum { VE_CTRL_DATA = 1 << 1, VE_CTRL_INDIRECT = 1 << 2 };	/* values of flags */

struct ve_status {
	uint16_t id;
	uint8_t status, flags;
	uint16_t extended, sq_head;
};
SN_SIZE(struct ve_status, 8);

enum {
	VE_OK = 0,
	VE_NO_RESOURCE = 1,
	VE_UNSUPPORTED = 3,
	VE_MALFORMED = 4,
	VE_ILLEGAL = 5,
	VE_BUSY = 7,
};

struct ve_buffer {
	uint32_t length, addr_lo, addr_hi;
};

enum ve_opcode {
	VE_CREATE_QP = 1, VE_MODIFY_QP, VE_QUERY_QP, VE_DESTROY_QP,
	VE_CREATE_AH, VE_DESTROY_AH,
	VE_REG_MR, VE_DEREG_MR,
	VE_CREATE_CQ, VE_DESTROY_CQ,
	VE_GET_FEATURE, VE_SET_FEATURE, VE_GET_STATS,
	VE_ALLOC_PD, VE_DEALLOC_PD,
	VE_ALLOC_UAR, VE_DEALLOC_UAR,
	VE_CREATE_EQ, VE_DESTROY_EQ,
	VE_OPCODES,
};

struct ve_create_qp {
	struct ve_head head;
	uint16_t pd;
	uint8_t type, flags;
	uint64_t sq_addr, rq_addr;
	uint32_t send_cq, recv_cq;
	uint32_t sq_lkey, rq_lkey;
	uint32_t sq_bytes, sq_depth, rq_bytes, rq_depth;
	uint16_t uar, reserved;
	uint32_t reserved2;
};
SN_SIZE(struct ve_create_qp, VE_ENTRY);
enum { VE_QP_UD = 1, VE_QP_SRD = 2 };				/* values of ve_create_qp.type */
enum { VE_QP_SQ_VIRT = 1 << 0, VE_QP_RQ_VIRT = 1 << 1, VE_QP_UNSOLICITED = 1 << 2 };

struct ve_created_qp {
	struct ve_status status;
	uint32_t handle;
	uint16_t qpn, reserved;
	uint16_t send_sub_cq, recv_sub_cq;
	uint32_t sq_db, rq_db, llq;
};

struct ve_modify_qp {
	struct ve_head head;
	uint32_t mask, handle, state, cur_state, qkey, sq_psn;
	uint8_t drained, rnr_retry;
	uint16_t reserved;
};

struct ve_handle {			/* in QUERY_QP, DESTROY_QP and DEREG_MR (its lkey) */
	struct ve_head head;
	uint32_t handle;
};

struct ve_queried_qp {
	struct ve_status status;
	uint32_t state, qkey, sq_psn;
	uint8_t draining, rnr_retry;
	uint16_t reserved;
};

struct ve_create_ah {
	struct ve_head head;
	uint8_t gid[16];
	uint16_t pd, reserved;
};

/* number of an AH, CQ, PD, UAR or EQ; only DESTROY_AH has pd */
struct ve_number {
	struct ve_head head;
	uint16_t number, pd;
};

struct ve_numbered {
	struct ve_status status;
	uint16_t number, reserved;
};

enum { VE_INLINE_PAGES = 4 };
struct ve_reg_mr {
	struct ve_head head;
	uint16_t pd, reserved;
	union {
		uint64_t pages[VE_INLINE_PAGES];
		struct ve_buffer list;
	};
	uint64_t len;
	uint8_t flags, access;
	uint16_t reserved2;
	uint32_t npages;		/* redundant: Linux leaves this field 0 */
	uint64_t iova;
};
SN_SIZE(struct ve_reg_mr, VE_ENTRY);
SN_AT(struct ve_reg_mr, len, 40);
enum { VE_MR_SHIFT = 0x1f, VE_MR_PHYSICAL = 1 << 7 };		/* values of flags */

struct ve_keys {
	struct ve_status status;
	uint32_t lkey, rkey;
};

/* Limits of a list of lists. A list has pages of 512 addresses each. Chunks, of one page each, name
 * these pages; each chunk ends with the address of the next one. */
enum { VE_CHUNK_POINTERS = 510, VE_LIST_PAGE = 4096 };
struct ve_chunk {
	uint64_t list[VE_CHUNK_POINTERS];
	struct ve_buffer next;
};

struct ve_create_cq {
	struct ve_head head;
	uint8_t caps1, caps2;
	uint16_t depth, eqn, reserved;
	uint32_t addr_lo, addr_hi;
	uint32_t lkey;
	uint16_t sub_cqs, uar;
};
SN_SIZE(struct ve_create_cq, 28);
enum { VE_CQ_EVENTS = 1 << 5, VE_CQ_VIRT = 1 << 6 };		/* bits of caps1 */
enum { VE_CQ_WORDS = 0x1f, VE_CQ_SGID = 1 << 5 };		/* fields of caps2 */

struct ve_created_cq {
	struct ve_status status;
	uint16_t number, depth;
	uint32_t db, flags;		/* flags: bit 0 means that db is valid */
};

struct ve_create_eq {
	struct ve_head head;
	uint16_t depth;
	uint8_t vector, caps;		/* caps: number of words in an entry */
	uint32_t addr_lo, addr_hi;
	uint32_t events, reserved;
};
SN_SIZE(struct ve_create_eq, 24);
enum { VE_EVENT_COMPLETION = 1 };				/* values of events */

struct ve_eqe {
	uint32_t common;		/* bit 0: phase; the type of a completion is 0 */
	uint32_t reserved;
	uint16_t cq, reserved2;
	uint32_t reserved3;
};
SN_SIZE(struct ve_eqe, 16);

enum ve_feature {
	VE_DEVICE_ATTR = 1, VE_AENQ_CONFIG, VE_NETWORK_ATTR, VE_QUEUE_ATTR, VE_HW_HINTS, VE_HOST_INFO,
	VE_EQ_ATTR,
};

struct ve_feature_command {
	struct ve_head head;
	struct ve_buffer buffer;
	uint8_t reserved, feature;
	uint16_t reserved2;
	uint32_t supported_groups, enabled_groups;	/* only in the feature AENQ_CONFIG */
};
SN_AT(struct ve_feature_command, supported_groups, 20);

struct ve_device_attr {
	uint64_t features, page_sizes;
	uint32_t firmware, api, device;
	uint16_t db_bar;
	uint8_t phys_bits, virt_bits;
	uint32_t caps, max_rdma;
	uint64_t guid;
};
SN_SIZE(struct ve_device_attr, 48);
enum {
	VE_CAP_READ = 1 << 0,
	VE_CAP_RNR = 1 << 1,
	VE_CAP_WRITE = 1 << 3,
	VE_CAP_UNSOLICITED = 1 << 4,
};

struct ve_queue_attr {
	uint32_t max_qp, max_sq, inline_max, max_rq, max_cq, max_cqe;
	uint16_t sub_cqs, min_sq, send_sge, recv_sge;
	uint32_t max_mr, max_mr_pages, max_pd, max_ah, max_llq;
	uint16_t rdma_sge, tx_batch;
};
SN_SIZE(struct ve_queue_attr, 56);

struct ve_featured {
	struct ve_status status;
	union {
		struct ve_device_attr device;
		struct ve_queue_attr queue;
		struct {
			uint32_t supported, enabled;
		} aenq;
		struct {
			uint8_t gid[16];
			uint32_t mtu;
		} network;
		struct {
			uint32_t max_eq, max_depth, events;
		} eq;
	};
};
SN_SIZE(struct ve_featured, VE_ENTRY);

struct ve_get_stats {
	struct ve_head head;
	struct ve_buffer buffer;
	uint8_t type, scope;
	uint16_t modifier;
};
enum { VE_STATS_BASIC = 0, VE_STATS_WRITE = 3 };

struct ve_stats {
	struct ve_status status;
	/* statistics BASIC: bytes and packets sent, bytes and packets received, drops */
	uint64_t value[5];
};

union ve_command {
	struct ve_head head;
	struct ve_create_qp create_qp;
	struct ve_modify_qp modify_qp;
	struct ve_handle handle;
	struct ve_create_ah create_ah;
	struct ve_number number;
	struct ve_reg_mr reg_mr;
	struct ve_create_cq create_cq;
	struct ve_create_eq create_eq;
	struct ve_feature_command feature;
	struct ve_get_stats stats;
	uint8_t bytes[VE_ENTRY];
};
SN_SIZE(union ve_command, VE_ENTRY);

union ve_response {
	struct ve_status status;
	struct ve_created_qp qp;
	struct ve_queried_qp queried;
	struct ve_numbered number;
	struct ve_keys keys;
	struct ve_created_cq cq;
	struct ve_featured feature;
	struct ve_stats stats;
	uint8_t bytes[VE_ENTRY];
};
SN_SIZE(union ve_response, VE_ENTRY);

#endif
