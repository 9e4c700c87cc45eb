/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands of a ConnectX in memory layout (PRM, "Command Reference" and "Hardware Objects"). Words
 * with bit fields are be32_t; comments name the bits as high:low.
 */
#ifndef M5_IFC_H
#define M5_IFC_H

#include "core/endian.h"

/* PRM, "Command Opcodes" */
enum m5_opcode {
	M5_CMD_QUERY_HCA_CAP = 0x100,
	M5_CMD_CREATE_MKEY = 0x200,
	M5_CMD_DESTROY_MKEY = 0x202,
	M5_CMD_CREATE_EQ = 0x301,
	M5_CMD_QUERY_EQ = 0x303,
	M5_CMD_DESTROY_EQ = 0x302,
	M5_CMD_CREATE_CQ = 0x400,
	M5_CMD_DESTROY_CQ = 0x401,
	M5_CMD_MODIFY_CQ = 0x403,
	M5_CMD_CREATE_QP = 0x500,
	M5_CMD_DESTROY_QP = 0x501,
	M5_CMD_RST2INIT_QP = 0x502,
	M5_CMD_INIT2RTR_QP = 0x503,
	M5_CMD_RTR2RTS_QP = 0x504,
	M5_CMD_2ERR_QP = 0x507,
	M5_CMD_QUERY_QP = 0x50b,
	M5_CMD_QUERY_VPORT_STATE = 0x750,
	M5_CMD_QUERY_NIC_VPORT_CONTEXT = 0x754,
	M5_CMD_QUERY_ROCE_ADDRESS = 0x760,
	M5_CMD_SET_ROCE_ADDRESS = 0x761,
	M5_CMD_ALLOC_PD = 0x800,
	M5_CMD_DEALLOC_PD = 0x801,
	M5_CMD_ALLOC_UAR = 0x802,
	M5_CMD_DEALLOC_UAR = 0x803,
	M5_CMD_ACCESS_REG = 0x805,
	M5_CMD_CREATE_RMP = 0x90c,
	M5_CMD_MODIFY_RMP = 0x90d,
	M5_CMD_DESTROY_RMP = 0x90e,
	M5_CMD_QUERY_RMP = 0x90f,
	M5_CMD_CREATE_UMEM = 0xa08,
	M5_CMD_DESTROY_UMEM = 0xa0a,
};

struct m5_in_hdr {
	be16_t opcode, uid;		/* the access fills in uid */
	be16_t rsvd, op_mod;
};
WIRE_SIZE(struct m5_in_hdr, 8);

struct m5_out_hdr {
	uint8_t status, rsvd[3];
	be32_t syndrome;
};
WIRE_SIZE(struct m5_out_hdr, 8);

/* Commands that name one object, or none: DESTROY_*, DEALLOC_*, QUERY_RMP, 2ERR_QP, ALLOC_PD, ... */
struct m5_obj_in {
	struct m5_in_hdr hdr;
	be32_t number;			/* 23:0; QUERY_ROCE_ADDRESS: index 31:16, port 3:0 */
	be32_t rsvd;
};
WIRE_SIZE(struct m5_obj_in, 16);

struct m5_obj_out {
	struct m5_out_hdr hdr;
	be32_t number;			/* 23:0; CREATE_EQ: 7:0 */
	be32_t rsvd;			/* QUERY_VPORT_STATE: admin state 7:4, state 3:0 */
};
WIRE_SIZE(struct m5_obj_out, 16);

/* PRM, "HCA Capabilities": op_mod is type << 1 | current. */
enum { M5_CAP_GENERAL_CUR = 0 << 1 | 1, M5_CAP_ATOMIC_CUR = 3 << 1 | 1, M5_CAP_ROCE_CUR = 4 << 1 | 1,
       M5_CAP_GENERAL_2_CUR = 0x20 << 1 | 1 };

