/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMR: a WQE changes an mkey. PRM "UMR WQE": control, UMR control, mkey context, then the list or a pointer
 * to it. Memory windows use only this.
 */
#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"
#include "softnic/mlx5/quirk.h"
#include "softnic/mlx5/wqe.h"

enum {
	UMR_CHECK_QPN = 1 << 3,
	UMR_TRANSLATION_OFFSET = 1 << 4,
	UMR_CHECK_FREE = 1 << 5,
	UMR_CHECK_USED = 1 << 6,	/* Linux names it MLX5_UMR_CHECK_FREE: fail if the key is free */
	UMR_RESERVED = 7,
	UMR_INLINE = 1 << 7,
};

/* PRM mkey_mask */
#define MASK_LEN	(UINT64_C(1) << 0)
#define MASK_START	(UINT64_C(1) << 6)
#define MASK_RINVAL	(UINT64_C(1) << 8)
#define MASK_KEY	(UINT64_C(1) << 13)
#define MASK_QPN	(UINT64_C(1) << 14)
#define MASK_LR		(UINT64_C(1) << 17)
#define MASK_LW		(UINT64_C(1) << 18)
#define MASK_RR		(UINT64_C(1) << 19)
#define MASK_RW		(UINT64_C(1) << 20)
#define MASK_A		(UINT64_C(1) << 21)
#define MASK_FREE	(UINT64_C(1) << 29)
#define MASK_ALL                                                                                   \
	(MASK_LEN | MASK_START | MASK_RINVAL | MASK_KEY | MASK_QPN | MASK_LR | MASK_LW | MASK_RR | \
	 MASK_RW | MASK_A | MASK_FREE)

enum { AT_UMR = 16, AT_MKC = 64, AT_LIST = 128, KLM = 16 };

struct umr {
	struct sn_qp *qp;
	const struct sn_wqe *wqe;
	const struct sn_umr_ctrl *ctrl;
	const uint8_t *mkc;
	struct sn_mkey *m;
	uint64_t mask;
	uint32_t nklm;
	uint32_t first;		/* first entry of the key's list that is replaced */
};

static uint8_t refuse_umr(const struct umr *u, enum sn_viol v, const char *words)
{
	sn_violate(u->qp->nic, v, "QP %#x index %u key %#x: %s", u->qp->qpn, u->wqe->wr->idx,
		   from_be32(u->wqe->imm), words);
	return SN_SYND_MW_BIND;
}

/* Checks the fields of the WQE, without the mkey. */
static uint8_t check_wqe(struct umr *u)
{
	unsigned int list;

	if (u->wqe->ds < 8)
		return refuse_umr(u, SN_V_WQE_DS, "shorter than its three segments");
	u->nklm = from_be16(u->ctrl->klm_octowords);
	u->first = u->ctrl->flags & UMR_TRANSLATION_OFFSET ? from_be16(u->ctrl->translation_offset)
							  : 0;
	/* A list is made of blocks of 64 bytes (Linux, MLX5_UMR_MTT_ALIGNMENT). */
	if ((u->nklm | u->first) % 4)
		return refuse_umr(u, SN_V_WQE_UMR, "part of a block of four entries");
	list = !u->nklm ? 0 : u->ctrl->flags & UMR_INLINE ? u->nklm : 1;
	if (u->wqe->ds != 8 + list)
		return refuse_umr(u, SN_V_WQE_DS, "DS and klm_octowords disagree");
	if (!sn_is_zero(u->ctrl->rsvd0, sizeof(u->ctrl->rsvd0)) ||
	    !sn_is_zero(u->ctrl->rsvd1, sizeof(u->ctrl->rsvd1)) || u->ctrl->flags & UMR_RESERVED)
		refuse_umr(u, SN_V_WQE_RESERVED,
			   "reserved bits of the UMR control segment are set");
	if (u->mask & ~MASK_ALL)
		return refuse_umr(u, SN_V_WQE_UMR, "mkey_mask has bits that are not among the capabilities");
	return SN_SYND_OK;
}

