/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/* Protection zones, memory registrations and binds. */
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
static unsigned int access_of(const struct efa_caps *dev, uint32_t priv)
{
	const uint32_t writes = DAP_PRIV_LOCAL_WRITE | DAP_PRIV_REMOTE_WRITE;

	return (priv & writes ? EFA_LOCAL_WRITE : 0u) |
	       (priv & DAP_PRIV_REMOTE_WRITE && dev->rdma_write ? EFA_REMOTE_WRITE : 0u) |
	       (priv & DAP_PRIV_REMOTE_READ ? EFA_REMOTE_READ : 0u);
}

/* A refusal is logged. */
static int register_range(struct dap_pz *pz, uint64_t addr, uint64_t len, uint32_t priv, struct efa_mr *mr)
{
	struct efa_ia *ia = efa_ia(pz->obj.ia);
	int err = ia->ctl->ops->mr_reg(ia->ctl, efa_pz(pz)->pd, addr, len, access_of(&ia->dev, priv), mr);
	char why[256];

	if (err) {
		hw_why_memory(err, why, sizeof(why));
		dap_log(DAP_LOG_ERR, "%s: %llu bytes at 0x%llx: %s", pz->obj.ia->name,
			(unsigned long long)len, (unsigned long long)addr, why);
	}
	return err;
}

int efa_lmr_create(struct dap_lmr *lmr)
{
	struct efa_ia *ia = efa_ia(lmr->obj.ia);
	struct efa_lmr *l = efa_lmr(lmr);
	int err;

	if (lmr->priv & DAP_PRIV_REMOTE_ATOMIC)
		return -EOPNOTSUPP;
	err = register_range(lmr->pz, lmr->addr, lmr->length, lmr->priv, &l->mr);
	if (err)
		return err;
	l->key = (struct efa_key){
		.pz = lmr->pz, .addr = lmr->addr, .len = lmr->length, .rkey = l->mr.rkey,
	};
	efa_enter(ia->eng);
	if (lmr->priv & DAP_PRIV_REMOTE_WRITE)
		efa_key_link(ia->eng, &l->key);
	lmr->lmr_context = l->mr.lkey << 8 | ++ia->eng->lmr_gen;
	efa_leave(ia->eng);
	lmr->rmr_context = lmr->priv & (DAP_PRIV_REMOTE_READ | DAP_PRIV_REMOTE_WRITE) ? l->mr.rkey : 0;
	lmr->reg_addr = lmr->addr;
	lmr->reg_size = lmr->length;
	return 0;
}

const struct dap_lmr efa_no_lmr;

/* Core reuses the memory of the LMR, possibly for one of another PZ or with other rights. */
static void forget_lmr(struct efa_engine *eng, const struct dap_lmr *lmr)
{
	for (unsigned int qpn = 0; qpn <= UINT16_MAX; qpn++) {
		struct efa_ep *e = eng->eps[qpn] ? efa_ep(eng->eps[qpn]) : NULL;

		if (e && e->tx.lmr == lmr)
			e->tx.lmr = &efa_no_lmr;
		if (e && e->rx.lmr == lmr)
			e->rx.lmr = &efa_no_lmr;
	}
}

int efa_lmr_destroy(struct dap_lmr *lmr)
{
	struct efa_ia *ia = efa_ia(lmr->obj.ia);
	struct efa_lmr *l = efa_lmr(lmr);

	efa_enter(ia->eng);
	lmr->lmr_context = ~lmr->lmr_context;	/* posted receives do not use the LMR any more */
	if (l->cached)
		forget_lmr(ia->eng, lmr);
	efa_key_unlink(ia->eng, &l->key);
	efa_leave(ia->eng);
	return ia->ctl->ops->mr_dereg(ia->ctl, &l->mr);
}

/* ---- RMRs ---- */

/*
 * RMRs on a device without memory windows. A bind registers the range with the remote rights asked for,
 * and then ends the previous registration. So the new context differs from the previous one, which is
 * invalid when the bind returns. A bind takes two commands of the device, and pins the pages. If a peer's
 * writes are emulated, the table of keys (key.c) has the contexts of RMRs with remote write.
 */

static int end_registration(struct efa_ia *ia, struct efa_rmr *r)
{
	return r->bound ? ia->ctl->ops->mr_dereg(ia->ctl, &r->mr) : 0;
}

int efa_rmr_destroy(struct dap_rmr *rmr)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);
	struct efa_rmr *r = efa_rmr(rmr);
	int err;

	efa_spin(&r->busy);
	efa_enter(ia->eng);
	efa_key_unlink(ia->eng, &r->key);
	efa_leave(ia->eng);
	err = end_registration(ia, r);
	*r = (struct efa_rmr){ 0 };
	return err;
}

