/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UMR: a WQE changes an mkey. PRM "UMR WQE": control, UMR control, mkey context, then the list or a pointer
 * to it. A list has entries of 16 bytes (KLMs), or two of 8 bytes (MTTs) in each 16. Memory windows are bound
 * only by UMRs. Linux uses UMRs for the fast registrations of its storage protocols and for its cache of
 * regions.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/param.h>

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
#define MASK_PAGE_SIZE	(UINT64_C(1) << 1)
#define MASK_START	(UINT64_C(1) << 6)
#define MASK_PD		(UINT64_C(1) << 7)
#define MASK_RINVAL	(UINT64_C(1) << 8)
#define MASK_KEY	(UINT64_C(1) << 13)
#define MASK_QPN	(UINT64_C(1) << 14)
#define MASK_LR		(UINT64_C(1) << 17)
#define MASK_LW		(UINT64_C(1) << 18)
#define MASK_RR		(UINT64_C(1) << 19)
#define MASK_RW		(UINT64_C(1) << 20)
#define MASK_A		(UINT64_C(1) << 21)
#define MASK_SMALL_FENCE (UINT64_C(1) << 23)
#define MASK_FREE	(UINT64_C(1) << 29)
#define MASK_ALL                                                                                   \
	(MASK_LEN | MASK_PAGE_SIZE | MASK_START | MASK_PD | MASK_RINVAL | MASK_KEY | MASK_QPN |    \
	 MASK_LR | MASK_LW | MASK_RR | MASK_RW | MASK_A | MASK_SMALL_FENCE | MASK_FREE)
/* what decides which bytes an MTT list stands for */
#define MASK_SHAPE	(MASK_LEN | MASK_PAGE_SIZE | MASK_START)

enum { AT_UMR = 16, AT_MKC = 64, AT_LIST = 128, OCTOWORD = 16 };

struct umr {
	struct sn_qp *qp;
	const struct sn_wqe *wqe;
	const struct sn_umr_ctrl *ctrl;
	const uint8_t *mkc;
	struct sn_mkey *m;
	struct sn_pd *pd;	/* the PD that the key will have */
	uint64_t mask;
	uint32_t octowords;	/* length of the list, in units of 16 bytes */
	uint32_t first;		/* where it begins in the key's list, in the same units */
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
	u->octowords = from_be16(u->ctrl->klm_octowords);
	u->first = u->ctrl->flags & UMR_TRANSLATION_OFFSET ? from_be16(u->ctrl->translation_offset)
							  : 0;
	/* Without the flag the field is bsf_octowords, of a signature (Linux, set_sig_umr_segment()). */
	if (!(u->ctrl->flags & UMR_TRANSLATION_OFFSET) && u->ctrl->translation_offset.be)
		return refuse_umr(u, SN_V_WQE_UMR, "bsf_octowords is not among the capabilities");
	/* A list is made of blocks of 64 bytes (Linux, MLX5_UMR_MTT_ALIGNMENT). */
	if ((u->octowords | u->first) % 4)
		return refuse_umr(u, SN_V_WQE_UMR, "part of a block of four entries");
	list = !u->octowords ? 0 : u->ctrl->flags & UMR_INLINE ? u->octowords : 1;
	if (u->wqe->ds != 8 + list)
		return refuse_umr(u, SN_V_WQE_DS, "DS and klm_octowords disagree");
	if (!sn_is_zero(u->ctrl->rsvd0, sizeof(u->ctrl->rsvd0)) ||
	    !sn_is_zero(u->ctrl->rsvd1, sizeof(u->ctrl->rsvd1)) || u->ctrl->flags & UMR_RESERVED)
		refuse_umr(u, SN_V_WQE_RESERVED,
			   "reserved bits of the UMR control segment are set");
	if (u->mask & ~(sn_quirk(u->qp->nic, SN_Q_UMR_ATOMIC_DISABLED) ? MASK_ALL & ~MASK_A : MASK_ALL))
		return refuse_umr(u, SN_V_WQE_UMR, "mkey_mask has bits that are not among the capabilities");
	return SN_SYND_OK;
}

