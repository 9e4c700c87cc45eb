/* SPDX-License-Identifier: BSD-2-Clause */
/* The key table: CREATE_MKEY and related commands. PRM "Memory key context". access.c uses the table. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

enum { OCTOWORD = 16, KLM_FIRST = 64 };

static uint8_t read_rights(const uint8_t *ctx)
{
	return (uint8_t)((sn_get(ctx, MKC_LR) ? SN_LR : 0) | (sn_get(ctx, MKC_LW) ? SN_LW : 0) |
			 (sn_get(ctx, MKC_RR) ? SN_RR : 0) | (sn_get(ctx, MKC_RW) ? SN_RW : 0) |
			 (sn_get(ctx, MKC_A) ? SN_ATOMIC : 0));
}

static uint8_t read_context(struct sn_cmd *c, const uint8_t *ctx, struct sn_mkey *m)
{
	m->key = (uint8_t)sn_get(ctx, MKC_KEY);
	m->mode = (uint8_t)(sn_get(ctx, MKC_MODE_4_2) << 2 | sn_get(ctx, MKC_MODE_1_0));
	m->rights = read_rights(ctx);
	m->free = sn_get(ctx, MKC_FREE);
	m->umr_en = sn_get(ctx, MKC_UMR_EN);
	m->length64 = sn_get(ctx, MKC_LENGTH64);
	m->rinval = sn_get(ctx, MKC_EN_RINVAL);
	m->qpn = sn_get(ctx, MKC_QPN);
	m->start = sn_get64(ctx, MKC_START);
	m->len = sn_get64(ctx, MKC_LEN);
	m->log_page = (uint8_t)sn_get(ctx, MKC_LOG_PAGE);
	m->pd = sn_cmd_find(c, &c->nic->pds, sn_get(ctx, MKC_PD));
	if (!m->pd)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no PD %#x", sn_get(ctx, MKC_PD));
	if (m->mode > MODE_KSM)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "access_mode %u", m->mode);
	/* Linux sets mkey_umem_valid in a program's command, so that it can name no physical memory. */
	if (m->mode == MODE_PA && (sn_get(c->in, CMD_UID) || sn_get(c->in, MKEY_UMEM_VALID)))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "a program's key for physical memory");
	if (sn_get(ctx, MKC_BSF_EN) || sn_get32(ctx, MKC_BSF_SIZE))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "BSFs are not among the capabilities");
	if (!m->length64 && m->start + m->len < m->start)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "start_addr + len wraps");
	if (!m->length64 && m->len > UINT64_C(1) << 63)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "len is above 2^log_max_mrw_sz");
	if (m->mode == MODE_MTT && (m->length64 || m->len >> 56))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "an MTT list for all addresses (length64)");
	if (m->free && !m->umr_en)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "a free key without umr_en could never be used");
	return STAT_OK;
}

/* start_addr need not be aligned: its offset within a page is the offset of the key's first byte within
 * the first page. */
static uint64_t pages_of(const struct sn_mkey *m)
{
	uint64_t page = UINT64_C(1) << m->log_page;

	return ((m->start & (page - 1)) + m->len + page - 1) >> m->log_page;
}

bool sn_mtt_fits(const struct sn_mkey *m)
{
	return m->log_page >= 12 && !(m->len >> 56) && pages_of(m) <= 2ull * m->max_list;
}

int sn_mtt_map(struct softnic *nic, struct sn_mkey *m, const uint8_t *list, bool rights)
{
	int err = sn_buf_from_list(nic, &m->buf, list, (uint32_t)pages_of(m), m->log_page, rights);

	if (err)
		return err;
	m->buf.offset = m->start & ((UINT64_C(1) << m->log_page) - 1);
	m->buf.len = m->len;
	return 0;
}

