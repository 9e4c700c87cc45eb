/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The keys of an RMR. Software chooses the low byte of a key, so one mkey gives 255 contexts
 * before the first recurs. Their order depends on a random stride, so one context does not determine
 * the next; two successive ones do. When all are used, the next of M5_RMR_KEYS mkeys takes over: after
 * 1020 binds a context can recur. If the endpoint is already rotating the key of another RMR, rotation
 * waits for a later bind, and a context can recur after 256 binds.
 *
 * A bind names the key that it replaces, so binds of one RMR must reach the device in order. On
 * one send queue they do. Before a bind on another queue, the previous one must have succeeded. If
 * it failed, or its queue is gone, the device's keys are unknown, because a bind may move on to the next
 * key: then all are destroyed by command and new ones are created.
 */
#include <errno.h>
#include <sched.h>

#include "core/clock.h"
#include "core/hw.h"
#include "core/thread.h"
#include "hw_common/random.h"
#include "hw_mlx5/lock.h"
#include "hw_mlx5/ops.h"

#define FREE_MS 1000			/* limit for a bind outstanding when its RMR is freed */
#define SETTLE_MS 10			/* limit for a bind that waits for one on another queue */

/* The first variant is random, so that contexts of an earlier process are unlikely to match. */
static int key_make(struct dap_rmr *rmr, struct m5_obj **obj, uint32_t *key)
{
	uint8_t variant = 0;

	(void)hw_random(&variant, sizeof(variant));
	return m5_cmd_window(m5_ia(rmr->obj.ia)->ctl, m5_pz(rmr->pz)->pdn, variant, rmr->for_ep,
			     obj, key);
}

static void make_stride(struct m5_rmr *r)
{
	uint8_t stride = 0, inverse;

	(void)hw_random(&stride, sizeof(stride));
	stride |= 1;
	/* An odd number is its own inverse modulo 8, and each step doubles the number of correct
	 * bits. */
	inverse = (uint8_t)(stride * (2 - stride * stride));
	inverse = (uint8_t)(inverse * (2 - stride * inverse));
	r->stride_be = stride * M5_VARIANT;
	r->stride_inverse = inverse;
}

/* Sets the current key, and the last of the 255 variants that follow. */
static void key_start(struct m5_rmr *r, uint32_t key)
{
	r->posted_before = m5_rmr_posted(r);
	r->key_be = r->first_key_be = htobe32(key);
	r->last_key_be = r->key_be - r->stride_be;
}

static uint32_t new_gen(struct dap_rmr *rmr)
{
	return __atomic_add_fetch(&m5_ia(rmr->obj.ia)->gen, 1, __ATOMIC_RELAXED);
}

static int destroy_keys(struct dap_rmr *rmr, struct m5_rmr *r)
{
	const struct m5_ctl_ops *ops = m5_ia(rmr->obj.ia)->ctl->ops;
	int err = 0;

	for (unsigned int i = 0; i < M5_RMR_KEYS; i++) {
		int e = r->obj[i] ? ops->obj_destroy(r->obj[i]) : 0;

		r->obj[i] = NULL;
		if (!err)
			err = e;
	}
	return err;
}

static int make_keys(struct dap_rmr *rmr, struct m5_rmr *r)
{
	int err = 0;

	for (int i = 0; i < M5_RMR_KEYS && !err; i++)
		err = key_make(rmr, &r->obj[i], &r->idle[i]);
	if (err)
		destroy_keys(rmr, r);
	return err;
}

static void enter_windows(struct dap_rmr *rmr)
{
	for (unsigned int i = 0; i < M5_RMR_KEYS; i++)
		m5_window_enter(rmr, i, m5_rmr(rmr)->idle[i]);
}

/* Creates all keys now, so that no bind waits for a command. */
int m5_rmr_create(struct dap_rmr *rmr)
{
	uint32_t gen = new_gen(rmr);
	struct m5_rmr *r = m5_rmr(rmr), new = {
		.note = { .cookie = (uintptr_t)rmr, .bytes = gen }, .done = (uint64_t)gen << 32,
		.connection = M5_NO_CONNECTION,
		.last_ep = (struct dap_ep *)rmr,	/* no endpoint has this address */
	};
	int err;

	if (!m5_ia(rmr->obj.ia)->dev.windows) {
		dap_log(DAP_LOG_ERR, "%s: firmware forbids memory windows; give LMRs remote rights",
			rmr->obj.ia->name);
		return -EPERM;
	}
	err = make_keys(rmr, &new);
	if (err)
		return err;
	make_stride(&new);
	key_start(&new, new.idle[0]);
	*r = new;
	enter_windows(rmr);
	return 0;
}