/*
 * A UMR must name the present variant of a key in use: the manual does not define any other case, so no
 * driver may rely on one. For a free key Linux names the next variant, and libmlx5 an earlier one.
 */
static void check_variant(const struct umr *u, const struct sn_mkey *m)
{
	if (!m->free && (from_be32(u->wqe->imm) & 0xff) != m->key)
		refuse_umr(u, SN_V_MKEY_STALE, "the variant byte is not that of the key");
}

/* Returns the number of bytes in the pages of an MTT key, counted from its first byte. */
static uint64_t mtt_room(const struct sn_mkey *m)
{
	uint64_t all = (uint64_t)m->buf.npages << m->buf.page_shift;

	return m->buf.umem ? m->buf.len : all - m->buf.offset;
}

static uint8_t check_list(const struct umr *u)
{
	const struct sn_mkey *m = u->m;

	if (m->mode == MODE_PA || m->buf.umem)
		return refuse_umr(u, SN_V_WQE_UMR, "a list for a key that has no list");
	/* A list names memory by its bus address, so a program could reach any. */
	if (m->mode == MODE_MTT && !u->qp->fast_reg)
		return refuse_umr(u, SN_V_WQE_UMR, "a list of pages by a QP without fre");
	if (u->first + u->octowords > m->max_list)
		return refuse_umr(u, SN_V_WQE_UMR, "the list is longer than translations_octword_size");
	if (m->mode == MODE_MTT && (m->max_list > SN_LIST_MAX ||
				    (!m->mtts && (u->first || m->buf.npages > 2 * u->octowords))))
		return refuse_umr(u, SN_V_WQE_UMR, "this model does not change that part of the list");
	return SN_SYND_OK;
}

/*
 * A UMR without a list may change start, length and page size, and so what the key's list stands for. The
 * first byte of a key is in the first page of its list, at the place of its start in a page.
 */
static uint8_t check_shape(const struct umr *u)
{
	const struct sn_mkey *m = u->m;
	uint64_t in_page = (UINT64_C(1) << m->buf.page_shift) - 1;

	if (u->mask & MASK_SHAPE && m->mtts && !u->qp->fast_reg)
		return refuse_umr(u, SN_V_WQE_UMR, "pages of a list, by a QP without fre");
	if (m->mode != MODE_MTT || m->mtts)
		return SN_SYND_OK;
	/* A key whose list came with CREATE_MKEY has the pages that it had then. */
	if (u->mask & MASK_LEN && sn_get64(u->mkc, MKC_LEN) > mtt_room(m))
		return refuse_umr(u, SN_V_WQE_UMR, "len is larger than the pages of the key");
	if (!m->buf.npages || m->buf.umem)
		return SN_SYND_OK;
	if (u->mask & MASK_PAGE_SIZE && sn_get(u->mkc, MKC_LOG_PAGE) != m->log_page)
		return refuse_umr(u, SN_V_WQE_UMR, "another page size for the list of CREATE_MKEY");
	if (u->mask & MASK_START && (sn_get64(u->mkc, MKC_START) ^ m->start) & in_page)
		return refuse_umr(u, SN_V_WQE_UMR, "another place in the first page of CREATE_MKEY's list");
	return SN_SYND_OK;
}

/* Only Linux's own queue moves a key to another PD. */
static bool find_pd(struct umr *u)
{
	if (u->qp->umr_only)
		u->pd = sn_table_find(&u->qp->nic->pds, sn_get(u->mkc, MKC_PD));
	return u->pd && u->pd->pdn == sn_get(u->mkc, MKC_PD);
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
	if (m->pd != u->qp->pd && !u->qp->umr_only)
		return refuse_umr(u, SN_V_MKEY_PD, "other PD");
	if (sn_quirk(u->qp->nic, SN_Q_NO_REBIND) && !m->free && !sn_get(u->mkc, MKC_FREE))
		return SN_SYND_MW_BIND;
	if (u->ctrl->flags & UMR_CHECK_FREE && !m->free)
		return refuse_umr(u, SN_V_WQE_UMR, "check_free: the key is not free");
	if (u->ctrl->flags & UMR_CHECK_USED && m->free)
		return refuse_umr(u, SN_V_WQE_UMR, "the key is free");
	if (u->ctrl->flags & UMR_CHECK_QPN && m->qpn != u->qp->qpn && m->qpn != SN_ANY_QPN)
		return refuse_umr(u, SN_V_MKEY_QPN, "check_qpn: the key is bound to another QP");
	check_variant(u, m);
	u->m = m;
	u->pd = m->pd;
	if (u->mask & MASK_PD && !find_pd(u))
		return refuse_umr(u, SN_V_MKEY_PD, "no such PD, or no queue for that");
	return u->octowords ? check_list(u) : check_shape(u);
}