static uint8_t read_mtts(struct sn_cmd *c, const uint8_t *ctx, struct sn_mkey *m)
{
	uint64_t given = 2ull * sn_get32(c->in, MKEY_XLT_ACTUAL), need = pages_of(m);
	bool umem = sn_get(c->in, MKEY_UMEM_VALID);
	int err;

	/* UMRs write whole blocks of 64 bytes. Linux makes shorter lists, too, so the room is rounded up. */
	m->max_list = (sn_get32(ctx, MKC_XLT_SIZE) + 3) & ~3u;
	/* A UMR will write the list and the page size. */
	if (m->free && !given && !umem)
		return STAT_OK;
	if (m->log_page < 12)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "log_page_size %u", m->log_page);
	if (2ull * sn_get32(ctx, MKC_XLT_SIZE) < need)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "translations_octword_size too small");
	/* With a umem, start_addr is the address of the byte at mkey_umem_offset, whatever the page sizes. */
	if (umem)
		return sn_cmd_umem(c, &m->buf, sn_get32(c->in, MKEY_UMEM_ID),
				   sn_get64(c->in, MKEY_UMEM_OFFSET), m->len, 1);
	if (given < need || need > (c->inlen - AT_PAS) / 8)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN, "%llu MTT entries needed",
				     (unsigned long long)need);
	err = sn_mtt_map(c->nic, m, c->in + AT_PAS, sn_get(c->in, MKEY_PG_ACCESS));
	return err ? sn_cmd_refuse_errno(c, err) : STAT_OK;
}

void sn_klm_read(struct sn_klm *klm, const uint8_t *entry)
{
	*klm = (struct sn_klm){ .len = sn_get32(entry, 0), .key = sn_get32(entry, 4),
				.va = sn_get64(entry, 8) };
}

/*
 * mlx5dv.h: a KLM is up to 2 GiB long; libmlx5 refuses to bind more. Entries behind the last byte of the key
 * may be anything: Linux rounds a list up to four entries, and leaves old bytes in the others.
 */
bool sn_klm_lengths_ok(const struct sn_mkey *m, uint64_t len, uint32_t first_key, const uint8_t *list,
		       uint32_t n)
{
	enum { LOG_MOST = 31 };
	uint64_t sum = 0;

	if (m->mode != MODE_KLM || first_key == SN_KLM_STRIDED)
		return true;
	for (uint32_t i = 0; i < n && (m->length64 || sum < len); i++) {
		if (sn_get32(list, i * OCTOWORD) > UINT32_C(1) << LOG_MOST)
			return false;
		sum += sn_get32(list, i * OCTOWORD);
	}
	return true;
}

int sn_klm_reserve(struct softnic *nic, struct sn_mkey *m, uint32_t n)
{
	struct sn_klm *klm;

	if (n <= m->klm_room)
		return 0;
	klm = sn_pages_left(nic) ? realloc(m->klm, n * sizeof(*klm)) : NULL;
	if (!klm)
		return -ENOMEM;
	memset(klm + m->klm_room, 0, (n - m->klm_room) * sizeof(*klm));
	nic->heap_words += SN_ENTRY_WORDS * (n - m->klm_room);
	m->klm = klm;
	m->klm_room = n;
	return 0;
}

/*
 * translations_octword_size is the capacity of the list, which a UMR may not exceed. The entries are
 * checked at each use, because the keys in them may change. Memory for more than KLM_FIRST entries is
 * allocated when they are written: a program may announce a long list and never write it.
 */
static uint8_t read_klms(struct sn_cmd *c, const uint8_t *ctx, struct sn_mkey *m)
{
	uint32_t given = sn_get32(c->in, MKEY_XLT_ACTUAL);
	int err;

	m->max_list = sn_get32(ctx, MKC_XLT_SIZE);
	if (m->max_list > SN_LIST_MAX)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "translations_octword_size %u", m->max_list);
	if (given > m->max_list || given > (c->inlen - AT_PAS) / OCTOWORD)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN, "%u KLMs announced", given);
	err = sn_klm_reserve(c->nic, m, MAX(given, MIN(m->max_list, KLM_FIRST)));
	if (err)
		return sn_cmd_refuse_errno(c, err);
	for (uint32_t i = 0; i < given; i++)
		sn_klm_read(&m->klm[i], c->in + AT_PAS + (size_t)i * OCTOWORD);
	m->nklm = given;
	if (given && !sn_klm_lengths_ok(m, m->len, m->klm[0].key, c->in + AT_PAS, given))
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "a KLM is longer than 2 GiB");
	return STAT_OK;
}

static uint8_t read_translations(struct sn_cmd *c, const uint8_t *ctx, struct sn_mkey *m)
{
	if (m->mode == MODE_PA)
		return STAT_OK;
	return m->mode == MODE_MTT ? read_mtts(c, ctx, m) : read_klms(c, ctx, m);
}

static void release_mkey(struct softnic *nic, struct sn_mkey *m)
{
	nic->heap_words -= SN_ENTRY_WORDS * (m->klm_room + (m->mtts ? m->max_list : 0));
	sn_buf_release(nic, &m->buf);
	free(m->klm);
	free(m->mtts);
	free(m);
}