/*
 * The device may give an RMR the key of its last bind again, with which a peer could access the new
 * window. In that case registers the range once more while the first registration still has that key.
 */
static int register_new(struct dap_rmr *rmr, const struct efa_range *to, struct efa_mr *mr)
{
	struct efa_ctl *ctl = efa_ia(rmr->obj.ia)->ctl;
	struct efa_mr first;
	int err = register_range(rmr->pz, to->addr, to->len, to->priv, mr), kept;

	if (!err && mr->rkey == efa_rmr(rmr)->mr.rkey) {
		first = *mr;
		err = register_range(rmr->pz, to->addr, to->len, to->priv, mr);
		kept = ctl->ops->mr_dereg(ctl, &first);
		if (kept)
			dap_access_kept(&rmr->obj, kept);
	}
	return err;
}

/* To be called in the engine. */
static void set_binding(struct dap_rmr *rmr, const struct efa_range *to, const struct efa_rmr *new)
{
	struct efa_engine *eng = efa_ia(rmr->obj.ia)->eng;
	struct efa_rmr *r = efa_rmr(rmr);

	efa_key_unlink(eng, &r->key);
	r->mr = new->mr;
	r->bound = new->bound;
	r->key = (struct efa_key){
		.pz = rmr->pz, .addr = to->addr, .len = to->len, .rkey = r->mr.rkey,
	};
	if (to->priv & DAP_PRIV_REMOTE_WRITE)
		efa_key_link(eng, &r->key);
	rmr->rmr_context = r->bound ? r->mr.rkey : 0;
	/* A query in another thread may have found the RMR bound. */
	if (to->lmr)
		rmr->lmr = to->lmr;
	rmr->priv = to->priv;
	rmr->addr = to->addr;
	__atomic_store_n(&rmr->length, to->lmr ? to->len : 0, __ATOMIC_RELEASE);
}

/* A bind that is flushed leaves the RMR as it was. */
static bool is_flushed(struct dap_ep *ep)
{
	return efa_ep(ep)->tx.blocked & EFA_B_STOP;
}

/*
 * Reserves a request for the bind before the bind is carried out, so that there is room for its
 * completion.
 */
static int reserve_request(const struct dap_rmr *rmr, struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	bool full;

	if (!ep->has_qp || !dap_ep_may_request(ep))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + dap_ep_state(ep));
	if (ep->pz != rmr->pz)
		return dap_bad_bind_ep(rmr);
	do {
		efa_enter(e->tx.eng);
		efa_make_place(ep);
		full = e->tx.posted == e->free_at[EFA_REQUESTS];
		e->free_at[EFA_REQUESTS] -= !full;
		efa_leave(e->tx.eng);
	} while (full && dap_ep_reap(ep, false));
	return full ? DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP) : 0;
}

/*
 * The commands are given outside of the engine: the new registration first, then the end of the
 * old.
 */
static int rebind(struct dap_rmr *rmr, struct dap_ep *ep, const struct efa_range *to, bool *bound)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);
	struct efa_rmr old = *efa_rmr(rmr), new = { .mr = old.mr, .bound = to->lmr != NULL };
	int err = 0;

	if (is_flushed(ep))
		return 0;
	if (new.bound)
		err = register_new(rmr, to, &new.mr);
	if (err)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY_REGION);
	efa_enter(ia->eng);
	*bound = !is_flushed(ep);
	if (*bound)
		set_binding(rmr, to, &new);
	efa_leave(ia->eng);
	err = end_registration(ia, *bound ? &old : &new);
	if (err)
		dap_access_kept(&rmr->obj, err);
	return 0;
}

int efa_bind(struct dap_rmr *rmr, struct dap_ep *ep, const struct efa_range *to, uint64_t cookie,
	     unsigned int flags, uint32_t *context)
{
	struct efa_request r = { .ep = ep, .dto = { .cookie = cookie, .op = EFA_BIND,
						    .flags = (uint8_t)flags }, .work.rmr = rmr };
	struct efa_engine *eng = efa_ia(rmr->obj.ia)->eng;
	int err = reserve_request(rmr, ep);

	if (err)
		return err;
	efa_spin(&efa_rmr(rmr)->busy);
	err = rebind(rmr, ep, to, &r.bound);
	efa_enter(eng);
	efa_ep(ep)->free_at[EFA_REQUESTS]++;
	if (!err)
		err = efa_request(&r);
	efa_leave(eng);
	if (!err)
		*context = rmr->rmr_context;
	__atomic_store_n(&efa_rmr(rmr)->busy, 0, __ATOMIC_RELEASE);
	return err;
}