struct m5_hca_cap {
	be32_t w00;
	be32_t caps_2;			/* 04: hca_cap_2 31 */
	be32_t w08[2];
	be32_t max_qp;			/* 10: log_max_srq_sz 31:24, log_max_qp_sz 23:16, log_max_qp 4:0 */
	be32_t max_srq;			/* 14: log_max_srq 20:16 */
	be32_t max_cq;			/* 18: log_max_cq_sz 23:16, log_max_cq 4:0 */
	be32_t max_mkey;		/* 1c: log_max_eq_sz 31:24, log_max_mkey 21:16, log_max_eq 3:0 */
	/* 20: max_indirection 31:24, log_max_mrw_sz 22:16, log_max_klm_list_size 5:0 */
	be32_t max_mrw;
	be32_t w24;
	be32_t max_ra;			/* 28: log_max_ra_req_qp 21:16, log_max_ra_res_qp 5:0 */
	be32_t gid_table;		/* 2c: gid_table_size 15:0 */
	be32_t w30;
	be32_t ports;			/* 34: port_type 9:8, num_ports 7:0 */
	be32_t max_msg;			/* 38: log_max_msg 28:24, dp_ordering_ooo_rw_rc 21 */
	be32_t cqe_version;		/* 3c: 3:0 */
	be32_t flags40;			/* umr_indirect_mkey_disabled 22, umr_fence 21:20,
					 * sctr_data_cqe 10, roce 2, atomic 1 */
	be32_t flags44;			/* cq_oi 31, cq_resize 30, imaicl 14, rc 0 */
	be32_t uar;			/* 48: uar_4k 31, uar_sz 21:16 */
	be32_t bf;			/* 4c: bf 31, log_bf_reg_size 20:16 */
	be32_t max_wqe_sz_sq;		/* 50: 15:0 bytes */
	be32_t max_wqe_sz_rq;		/* 54: 15:0 bytes */
	be32_t w58[3];
	be32_t max_pd;			/* 64: log_max_pd 20:16, dp_ordering_ooo_all_rc 11 */
	be32_t w68[2];
	be32_t max_rmp;			/* 70: log_max_rmp 28:24 */
	be32_t w74[5];
	be32_t ts_formats;		/* 88: sq_ts_format 31:30 */
	be32_t w8c[4];
	be32_t timer_khz;		/* 9c: device_frequency_khz */
	be32_t rest[24];
};
WIRE_SIZE(struct m5_hca_cap, 256);
WIRE_AT(struct m5_hca_cap, ts_formats, 0x88);
WIRE_AT(struct m5_hca_cap, timer_khz, 0x9c);
WIRE_AT(struct m5_hca_cap, max_rmp, 0x70);
WIRE_AT(struct m5_hca_cap, max_ra, 0x28);
WIRE_AT(struct m5_hca_cap, flags40, 0x40);
WIRE_AT(struct m5_hca_cap, max_wqe_sz_sq, 0x50);
WIRE_AT(struct m5_hca_cap, max_pd, 0x64);

/* "Atomic Capabilities", the fields in use. */
struct m5_atomic_cap {
	be32_t w00[2];
	be32_t order;			/* 08: atomic_req_8B_endianness_mode 31:30 */
	be32_t w0c;
	be32_t operations;		/* 10: fetch and add 1, compare and swap 0 */
	be32_t size_qp;			/* 14: sizes in bytes that a QP supports, a bit each: 8 is bit 3 */
};
WIRE_AT(struct m5_atomic_cap, order, 0x08);
WIRE_AT(struct m5_atomic_cap, operations, 0x10);
WIRE_AT(struct m5_atomic_cap, size_qp, 0x14);

/* "RoCE Capabilities", the fields in use. */
struct m5_roce_cap {
	be32_t w00;			/* qp_ts_format 1:0 */
};

/* "HCA Capabilities 2", the fields in use. */
struct m5_hca_cap_2 {
	be32_t w00[4];
	be32_t flags10;			/* dp_ordering_force 23 */
};
WIRE_AT(struct m5_hca_cap_2, flags10, 0x10);

struct m5_query_hca_cap_out {
	struct m5_out_hdr hdr;
	be32_t rsvd[2];
	struct m5_hca_cap cap;
	uint8_t more[4096 - sizeof(struct m5_hca_cap)];
};
WIRE_SIZE(struct m5_query_hca_cap_out, 16 + 4096);

