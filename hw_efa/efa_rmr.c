/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * RMRs on a device without windows. A bind registers the range anew, with the remote rights asked
 * for and no others, and then ends what was there before: the new context differs from the old one,
 * and the old one is dead when the bind returns. It costs two commands to the device, and more where
 * that gives its keys again, and the pinning of the pages. Where no device does RDMA a context is an
 * entry of a table that software looks at for each request (efa_key.c), and a bind costs next to
 * nothing.
 *
 * A device that reads but does not write gets a registration for the reads, and a table entry with
 * the same context for the writes.
 */
#include <errno.h>

#include "core/hw.h"
#include "hw_efa/efa_lock.h"
#include "hw_efa/efa_ops.h"

int efa_rmr_create(struct dap_rmr *rmr)
{
	*efa_rmr(rmr) = (struct efa_rmr){ 0 };
	return 0;
}

/* In the engine. */
static void end_old(struct efa_ia *ia, struct efa_rmr *old)
{
	if (old->key)
		efa_key_del(ia->eng, old->key);
	if (old->bound)
		ia->ctl->ops->mr_dereg(ia->ctl, &old->mr);
}

int efa_rmr_destroy(struct dap_rmr *rmr)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);

	efa_take(ia->eng);
	end_old(ia, efa_rmr(rmr));
	*efa_rmr(rmr) = (struct efa_rmr){ 0 };
	efa_give(ia->eng);
	return 0;
}

struct range {
	struct dap_lmr *lmr;
	uint64_t addr, len;
	uint32_t priv;
};

static bool was_had(const struct efa_rmr *r, uint32_t rkey)
{
	for (uint32_t i = 0; i < r->nhad && i < EFA_RMR_HAD; i++)
		if (r->had[i] == rkey)
			return true;
	return false;
}

/* New keys in a row after which a device is believed to give none again. */
enum { TRIES = EFA_RMR_HAD + 1, BELIEVED = 16 };

static int reg(const struct dap_rmr *rmr, const struct range *to, unsigned int access,
	       struct efa_mr *mr)
{
	struct efa_ctl *ctl = efa_ia(rmr->obj.ia)->ctl;

	return ctl->ops->mr_reg(ctl, efa_pz(rmr->pz)->pd, to->addr, to->len, access, mr);
}

/* Takes the keys of before out of the device's hands, by registrations without rights. */
static int hold_old(struct dap_rmr *rmr, const struct range *to, struct efa_mr *held,
		    unsigned int *n)
{
	struct efa_ctl *ctl = efa_ia(rmr->obj.ia)->ctl;
	int err;

	do {
		err = reg(rmr, to, 0, &held[*n]);
	} while (!err && was_had(efa_rmr(rmr), held[*n].rkey) && ++*n < TRIES);
	if (!err && *n < TRIES)
		ctl->ops->mr_dereg(ctl, &held[*n]);
	return err;
}

/*
 * The device may give a key again at once. One that this RMR has had lately is held, and another one
 * asked for; and whoever still has it must not come in by it meanwhile.
 */
static int register_new(struct dap_rmr *rmr, const struct range *to, struct efa_mr *mr)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);
	struct efa_mr held[TRIES];
	unsigned int n = 0;
	int err = ia->eng->new_keys < BELIEVED ? hold_old(rmr, to, held, &n) : 0;

	while (!err && n < TRIES) {
		err = reg(rmr, to, efa_access_of(&ia->dev, to->priv), &held[n]);
		if (err || !was_had(efa_rmr(rmr), held[n].rkey))
			break;
		n++;
	}
	ia->eng->new_keys = n ? 0 : ia->eng->new_keys + 1;
	if (err) {
		efa_mr_refused(to->addr, to->len, err);
	} else if (n == TRIES) {
		dap_log(DAP_LOG_ERR, "RMR %p: the device gives it none but the keys that it has had "
			"lately, by which peers may still come; free it and create another",
			(void *)rmr);
		err = -ENOSPC;
	} else {
		*mr = held[n];
	}
	while (n--)
		ia->ctl->ops->mr_dereg(ia->ctl, &held[n]);
	return err;
}

static int begin_new(struct dap_rmr *rmr, const struct range *to, struct efa_rmr *new)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);
	struct efa_key k = { .pz = rmr->pz, .addr = to->addr, .len = to->len, .priv = to->priv,
			     .lkey = efa_lmr(to->lmr)->mr.lkey };
	int err;

	if (!efa_soft_keys(ia)) {
		err = register_new(rmr, to, &new->mr);
		if (err)
			return err;
		new->bound = true;
		k.rkey = new->mr.rkey;
	}
	new->key = efa_key_add(ia->eng, &k);
	if (new->key)
		return 0;
	dap_log(DAP_LOG_ERR, "RMR %p: no memory is left for its context", (void *)rmr);
	if (new->bound)
		ia->ctl->ops->mr_dereg(ia->ctl, &new->mr);
	return -ENOMEM;
}

static void remember(struct dap_rmr *rmr, const struct range *to)
{
	rmr->lmr = to->lmr;
	rmr->priv = to->priv;
	rmr->addr = to->addr;
	__atomic_store_n(&rmr->length, to->lmr ? to->len : 0, __ATOMIC_RELEASE);
}

static int check_ep(const struct dap_rmr *rmr, struct dap_ep *ep)
{
	if (!ep)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP);
	if (!ep->has_qp || !dap_ep_may_request(ep))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + dap_ep_state(ep));
	return ep->pz != rmr->pz ? DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG4) : 0;
}

/* The context that it had before, for a bind that was flushed: nothing has happened to it. */
static bool is_flushed(const struct dap_ep *ep)
{
	return efa_ep((struct dap_ep *)(uintptr_t)ep)->tx.blocked & (EFA_B_ERROR | EFA_B_HALT);
}

static int bind_in(struct dap_rmr *rmr, const struct efa_request *r, const struct range *to)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);
	struct efa_tx *tx = &efa_ep(r->ep)->tx;
	struct efa_rmr old = *efa_rmr(rmr), new = old;
	int err = 0;

	new.bound = false;
	new.key = NULL;

	if (tx->posted == tx->free_at)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	if (is_flushed(r->ep))
		return efa_request(r);
	if (to->lmr)
		err = begin_new(rmr, to, &new);
	if (err)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY_REGION);
	if (new.key)
		new.had[new.nhad++ % EFA_RMR_HAD] = new.key->rkey;
	*efa_rmr(rmr) = new;
	end_old(ia, &old);
	remember(rmr, to);
	rmr->rmr_context = new.key ? new.key->rkey : 0;
	return efa_request(r);
}

int efa_bind(struct dap_rmr *rmr, void *ep_handle, struct dap_lmr *lmr, uint64_t addr, uint64_t len,
	     uint32_t priv, uint64_t cookie, unsigned int flags, uint32_t *context)
{
	struct dap_ep *ep = dap_obj_get(ep_handle, DAP_EP, rmr->obj.ia);
	struct efa_request r = { .ep = ep, .op = EFA_BIND, .flags = (uint8_t)flags,
				 .cookie = cookie, .rmr = rmr };
	const struct range to = lmr ? (struct range){ lmr, addr, len, priv } : (struct range){ 0 };
	struct efa_engine *eng = efa_ia(rmr->obj.ia)->eng;
	int err = check_ep(rmr, ep);

	if (err)
		return err;
	efa_take(eng);
	err = bind_in(rmr, &r, &to);
	efa_give(eng);
	if (!err)
		*context = rmr->rmr_context;
	return err;
}