/*
 * A UMR must name the key's present variant: the manual does not define any other case, so no driver
 * may rely on one. One exception: libmlx5's invalidate leaves variant 0, and its next bind names the
 * variant before that.
 */
static void check_variant(const struct umr *u, const struct sn_mkey *m)
{
	uint8_t named = (uint8_t)from_be32(u->wqe->imm);

	if (named != m->key && !(m->free && !m->key && named == m->before))
		refuse_umr(u, SN_V_MKEY_STALE, "the variant byte is not that of the key");
}

/* Returns the number of bytes in the pages of an MTT key, counted from its first byte. */
static uint64_t mtt_room(const struct sn_mkey *m)
{
	uint64_t all = (uint64_t)m->buf.npages << m->buf.page_shift;

	return m->buf.umem ? m->buf.len : all - m->buf.offset;
}

/* May this QP make this change to this mkey? */
static uint8_t check_mkey(struct umr *u)
{
	uint32_t key = from_be32(u->wqe->imm);
	struct sn_mkey *m = sn_mkey_find(u->qp->nic, key);

	if (!m)
		return refuse_umr(u, SN_V_MKEY_STALE, "no such key");
	if (!m->umr_en)
		return refuse_umr(u, SN_V_WQE_UMR, "umr_en is not set");
	if (m->pd != u->qp->pd)
		return refuse_umr(u, SN_V_MKEY_PD, "other PD");
	if (sn_quirk(u->qp->nic, SN_Q_NO_REBIND) && !m->free && !sn_get(u->mkc, MKC_FREE))
		return SN_SYND_MW_BIND;
	if (u->ctrl->flags & UMR_CHECK_FREE && !m->free)
		return refuse_umr(u, SN_V_WQE_UMR, "check_free: the key is not free");
	if (u->ctrl->flags & UMR_CHECK_USED && m->free)
		return refuse_umr(u, SN_V_WQE_UMR, "the key is free");
	if (u->ctrl->flags & UMR_CHECK_QPN && m->qpn != u->qp->qpn && m->qpn != SN_ANY_QPN)
		return refuse_umr(u, SN_V_MKEY_QPN, "check_qpn: the key is bound to another QP");
	if (u->nklm && m->mode != MODE_KLM && m->mode != MODE_KSM)
		return refuse_umr(u, SN_V_WQE_UMR, "a list of KLMs for a key that has no list");
	if (u->nklm && u->first + u->nklm > m->max_klm)
		return refuse_umr(u, SN_V_WQE_UMR, "the list is longer than translations_octword_size");
	if (u->mask & MASK_LEN && m->mode == MODE_MTT && sn_get64(u->mkc, MKC_LEN) > mtt_room(m))
		return refuse_umr(u, SN_V_WQE_UMR, "len is larger than the pages of the key");
	check_variant(u, m);
	u->m = m;
	return SN_SYND_OK;
}

/* Entries without a length fill up the last block. (An entry of a KSM has no length.) */
static void check_filler(const struct umr *u, const struct sn_klm *klm)
{
	for (uint32_t i = 0; i < u->nklm && u->m->mode == MODE_KLM; i++)
		if (!klm[i].len && (klm[i].key || klm[i].va))
			refuse_umr(u, SN_V_WQE_RESERVED, "an entry without a length is not zero");
}