/* PRM, "RoCE Address Layout" */
struct m5_roce_address {
	uint8_t gid[16];
	be16_t vlan, mac_hi;		/* 10: vlan_valid 12, vlan_id 11:0 */
	be32_t mac_lo;
	be32_t version;			/* 18: roce_l3_type 11:8, roce_version 7:0 */
	be32_t rsvd1c;
};
WIRE_SIZE(struct m5_roce_address, 32);
WIRE_AT(struct m5_roce_address, mac_lo, 0x14);
enum { M5_ROCE_V2 = 2, M5_ROCE_L3_IPV4 = 0, M5_ROCE_L3_IPV6 = 1 };

struct m5_query_roce_address_out {
	struct m5_out_hdr hdr;
	be32_t rsvd[2];
	struct m5_roce_address addr;
};
WIRE_SIZE(struct m5_query_roce_address_out, 48);

struct m5_set_roce_address_in {
	struct m5_in_hdr hdr;
	be32_t index;			/* 31:16, vhca_port_num 3:0 */
	be32_t rsvd;
	struct m5_roce_address addr;
};
WIRE_SIZE(struct m5_set_roce_address_in, 48);

/* PRM, "NIC Vport Context" */
struct m5_query_nic_vport_out {
	struct m5_out_hdr hdr;
	be32_t rsvd[2];
	be32_t w00[9];
	be32_t mtu;			/* 24: 15:0 bytes of an Ethernet frame with its headers and FCS */
	be32_t w28[51];
	be16_t rsvdf4, mac_hi;		/* f4: permanent_address */
	be32_t mac_lo;
	be32_t wfc;
};
WIRE_SIZE(struct m5_query_nic_vport_out, 272);
WIRE_AT(struct m5_query_nic_vport_out, mtu, 16 + 0x24);
WIRE_AT(struct m5_query_nic_vport_out, mac_hi, 16 + 0xf6);

/* PRM, "ACCESS_REG" and "PAOS", the fields in use. op_mod 0: write. */
struct m5_paos {
	struct m5_in_hdr hdr;		/* struct m5_out_hdr in the output */
	be32_t reg;			/* 15:0 */
	be32_t argument;
	be32_t status;			/* local_port 23:16, admin_status 11:8, oper_status 3:0 */
	be32_t select;			/* ase 31: change the administrative status */
	be32_t rsvd18[2];
};
WIRE_SIZE(struct m5_paos, 32);
enum { M5_REG_PAOS = 0x5006, M5_PAOS_UP = 1 };

/* PRM, "ACCESS_REG" and "PMTU", the fields in use. op_mod 1: read. */
struct m5_pmtu {
	struct m5_in_hdr hdr;		/* or the output's header */
	be32_t reg;			/* 15:0 */
	be32_t argument;
	be32_t port;			/* local_port 23:16 */
	be32_t max_mtu, admin_mtu;
	be32_t oper_mtu;		/* 31:16 bytes, as the mtu of the vport */
};
WIRE_SIZE(struct m5_pmtu, 32);
enum { M5_REG_PMTU = 0x5003, M5_REG_READ = 1 };

/* PRM, "UMEM Context" */
struct m5_create_umem_in {
	struct m5_in_hdr hdr;
	be32_t rsvd[2];
	be32_t rsvd10[4];
	be32_t log_page_size;		/* 4:0, above 12 */
	be32_t page_offset;
	be64_t num_of_mtt;
	be64_t mtt[];
};
WIRE_AT(struct m5_create_umem_in, log_page_size, 0x20);
WIRE_AT(struct m5_create_umem_in, mtt, 0x30);

/* Physical page and rights of one entry (PRM, "MTT"). */
enum { M5_MTT_READ = 1, M5_MTT_WRITE = 2 };

/* PRM, "Memory Key Context" */
struct m5_mkc {
	be32_t flags;			/* M5_MKC_* */
	be32_t qpn_key;			/* qpn 31:8, mkey_7_0 7:0 */
	be32_t rsvd08;
	be32_t pd;			/* length64 31, en_rinval 24, pd 23:0 */
	be64_t start_addr, len;
	be32_t bsf_octowords;
	be32_t rsvd24[4];
	be32_t octowords;		/* size of the translation table, 16-byte units */
	be32_t log_page_size;		/* 4:0 */
	be32_t rsvd3c;
};
WIRE_SIZE(struct m5_mkc, 64);
WIRE_AT(struct m5_mkc, start_addr, 0x10);
WIRE_AT(struct m5_mkc, octowords, 0x34);
enum {
	M5_MKC_FREE = 1 << 30,
	M5_MKC_UMR_EN = 1 << 15,
	M5_MKC_ATOMIC = 1 << 14,
	M5_MKC_REMOTE_WRITE = 1 << 13,
	M5_MKC_REMOTE_READ = 1 << 12,
	M5_MKC_LOCAL_WRITE = 1 << 11,
	M5_MKC_LOCAL_READ = 1 << 10,
	M5_MKC_MODE_MTT = 1 << 8,
	M5_MKC_MODE_KLM = 2 << 8,
};
#define M5_NO_QPN 0xffffffu
#define M5_MKC_EN_RINVAL (1u << 24)	/* in the word of the PD */

