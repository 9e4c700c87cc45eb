/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * RMRs on a device without windows. A bind registers the range anew, with the remote rights asked
 * for and no others, and then ends what was there before: the new context differs from the old one,
 * and the old one is dead when the bind returns. It costs two commands to the device, and more where
 * that gives its keys again, and the pinning of the pages. A context for writes is in the table of
 * keys (key.c) as well, for peers whose writes are done by software.
 */
#include <errno.h>
#include <sched.h>

#include "core/hw.h"
#include "hw_efa/lock.h"
#include "hw_efa/ops.h"

int efa_rmr_create(struct dap_rmr *rmr)
{
	*efa_rmr(rmr) = (struct efa_rmr){ 0 };
	return 0;
}

/* One call at a time changes an RMR, and not in the engine all the while. */
static void begin_change(struct efa_engine *eng, struct efa_rmr *r)
{
	efa_enter(eng);
	while (r->busy) {
		efa_leave(eng);
		sched_yield();
		efa_enter(eng);
	}
	r->busy = true;
	efa_leave(eng);
}

static void end_old(struct efa_ia *ia, struct efa_rmr *old)
{
	if (old->bound)
		ia->ctl->ops->mr_dereg(ia->ctl, &old->mr);
}

int efa_rmr_destroy(struct dap_rmr *rmr)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);
	struct efa_rmr *r = efa_rmr(rmr);

	begin_change(ia->eng, r);
	efa_enter(ia->eng);
	efa_key_unlink(ia->eng, &r->key);
	efa_leave(ia->eng);
	end_old(ia, r);
	*r = (struct efa_rmr){ 0 };
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
 * The device may give a key again at once. If the RMR had that key lately, it is held, without
 * access, while another registration returns another key.
 */
static int register_new(struct dap_rmr *rmr, const struct range *to, struct efa_mr *mr)
{
	struct efa_ia *ia = efa_ia(rmr->obj.ia);
	struct efa_mr held[TRIES];
	unsigned int n = 0;
	uint32_t *new_keys = &ia->eng->new_keys;
	int err = __atomic_load_n(new_keys, __ATOMIC_RELAXED) < BELIEVED ? hold_old(rmr, to, held, &n) : 0;

	while (!err && n < TRIES) {
		err = reg(rmr, to, efa_access_of(&ia->dev, to->priv), &held[n]);
		if (err || !was_had(efa_rmr(rmr), held[n].rkey))
			break;
		n++;
	}
	if (n)
		__atomic_store_n(new_keys, 0, __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(new_keys, 1, __ATOMIC_RELAXED);
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

static void remember(struct dap_rmr *rmr, const struct range *to)
{
	rmr->lmr = to->lmr;
	rmr->priv = to->priv;
	rmr->addr = to->addr;
	__atomic_store_n(&rmr->length, to->lmr ? to->len : 0, __ATOMIC_RELEASE);
}

static int check_ep(const struct dap_rmr *rmr, const struct dap_ep *ep)
{
	if (!ep->has_qp || !dap_ep_may_request(ep))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + dap_ep_state(ep));
	return ep->pz != rmr->pz ? DAP_ERR(DAP_INVALID_PARAMETER, DAP_SUB_ARG4) : 0;
}

/* The context that it had before, for a bind that was flushed: nothing has happened to it. */
static bool is_flushed(const struct dap_ep *ep)
{
	return efa_ep((struct dap_ep *)(uintptr_t)ep)->tx.blocked & (EFA_B_OVER | EFA_B_HALT);
}

/* A place among the requests for the bind, so that its completion has room once it has been done. */
static int reserve(struct dap_ep *ep)
{
	struct efa_ep *e = efa_ep(ep);
	int err = 0;

	efa_enter(e->tx.eng);
	if (e->tx.posted == e->free_at[EFA_REQUESTS])
		err = DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	else
		e->free_at[EFA_REQUESTS]--;
	efa_leave(e->tx.eng);
	return err;
}

/* new and old change places. False for a bind that is to be flushed: then both are new. */
static bool change(struct dap_rmr *rmr, struct dap_ep *ep, const struct range *to,
		   const struct efa_rmr *new, struct efa_rmr *old)
{
	struct efa_engine *eng = efa_ia(rmr->obj.ia)->eng;
	struct efa_rmr *r = efa_rmr(rmr);
	bool flushed;

	efa_enter(eng);
	flushed = is_flushed(ep);
	if (flushed) {
		*old = *new;
	} else {
		efa_key_unlink(eng, &r->key);
		*r = *new;
		r->key = (struct efa_key){
			.pz = rmr->pz, .addr = to->addr, .len = to->len, .rkey = new->mr.rkey,
		};
		if (to->priv & DAP_PRIV_REMOTE_WRITE)
			efa_key_link(eng, &r->key);
		remember(rmr, to);
		rmr->rmr_context = new->bound ? new->mr.rkey : 0;
	}
	efa_leave(eng);
	return !flushed;
}

/* The commands are given outside of the engine: the new registration first, then the end of the old. */
static int rebind(struct dap_rmr *rmr, struct dap_ep *ep, const struct range *to, bool *bound)
{
	struct efa_rmr old = *efa_rmr(rmr), new = old;
	int err = 0;

	new.bound = to->lmr != NULL;
	if (is_flushed(ep))
		return 0;
	if (new.bound)
		err = register_new(rmr, to, &new.mr);
	if (err)
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY_REGION);
	if (new.bound)
		new.had[new.nhad++ % EFA_RMR_HAD] = new.mr.rkey;
	*bound = change(rmr, ep, to, &new, &old);
	end_old(efa_ia(rmr->obj.ia), &old);
	return 0;
}

int efa_bind(struct dap_rmr *rmr, struct dap_ep *ep, struct dap_lmr *lmr, uint64_t addr, uint64_t len,
	     uint32_t priv, uint64_t cookie, unsigned int flags, uint32_t *context)
{
	struct efa_request r = { .ep = ep, .op = EFA_BIND, .flags = (uint8_t)flags,
				 .cookie = cookie, .rmr = rmr };
	const struct range to = lmr ? (struct range){ lmr, addr, len, priv } : (struct range){ 0 };
	struct efa_engine *eng = efa_ia(rmr->obj.ia)->eng;
	int err = check_ep(rmr, ep);

	if (!err)
		err = reserve(ep);
	if (err)
		return err;
	begin_change(eng, efa_rmr(rmr));
	err = rebind(rmr, ep, &to, &r.bound);
	efa_enter(eng);
	efa_rmr(rmr)->busy = false;
	efa_ep(ep)->free_at[EFA_REQUESTS]++;
	if (!err)
		err = efa_request(&r);
	efa_leave(eng);
	if (!err)
		*context = rmr->rmr_context;
	return err;
}