/* Returns the list: in the WQE, or a copy, which must be freed. NULL: no access or no memory. */
static const uint8_t *read_list(const struct umr *u, uint8_t **copy)
{
	const uint8_t *pointer = u->wqe->raw + AT_LIST;
	struct sn_access a = {
		.key = sn_get32(pointer, 4), .pd = u->qp->pd, .qpn = u->qp->qpn, .rights = SN_LR,
		.va = sn_get64(pointer, 8), .len = (uint64_t)u->octowords * OCTOWORD,
	};
	enum sn_acc acc;

	if (u->ctrl->flags & UMR_INLINE)
		return pointer;
	*copy = malloc(a.len);
	acc = *copy ? sn_mkey_read(u->qp->nic, &a, *copy) : SN_ACC_OK;
	sn_acc_violation(u->qp->nic, &a, acc, false);
	return acc ? NULL : *copy;
}

/* No access sees old and new entries together, because the device executes one request at a time. */
static uint8_t store_klms(const struct umr *u, struct sn_mkey *m, const uint8_t *list)
{
	uint64_t len = m->len;

	for (uint32_t i = 0; i < u->first; i++)
		len -= MIN(len, m->klm[i].len);
	if (!sn_klm_lengths_ok(m, len, u->first ? m->klm[0].key : sn_get32(list, 4), list, u->octowords))
		return refuse_umr(u, SN_V_WQE_UMR, "a KLM is longer than 2 GiB");
	for (uint32_t i = 0; i < u->octowords; i++)
		sn_klm_read(&m->klm[u->first + i], list + (size_t)i * OCTOWORD);
	m->nklm = MAX(m->nklm, u->first + u->octowords);
	return SN_SYND_OK;
}

/* The list is written to a copy, since the key keeps the old one if the new one does not fit. */
static uint8_t store_mtts(const struct umr *u, struct sn_mkey *m, const uint8_t *list)
{
	bool room = m->mtts || sn_pages_left(u->qp->nic);
	uint8_t *mtts = room ? calloc(m->max_list, OCTOWORD) : NULL;

	if (!mtts)
		return SN_SYND_MW_BIND;
	if (m->mtts)
		memcpy(mtts, m->mtts, (size_t)m->max_list * OCTOWORD);
	memcpy(mtts + (size_t)u->first * OCTOWORD, list, (size_t)u->octowords * OCTOWORD);
	m->mtts = mtts;
	return SN_SYND_OK;
}

static uint8_t store_list(const struct umr *u, struct sn_mkey *m)
{
	uint8_t *copy = NULL, synd = SN_SYND_LOCAL_PROT;
	const uint8_t *list = read_list(u, &copy);

	u->qp->nic->work += m->mode == MODE_MTT ? m->max_list : u->first + u->octowords;
	if (list)
		synd = m->mode == MODE_MTT ? store_mtts(u, m, list) : store_klms(u, m, list);
	free(copy);
	return synd;
}

static void set_right(const struct umr *u, struct sn_mkey *m, uint64_t mask, struct sn_fld f, uint8_t right)
{
	if (!(u->mask & mask))
		return;
	m->rights &= (uint8_t)~right;
	if (sn_get(u->mkc, f))
		m->rights |= right;
}

/*
 * Finds the memory of an MTT key by its list. While the key is free, its list may be incomplete: Linux
 * fills a long list by several UMRs.
 */