uint8_t sn_cmd_create_mkey(struct sn_cmd *c)
{
	const uint8_t *ctx = c->in + AT_CTX;
	struct sn_mkey *m = calloc(1, sizeof(*m));
	uint8_t status;

	if (!m)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	status = read_context(c, ctx, m);
	if (!status)
		status = read_translations(c, ctx, m);
	if (!status)
		status = sn_cmd_add(c, &c->nic->mkeys, SN_NUMBER_BITS, SN_LOG_MAX_MKEY, m, &m->index);
	if (status) {
		release_mkey(c->nic, m);
		return status;
	}
	m->pd->refs++;
	sn_set(c->out, CMD_NUMBER, m->index);
	return STAT_OK;
}

void sn_mkey_free(struct softnic *nic, void *obj)
{
	struct sn_mkey *m = obj;

	sn_table_remove(&nic->mkeys, m->index);
	if (m->pd)
		m->pd->refs--;
	release_mkey(nic, m);
}

uint8_t sn_cmd_destroy_mkey(struct sn_cmd *c)
{
	struct sn_mkey *m = sn_table_find(&c->nic->mkeys, sn_get(c->in, CMD_NUMBER));

	if (!m || !m->pd)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such mkey: %#x", sn_get(c->in, CMD_NUMBER));
	sn_mkey_free(c->nic, m);
	return STAT_OK;
}

uint8_t sn_cmd_query_mkey(struct sn_cmd *c)
{
	struct sn_mkey *m = sn_table_find(&c->nic->mkeys, sn_get(c->in, CMD_NUMBER));
	uint8_t *ctx = c->out + AT_CTX;

	if (!m || !m->pd)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no such mkey: %#x", sn_get(c->in, CMD_NUMBER));
	sn_set(ctx, MKC_FREE, m->free);
	sn_set(ctx, MKC_UMR_EN, m->umr_en);
	sn_set(ctx, MKC_MODE_1_0, m->mode & 3);
	sn_set(ctx, MKC_LR, m->rights & SN_LR ? 1 : 0);
	sn_set(ctx, MKC_LW, m->rights & SN_LW ? 1 : 0);
	sn_set(ctx, MKC_RR, m->rights & SN_RR ? 1 : 0);
	sn_set(ctx, MKC_RW, m->rights & SN_RW ? 1 : 0);
	sn_set(ctx, MKC_A, m->rights & SN_ATOMIC ? 1 : 0);
	sn_set(ctx, MKC_QPN, m->qpn);
	sn_set(ctx, MKC_KEY, m->key);
	sn_set(ctx, MKC_LENGTH64, m->length64);
	sn_set(ctx, MKC_EN_RINVAL, m->rinval);
	sn_set(ctx, MKC_PD, m->pd->pdn);
	sn_set(ctx, MKC_LOG_PAGE, m->log_page);
	sn_set64(ctx, MKC_START, m->start);
	sn_set64(ctx, MKC_LEN, m->len);
	sn_set32(ctx, MKC_XLT_SIZE, m->max_list);
	return STAT_OK;
}

int sn_mkey_modify(struct softnic *nic, uint32_t mkey, const void *mkc)
{
	struct sn_mkey *m = sn_table_find(&nic->mkeys, mkey);
	struct sn_pd *pd = sn_table_find(&nic->pds, sn_get(mkc, MKC_PD));

	if (!m || !m->pd || !pd)
		return -EINVAL;
	m->pd->refs--;
	pd->refs++;
	m->pd = pd;
	m->rights = read_rights(mkc);
	sn_mappings_forget(nic);
	return 0;
}

/* Creates the reserved lkey: it covers all bus addresses, for local use. PRM "reserved lkey". */
int sn_mkey_reserved(struct softnic *nic)
{
	struct sn_mkey *m = calloc(1, sizeof(*m));
	int err = -ENOMEM;

	if (m)
		err = sn_table_add(nic, &nic->mkeys, SN_NUMBER_BITS, SN_LOG_MAX_MKEY, m, &m->index);
	if (err) {
		free(m);
		return err;
	}
	m->mode = MODE_PA;
	m->rights = SN_LR | SN_LW;
	m->length64 = true;
	m->qpn = SN_ANY_QPN;
	nic->dev->resd_lkey = m->index << 8;
	return 0;
}

uint8_t sn_cmd_special(struct sn_cmd *c)
{
	sn_set32(c->out, 0x0c, c->nic->dev->resd_lkey);
	return STAT_OK;
}
