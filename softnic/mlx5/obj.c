/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and umems. */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

uint8_t sn_cmd_add(struct sn_cmd *c, struct sn_table *t, unsigned int bits, unsigned int log_max, void *obj,
		   uint32_t *number)
{
	int err = sn_table_add(c->nic, t, bits, log_max, obj, number);

	return err ? sn_cmd_refuse_errno(c, err) : STAT_OK;
}

bool sn_cmd_may_name(const struct sn_cmd *c, size_t table, uint32_t number)
{
	const struct sn_owned *o = sn_table_find(&c->nic->owned, sn_kind(table) << 24 | number);

	if (!c->user)
		return true;
	return o ? o->uid == c->user : table == offsetof(struct softnic, xrcds);
}

void *sn_cmd_find(const struct sn_cmd *c, const struct sn_table *t, uint32_t number)
{
	size_t table = (size_t)((const uint8_t *)t - (const uint8_t *)c->nic);

	return sn_cmd_may_name(c, table, number) ? sn_table_find(t, number) : NULL;
}

uint8_t sn_cmd_alloc_pd(struct sn_cmd *c)
{
	struct sn_pd *pd = calloc(1, sizeof(*pd));
	uint8_t status = pd ? sn_cmd_add(c, &c->nic->pds, SN_NUMBER_BITS, SN_LOG_MAX_PD, pd, &pd->pdn) :
			      sn_cmd_refuse_errno(c, -ENOMEM);

	if (status)
		free(pd);
	else
		sn_set(c->out, CMD_NUMBER, pd->pdn);
	return status;
}

void sn_pd_free(struct softnic *nic, void *obj)
{
	struct sn_pd *pd = obj;

	sn_table_remove(&nic->pds, pd->pdn);
	free(pd);
}

uint8_t sn_cmd_create_umem(struct sn_cmd *c)
{
	const uint8_t *ctx = c->in + AT_CTX;
	unsigned int shift = sn_get(ctx, UMEM_LOG_PAGE) + 12;
	uint32_t off = sn_get32(ctx, UMEM_PAGE_OFFSET);
	uint64_t n = sn_get64(ctx, UMEM_NUM_MTT);
	struct sn_umem *umem;
	int err;

	if (n > UINT64_MAX >> shift)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "longer than all addresses");
	if (!n || n > (c->inlen - AT_CTX - UMEM_MTT) / 8)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN, "num_of_mtt and length disagree");
	if ((uint64_t)off >> shift)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "page_offset beyond the page");
	umem = calloc(1, sizeof(*umem));
	if (!umem)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	err = sn_buf_from_list(c->nic, &umem->buf, ctx + UMEM_MTT, (uint32_t)n, shift, true);
	if (err)
		goto free_umem;
	umem->buf.offset = off;
	umem->buf.len -= off;
	umem->uid = (uint16_t)sn_get(c->in, CMD_UID);
	err = sn_table_add(c->nic, &c->nic->umems, SN_NUMBER_BITS, SN_LOG_MAX_UMEM, umem, &umem->id);
	if (err)
		goto free_buf;
	sn_set(c->out, CMD_NUMBER, umem->id);
	return STAT_OK;
free_buf:
	sn_buf_release(c->nic, &umem->buf);
free_umem:
	free(umem);
	return sn_cmd_refuse_errno(c, err);
}

void sn_umem_free(struct softnic *nic, void *obj)
{
	struct sn_umem *umem = obj;

	sn_table_remove(&nic->umems, umem->id);
	sn_buf_release(nic, &umem->buf);
	free(umem);
}

/* PRM: a queue starts at page_offset, in units of 1/64 page, and is contiguous from there. */
uint8_t sn_cmd_list(struct sn_cmd *c, struct sn_buf *b, unsigned int log_page, uint32_t page_offset,
		    uint64_t len)
{
	uint64_t page = UINT64_C(1) << log_page;
	uint64_t offset = ((uint64_t)page_offset << log_page) / 64;
	uint64_t n = (offset + len + page - 1) >> log_page;
	int err;

	if (n > (c->inlen - AT_PAS) / 8)
		return sn_cmd_refuse(c, STAT_BAD_INP_LEN, "%llu addresses needed",
				     (unsigned long long)n);
	err = sn_buf_from_list(c->nic, b, c->in + AT_PAS, (uint32_t)n, log_page, false);
	if (err)
		return sn_cmd_refuse_errno(c, err);
	b->offset = offset;
	b->len = len;
	return STAT_OK;
}

/* Finds the umem that a command names. Linux puts the uid into a program's command, but leaves it to the
 * device to check the umems. */
static struct sn_umem *find_umem(struct sn_cmd *c, uint32_t id)
{
	struct sn_umem *umem = sn_table_find(&c->nic->umems, id);

	return umem && (!c->user || c->user == umem->uid) ? umem : NULL;
}

uint8_t sn_cmd_umem(struct sn_cmd *c, struct sn_buf *b, uint32_t id, uint64_t offset,
		    uint64_t len, unsigned int align)
{
	struct sn_umem *umem = find_umem(c, id);

	if (!umem)
		return sn_cmd_refuse(c, STAT_BAD_RES, "user context %u has no umem %#x", c->user, id);
	if (offset > umem->buf.len || len > umem->buf.len - offset)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "beyond umem %#x", id);
	if ((umem->buf.offset + offset) % align)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "umem offset not a multiple of %u", align);
	sn_buf_from_umem(b, umem, offset, len);
	return STAT_OK;
}

uint8_t sn_cmd_record(struct sn_cmd *c, struct sn_buf *b, bool in_umem, uint32_t umem, uint64_t addr)
{
	if (in_umem)
		return sn_cmd_umem(c, b, umem, addr, 8, 8);
	if (!addr || addr % 8)
		return sn_cmd_refuse(c, STAT_BAD_PARAM, "dbr_addr %#llx", (unsigned long long)addr);
	*b = (struct sn_buf){ .base = addr, .len = 8, .perm = MTT_RD | MTT_WR };
	return STAT_OK;
}

/*
 * A queue context gives its first byte as a page and a page_offset, in a umem too. page_offset counts in
 * units of 1/64 page; it has 6 bits, or 5 in a work queue context. The device cannot express other
 * offsets.
 */
uint8_t sn_cmd_umem_queue(struct sn_cmd *c, struct sn_buf *b, const struct sn_umem_at *at,
			  uint64_t len, unsigned int align)
{
	const struct sn_umem *umem = find_umem(c, at->id);
	uint64_t page, in_page;

	if (umem) {
		page = UINT64_C(1) << umem->buf.page_shift;
		in_page = (umem->buf.offset + at->offset) & (page - 1);
		if (in_page % (page / 64) || in_page / (page / 64) >> at->bits)
			return sn_cmd_refuse(c, STAT_BAD_PARAM,
					     "umem offset %#llx: no page_offset of %u bits in pages of %#llx",
					     (unsigned long long)at->offset, at->bits,
					     (unsigned long long)page);
	}
	return sn_cmd_umem(c, b, at->id, at->offset, len, align);
}
