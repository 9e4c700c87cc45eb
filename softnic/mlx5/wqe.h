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
SN_SIZE(struct sn_data, 16);
SN_SIZE(struct sn_atomic, 16);
SN_SIZE(struct sn_umr_ctrl, 48);
SN_AT(struct sn_umr_ctrl, mkey_mask, 8);

enum { SN_INLINE = 1u << 31, SN_LIST_END = 0x100 };

enum sn_fence {
	SN_FENCE_NONE = 0,
	SN_FENCE_SMALL = 1,		/* local operations before */
	SN_FENCE_READ = 2,		/* reads and atomics before */
	SN_FENCE_STRONG = 3,		/* everything before */
	SN_FENCE_SMALL_READ = 4,
};

#endif
