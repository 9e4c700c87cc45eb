/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Protection zones and memory registrations. */
#include "hw_mlx5/m5_obj.h"
#include "hw_mlx5/m5_ops.h"

int m5_pz_create(struct dap_pz *pz)
{
	struct m5_ctl *ctl = m5_ia(pz->obj.ia)->ctl;

	return ctl->ops->pd_alloc(ctl, &m5_pz(pz)->pdn, &m5_pz(pz)->priv);
}

int m5_pz_destroy(struct dap_pz *pz)
{
	struct m5_ctl *ctl = m5_ia(pz->obj.ia)->ctl;

	return ctl->ops->pd_free(ctl, m5_pz(pz)->pdn, m5_pz(pz)->priv);
}

/* A remote write is a local one in the end: the device wants both rights (IBTA 10.6.3.1). */
static unsigned int access_of(uint32_t priv)
{
	const uint32_t writes = DAP_PRIV_LOCAL_WRITE | DAP_PRIV_REMOTE_WRITE | DAP_PRIV_REMOTE_ATOMIC;

	return (priv & writes ? M5_ACCESS_LOCAL_WRITE : 0) |
	       (priv & DAP_PRIV_REMOTE_ATOMIC ? M5_ACCESS_REMOTE_ATOMIC : 0) |
	       (priv & DAP_PRIV_REMOTE_WRITE ? M5_ACCESS_REMOTE_WRITE : 0) |
	       (priv & DAP_PRIV_REMOTE_READ ? M5_ACCESS_REMOTE_READ : 0);
}

int m5_lmr_create(struct dap_lmr *lmr)
{
	struct m5_ctl *ctl = m5_ia(lmr->obj.ia)->ctl;
	struct m5_pz *pz = m5_pz(lmr->pz);
	struct m5_mr *mr = &m5_lmr(lmr)->mr;
	int err = ctl->ops->mr_reg(ctl, pz->priv, pz->pdn, (void *)(uintptr_t)lmr->addr,
				   lmr->length, access_of(lmr->priv), mr);

	if (err)
		return err;
	lmr->lmr_context = mr->lkey;
	lmr->rmr_context = mr->rkey;
	lmr->reg_addr = lmr->addr;
	lmr->reg_size = lmr->length;
	return 0;
}

static void forget(void *rmr, void *lmr)
{
	if (m5_rmr(rmr)->lmr == lmr)
		m5_rmr_know(m5_rmr(rmr), NULL);
}

int m5_lmr_destroy(struct dap_lmr *lmr)
{
	struct m5_ctl *ctl = m5_ia(lmr->obj.ia)->ctl;

	/* Who remembers it must not know it any more: m5_may_copy by its context, m5_bind as it was. */
	lmr->lmr_context = ~lmr->lmr_context;
	dap_obj_each(DAP_RMR, lmr->obj.ia, forget, lmr);
	return ctl->ops->mr_dereg(ctl, &m5_lmr(lmr)->mr);
}