/* Revokes all access through the RMR's keys, which unbinds it. */
static void revoke_keys(struct dap_rmr *rmr)
{
	struct m5_rmr *r = m5_rmr(rmr);
	int err;

	__atomic_fetch_or(&r->done, M5_RMR_UNSURE, __ATOMIC_RELAXED);
	err = destroy_keys(rmr, r);
	__atomic_store_n(&rmr->length, 0, __ATOMIC_RELEASE);
	if (err)
		dap_access_kept(&rmr->obj, err);
}

/* Replaces all keys by new ones. If this fails, the RMR has none, and the next bind tries again. */
static int renew_keys(struct dap_rmr *rmr)
{
	struct m5_rmr *r = m5_rmr(rmr);

	m5_window_drop(rmr);
	revoke_keys(rmr);
	if (make_keys(rmr, r))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_MEMORY_REGION);
	enter_windows(rmr);
	key_start(r, r->idle[r->current]);
	/* Completions that are still to come belong to the old keys. */
	r->note.bytes = new_gen(rmr);
	r->posted_before = 0;
	__atomic_store_n(&r->done, (uint64_t)r->note.bytes << 32, __ATOMIC_RELAXED);
	return 0;
}

static bool all_completed(const struct m5_rmr *r)
{
	return (uint32_t)__atomic_load_n(&r->done, __ATOMIC_ACQUIRE) ==
	       (m5_rmr_posted(r) & M5_RMR_COUNT);
}

static bool is_unsure(const struct m5_rmr *r)
{
	return (uint32_t)__atomic_load_n(&r->done, __ATOMIC_ACQUIRE) & M5_RMR_UNSURE;
}

/* Returns true if the QP of the last bind still exists. */
static bool last_qp_exists(const struct m5_rmr *r)
{
	return r->last_gen && __atomic_load_n(&m5_ep(r->last_ep)->gen, __ATOMIC_ACQUIRE) == r->last_gen;
}

/* The lock keeps the QP and its EVD alive. A QP completes its binds before it is destroyed. */
static enum m5_seen find_last_bind(struct dap_rmr *rmr)
{
	struct m5_ia *ia = m5_ia(rmr->obj.ia);
	struct m5_rmr *r = m5_rmr(rmr);
	enum m5_seen seen = M5_SEEN_ERROR;

	pthread_mutex_lock(&ia->lock);
	if (last_qp_exists(r))
		seen = m5_sq_seen(r->last_ep, r->last_index);
	else if (all_completed(r))
		seen = M5_SEEN_OK;
	pthread_mutex_unlock(&ia->lock);
	return seen;
}

/* Waits until the last bind has completed, for at most that many milliseconds. */
static enum m5_seen wait_last_bind(struct dap_rmr *rmr, unsigned int ms)
{
	struct m5_ia *ia = m5_ia(rmr->obj.ia);
	struct m5_rmr *r = m5_rmr(rmr);
	uint64_t until = dap_now_ms() + ms;
	enum m5_seen seen;

	for (;;) {
		bool last = dap_now_ms() >= until;

		if (all_completed(r))
			return M5_SEEN_OK;
		if (is_unsure(r))
			return M5_SEEN_ERROR;
		seen = find_last_bind(rmr);
		if (seen != M5_SEEN_NOT)
			return seen;
		if (last)
			return M5_SEEN_NOT;
		m5_drive_model(ia);
		sched_yield();
	}
}

/*
 * Destroying a key before the device executes its bind makes the bind fail, which ends the
 * connection. The wait is limited, because access must end even if the queue makes no progress.
 */
static void wait_for_binds(struct dap_rmr *rmr)
{
	struct m5_rmr *r = m5_rmr(rmr);
	enum m5_seen seen;

	if (all_completed(r) || !last_qp_exists(r))
		return;
	seen = wait_last_bind(rmr, SETTLE_MS);
	for (int ms = 0; ms < FREE_MS && seen == M5_SEEN_NOT; ms++) {
		dap_thread_sleep_us(1000);
		seen = wait_last_bind(rmr, 0);
	}
}

/* The lock is held throughout, so that no RMR is freed meanwhile. */
void m5_rmr_revoke_bound(struct dap_ep *ep)
{
	struct m5_ia *ia = m5_ia(ep->obj.ia);
	struct dap_rmr *rmr;

	pthread_mutex_lock(&ia->lock);
	while ((rmr = m5_window_pop(ia, ep))) {
		m5_rmr(rmr)->last_gen = 0;
		revoke_keys(rmr);
	}
	pthread_mutex_unlock(&ia->lock);
}

int m5_rmr_destroy(struct dap_rmr *rmr)
{
	wait_for_binds(rmr);
	m5_window_drop(rmr);
	__atomic_store_n(&m5_rmr(rmr)->done, 0, __ATOMIC_RELAXED);
	return destroy_keys(rmr, m5_rmr(rmr));
}

