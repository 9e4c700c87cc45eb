/* SPDX-License-Identifier: BSD-2-Clause */
/* Copyright (c) 2026 dapl-direct authors */
/*
 * The keys of RMRs of one endpoint, so that the completion of a peer's invalidation finds the RMR,
 * and the end of an endpoint finds the RMRs bound through it. Only for slow calls and rare
 * completions: a normal bind does not use it.
 */
#include "hw_mlx5/obj.h"

static struct m5_window **bucket(struct m5_ia *ia, uint32_t rkey)
{
	return &ia->windows[(rkey >> 8) % M5_WINDOW_BUCKETS];
}

void m5_window_enter(struct dap_rmr *rmr, unsigned int i, uint32_t rkey)
{
	struct m5_window *w = &m5_rmr(rmr)->window[i], **head;
	struct m5_ia *ia = m5_ia(rmr->obj.ia);

	if (!rmr->for_ep)
		return;
	head = bucket(ia, rkey);
	*w = (struct m5_window){ .rmr = rmr, .rkey = rkey };
	pthread_mutex_lock(&ia->lock);
	w->next = *head;
	*head = w;
	pthread_mutex_unlock(&ia->lock);
}

static void unlink_windows(struct m5_ia *ia, struct dap_rmr *rmr)
{
	for (unsigned int i = 0; i < M5_RMR_KEYS; i++) {
		struct m5_window *w = &m5_rmr(rmr)->window[i], **at = bucket(ia, w->rkey);

		if (!w->rmr)
			continue;
		while (*at != w)
			at = &(*at)->next;
		*at = w->next;
		w->rmr = NULL;
	}
}

void m5_window_drop(struct dap_rmr *rmr)
{
	struct m5_ia *ia = m5_ia(rmr->obj.ia);

	if (!rmr->for_ep)
		return;
	pthread_mutex_lock(&ia->lock);
	m5_rmr(rmr)->last_gen = 0;
	unlink_windows(ia, rmr);
	pthread_mutex_unlock(&ia->lock);
}

/* If the RMR is bound through another endpoint, revoke that now: the end of the other endpoint
 * would not find it any more. */
bool m5_window_claim(struct dap_rmr *rmr, struct dap_ep *ep)
{
	struct m5_ia *ia = m5_ia(rmr->obj.ia);
	struct m5_rmr *r = m5_rmr(rmr);
	bool stays, claimed;

	pthread_mutex_lock(&ia->lock);
	stays = r->last_ep == ep && r->last_gen == m5_ep(ep)->gen;
	claimed = r->obj[r->current] && (stays || !dap_rmr_is_bound(rmr));
	r->last_ep = ep;
	r->last_gen = claimed ? m5_ep(ep)->gen : 0;
	if (!claimed)
		__atomic_store_n(&rmr->length, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ia->lock);
	return claimed;
}

/*
 * The caller must not own or be polling a CQ, because a thread that grows a CQ takes it over while it
 * holds this lock. dap_rmr_is_bound() compares the stored context with the RMR's.
 */
void m5_window_ended(struct dap_ia *dap_ia, uint32_t rkey)
{
	struct m5_ia *ia = m5_ia(dap_ia);
	struct m5_window *w;

	pthread_mutex_lock(&ia->lock);
	for (w = *bucket(ia, rkey); w && w->rkey >> 8 != rkey >> 8; w = w->next)
		;
	if (w)
		__atomic_store_n(&w->rmr->ended, DAP_RMR_ENDED | rkey, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ia->lock);
}

/* Returns some RMR that was last bound through ep's current QP, or NULL. */
static struct dap_rmr *bound_through(const struct m5_ia *ia, struct dap_ep *ep)
{
	for (unsigned int i = 0; i < M5_WINDOW_BUCKETS; i++) {
		for (const struct m5_window *w = ia->windows[i]; w; w = w->next) {
			const struct m5_rmr *r = m5_rmr(w->rmr);

			if (r->last_ep == ep && r->last_gen == m5_ep(ep)->gen)
				return w->rmr;
		}
	}
	return NULL;
}

struct dap_rmr *m5_window_pop(struct m5_ia *ia, struct dap_ep *ep)
{
	struct dap_rmr *rmr = bound_through(ia, ep);

	if (rmr)
		unlink_windows(ia, rmr);
	return rmr;
}