struct m5_create_mkey_in {
	struct m5_in_hdr hdr;
	be32_t input_index;
	be32_t flags;			/* pg_access 31, mkey_umem_valid 30 */
	struct m5_mkc mkc;
	be32_t rsvd50[4];
	be32_t octowords_actual;
	be32_t umem_id;
	be64_t umem_offset;
	be32_t rsvd70[40];
	be64_t mtt[];
};
WIRE_AT(struct m5_create_mkey_in, octowords_actual, 0x60);
WIRE_AT(struct m5_create_mkey_in, mtt, 0x110);

/* PRM, "Event Queue Context" */
struct m5_create_eq_in {
	struct m5_in_hdr hdr;
	be32_t rsvd[2];
	be32_t eqc00[3];
	be32_t size_uar;		/* 0c: log_eq_size 28:24, uar_page 23:0 */
	be32_t eqc10;
	be32_t intr;			/* 14: 7:0 */
	be32_t log_page_size;		/* 18: 28:24, above 12 */
	be32_t eqc1c[9];
	be32_t rsvd50[2];
	be64_t event_bitmask[4];
	be32_t rsvd78[38];
	be64_t pas[];
};
WIRE_AT(struct m5_create_eq_in, size_uar, 0x10 + 0x0c);
WIRE_AT(struct m5_create_eq_in, event_bitmask, 0x58);
WIRE_AT(struct m5_create_eq_in, pas, 0x110);

struct m5_query_eq_out {
	struct m5_out_hdr hdr;
	be32_t rsvd[2];
	be32_t eqc00[11];
	be32_t producer;		/* 2c: 23:0 */
	be32_t eqc30[4];
	be32_t rsvd50[48];
};
WIRE_SIZE(struct m5_query_eq_out, 0x110);
WIRE_AT(struct m5_query_eq_out, producer, 0x10 + 0x2c);

/* PRM, "Completion Queue Context" */
struct m5_cqc {
	be32_t flags;			/* status 31:28, dbr_umem_valid 25, cqe_sz 23:21, oi 17 */
	be32_t dbr_umem_id;
	be32_t page_offset;
	be32_t size_uar;		/* log_cq_size 28:24, uar_page 23:0 */
	be32_t moderation;
	be32_t eqn;			/* 7:0 */
	be32_t log_page_size;		/* 28:24, above 12 */
	be32_t rsvd1c;
	be32_t last_notified, last_solicit, consumer, producer;
	be32_t rsvd30[2];
	be64_t dbr_addr;		/* offset in the umem */
};
WIRE_SIZE(struct m5_cqc, 64);
WIRE_AT(struct m5_cqc, consumer, 0x28);
WIRE_AT(struct m5_cqc, dbr_addr, 0x38);

struct m5_create_cq_in {		/* CREATE_CQ and MODIFY_CQ */
	struct m5_in_hdr hdr;
	be32_t cqn;			/* 23:0; MODIFY_CQ only */
	be32_t field_select;		/* MODIFY_CQ only; resize: log size 0, page offset 1, page size 2 */
	struct m5_cqc cqc;
	be64_t umem_offset;
	be32_t umem_id;
	be32_t umem_valid;		/* 31 */
	be32_t rsvd60[44];
};
WIRE_SIZE(struct m5_create_cq_in, 272);
WIRE_AT(struct m5_create_cq_in, umem_offset, 0x50);

