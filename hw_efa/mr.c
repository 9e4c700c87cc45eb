/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Protection zones and memory registrations. */
#include <errno.h>

#include "hw_common/memory.h"
#include "hw_efa/lock.h"
#include "hw_efa/ops.h"

int efa_pz_create(struct dap_pz *pz)
{
	struct efa_ctl *ctl = efa_ia(pz->obj.ia)->ctl;

	return ctl->ops->pd_alloc(ctl, &efa_pz(pz)->pd);
}

int efa_pz_destroy(struct dap_pz *pz)
{
	struct efa_ctl *ctl = efa_ia(pz->obj.ia)->ctl;

	return ctl->ops->pd_free(ctl, efa_pz(pz)->pd);
}

/* The rights that the device can check. Software checks emulated writes (key.c). */
unsigned int efa_access_of(const struct efa_caps *dev, uint32_t priv)
{
	const uint32_t writes = DAP_PRIV_LOCAL_WRITE | DAP_PRIV_REMOTE_WRITE;

	return (priv & writes ? EFA_LOCAL_WRITE : 0u) |
	       (priv & DAP_PRIV_REMOTE_WRITE && dev->rdma_write ? EFA_REMOTE_WRITE : 0u) |
	       (priv & DAP_PRIV_REMOTE_READ ? EFA_REMOTE_READ : 0u);
}

void efa_mr_refused(uint64_t addr, uint64_t len, int err)
{
	char why[256];

	hw_why_memory(err, why, sizeof(why));
	dap_log(DAP_LOG_ERR, "%llu bytes at 0x%llx: %s", (unsigned long long)len,
		(unsigned long long)addr, why);
}

int efa_lmr_create(struct dap_lmr *lmr)
{
	struct efa_ia *ia = efa_ia(lmr->obj.ia);
	struct efa_lmr *l = efa_lmr(lmr);
	int err;

	*l = (struct efa_lmr){ 0 };
	if (lmr->priv & DAP_PRIV_REMOTE_ATOMIC)
		return -EOPNOTSUPP;
	err = ia->ctl->ops->mr_reg(ia->ctl, efa_pz(lmr->pz)->pd, lmr->addr, lmr->length,
				   efa_access_of(&ia->dev, lmr->priv), &l->mr);
	if (err) {
		efa_mr_refused(lmr->addr, lmr->length, err);
		return err;
	}
	l->key = (struct efa_key){
		.pz = lmr->pz, .addr = lmr->addr, .len = lmr->length, .rkey = l->mr.rkey,
	};
	efa_enter(ia->eng);
	if (lmr->priv & DAP_PRIV_REMOTE_WRITE)
		efa_key_link(ia->eng, &l->key);
	efa_leave(ia->eng);
	lmr->lmr_context = l->mr.lkey << 8 |
			   __atomic_add_fetch(&ia->eng->lmr_gen, 1, __ATOMIC_RELAXED);
	lmr->rmr_context = lmr->priv & (DAP_PRIV_REMOTE_READ | DAP_PRIV_REMOTE_WRITE) ? l->mr.rkey : 0;
	lmr->reg_addr = lmr->addr;
	lmr->reg_size = lmr->length;
	return 0;
}

int efa_lmr_destroy(struct dap_lmr *lmr)
{
	struct efa_ia *ia = efa_ia(lmr->obj.ia);
	struct efa_lmr *l = efa_lmr(lmr);

	/* Changes the context, which caches of the LMR compare: none matches from now on. */
	efa_enter(ia->eng);
	lmr->lmr_context = ~lmr->lmr_context;
	efa_key_unlink(ia->eng, &l->key);
	efa_leave(ia->eng);
	return ia->ctl->ops->mr_dereg(ia->ctl, &l->mr);
}
