/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC domains and SRQs. When Linux's mlx5_ib registers a device, it creates one SRQ and two domains and
 * names them in QPs that have no SRQ of their own. This model has no XRC QPs, so these SRQs never
 * receive anything. PRM "XRC SRQ context".
 */
#include <errno.h>
#include <stdlib.h>

#include "softnic/mlx5/dev.h"
#include "softnic/mlx5/prm.h"

struct xrc_srq {
	uint32_t number;
	struct sn_xrcd *xrcd;
	struct sn_pd *pd;
	struct sn_cq *cq;
};

uint8_t sn_cmd_alloc_xrcd(struct sn_cmd *c)
{
	struct sn_xrcd *x = calloc(1, sizeof(*x));
	uint8_t status = x ? sn_cmd_add(c, &c->nic->xrcds, SN_NUMBER_BITS, SN_LOG_MAX_XRCD, x, &x->number) :
			     sn_cmd_refuse_errno(c, -ENOMEM);

	if (status)
		free(x);
	else
		sn_set(c->out, CMD_NUMBER, x->number);
	return status;
}

void sn_xrcd_free(struct softnic *nic, void *obj)
{
	struct sn_xrcd *x = obj;

	sn_table_remove(&nic->xrcds, x->number);
	free(x);
}

static uint8_t find_objects(struct sn_cmd *c, struct xrc_srq *s)
{
	const uint8_t *ctx = c->in + AT_CTX;

	s->xrcd = sn_cmd_find(c, &c->nic->xrcds, sn_get(ctx, XSRQC_XRCD));
	s->pd = sn_cmd_find(c, &c->nic->pds, sn_get(ctx, XSRQC_PD));
	s->cq = sn_cmd_find(c, &c->nic->cqs, sn_get(ctx, XSRQC_CQN));
	if (!s->xrcd)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no XRC domain %#x", sn_get(ctx, XSRQC_XRCD));
	if (!s->pd)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no PD %#x", sn_get(ctx, XSRQC_PD));
	if (!s->cq)
		return sn_cmd_refuse(c, STAT_BAD_RES, "no CQ %#x", sn_get(ctx, XSRQC_CQN));
	return STAT_OK;
}

uint8_t sn_cmd_create_xrc_srq(struct sn_cmd *c)
{
	struct xrc_srq *s = calloc(1, sizeof(*s));
	uint8_t status;

	if (!s)
		return sn_cmd_refuse_errno(c, -ENOMEM);
	status = find_objects(c, s);
	if (!status)
		status = sn_cmd_add(c, &c->nic->xrc_srqs, SN_NUMBER_BITS, SN_LOG_MAX_RMP, s, &s->number);
	if (status) {
		free(s);
		return status;
	}
	s->xrcd->refs++;
	s->pd->refs++;
	s->cq->refs++;
	sn_set(c->out, CMD_NUMBER, s->number);
	return STAT_OK;
}

void sn_xrc_srq_free(struct softnic *nic, void *obj)
{
	struct xrc_srq *s = obj;

	sn_table_remove(&nic->xrc_srqs, s->number);
	s->xrcd->refs--;
	s->pd->refs--;
	s->cq->refs--;
	free(s);
}