/* PRM, "Address Path" */
struct m5_ads {
	be32_t pkey;			/* fl 31, pkey_index 15:0 */
	be32_t lid;			/* grh 23, mlid 22:16, rlid 15:0 */
	be32_t gid;			/* ack_timeout 31:27, src_addr_index 23:16, hop_limit 7:0 */
	be32_t flow;			/* tclass 27:20, flow_label 19:0 */
	uint8_t rgid[16];
	be32_t udp;			/* dscp 21:16, udp_sport 15:0 */
	be32_t mac_hi;			/* eth_prio 30:28, sl 27:24, port 23:16, rmac 47:32 15:0 */
	be32_t mac_lo;
};
WIRE_SIZE(struct m5_ads, 44);
WIRE_AT(struct m5_ads, rgid, 0x10);

/* PRM, "Queue Pair Context" */
struct m5_qpc {
	be32_t state;			/* state 31:28, st 23:16, pm_state 12:11 */
	be32_t pd;			/* dp_ordering_force 24, pd 23:0 */
	be32_t sizes;			/* mtu 31:29, log_msg_max 28:24, log_rq_size 22:19,
					 * log_rq_stride 18:16, no_sq 15, log_sq_size 14:11,
					 * ts_format 7:6 */
	be32_t uar_page;		/* counter_set_id 31:24, uar_page 23:0 */
	be32_t user_index;		/* 23:0 */
	be32_t remote_qpn;		/* log_page_size 28:24, remote_qpn 23:0 */
	struct m5_ads primary, secondary;
	be32_t retry;			/* log_ack_req_freq 31:28, log_sra_max 23:21,
					 * retry_count 18:16, rnr_retry 15:13 */
	be32_t rsvd74;
	be32_t next_send_psn;
	be32_t cqn_snd;
	be32_t deth_sqpn, rsvd84;
	be32_t last_acked_psn, ssn;
	be32_t responder;		/* log_rra_max 23:21, atomic_mode 19:16, rre 15, rwe 14, rae 13 */
	be32_t next_rcv_psn;		/* min_rnr_nak 28:24, psn 23:0 */
	be32_t xrcd;
	be32_t cqn_rcv;
	be64_t dbr_addr;		/* offset in the umem */
	be32_t q_key;
	be32_t rq_type;			/* rq_type 26:24, srqn 23:0 */
	be32_t rmsn;
	be32_t sq_counters;		/* hardware 31:16, software 15:0, in WQEBBs */
	be32_t hw_rq_counter, sw_rq_counter;
	be32_t rsvdc0;
	be32_t cs;			/* scatter to CQE: cs_req 15:8, cs_res 7:0 */
	be64_t dc_access_key;
	be32_t dbr_umem_valid;		/* 28 */
	be32_t rsvdd4[4];
	be32_t dbr_umem_id;
};
WIRE_SIZE(struct m5_qpc, 232);
WIRE_AT(struct m5_qpc, primary, 0x18);
WIRE_AT(struct m5_qpc, retry, 0x70);
WIRE_AT(struct m5_qpc, responder, 0x90);
WIRE_AT(struct m5_qpc, dbr_addr, 0xa0);
WIRE_AT(struct m5_qpc, sq_counters, 0xb4);
WIRE_AT(struct m5_qpc, cs, 0xc4);
WIRE_AT(struct m5_qpc, dbr_umem_valid, 0xd0);
WIRE_AT(struct m5_qpc, dbr_umem_id, 0xe4);
enum { M5_MODIFY_CQ_RESIZE = 1 };	/* op_mod */

enum { M5_QPC_ST_RC = 0, M5_QPC_PM_MIGRATED = 3, M5_QPC_RQ_SRQ = 1 };
/* Adapters with a real-time clock may refuse free-running timestamps (0); each has a default (1). */
enum { M5_QPC_TS_DEFAULT = 1 << 6 };
enum { M5_QPC_CS_REQ32 = 0x11 << 8, M5_QPC_CS_RES32 = 1 };
enum { M5_QPC_FORCE_ORDER = 1 << 24, M5_ADS_GRH = 1 << 23 };

/* opt_param_mask (PRM, "Optional Parameters") */
enum { M5_OPT_RRE = 1 << 1, M5_OPT_RAE = 1 << 2, M5_OPT_RWE = 1 << 3, M5_OPT_PKEY_INDEX = 1 << 4 };