static uint8_t map_pages(const struct umr *u, struct sn_mkey *m)
{
	int err;

	if (!m->mtts || m->free || !(u->octowords || u->mask & (MASK_SHAPE | MASK_FREE)))
		return SN_SYND_OK;
	err = sn_mtt_fits(m) ? sn_mtt_map(u->qp->nic, m, m->mtts, true) : -EINVAL;
	if (err == -EINVAL)
		refuse_umr(u, SN_V_WQE_UMR, "the list does not fit to start, length and page size");
	return err ? SN_SYND_MW_BIND : SN_SYND_OK;
}

/* Changes the fields in the mask of a copy of the key. */
static void apply_mask(const struct umr *u, struct sn_mkey *m)
{
	if (u->mask & MASK_LEN)
		m->len = sn_get64(u->mkc, MKC_LEN);
	if (u->mask & MASK_LEN && m->mode == MODE_MTT && !m->mtts && m->len > m->buf.len)
		m->buf.len = m->len;
	if (u->mask & MASK_PAGE_SIZE)
		m->log_page = (uint8_t)sn_get(u->mkc, MKC_LOG_PAGE);
	if (u->mask & MASK_START)
		m->start = sn_get64(u->mkc, MKC_START);
	if (u->mask & MASK_RINVAL)
		m->rinval = sn_get(u->mkc, MKC_EN_RINVAL);
	if (u->mask & MASK_KEY)
		m->key = (uint8_t)sn_get(u->mkc, MKC_KEY);
	if (u->mask & MASK_QPN)
		m->qpn = sn_get(u->mkc, MKC_QPN);
	if (u->mask & MASK_FREE)
		m->free = sn_get(u->mkc, MKC_FREE);
	set_right(u, m, MASK_LR, MKC_LR, SN_LR);
	set_right(u, m, MASK_LW, MKC_LW, SN_LW);
	set_right(u, m, MASK_RR, MKC_RR, SN_RR);
	set_right(u, m, MASK_RW, MKC_RW, SN_RW);
	set_right(u, m, MASK_A, MKC_A, SN_ATOMIC);
}

/* Changes a copy of the key, so that a UMR that is refused changes nothing. */
static uint8_t change_key(const struct umr *u)
{
	struct sn_mkey *m = u->m, next;
	uint8_t synd = SN_SYND_OK;

	if (m->mode != MODE_MTT && sn_klm_reserve(u->qp->nic, m, u->octowords ? u->first + u->octowords : 0))
		return SN_SYND_MW_BIND;
	next = *m;
	apply_mask(u, &next);
	if (u->octowords)
		synd = store_list(u, &next);
	if (!synd)
		synd = map_pages(u, &next);
	if (next.mtts != m->mtts)
		free(synd ? next.mtts : m->mtts);
	if (synd)
		return synd;
	if (next.mtts && !m->mtts)
		u->qp->nic->heap_words += SN_ENTRY_WORDS * m->max_list;
	if (next.buf.pages != m->buf.pages)
		sn_buf_release(u->qp->nic, &m->buf);
	m->pd->refs--;
	u->pd->refs++;
	next.pd = u->pd;
	*m = next;
	u->qp->umr_unfenced |= !m->free;
	return SN_SYND_OK;
}

uint8_t sn_umr_execute(struct sn_qp *qp, const struct sn_wqe *wqe)
{
	struct umr u = { .qp = qp, .wqe = wqe, .ctrl = (const void *)(wqe->raw + AT_UMR),
			 .mkc = wqe->raw + AT_MKC };
	uint8_t synd;

	if (sn_quirk(qp->nic, SN_Q_NO_UMR) || sn_quirk(qp->nic, SN_Q_UMR_DISABLED))
		return SN_SYND_MW_BIND;
	u.mask = from_be64(u.ctrl->mkey_mask);
	synd = check_wqe(&u);
	if (!synd)
		synd = check_mkey(&u);
	if (!synd)
		synd = change_key(&u);
	sn_mappings_forget(qp->nic);
	return synd;
}
