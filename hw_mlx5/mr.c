/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Protection zones and memory registrations. */
#include "hw_mlx5/obj.h"
#include "hw_mlx5/ops.h"

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

/* A remote write also needs local write: the device requires both rights (IBTA 10.6.3.1). */
static unsigned int access_of(uint32_t priv)
{
	const uint32_t writes = DAP_PRIV_LOCAL_WRITE | DAP_PRIV_REMOTE_WRITE | DAP_PRIV_REMOTE_ATOMIC;

	return (priv & writes ? M5_ACCESS_LOCAL_WRITE : 0) |
	       (priv & DAP_PRIV_REMOTE_ATOMIC ? M5_ACCESS_REMOTE_ATOMIC : 0) |
	       (priv & DAP_PRIV_REMOTE_WRITE ? M5_ACCESS_REMOTE_WRITE : 0) |
	       (priv & DAP_PRIV_REMOTE_READ ? M5_ACCESS_REMOTE_READ : 0);
}

/*
 * Creates a second key that maps addresses from 0 and refers to the first key. The kernel's registrations
 * keep the offset in the page, so they start at 0 only if the memory is aligned.
 */
static int make_zero_key(struct dap_lmr *lmr)
{
	struct m5_ia *ia = m5_ia(lmr->obj.ia);
	struct m5_lmr *l = m5_lmr(lmr);
	const struct m5_zero_param p = {
		.pdn = m5_pz(lmr->pz)->pdn, .rights = m5_mkc_rights(access_of(lmr->priv)),
		.lkey = l->mr.lkey, .addr = lmr->mem, .length = lmr->length,
		.slots = ia->dev.klm_slots,
	};
	uint32_t key;
	int err = m5_cmd_zero_based(ia->ctl, &p, &l->zero, &key);

	if (!err)
		lmr->lmr_context = lmr->rmr_context = key;
	return err;
}

int m5_lmr_create(struct dap_lmr *lmr)
{
	struct m5_ctl *ctl = m5_ia(lmr->obj.ia)->ctl;
	struct m5_pz *pz = m5_pz(lmr->pz);
	struct m5_lmr *l = m5_lmr(lmr);
	int err;

	l->zero = NULL;
	err = ctl->ops->mr_reg(ctl, pz->priv, pz->pdn, (void *)(uintptr_t)lmr->mem, lmr->length,
			       access_of(lmr->priv), &l->mr);
	if (err)
		return err;
	lmr->lmr_context = l->mr.lkey;
	lmr->rmr_context = l->mr.rkey;
	err = lmr->zero_based ? make_zero_key(lmr) : 0;
	if (err) {
		ctl->ops->mr_dereg(ctl, &l->mr);
		return err;
	}
	lmr->reg_addr = lmr->addr;
	lmr->reg_size = lmr->length;
	return 0;
}

static void forget_lmr(void *rmr, void *lmr)
{
	if (m5_rmr(rmr)->lmr == lmr)
		m5_rmr_cache_lmr(m5_rmr(rmr), NULL);
}

static void forget_last_lmr(void *ep, void *lmr)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;

	if (__atomic_load_n(&sq->lmr, __ATOMIC_RELAXED) == lmr)
		__atomic_store_n(&sq->lmr, &m5_no_lmr, __ATOMIC_RELAXED);
}

int m5_lmr_destroy(struct dap_lmr *lmr)
{
	struct m5_ctl *ctl = m5_ia(lmr->obj.ia)->ctl;
	struct m5_lmr *l = m5_lmr(lmr);
	int err = 0, dereg;

	/* Core reuses the memory of the LMR, perhaps for one of another PZ or with zero-based addresses. */
	lmr->lmr_context = ~lmr->lmr_context;
	dap_obj_each(DAP_RMR, lmr->obj.ia, forget_lmr, lmr);
	dap_obj_each(DAP_EP, lmr->obj.ia, forget_last_lmr, lmr);
	if (l->zero)
		err = ctl->ops->obj_destroy(l->zero);
	dereg = ctl->ops->mr_dereg(ctl, &l->mr);
	return err ? err : dereg;
}
