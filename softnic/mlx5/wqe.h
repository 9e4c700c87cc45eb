/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments of a send WQE. PRM "WQE segments". */
#ifndef SN_WQE_H
#define SN_WQE_H

#include "softnic/be.h"

struct sn_ctrl {
	be32_t opmod_idx_opcode;	/* opmod(8) index(16) opcode(8) */
	be32_t qpn_ds;			/* qpn(24) rsvd(2) ds(6) */
	uint8_t signature;
	uint8_t dci_stream[2];
	uint8_t fm_ce_se;		/* fence(3) rsvd(1) ce(2) se(1) rsvd(1) */
	be32_t imm;
};

struct sn_raddr {
	be64_t va;
	be32_t rkey, rsvd;
};

/* The address vector of a UD WQE, with room for a GRH. */
struct sn_ud_av {
	be32_t qkey, rsvd0;
	be32_t dqpn;			/* extended(1) reserved(7) QPN(24) */
	uint8_t stat_rate_sl, fl_mlid;
	be16_t rlid;			/* with RoCE v2 this is the UDP source port */
	uint8_t rsvd1[4];
	uint8_t rmac[6], tclass, hop_limit;
	be32_t grh_gid_fl;		/* reserved(1) GRH(1) reserved(2) GID index(8) flow label(20) */
	uint8_t rgid[16];
};

struct sn_data {
	be32_t byte_count, lkey;
	be64_t va;
};

struct sn_atomic {
	be64_t swap_add, compare;
};

struct sn_umr_ctrl {
	uint8_t flags, rsvd0[3];
	be16_t klm_octowords, translation_offset;
	be64_t mkey_mask;
	uint8_t rsvd1[32];
};

SN_SIZE(struct sn_ctrl, 16);
SN_AT(struct sn_ctrl, fm_ce_se, 11);
SN_AT(struct sn_ctrl, imm, 12);
SN_SIZE(struct sn_raddr, 16);
SN_SIZE(struct sn_ud_av, 48);
SN_AT(struct sn_ud_av, dqpn, 8);
SN_AT(struct sn_ud_av, rmac, 20);
SN_AT(struct sn_ud_av, rgid, 32);
SN_SIZE(struct sn_data, 16);
SN_SIZE(struct sn_atomic, 16);
SN_SIZE(struct sn_umr_ctrl, 48);
SN_AT(struct sn_umr_ctrl, mkey_mask, 8);

enum { SN_INLINE = 1u << 31, SN_LIST_END = 0x100 };

enum { SN_AV_EXTENDED = 1u << 31, SN_AV_GRH = 1u << 30 };

enum sn_fence {
	SN_FENCE_NONE = 0,
	SN_FENCE_SMALL = 1,		/* waits for local operations */
	SN_FENCE_READ = 2,		/* waits for reads and atomics */
	SN_FENCE_STRONG = 3,		/* waits for all earlier work */
	SN_FENCE_SMALL_READ = 4,
};

#endif