/*
 * Returns true if the queue has credit for one request of that many blocks. The bind takes credit when it is
 * posted, so the limit is reset: otherwise several requests of one block would use the credit of this one.
 */
static bool sq_has_room(struct dap_ep *ep, uint32_t blocks, bool lock)
{
	struct m5_sq *sq = &m5_ep(ep)->sq;
	bool room;

	if (lock)
		m5_spin_lock(&sq->lock);
	room = m5_sq_credit(ep, blocks);
	sq->limit = sq->pi;
	if (lock)
		m5_spin_unlock(&sq->lock);
	return room;
}

int m5_bind_settle(struct dap_rmr *rmr, struct dap_ep *ep, uint32_t blocks, bool lock)
{
	struct m5_rmr *r = m5_rmr(rmr);
	enum m5_seen seen;

	if (!r->obj[r->current])
		return renew_keys(rmr);
	seen = wait_last_bind(rmr, SETTLE_MS);
	if (seen == M5_SEEN_OK)
		return 0;
	/* A bind that is refused changes nothing, so the old key must stay if there is no room. */
	if (seen == M5_SEEN_NOT || !sq_has_room(ep, blocks, lock))
		return DAP_ERR(DAP_INSUFFICIENT_RESOURCES, DAP_SUB_TEP);
	return renew_keys(rmr);
}

/* Returns true if the key is known once all posted binds are done, in the order of one queue. */
static bool is_settled(const struct m5_rmr *r, const struct dap_ep *ep)
{
	return r->obj[r->current] && (all_completed(r) || (r->last_ep == ep && last_qp_exists(r)));
}

/* DAT_RMR_SCOPE_EP: bound to at most one endpoint at a time. One that is not connected gives no
 * access. */
static bool is_elsewhere(struct dap_rmr *rmr, const struct dap_ep *ep)
{
	const struct m5_rmr *r = m5_rmr(rmr);

	return rmr->for_ep && dap_rmr_is_bound(rmr) && r->last_ep != ep && last_qp_exists(r) &&
	       __atomic_load_n(&r->last_ep->connection, __ATOMIC_RELAXED);
}

int m5_bind_check_ep(struct dap_rmr *rmr, void *ep_handle)
{
	struct dap_ep *ep = dap_obj_get(ep_handle, DAP_EP, rmr->obj.ia);

	if (!ep)
		return DAP_ERR(DAP_INVALID_HANDLE, DAP_SUB_HANDLE_EP);
	if (!ep->has_qp || !dap_ep_may_request(ep))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_STATE_EP + dap_ep_state(ep));
	if (ep->pz != rmr->pz)
		return dap_bad_bind_ep(rmr);
	if (is_elsewhere(rmr, ep))
		return DAP_ERR(DAP_INVALID_STATE, DAP_SUB_NONE);
	return is_settled(m5_rmr(rmr), ep) ? 0 : M5_UNSETTLED;
}

int m5_bind_claim(struct dap_rmr *rmr, struct dap_ep *ep)
{
	int err = 0;

	while (!err && rmr->for_ep && !m5_window_claim(rmr, ep))
		err = renew_keys(rmr);
	return err;
}

void m5_bind_unclaim(struct dap_rmr *rmr, struct dap_ep *ep, uint32_t gen)
{
	struct m5_ia *ia = m5_ia(rmr->obj.ia);

	pthread_mutex_lock(&ia->lock);
	m5_rmr(rmr)->last_ep = ep;
	m5_rmr(rmr)->last_gen = gen;
	pthread_mutex_unlock(&ia->lock);
}

void m5_rmr_next_mkey(struct dap_rmr *rmr)
{
	struct m5_rmr *r = m5_rmr(rmr);

	r->idle[r->current] = be32toh(r->key_be);
	r->current = (uint8_t)((r->current + 1u) % M5_RMR_KEYS);
	key_start(r, r->idle[r->current]);
}

void m5_rmr_cache_lmr(struct m5_rmr *r, struct dap_lmr *lmr)
{
	uint32_t lacks;

	__atomic_store_n(&r->max_klm_len, 0, __ATOMIC_RELAXED);
	if (!lmr)
		return;
	/* Remote read needs local read, remote write needs local write: the same bits, one position
	 * lower. */
	lacks = ~lmr->priv & (DAP_PRIV_LOCAL_READ | DAP_PRIV_LOCAL_WRITE);
	r->lmr = lmr;
	r->addr = lmr->addr;
	r->length = lmr->length;
	r->lkey = lmr->lmr_context;
	r->deny = ~(uint32_t)DAP_PRIV_ALL | lacks << 1;
	__atomic_store_n(&r->max_klm_len, lmr->length < M5_KLM_MAX ? lmr->length : M5_KLM_MAX,
			 __ATOMIC_RELAXED);
}
