/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages as scatter/gather lists. */
#include <sys/param.h>

#include "softnic/bytes.h"
#include "softnic/mlx5/dev.h"

struct cursor {
	struct sn_qp *qp;
	struct sn_pd *pd;
	const struct sn_sge *sge;
	unsigned int n;
	uint32_t skip, len;
	uint8_t rights;
	uint32_t from;		/* nic->work before the message */
};

/* Finds the next part of the message that lies within one element. False: there are no more
 * parts. */
static bool next_part(struct cursor *cur, struct sn_access *a, const uint8_t **inl)
{
	while (cur->n && cur->skip >= cur->sge->len) {
		cur->skip -= cur->sge->len;
		cur->sge++;
		cur->n--;
	}
	if (!cur->n || !cur->len)
		return false;
	*a = (struct sn_access){
		.key = cur->sge->key, .pd = cur->pd, .qpn = cur->qp->qpn, .rights = cur->rights,
		.va = cur->sge->va + cur->skip, .len = MIN(cur->len, cur->sge->len - cur->skip),
	};
	*inl = cur->sge->inl ? cur->sge->inl + cur->skip : NULL;
	cur->skip += (uint32_t)a->len;
	cur->len -= (uint32_t)a->len;
	return true;
}

/* Returns the address if one contiguous element holds the whole message, which is the common case;
 * else NULL. */
static uint8_t *single_element(const struct cursor *cur)
{
	const struct sn_sge *sge = cur->sge;
	struct sn_access a = {
		.key = sge->key, .pd = cur->pd, .qpn = cur->qp->qpn, .rights = cur->rights,
		.va = sge->va + cur->skip, .len = cur->len,
	};

	if (cur->n != 1 || cur->skip > sge->len || cur->len > sge->len - cur->skip)
		return NULL;
	return sge->inl ? (uint8_t *)(uintptr_t)sge->inl + cur->skip : sn_mkey_at(cur->qp->nic, &a);
}

/* Returns the result of an access: the segments so far must not have looked at too many list entries. */
static enum sn_acc within_limit(const struct cursor *cur, enum sn_acc acc)
{
	return !acc && cur->qp->nic->work - cur->from > SN_ENTRIES_MAX ? SN_ACC_DEPTH : acc;
}

/* Returns acc, the result of the last element. If that is good and the message is longer than the list,
 * returns SN_ACC_BOUNDS. */
static enum sn_acc list_end(const struct cursor *cur, enum sn_acc acc, const struct sn_access *a)
{
	if (acc)
		sn_acc_violation(cur->qp->nic, a, acc, false);
	return acc ? acc : cur->len ? SN_ACC_BOUNDS : SN_ACC_OK;
}

enum sn_acc sn_gather(struct sn_qp *qp, const struct sn_sge *sge, unsigned int n, uint32_t off,
		      void *dst, uint32_t len)
{
	struct cursor cur = { qp, qp->pd, sge, n, off, len, SN_LR, qp->nic->work };
	struct sn_access a = { 0 };
	const uint8_t *inl;
	uint8_t *d = dst, *p = single_element(&cur);
	enum sn_acc acc = SN_ACC_OK;

	if (p) {
		sn_bytes(d, p, len);
		return SN_ACC_OK;
	}
	while (!acc && next_part(&cur, &a, &inl)) {
		if (inl)
			memcpy(d, inl, a.len);
		else
			acc = within_limit(&cur, sn_mkey_read(qp->nic, &a, d));
		d += a.len;
	}
	return list_end(&cur, acc, &a);
}

/* The list has no inline data here, because sn_wqe_parse() refuses a READ with inline data. */
static enum sn_acc scatter(struct cursor *cur, const uint8_t *src)
{
	struct sn_access a = { 0 };
	enum sn_acc acc = SN_ACC_OK;
	const uint8_t *inl;
	uint8_t *p = single_element(cur);

	if (p && src)
		sn_copy(p, src, cur->len);
	if (p)
		return SN_ACC_OK;
	while (!acc && next_part(cur, &a, &inl)) {
		acc = src ? sn_mkey_write(cur->qp->nic, &a, src) : sn_mkey_check(cur->qp->nic, &a);
		acc = within_limit(cur, acc);
		src += src ? a.len : 0;
	}
	return list_end(cur, acc, &a);
}

enum sn_acc sn_scatter(struct sn_qp *qp, const struct sn_sge *sge, unsigned int n, uint32_t off,
		       const void *src, uint32_t len)
{
	struct cursor cur = { qp, qp->pd, sge, n, off, len, SN_LW, qp->nic->work };

	return scatter(&cur, src);
}

enum sn_acc sn_scatter_recv(struct sn_qp *qp, const struct sn_rwqe *r, uint32_t off,
			    const void *src, uint32_t len)
{
	struct cursor cur = { qp, r->srq ? r->srq->pd : qp->pd, r->sge, r->nsge, off, len, SN_LW,
			      qp->nic->work };

	return scatter(&cur, src);
}