/* Reads the list, inline or in memory. */
static uint8_t read_list(struct umr *u, struct sn_klm *klm)
{
	const uint8_t *inl = u->wqe->raw + AT_LIST;
	struct sn_access a = { .pd = u->qp->pd, .qpn = u->qp->qpn, .rights = SN_LR };
	uint8_t entry[KLM];

	if (u->ctrl->flags & UMR_INLINE) {
		for (uint32_t i = 0; i < u->nklm; i++)
			sn_klm_read(&klm[i], inl + (size_t)i * KLM);
		return SN_SYND_OK;
	}
	for (uint32_t i = 0; i < u->nklm; i++) {
		enum sn_acc acc;

		a.key = sn_get32(inl, 4);
		a.va = sn_get64(inl, 8) + (uint64_t)i * KLM;
		a.len = KLM;
		acc = sn_mkey_read(u->qp->nic, &a, entry);
		if (acc) {
			sn_acc_violation(u->qp->nic, &a, acc, false);
			return SN_SYND_LOCAL_PROT;
		}
		sn_klm_read(&klm[i], entry);
	}
	return SN_SYND_OK;
}

static void set_right(struct umr *u, uint64_t mask, struct sn_fld f, uint8_t right)
{
	if (!(u->mask & mask))
		return;
	u->m->rights &= (uint8_t)~right;
	if (sn_get(u->mkc, f))
		u->m->rights |= right;
}

/* Changes the fields in the mask. The list was replaced before, so no access sees old and new entries
 * of one key together. */
static void apply_mask(struct umr *u)
{
	struct sn_mkey *m = u->m;

	if (u->mask & MASK_LEN) {
		m->len = sn_get64(u->mkc, MKC_LEN);
		if (m->mode == MODE_MTT && m->len > m->buf.len)
			m->buf.len = m->len;
	}
	if (u->mask & MASK_START)
		m->start = sn_get64(u->mkc, MKC_START);
	if (u->mask & MASK_RINVAL)
		m->rinval = sn_get(u->mkc, MKC_EN_RINVAL);
	if (u->mask & MASK_KEY) {
		m->before = m->key;
		m->key = (uint8_t)sn_get(u->mkc, MKC_KEY);
	}
	if (u->mask & MASK_QPN)
		m->qpn = sn_get(u->mkc, MKC_QPN);
	if (u->mask & MASK_FREE)
		m->free = sn_get(u->mkc, MKC_FREE);
	set_right(u, MASK_LR, MKC_LR, SN_LR);
	set_right(u, MASK_LW, MKC_LW, SN_LW);
	set_right(u, MASK_RR, MKC_RR, SN_RR);
	set_right(u, MASK_RW, MKC_RW, SN_RW);
	set_right(u, MASK_A, MKC_A, SN_ATOMIC);
}

uint8_t sn_umr_execute(struct sn_qp *qp, const struct sn_wqe *wqe)
{
	struct umr u = { .qp = qp, .wqe = wqe, .ctrl = (const void *)(wqe->raw + AT_UMR),
			 .mkc = wqe->raw + AT_MKC };
	struct sn_klm klm[SN_DS_MAX];
	uint8_t synd;

	if (sn_quirk(qp->nic, SN_Q_NO_UMR) || sn_quirk(qp->nic, SN_Q_UMR_DISABLED))
		return SN_SYND_MW_BIND;
	u.mask = from_be64(u.ctrl->mkey_mask);
	synd = check_wqe(&u);
	if (!synd)
		synd = check_mkey(&u);
	if (synd)
		return synd;
	if (u.nklm > SN_DS_MAX)
		return refuse_umr(&u, SN_V_WQE_UMR,
				  "more entries than this model supports in one UMR");
	synd = read_list(&u, klm);
	if (synd)
		return synd;
	check_filler(&u, klm);
	if (!sn_klm_lengths_ok(u.m, u.first ? u.m->klm : klm, klm, u.nklm))
		return refuse_umr(&u, SN_V_WQE_UMR, "a KLM is longer than 2 GiB");
	if (u.nklm) {
		memcpy(&u.m->klm[u.first], klm, u.nklm * sizeof(klm[0]));
		u.m->nklm = u.first + u.nklm;
	}
	apply_mask(&u);
	sn_mappings_forget(qp->nic);
	return SN_SYND_OK;
}