struct m5_qp_in {			/* CREATE_QP and the transitions */
	struct m5_in_hdr hdr;
	be32_t qpn;			/* 23:0, of a transition */
	be32_t rsvd0c;
	be32_t opt_param_mask;
	be32_t ece;
	struct m5_qpc qpc;
	be64_t wq_umem_offset;
	be32_t wq_umem_id;
	be32_t wq_umem_valid;		/* 31 */
};
WIRE_SIZE(struct m5_qp_in, 272);
WIRE_AT(struct m5_qp_in, wq_umem_offset, 0x100);

struct m5_query_qp_out {
	struct m5_out_hdr hdr;
	be32_t rsvd08[2];
	be32_t opt_param_mask;
	be32_t ece;
	struct m5_qpc qpc;
	be32_t rsvd100[4];
};
WIRE_SIZE(struct m5_query_qp_out, 272);

/* PRM, "Work Queue Context" */
struct m5_wq {
	be32_t type;			/* wq_type 31:28: 0 linked list */
	be32_t lwm;			/* 15:0 */
	be32_t pd, uar_page;		/* 23:0 */
	be64_t dbr_addr;		/* offset in the umem */
	be32_t hw_counter, sw_counter;	/* WQEs taken, and posted */
	be32_t sizes;			/* log_wq_stride 19:16, log_wq_pg_sz 12:8, log_wq_sz 4:0 */
	be32_t umem_valid;		/* dbr 31, wq 30 */
	be32_t dbr_umem_id, wq_umem_id;
	be64_t wq_umem_offset;
	be32_t rsvd38[34];
};
WIRE_SIZE(struct m5_wq, 192);
WIRE_AT(struct m5_wq, hw_counter, 0x18);
WIRE_AT(struct m5_wq, wq_umem_offset, 0x30);

/* PRM, "Receive Memory Pool Context", in CREATE_ and MODIFY_RMP */
struct m5_rmp_in {
	struct m5_in_hdr hdr;
	be32_t rmp;			/* MODIFY_RMP: state 31:28, rmpn 23:0 */
	be32_t rsvd0c;
	be64_t select;			/* MODIFY_RMP: lwm 0 */
	be32_t rsvd18[2];
	be32_t state;			/* 23:20 */
	be32_t rsvd24[11];
	struct m5_wq wq;
};
WIRE_SIZE(struct m5_rmp_in, 272);
WIRE_AT(struct m5_rmp_in, wq, 0x50);
enum { M5_RMPS_RDY = 1 };

struct m5_query_rmp_out {
	struct m5_out_hdr hdr;
	be32_t rsvd08[6];
	be32_t state;
	be32_t rsvd24[11];
	struct m5_wq wq;
};
WIRE_SIZE(struct m5_query_rmp_out, 272);

/* PRM, "Event Queue Entry": 64 bytes, owner last. */
struct m5_eqe {
	uint8_t rsvd0, type, rsvd2, sub_type;
	be32_t rsvd4[7];
	be32_t data[7];
	be16_t rsvd3c;
	uint8_t signature, owner;
};
WIRE_SIZE(struct m5_eqe, 64);
WIRE_AT(struct m5_eqe, data, 32);

/* PRM, "Event Types" */
enum m5_event_type {
	M5_EV_COMPLETION = 0x00,	/* data[6]: cqn */
	M5_EV_CQ_ERROR = 0x04,		/* data[0]: cqn; data[1]: syndrome */
	M5_EV_WQ_CATASTROPHIC = 0x05,	/* data[6]: qpn, for this and the next */
	M5_EV_INTERNAL_ERROR = 0x08,
	M5_EV_PORT_CHANGE = 0x09,	/* sub_type: 1 down, 4 up; data[2]: port 31:28 */
	M5_EV_WQ_INVALID_REQUEST = 0x10,
	M5_EV_WQ_ACCESS_ERROR = 0x11,
	M5_EV_SRQ_CATASTROPHIC = 0x12,
	M5_EV_SRQ_LAST_WQE = 0x13,
	M5_EV_SRQ_LIMIT = 0x14,
};

/* Offsets in a 4 KiB UAR page (PRM, "UAR Page Format"). */
enum {
	M5_UAR_CQ_DOORBELL = 0x20,
	M5_UAR_EQ_ARM = 0x40,
	M5_UAR_EQ_CI = 0x48,
	M5_UAR_REG = 0x800,
};

#endif
